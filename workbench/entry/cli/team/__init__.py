"""The commands of a team: `workbench store`."""
