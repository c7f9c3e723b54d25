"""The terminal user interface over the engine. Nothing here is imported by the engine."""
