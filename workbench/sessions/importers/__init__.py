"""Importers, one module per source of episodes."""
