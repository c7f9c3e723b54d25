"""Commands about coding agents: their hooks, and how they are set up to use the workbench."""
