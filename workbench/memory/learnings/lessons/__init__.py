"""What an iteration teaches: commands that work, causes of errors, decisions, corrections."""
