"""Messages that widgets of several modules send and the app answers."""

from __future__ import annotations

from textual.message import Message


class CopyRequested(Message):
    """Somebody wants a text in the clipboard; `what` says in a word or two what it is."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__()
        self.text = text
        self.what = what
