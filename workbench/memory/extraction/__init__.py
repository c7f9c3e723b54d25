"""What an iteration's output reports: errors by the tools' formats, decisions, files, the outcome."""
