"""The log of actions."""
