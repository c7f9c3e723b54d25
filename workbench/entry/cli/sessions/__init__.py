"""Commands about sessions of coding agents."""
