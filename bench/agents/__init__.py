"""What a brief saves whoever has to find the places of a change: readers with and without one."""
