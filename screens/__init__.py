"""The terminal user interface. Empty until its issue lands: nothing here is imported by the engine."""
