"""The context workbench: decides what a coding agent should read for a task, and shows why."""

__version__ = "0.1.0"
