"""Replays: what the engine would have answered, measured against what was right."""
