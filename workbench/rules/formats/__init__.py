"""One module per rule-file format; each turns text into rules with line provenance."""
