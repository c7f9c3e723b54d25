"""What the workbench has put into prompts: kept so that it is never learned again, nor counts as a finding.

One entry for each time that something new was given, or something known to another session. What was given
before to the same session adds nothing: the journal grows with learnings and sessions, not with calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workbench.memory.learnings.framing import packed, shingles, unpacked
from workbench.memory.learnings.learningstore import LearningStore
from workbench.ports import Entry, Journal

STREAM: Final = "injected"
INJECTED: Final = "memory.injected"


@dataclass(slots=True)
class Injections:
    """What was injected: `prints` are hashes of word sequences, `given` maps learnings to when and to whom.

    `given` holds (time, session), the session empty where it is not known. `log` has the prints that were new
    at each time. `skipped` counts unreadable entries.
    """

    prints: set[int] = field(default_factory=set)
    log: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    given: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    skipped: int = 0

    def prints_before(self, moment: str) -> set[int]:
        """Return what had been injected before a moment (ISO 8601)."""
        found: set[int] = set()
        for at, prints in self.log:
            if at < moment:
                found |= prints
        return found

    def before(self, learning_id: str, moment: str, session: str = "") -> bool:
        """Whether a learning was given before a moment, to the session if those are known."""
        return any(
            (not moment or at <= moment) and (not session or not whom or whom == session)
            for at, whom in self.given.get(learning_id, ())
        )


def read_injections(journal: Journal) -> Injections:
    """Fold the journal of what was injected. Raises: StoreError."""
    found = Injections()
    for _, entry in journal.read(STREAM):
        if entry.kind == INJECTED:
            _take(found, entry)
    return found


class InjectionReader:
    """Reads the journal of what was injected again and again, each line once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._offset = 0
        self._known = Injections()

    def injections(self) -> Injections:
        """Return what was injected until now; the same object, told further. Raises: StoreError."""
        for after, entry in self._journal.read(STREAM, self._offset):
            self._offset = after
            if entry.kind == INJECTED:
                _take(self._known, entry)
        return self._known


def note_injected(
    store: LearningStore,
    texts: Mapping[str, str],
    *,
    surface: str,
    session: str = "",
    others: Sequence[str] = (),
) -> bool:
    """Note that learnings (id → text) and other texts were put into a prompt; return whether it was news.

    `surface` is the face that did: plan, memory-prompt, hook. Raises: StoreError.
    """
    if not texts and not others:
        return False
    known = read_injections(store.journal)
    prints = _prints((*texts.values(), *others)) - known.prints
    new = [
        identifier
        for identifier in texts
        if session not in {whom for _, whom in known.given.get(identifier, ())}
    ]
    if not prints and not new:
        return False
    body = {"surface": surface, "session_id": session, "learning_ids": new, "prints": packed(prints)}
    store.journal.append(STREAM, INJECTED, [body], by=surface, sync=False)
    return True


def _prints(texts: Iterable[str]) -> set[int]:
    found: set[int] = set()
    for text in texts:
        found |= shingles(text)
    return found


def _take(found: Injections, entry: Entry) -> None:
    body = entry.body
    identifiers, prints = body.get("learning_ids"), body.get("prints")
    if not isinstance(identifiers, list) or not isinstance(prints, str):
        found.skipped += 1
        return
    try:
        new = unpacked(prints)
    except ValueError:
        found.skipped += 1
        return
    found.prints |= new
    found.log.append((entry.at, new))
    for identifier in identifiers:
        place = found.given.setdefault(str(identifier), set())
        place.add((entry.at, str(body.get("session_id") or "")))
