"""Duplicates and contradictions among rules: found, explained, and settled by people only."""
