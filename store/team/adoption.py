"""Segments that others put aside, taken into this machine's own stash with where they come from.

The text of a segment never changes, so that a stash is a set that grows: what others wrote is appended to the
own journal, by `auto:team:NAME`, and index, lists, tables and plans have it as they have everything else. Of
what else is known of a segment the last entry holds by the order that is the same everywhere: its id, or that
of one before it in its journal, if the writer's clock went back. What a machine took out of its own journal
goes here, too.

The text of a segment is whose came first: another one under the same id is put aside, and what else is
decided of the segment counts.

Only what came since the last time is read: of others' journals what follows the last entry that was taken,
of the own one what follows the last place before which everything comes before that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from store import locks
from store.files import read_state, write_atomic
from store.journal import FileJournal
from store.journal_lines import decode_line, encode_line
from store.journal_search import mentioning
from store.team.replicas import ADOPTED, TEAM
from store.team.server import Mark
from workbench.errors import JournalError
from workbench.ports import Entry
from workbench.records.conversion import decode_json

STASH: Final = "stash"
_ORIGIN: Final = "team"
_FILE: Final = "adopted.json"
_CURATION: Final = "curation"
_KINDS: Final = {"segment.put": "segment_id", "segment.removed": "id"}
_PATIENCE: Final = 30.0  # seconds
_POINTS: Final = 64
_FEW: Final = 8
"""Segments whose lines are searched one by one."""
_PLAIN: Final = re.compile(r"[\w.:/#-]+", re.ASCII)


class StashPoint(msgspec.Struct, frozen=True):
    """A line of the own stash: where it begins, its entry's id, and the highest order up to there.

    `own` is the highest id of an own entry up to there.
    """

    start: int
    entry: str
    order: str
    own: str


class TakenStash(msgspec.Struct, frozen=True):
    """How far a machine's stash was taken: its mark, the bytes that were read, the highest id in these."""

    mark: Mark
    end: int
    order: str


class Adoption(msgspec.Struct):
    """What was taken, by machine, and some lines of the own stash, in their order.

    `refused` are, by machine, the entries that bring another text for a segment, with the segment's id.
    """

    machines: dict[str, TakenStash] = {}
    points: list[StashPoint] = []
    refused: dict[str, dict[str, str]] = {}


class _News(NamedTuple):
    order: str
    machine: str
    number: int
    entry: Entry


def adopt_segments(
    state: Path,
    own: FileJournal,
    peers: Mapping[str, FileJournal],
    marks: Mapping[str, Mark],
    names: Mapping[str, str],
) -> int:
    """Append what other machines wrote of segments, each entry once, and return how many entries that were.

    `marks` say how far each machine's stash was received, `names` what machines are called.
    Raises: StoreError, StoreBusy.
    """
    known = _read_adoption(state)
    waiting = {
        one: mark
        for one, mark in marks.items()
        if one in peers and _is_news(known.machines.get(one), mark, peers[one])
    }
    if not waiting:
        return 0
    with locks.exclusive(state / "locks" / f"{STASH}.lock", timeout=_PATIENCE):
        for machine, mark in waiting.items():
            if machine in known.machines and known.machines[machine].mark[0] != mark[0]:
                del known.machines[machine]
                known.refused.pop(machine, None)
                _follow_rewritten(state, machine, {one.id: one for _, one in peers[machine].read(STASH)})
        news: list[_News] = []
        for machine, mark in waiting.items():
            before = known.machines.get(machine, TakenStash(mark, 0, ""))
            found, known.machines[machine] = _read_news(peers[machine], machine, before, mark)
            news += found
        news = _without_other_texts(own, known, sorted(news, key=lambda one: one[:3]))
        drafts = _last_of_each(own, known, news) if news else []
        for machine, group in groupby(drafts, key=lambda one: one.machine):
            by = f"{ADOPTED}{names.get(machine, machine)}"
            own.append_all(STASH, [(one.entry.kind, _body(one)) for one in group], by=by)
        write_atomic(state / TEAM / _FILE, msgspec.json.encode(known))
    return len(drafts)


