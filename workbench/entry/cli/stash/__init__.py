"""Commands about the stash."""
