"""What every review screen shares: forms, overtaken edits, steps one after the other, excerpts of files."""