def _is_news(taken: TakenStash | None, mark: Mark, journal: FileJournal) -> bool:
    """Whether a machine's stash has more than was taken: of one that waited its mark is the same."""
    return taken is None or taken.mark != mark or taken.end != journal.size(STASH)


def refused_texts(state: Path) -> Mapping[str, Mapping[str, str]]:
    """Return, by machine, which entries bring another text for which segment, by their ids."""
    return _read_adoption(state).refused


def _without_other_texts(own: FileJournal, known: Adoption, news: Sequence[_News]) -> list[_News]:
    """Return the news without those that bring a text for a segment that has another one."""
    texts = _texts_of(own, {_segment(one.entry) for one in news if _brings_text(one.entry)})
    kept = []
    for one in news:
        segment, text = _segment(one.entry), one.entry.body.get("text")
        if _brings_text(one.entry) and texts.setdefault(segment, text) != text:
            known.refused.setdefault(one.machine, {})[one.entry.id] = segment
        else:
            kept.append(one)
    return kept


def _texts_of(own: FileJournal, segments: set[str]) -> dict[str, object]:
    """Return the first texts that are here of some segments; of few the others are not decoded."""
    if len(segments) > _FEW or not all(map(_PLAIN.fullmatch, segments)):
        entries = (entry for _, entry in own.read(STASH)) if segments else iter(())
    else:
        found = (mentioning(own.root, STASH, f'"segment_id":"{segment}"') for segment in sorted(segments))
        entries = chain.from_iterable(found)
    texts: dict[str, object] = {}
    for entry in entries:
        if _brings_text(entry) and _segment(entry) in segments:
            texts.setdefault(_segment(entry), entry.body["text"])
    return texts


def _read_news(
    journal: FileJournal, machine: str, before: TakenStash, mark: Mark
) -> tuple[list[_News], TakenStash]:
    """Return what a machine wrote of segments since it was last read, and how far it is read now."""
    end, order = (before.end, before.order) if journal.size(STASH) >= before.end else (0, "")
    news = []
    for number, (after, entry) in enumerate(journal.read(STASH, end)):
        end, order = after, max(order, entry.id)
        if _segment(entry):
            news.append(_News(order, machine, number, entry))
    return news, TakenStash(mark, end, order)


def _last_of_each(own: FileJournal, known: Adoption, news: Sequence[_News]) -> list[_News]:
    """Return what is new here and comes after all that is here of its segment.

    A text that arrives after what was decided of it is followed by that again.
    """
    origins, latest = _look_back(own, known, news[0].order)
    late = [one for one in news if _brings_text(one.entry) and one.order < _order(latest, one)]
    missing = {_segment(one.entry) for one in late} - _texts_here(own) if late else set[str]()
    drafts = []
    for one in news:
        segment = _segment(one.entry)
        if one.entry.id in origins:
            continue
        if one.order > _order(latest, one):
            latest[segment] = one
            drafts.append(one)
        elif segment in missing and _brings_text(one.entry):
            drafts += [one, latest[segment]]
        missing -= {segment} if _brings_text(one.entry) else set()
    return drafts


def _order(latest: Mapping[str, _News], one: _News) -> str:
    """Return the order of the last entry about the segment of an entry, "" for none."""
    last = latest.get(_segment(one.entry))
    return "" if last is None else last.order


def _brings_text(entry: Entry) -> bool:
    return bool(entry.body.get("text"))


def _texts_here(own: FileJournal) -> set[str]:
    return {_segment(entry) for _, entry in own.read(STASH) if _brings_text(entry)}


