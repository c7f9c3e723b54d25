"""Versioned ranking models as data files, and the code that reads them."""
