"""`workbench memory`: commands about iterations and learnings."""
