"""The team of a project: machines whose journals are copied to each other through a server."""
