"""The formats of rule files: how each is read, what all share, and what the workbench writes into them."""
