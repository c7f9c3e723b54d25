"""What users said about how things are done: extracted from prompts, matched with what is known, reported."""
