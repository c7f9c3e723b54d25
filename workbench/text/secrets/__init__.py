"""Secrets in text: the formats that announce themselves, values beside a revealing name, and their places."""
