"""Hooks of coding agents: what an agent reports on stdin, and what it is answered on stdout."""
