"""Definitions by grammar: a query a language (`*.scm`), and walks where no query finds them."""
