"""Learnings: what iterations found out, reviewed one after the other."""
