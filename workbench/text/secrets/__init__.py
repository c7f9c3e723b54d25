"""Secrets in text: the formats that announce themselves, values beside a telling name, and where they are."""
