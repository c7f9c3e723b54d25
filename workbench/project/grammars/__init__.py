"""Definitions by grammar: one module a language family, each a walk over the syntax tree."""
