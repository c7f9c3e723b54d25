"""Learnings that don't rot: their ledger, the service that curates them, and what enters a prompt."""
