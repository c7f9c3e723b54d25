"""What faces answer, as structs: the command line prints them as JSON, Python gets them as they are.

The published schemas in `docs/schema` are written from them (`workbench/entry/schemas.py`).
"""
