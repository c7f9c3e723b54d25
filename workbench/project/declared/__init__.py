"""Readers of manifest formats, one module a kind of ecosystem; `manifests` picks one by path."""
