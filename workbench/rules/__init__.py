"""Rules: where agents' rule files are found, how they split into rules, which rules a task needs."""
