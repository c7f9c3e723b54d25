"""What an iteration's output tells: errors by the tools' formats, decisions, files, the outcome."""
