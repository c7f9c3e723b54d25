"""Rules: browsing, filtering, searching, editing, and their files."""
