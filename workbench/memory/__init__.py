"""What iterations of an agent leave behind: extraction, learnings, deduplication, prompts."""
