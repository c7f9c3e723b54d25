"""The server that agents ask by the Model Context Protocol."""
