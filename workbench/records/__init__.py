"""Frozen records and enums every layer shares; nothing here does I/O or imports another layer."""
