"""Data written for this project, to try and to test it without any of one's own."""
