"""What people decide about rules: versions, steps that undo and redo, the journals and their fold."""

from typing import Final

CURATION: Final = "curation"
"""The key under which an entry of a journal tells the step it belongs to."""
