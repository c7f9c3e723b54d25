"""The journal of a feature's iterations: the truth that search indexes are made from, one stream a feature.

A stream's name is the feature's own where that is safe as a file's name on any file system, else a readable
part of it and a digest: no two features share a file, and the name as given is in every record. An entry is
a versioned wrapper around a record; what cannot be read strictly is set aside with a reason, never guessed.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from workbench.errors import UsageError
from workbench.ports import Entry
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.iterations import IterationRecord
from workbench.text.redact import redact_values

VERSION: Final = 1
KIND: Final = "iteration"
PREFIX: Final = "memory/"
GENERAL: Final = "general"
"""The feature of iterations that nobody gave one."""

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_DIGESTED = re.compile(r"-[0-9a-f]{12}$")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)")
_UNSAFE = re.compile(r"[^a-z0-9]+")
_READABLE = 40
_DIGEST = 12
_MAX_NAME = 2_000
_REASON = 200


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A record as the journal holds it.

    `key` distinguishes iterations, however often one is taken in; `digest` is of what was taken in, so that
    taking it in again adds nothing; `extent` is how much that was. `fingerprint` is of the raw output, taken
    before anything was extracted.
    """

    version: int
    record: IterationRecord
    key: str = ""
    digest: str = ""
    fingerprint: str = ""
    source: str = ""
    extent: int = 0

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise ValueError(f"version {self.version} of an iteration is not known, only {VERSION}")


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry that cannot be read. `id` is the entry's own; `reason` says what is wrong with it."""

    stream: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FeatureJournal:
    """What a stream holds: the newest record of each iteration in order, and what is unreadable."""

    feature: str
    stream: str
    entries: tuple[JournalEntry, ...] = ()
    set_aside: tuple[SetAside, ...] = ()

    @property
    def next_number(self) -> int:
        """The number of the iteration that comes after all of these."""
        return max((entry.record.iteration_number for entry in self.entries), default=0) + 1


def feature_name(text: str) -> str:
    """Return a feature's name as it is kept: composed Unicode without blanks around it.

    Raises: UsageError for a name without a visible character or of more than 2,000 characters.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not any(character.isprintable() and not character.isspace() for character in name):
        raise UsageError("a feature needs a name", hint="Pass --feature NAME.")
    if len(name) > _MAX_NAME:
        raise UsageError(
            f"a feature's name of {len(name)} characters is too long; {_MAX_NAME} is the most",
            hint="Give it a short name.",
        )
    return name


def feature_stream(feature: str) -> str:
    """Return the stream of a feature: `memory/` and a name that is a safe file name everywhere.

    Features that differ have streams that differ, also where a file system ignores case. A secret is in no
    file's name either.
    """
    name = redact_values(unicodedata.normalize("NFC", feature).strip())
    if _PLAIN.fullmatch(name) and not _DIGESTED.search(name) and not _DEVICES.fullmatch(name):
        return PREFIX + name
    plain = unicodedata.normalize("NFKD", name).casefold().encode("ascii", "ignore").decode("ascii")
    readable = _UNSAFE.sub("-", plain).strip("-")[:_READABLE].strip("-") or "feature"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{PREFIX}{readable}-{digest}"


def body_of(entry: JournalEntry) -> dict[str, Any]:
    """Return an entry as the body of a journal line."""
    body: dict[str, Any] = msgspec.to_builtins(entry)
    return body


def entry_of(body: object) -> JournalEntry:
    """Return the entry of a journal line's body. Raises: ValueError for another version, kind or value."""
    return convert(body, JournalEntry)


def read_journal(stream: str, lines: Iterable[Entry], passed: frozenset[str] = frozenset()) -> FeatureJournal:
    """Read a feature's stream. Entries of the kinds `passed` are others' and left alone.

    Of several records of one iteration the last counts, at the place and with the number of the first.
    """
    read: dict[str, JournalEntry] = {}
    aside: list[SetAside] = []
    for line in lines:
        if line.kind in passed:
            continue
        if line.kind != KIND:
            aside.append(SetAside(stream, line.id, f"entries of kind {line.kind[:60]!r} are not known"))
            continue
        try:
            entry = entry_of(line.body)
        except ValueError as error:
            aside.append(SetAside(stream, line.id, str(error)[:_REASON]))
            continue
        read[entry.key or line.id] = entry
    entries = tuple(read.values())
    feature = entries[0].record.feature if entries else stream.removeprefix(PREFIX)
    return FeatureJournal(feature, stream, entries, tuple(aside))
