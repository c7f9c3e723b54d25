"""Learnings that don't rot: their fold, the desk where they are curated, and what enters a prompt."""
