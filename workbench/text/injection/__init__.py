"""Instructions hidden in text: what they are, where, and how a text is framed so that nobody follows them."""
