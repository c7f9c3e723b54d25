"""Adapters behind `workbench.ports`: journals, tables, indexes, embeddings, files and git."""
