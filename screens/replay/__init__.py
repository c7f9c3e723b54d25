"""The section of replays: what would have been shown for past tasks, and was it right."""
