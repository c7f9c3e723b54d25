"""The part of a rule file that is the workbench's: written between its marks, nothing else touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from workbench.errors import ParseError
from workbench.records.rules import Authority
from workbench.rules.files.edits import apply_patches
from workbench.rules.files.layout import Laid
from workbench.rules.files.placement import ManagedContent, entry_order
from workbench.rules.files.unit_edits import Parsed, Patch, parse
from workbench.rules.formats.managed import (
    ManagedEntry,
    managed_lines,
    read_entries,
    render_part,
    stray_marks,
    words_for,
)
from workbench.text.sanitize import shorten

Key = tuple[Authority, tuple[str, ...], str, str]
Anchor = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """A file with its managed part written. `data` is None for one with nothing in it any more.

    `anchors` say where the rules of the part are. Lines after line `below` moved by `moved`.
    """

    data: bytes | None
    anchors: tuple[Anchor, ...] = ()
    notes: tuple[str, ...] = ()
    below: int = 0
    moved: int = 0

    def line(self, line: int) -> int:
        """Return where a line outside of the part is now."""
        return line + self.moved if line > self.below else line


def write_managed_part(
    path: str, data: bytes | None, wanted: ManagedContent, ours: Collection[str]
) -> ExportedPart:
    """Return a file whose managed part holds what is wanted.

    `ours` are texts that the workbench put into the part; other rules in it that are not wanted were added by
    people and stay. Text in it that is no rule moves below it.
    Raises: ParseError with path and line if the file has half a part, two of them, or an open code fence.
    """
    if data is None:
        return _new_file(wanted) if wanted.entries else ExportedPart(None)
    parsed = parse(data)
    lines = parsed.lines
    part = managed_lines(lines)
    _check_marks(path, parsed)
    entries, others = read_entries(lines, part) if part else ([], [])
    texts = {entry.text for _, entry in wanted.entries}
    added = [entry for entry in entries if entry.text not in ours and entry.text not in texts]
    meant = _wanted_entries(wanted, added)
    if Counter(map(_key, entries)) == Counter(map(_key, meant)):
        return ExportedPart(data, _anchors(wanted, entries), wanted.notes)
    if part is None:
        _check_end(path, parsed)
    notes = [
        f"{path}:{entry.start + 1}: added there by hand, kept: {shorten(entry.text, 80)}" for entry in added
    ]
    notes += [f"{path}:{at + 1}: no rule, moved below the workbench's part" for at in others]
    after = apply_patches(parsed.file, [_patch(parsed, part, meant, [lines[at] for at in others])])
    return _check_part(path, parsed, part, after, meant, wanted, (*wanted.notes, *notes))


def _new_file(wanted: ManagedContent) -> ExportedPart:
    meant = _wanted_entries(wanted, [])
    gap = ("",) if wanted.head else ()
    lines = [*wanted.head, *gap, *render_part(meant)]
    data = "\n".join([*lines, ""]).encode()
    part = managed_lines(lines) or range(0)
    return ExportedPart(data, _anchors(wanted, read_entries(lines, part)[0]), wanted.notes)


def _wanted_entries(wanted: ManagedContent, added: Iterable[ManagedEntry]) -> list[ManagedEntry]:
    """Return the entries of a part in order, each once."""
    entries = {_key(entry): entry for entry in (*(entry for _, entry in wanted.entries), *added)}
    return sorted(entries.values(), key=entry_order)


def _key(entry: ManagedEntry) -> Key:
    words = words_for(entry.stated.reach) if entry.stated.reach else ""
    return entry.stated.authority or Authority.DEFAULT, entry.section, words, entry.text


def _anchors(wanted: ManagedContent, entries: Sequence[ManagedEntry]) -> tuple[Anchor, ...]:
    places = {_key(entry): (entry.start + 1, entry.end) for entry in reversed(entries)}
    return tuple((identifier, *places[_key(entry)]) for identifier, entry in wanted.entries)


def _patch(parsed: Parsed, part: range | None, meant: Sequence[ManagedEntry], others: Sequence[str]) -> Patch:
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


def _check_part(
    path: str,
    before: Parsed,
    part: range | None,
    after: bytes,
    meant: Sequence[ManagedEntry],
    wanted: ManagedContent,
    notes: tuple[str, ...],
) -> ExportedPart:
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
        return ExportedPart(None, (), notes)
    below = part.stop if part else len(before.lines)
    return ExportedPart(after, _anchors(wanted, entries), notes, below, len(parsed.lines) - len(before.lines))


def _check_marks(path: str, parsed: Parsed) -> None:
    for at in stray_marks(parsed.lines):
        raise ParseError(
            "has a comment of the workbench's part without its pair, or a second part",
            path=path,
            line=at + 1,
            hint="Remove that line, or put the other comment back: one part is between two comments.",
        )


def _check_end(path: str, parsed: Parsed) -> None:
    if any("never closed" in warning for warning in parsed.warnings):
        raise ParseError(
            "has a code fence that is never closed, so nothing can be added below it",
            path=path,
            line=len(parsed.lines),
            hint="Close the fence with a line of its own.",
        )
