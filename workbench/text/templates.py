"""Task texts that many prompts repeat word for word: which words are a template's, and which the task's own.

Review templates and slash commands give every prompt the same words, which say nothing about this task. Runs
of words that prompts of several sessions share are found by their shingles, hashes of some words in a row; a
prompt that is nothing but a template keeps all its words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from zlib import crc32

from workbench.records.dataclass import dataclass
from workbench.text.terms import count_terms

SESSIONS: Final = 3
"""Sessions that share a run of words which is a template's."""

_RUN: Final = 5  # words of a shingle
_LEAST: Final = 8  # words that a template has at least in a text
_MOST: Final = 1_000  # words of a text that are looked at
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A text without the words of a template, which `sessions` share and `words` of it are."""

    text: str
    sessions: int
    words: int


def shingles(text: str) -> tuple[int, ...]:
    """Return the hashes of all runs of words in a text, sorted, each once."""
    return tuple(sorted(set(_hashes([word for word, _, _ in _words(text)]))))


def shared_shingles(prompts: Iterable[tuple[str, Sequence[int]]]) -> dict[int, int]:
    """Return the shingles of (session, shingles) that several sessions share, with how many do."""
    counts: Counter[int] = Counter()
    for session in _by_session(prompts).values():
        counts.update(session)
    return {one: count for one, count in counts.items() if count >= SESSIONS}


def own_words(text: str, shared: Mapping[int, int]) -> OwnWords | None:
    """Return what of a text is its own, None if it has no template's words or no others."""
    found = _words(text) if shared else []
    covered = [0] * len(found)
    for place, one in enumerate(_hashes([word for word, _, _ in found])):
        if sessions := shared.get(one, 0):
            for word in range(place, place + _RUN):
                covered[word] = max(covered[word], sessions)
    count = sum(map(bool, covered))
    if count < _LEAST:
        return None
    parts, end = [], 0
    for (_, start, stop), sessions in zip(found, covered, strict=True):
        if sessions:
            parts.append(text[end:start])
            end = stop
    lines = "".join((*parts, text[end:])).splitlines()
    own = "\n".join(line.strip(" .,:;") for line in lines if _WORD.search(line))
    return OwnWords(own, max(covered), count) if count_terms(own) else None


def _words(text: str) -> list[tuple[str, int, int]]:
    found = []
    for match in _WORD.finditer(text):
        found.append((match.group().casefold(), match.start(), match.end()))
        if len(found) == _MOST:
            break
    return found


def _hashes(words: Sequence[str]) -> list[int]:
    runs = (" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))
    return [crc32(run.encode("utf-8", "surrogatepass")) for run in runs]


def _by_session(prompts: Iterable[tuple[str, Sequence[int]]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for session, hashes in prompts:
        found.setdefault(session, set()).update(hashes)
    return found
