"""The plan: intent, candidates, features, ranking, packing and rendering of context for a task."""