def _look_back(own: FileJournal, known: Adoption, least: str) -> tuple[set[str], dict[str, _News]]:
    """Return the ids of others' entries that are here, and by segment the last entry about it.

    What comes before `least` in the order may be left out. The last line becomes a point of `known`.
    """
    at = next((one for one in reversed(known.points) if one.order < least and _is_there(own, one)), None)
    known.points = [point for point in known.points if at is not None and point.start <= at.start]
    order, own_order = (at.order, at.own) if at is not None else ("", "")
    origins: set[str] = set()
    latest: dict[str, _News] = {}
    last = None
    for start, _, entry in own.scan(STASH, at.start if at is not None else 0):
        if not isinstance(entry, Entry):
            continue
        origin = entry.body.get(_ORIGIN)
        if isinstance(origin, dict):
            origins.add(str(origin.get("id")))
            of_entry = str(origin.get("order") or origin.get("id"))
        else:
            of_entry = own_order = max(own_order, entry.id)
        order = max(order, of_entry)
        if segment := _segment(entry):
            machine = str(origin.get("machine")) if isinstance(origin, dict) else ""
            before = latest.get(segment)
            if before is None or of_entry >= before.order:
                kept = entry if not _brings_text(entry) else replace(entry, body={})
                latest[segment] = _News(of_entry, machine, 0, kept)
        last = StashPoint(start, entry.id, order, own_order)
    if last is not None and last != at:
        known.points.append(last)
    if len(known.points) > _POINTS:
        del known.points[1 : _POINTS // 2 : 2]
    return origins, latest


def _is_there(own: FileJournal, point: StashPoint) -> bool:
    """Whether a line is where it was: a journal that was written again has others there."""
    try:
        return next((entry.id for _, entry in own.read(STASH, point.start)), "") == point.entry
    except JournalError:
        return False


def give_up_segments(state: Path) -> None:
    """Take out all that came from other machines. Raises: StoreError, StoreBusy."""
    with locks.exclusive(state / "locks" / f"{STASH}.lock", timeout=_PATIENCE):
        _rewrite(state, lambda origin, entry: None)
        (state / TEAM / _FILE).unlink(missing_ok=True)


def _follow_rewritten(state: Path, machine: str, theirs: Mapping[str, Entry]) -> None:
    """Let what came from a machine that wrote its journal again be what is in that one now."""

    def change(origin: Mapping[str, Any], entry: Entry) -> Entry | None:
        if origin.get("machine") != machine:
            return entry
        now = theirs.get(str(origin.get("id")))
        if now is None:
            return None
        order = str(origin.get("order") or now.id)
        return replace(entry, body=_body(_News(order, machine, 0, now)))

    _rewrite(state, change)


def _rewrite(state: Path, change: Callable[[Mapping[str, Any], Entry], Entry | None]) -> None:
    """Write the stash again with others' entries as `change` leaves them.

    What is made of it is to be removed, too: it would hold what is to be gone (`store.team.forgetting`).
    """
    from store.rewriting import rewrite_stream  # where that happens

    def changed(line: bytes) -> bytes | None:
        entry = decode_line(line)
        origin = entry.body.get(_ORIGIN) if isinstance(entry, Entry) else None
        if not isinstance(entry, Entry) or not isinstance(origin, dict):
            return line
        left = change(origin, entry)
        return None if left is None else line if left == entry else encode_line(left)

    rewrite_stream(state, STASH, changed, dry=False)


def _segment(entry: Entry) -> str:
    """Return the id of the segment that an entry puts or removes, empty for other entries."""
    return str(entry.body.get(_KINDS[entry.kind], "")) if entry.kind in _KINDS else ""


def _body(one: _News) -> dict[str, Any]:
    """Return the body of another machine's entry, no part of a step here, with where it comes from."""
    if _ORIGIN in one.entry.body:
        return dict(one.entry.body)  # it was taken before
    kept = {key: value for key, value in one.entry.body.items() if key != _CURATION}
    order = {"order": one.order} if one.order != one.entry.id else {}
    return {**kept, _ORIGIN: {"machine": one.machine, "id": one.entry.id, **order}}


def _read_adoption(state: Path) -> Adoption:
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        return decode_json(read_state(state / TEAM / _FILE), Adoption)
    return Adoption()
