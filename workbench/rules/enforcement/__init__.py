"""Enforcement: what a tool call does, and which rules with a check it breaks."""
