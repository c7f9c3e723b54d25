"""Rules and the files they are in: edits in their own lines, three-way merges, export, drift."""
