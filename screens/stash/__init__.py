"""Stash: what was put aside of conversations, why it comes back, what expires, and merging it."""
