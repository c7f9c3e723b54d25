"""Commands about the project: plans, indexes, settings, models."""
