"""Helpers of the operating system: clipboard, editor, terminal, pipes."""
