"""The rules of a project over gRPC [rules, Daemon API Interface]: a server and a client; extra `grpc`."""
