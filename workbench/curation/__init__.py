"""Curated records of any type: steps that undo and redo, journals and their fold, conflicts, the service.

Rules and learnings are record types over it (`records.RecordType`), each with only what is its own.
"""

from typing import Final

CURATION: Final = "curation"
"""The key under which an entry of a journal names the step it belongs to."""
