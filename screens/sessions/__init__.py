"""Sessions: what was asked for, read, changed and how it ended; the transcript behind it; and feedback."""
