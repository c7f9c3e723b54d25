"""Rules by filters, in pages, through caches."""
