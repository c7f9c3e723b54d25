"""What the workbench injects into prompts, and how its words are recognised when they come back as echoes.

It is put between two marks that are taken out of any text (`workbench.text.sanitize`). Agents also repeat it
without the marks: whole, in part, quoted, wrapped. So the word sequences of everything that was injected are
kept as hashes, and a text most of whose sequences were injected is an echo and no finding (F10). Shingles:
Broder 1997. The journal has an entry where something new was given, or something known to another session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Final

from workbench.memory.learnings.learningstore import LearningStore
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass

ECHO: Final = 0.4
"""The share of a text's sequences that were injected from which on it is an echo."""

WORDS: Final = 4
_WORD = re.compile(r"[^\W_]+")


def shingles(text: str) -> frozenset[int]:
    """Return the hashes (64 bits) of all runs of four words, of all words where there are fewer.

    Case, punctuation, marks of quotes and lists and line breaks make no difference.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return frozenset()
    runs = [words[at : at + WORDS] for at in range(max(1, len(words) - WORDS + 1))]
    return frozenset(_hash(" ".join(run)) for run in runs)


def echo_share(text: str, injected: frozenset[int] | set[int]) -> float:
    """Return the share in [0, 1] of a text's sequences that were injected; 0 for a text without words."""
    found = shingles(text)
    return len(found & injected) / len(found) if found else 0.0


def is_echo(text: str, injected: frozenset[int] | set[int]) -> bool:
    """Whether a text repeats, in whole or in large part, what was injected."""
    return bool(injected) and echo_share(text, injected) >= ECHO


def pack_hashes(prints: Iterable[int]) -> str:
    """Return hashes as text for a journal, 16 hexadecimal digits each, sorted."""
    return "".join(f"{one:016x}" for one in sorted(prints))


def unpack_hashes(text: str) -> frozenset[int]:
    """Return the hashes of a text that `pack_hashes` made. Raises: ValueError for any other."""
    if len(text) % 16:
        raise ValueError("hashes are cut off")
    return frozenset(int(text[at : at + 16], 16) for at in range(0, len(text), 16))


def _hash(words: str) -> int:
    return int.from_bytes(blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


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
        """Return what was injected until now; the same object, read further. Raises: StoreError."""
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
    body = {"surface": surface, "session_id": session, "learning_ids": new, "prints": pack_hashes(prints)}
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
        new = unpack_hashes(prints)
    except ValueError:
        found.skipped += 1
        return
    found.prints |= new
    found.log.append((entry.at, new))
    for identifier in identifiers:
        place = found.given.setdefault(str(identifier), set())
        place.add((entry.at, str(body.get("session_id") or "")))
