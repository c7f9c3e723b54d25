"""Rules and the files they stand in: edits in their own lines, three-way merges, export, drift."""
