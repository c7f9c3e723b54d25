"""Which records of a ledger changed since something was made of it, by this process or another one.

Who made it goes on from the ledger that it had; what another process kept says up to where its ledger went,
which counts where that is the beginning of the ledger at hand.
"""

from __future__ import annotations

from dataclasses import field

from workbench.curation.folding import LedgerReader
from workbench.curation.ledger import L
from workbench.records.dataclass import dataclass

Progress = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LedgerMark:
    """How many changes of each sort a ledger has, as `Ledger.progress`, and what tells the last of them."""

    progress: Progress = ()
    newest: str = ""


@dataclass(frozen=True, slots=True)
class LedgerOrigin:
    """The ledger that something was made of: its `mark`, for other processes, and for who made it the rest.

    `reader` folded it, None for what was kept; `refolds` and `progress` are those it had then, the latter
    None where something was written that it does not have yet. `about` says what else decides what is folded.
    """

    mark: LedgerMark = field(default_factory=LedgerMark)
    reader: object = None
    refolds: int = 0
    progress: Progress | None = None
    about: str = ""


def origin_of(reader: LedgerReader[L], ledger: L, about: str, *, is_whole: bool = True) -> LedgerOrigin:
    """Return where something comes from that is made of a ledger now; `is_whole` unless more was written."""
    mark = _mark(reader, ledger, about, ledger.lasting or ledger.progress)
    return LedgerOrigin(mark, reader, ledger.refolds, ledger.progress if is_whole else None, about)


def changed_ids(reader: LedgerReader[L], ledger: L, about: str, before: LedgerOrigin) -> set[str] | None:
    """Return the ids of records that a ledger may have otherwise than that of an origin; None if unknown.

    Of what another process kept, what came after the saved fold is compared as well: whether that part of the
    journals is still what it was is not known.
    """
    is_own = before.reader is reader
    refolds = reader.refolds(before.refolds, ledger.refolds) if is_own else None
    if refolds is not None and before.progress is not None and before.about == about:
        since = _least(before.progress, ledger.progress, *(refold.progress for refold in refolds))
        return ledger.ids_since(since).union(*(refold.ids for refold in refolds))
    since = before.mark.progress
    if not any(since[:1]) or before.mark != _mark(reader, ledger, about, since):
        return None
    since = since if is_own else _least(since, ledger.begun)
    return ledger.ids_since(since) if since[0] else None


def _mark(reader: LedgerReader[L], ledger: L, about: str, progress: Progress) -> LedgerMark:
    return LedgerMark(progress, " ".join((reader.lineage, about, *ledger.newest(progress))))


def _least(first: Progress, *others: Progress) -> Progress:
    return tuple(min(some) for some in zip(first, *others, strict=True))
