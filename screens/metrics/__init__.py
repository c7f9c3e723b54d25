"""How fast the engine is, how often its caches answer, and what was missing."""
