"""Lists as SQL over the tables: what `workbench.lists` asks, for each type of record."""
