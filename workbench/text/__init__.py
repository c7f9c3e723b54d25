"""Pure functions on text: terms, tokens, fusion of scores. No I/O, no state beyond memo tables."""
