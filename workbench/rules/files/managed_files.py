"""The managed part of one file brought up to date; all else in the file stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from workbench.errors import ParseError
from workbench.records.rules import Authority
from workbench.rules.files.editing import apply_patches
from workbench.rules.files.editing_units import Parsed, Patch, parse
from workbench.rules.files.layout import Laid
from workbench.rules.files.placement import Wanted, entry_order
from workbench.rules.formats.managed import (
    Entry,
    managed_lines,
    read_entries,
    render_part,
    stray_marks,
    words_for,
)
from workbench.text.sanitize import visible_line

Key = tuple[Authority, tuple[str, ...], str, str]
Anchor = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """A file with its managed part written. `data` is None for one with nothing in it any more.

    `anchors` say where the rules of the part stand. Lines after line `below` moved by `moved`.
    """

    data: bytes | None
    anchors: tuple[Anchor, ...] = ()
    notes: tuple[str, ...] = ()
    below: int = 0
    moved: int = 0

    def line(self, line: int) -> int:
        """Return where a line outside of the part stands now."""
        return line + self.moved if line > self.below else line


def write_part(path: str, data: bytes | None, wanted: Wanted, ours: Collection[str]) -> Part:
    """Return a file whose managed part holds what is wanted.

    `ours` are texts that the workbench put into the part; other rules in it that are not wanted were added by
    people and stay. Text in it that is no rule moves below it.
    Raises: ParseError with path and line if the file has half a part, two of them, or an open code fence.
    """
    if data is None:
        return _new_file(wanted) if wanted.entries else Part(None)
    parsed = parse(data)
    lines = parsed.lines
    part = managed_lines(lines)
    _check_marks(path, parsed)
    entries, others = read_entries(lines, part) if part else ([], [])
    texts = {entry.text for _, entry in wanted.entries}
    added = [entry for entry in entries if entry.text not in ours and entry.text not in texts]
    meant = _meant(wanted, added)
    if Counter(map(_key, entries)) == Counter(map(_key, meant)):
        return Part(data, _anchors(wanted, entries), wanted.notes)
    if part is None:
        _check_end(path, parsed)
    notes = [f"{path}:{entry.start + 1}: added there by hand, kept: {_short(entry.text)}" for entry in added]
    notes += [f"{path}:{at + 1}: no rule, moved below the workbench's part" for at in others]
    after = apply_patches(parsed.file, [_patch(parsed, part, meant, [lines[at] for at in others])])
    return _checked(path, parsed, part, after, meant, wanted, (*wanted.notes, *notes))


def _new_file(wanted: Wanted) -> Part:
    meant = _meant(wanted, [])
    gap = ("",) if wanted.head else ()
    lines = [*wanted.head, *gap, *render_part(meant)]
    data = "\n".join([*lines, ""]).encode()
    part = managed_lines(lines) or range(0)
    return Part(data, _anchors(wanted, read_entries(lines, part)[0]), wanted.notes)


def _meant(wanted: Wanted, added: Iterable[Entry]) -> list[Entry]:
    """Return the entries of a part in order, each once."""
    entries = {_key(entry): entry for entry in (*(entry for _, entry in wanted.entries), *added)}
    return sorted(entries.values(), key=entry_order)


def _key(entry: Entry) -> Key:
    words = words_for(entry.stated.reach) if entry.stated.reach else ""
    return entry.stated.authority or Authority.DEFAULT, entry.section, words, entry.text


def _anchors(wanted: Wanted, entries: Sequence[Entry]) -> tuple[Anchor, ...]:
    places = {_key(entry): (entry.start + 1, entry.end) for entry in reversed(entries)}
    return tuple((identifier, *places[_key(entry)]) for identifier, entry in wanted.entries)


def _patch(parsed: Parsed, part: range | None, meant: Sequence[Entry], others: Sequence[str]) -> Patch:
    """Return what replaces the part, or adds it at the end; without rules the part goes."""
    lines = parsed.lines
    rendered = render_part(meant) if meant else []
    if part is None:
        gap = [""] if lines and lines[-1].strip() else []
        return Patch(len(lines), len(lines), tuple(Laid(line) for line in (*gap, *rendered)), None)
    start, stop = part.start, part.stop
    if not rendered and start > parsed.front.body_start and not lines[start - 1].strip():
        start -= 1
    moved = ["", *others] if others else []
    return Patch(start, stop, tuple(Laid(line) for line in (*rendered, *moved)), None)


def _checked(
    path: str,
    before: Parsed,
    part: range | None,
    after: bytes,
    meant: Sequence[Entry],
    wanted: Wanted,
    notes: tuple[str, ...],
) -> Part:
    """Read the written file again. Raises: ParseError if it doesn't say what was meant."""
    parsed = parse(after)
    now = managed_lines(parsed.lines)
    entries = read_entries(parsed.lines, now)[0] if now else []
    if [_key(entry) for entry in entries] != [_key(entry) for entry in meant]:
        raise ParseError(
            "its managed part would not read back as written",
            path=path,
            line=part.start + 1 if part else len(before.lines),
            hint="Move that part to the end of the file, after a blank line.",
        )
    body = parsed.lines[parsed.front.body_start :]
    if part is not None and not any(line.strip() for line in body):
        return Part(None, (), notes)
    below = part.stop if part else len(before.lines)
    return Part(after, _anchors(wanted, entries), notes, below, len(parsed.lines) - len(before.lines))


def _check_marks(path: str, parsed: Parsed) -> None:
    for at in stray_marks(parsed.lines):
        raise ParseError(
            "has a comment of the workbench's part that stands alone",
            path=path,
            line=at + 1,
            hint="Remove that line, or put the other comment back: the part is between two of them.",
        )


def _check_end(path: str, parsed: Parsed) -> None:
    if any("never closed" in warning for warning in parsed.warnings):
        raise ParseError(
            "has a code fence that is never closed, so nothing can be added below it",
            path=path,
            line=len(parsed.lines),
            hint="Close the fence with a line of its own.",
        )


def _short(text: str) -> str:
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= 80 else line[:79] + "…"
