"""The server that programs ask over HTTP."""
