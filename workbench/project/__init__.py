"""The project as an index: scan, symbols, imports, layers L0-L6, freshness."""
