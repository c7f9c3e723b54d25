"""From journal entries to table rows: one module a family of tables.

A projector takes entries in journal order, holds rows back and writes them in bulk on `flush`. What it writes
is a function of the entries alone: however they are cut into batches, the tables end up the same.
"""
