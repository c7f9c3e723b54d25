"""Notices what other processes write: a thread that looks at the journals' revisions and tells the app."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from textual.message import Message

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from textual.app import App

    from screens.engine import Engine

_LOOK_EVERY: Final = 0.5  # seconds


class StoreChanged(Message):
    """Journals changed since the last look; `streams` names them, without where they are."""

    def __init__(self, streams: frozenset[str]) -> None:
        super().__init__()
        self.streams = streams


class Watcher:
    """Looks at the journals until it is stopped."""

    def __init__(self, app: App[Any], engine: Engine) -> None:
        self._app = app
        self._engine = engine
        self._stop = threading.Event()
        self._seen: Mapping[str, str] = {}

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="watcher", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def look(self) -> None:
        """Look once, and tell what changed since the last time."""
        try:
            now = self._engine.revisions()
        except (WorkbenchError, OSError):
            return  # the store is away for a moment; the question itself will say so when it is asked
        if self._seen and now:
            changed = {name for name in {*now, *self._seen} if now.get(name) != self._seen.get(name)}
            if changed:
                self._app.post_message(StoreChanged(frozenset(name.partition("/")[2] for name in changed)))
        self._seen = now or self._seen

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY):
            self.look()
