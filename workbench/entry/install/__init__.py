"""Coding agents set up to use the workbench: their settings found, changed without loss, restored."""
