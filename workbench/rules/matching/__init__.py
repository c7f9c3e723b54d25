"""Which rules answer to a message, and why: filters, relevance by meaning and words, the score."""
