"""Section Conflicts: two sides, the words that differ, the evidence, a key for each resolution."""
