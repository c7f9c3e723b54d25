"""What happened before: commits and agent sessions as episodes, and the affinities they teach."""
