"""Commands about iterations and what was learned from them."""
