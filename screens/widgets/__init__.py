"""What screens are built of: the virtual table, the filter bar."""
