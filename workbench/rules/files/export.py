"""Rules written to the files of another agent: what is exported where, and what those files say afterwards.

Rules in a file of the target stay there and are edited in place. Rules from elsewhere go into the
parts and files that the workbench keeps: one part at the end of a single file, or one file for each way that
rules apply. Pure: callers read the files and write what comes back. A second export changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.errors import ParseError, UsageError
from workbench.records.rules import Authority, Rule
from workbench.rules.files.edits import apply_patches, try_edits
from workbench.rules.files.head_edits import rescope_file
from workbench.rules.files.layout import Laid
from workbench.rules.files.placement import TARGETS, ManagedContent, Target, entry_order, place
from workbench.rules.files.unit_edits import Delete, Edit, Parsed, Patch, Replace, as_written, parse
from workbench.rules.formats.families import IMPORTING, family_of
from workbench.rules.formats.managed import (
    ManagedEntry,
    managed_lines,
    read_entries,
    render_part,
    stray_marks,
    words_for,
)
from workbench.rules.formats.markdown import Kind
from workbench.rules.reading.construction import PROSE, rule_text
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import imported_paths
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


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of the target. `data` is None for a file that is to be removed, `before` for a new one.

    `anchors` (rule id, first line, last line) say where each rule is in it now, in order of lines.
    `notes` are sentences for people: what could not be written as it is, and why.
    """

    path: str
    before: bytes | None
    data: bytes | None
    anchors: tuple[Anchor, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is something to write."""
        return self.data != self.before


def export_files(
    rules: Sequence[Rule],
    target: str,
    existing: Mapping[str, bytes],
    *,
    anchors: Mapping[str, Sequence[Anchor]] | None = None,
    removed: Collection[str] = (),
    directories: Collection[str] | None = None,
    include_home: bool = False,
) -> tuple[ExportedFile, ...]:
    """Return the files of a target with these rules in them, in order of their paths.

    `existing` are files by project-relative path, of which the target's are looked at; `anchors` say which
    rules stand in them, copies that an earlier export made included (rules imported from a file are found in
    it by their words, too); `removed` are ids whose lines are to go.
    Without `directories` (the project's) any directory may get a nested file. Rules of the user's home stay
    out unless asked for, and so do disabled rules and those for other tools; none of them leaves a place that
    people gave it. Rules of a file that the target's file pulls in (`@AGENTS.md`) are there already.
    Raises: UsageError for an unknown target; ParseError with path and line where a file can't be added to.
    """
    kind = TARGETS.get(target)
    if kind is None:
        raise UsageError(f"nothing exports to {target!r}", hint=f"Use one of: {', '.join(sorted(TARGETS))}.")
    known = {rule.id: rule for rule in rules}
    by_file = _by_file(known.values())
    drafts = {
        path: _in_place(
            path, data, (anchors or {}).get(path, ()), by_file.get(path, ()), known, frozenset(removed)
        )
        for path, data in sorted(existing.items())
        if is_of(path, kind)
    }
    there = {identifier for draft in drafts.values() for identifier, _, _ in draft.own}
    read = {other for path, draft in drafts.items() for other in _pulled_in(path, draft.data)}
    there.update(rule.id for path in read - drafts.keys() for rule in by_file.get(path, ()))
    said = {_statement(known[identifier]) for identifier in there}
    going = [
        rule
        for rule in known.values()
        if rule.id not in there
        and _statement(rule) not in said
        and _exportable(rule, kind, drafts, include_home=include_home)
    ]
    wanted = place(going, kind, {path: draft.data for path, draft in drafts.items()}, directories)
    return tuple(
        _finish(path, drafts.get(path), wanted.get(path, ManagedContent()))
        for path in sorted({*drafts, *wanted})
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A file whose own rules are brought up to date. `copies` are texts in it that an export wrote."""

    before: bytes
    data: bytes
    own: tuple[Anchor, ...]
    copies: frozenset[str]
    notes: tuple[str, ...]


def is_of(path: str, kind: Target) -> bool:
    """Whether a file is one of a target's, by its path."""
    found = family_of(path)
    return found is not None and found[0].name in kind.families


def _pulled_in(path: str, data: bytes) -> tuple[str, ...]:
    """Return the files that the agent reads because this one names them: their rules need no second place."""
    found = family_of(path)
    if found is None or found[0].name not in IMPORTING or b"@" not in data:
        return ()
    return imported_paths(RuleSource(path, found[0].name, path, found[1]), parse(data).units)


def _by_file(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Return rules by the files they were imported from, under all names of those."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.provenance is not None:
            for name in dict.fromkeys((rule.provenance.file, *rule.provenance.names)):
                found.setdefault(name, []).append(rule)
    return found


def _in_place(
    path: str,
    data: bytes,
    anchors: Sequence[Anchor],
    here: Sequence[Rule],
    known: Mapping[str, Rule],
    removed: frozenset[str],
) -> _Draft:
    """Edit the rules in a file outside of the managed part."""
    parsed = parse(data)
    part = managed_lines(parsed.lines) or range(0)
    anchors = [*anchors, *_find_unanchored(parsed, {anchor[0] for anchor in anchors}, here)]
    own = [anchor for anchor in anchors if anchor[1] - 1 not in part]
    stay = [anchor for anchor in own if anchor[0] in known]
    edits = list(_edits(parsed, own, known, removed))
    result = try_edits(data, [edit for _, edit in edits])
    refused = [
        f"{path}:{one.line}: rule {edits[one.at][0]} stays as it is: {one.reason}" for one in result.refused
    ]
    lines = [
        (identifier, *result.lines.get((line, end_line), (line, end_line)))
        for identifier, line, end_line in stay
    ]
    after, moved, notes = rescope_file(path, result.data, [known[identifier] for identifier, _, _ in lines])
    texts = {(unit.line, unit.end_line): unit.text for unit in parsed.units if unit.stated is not None}
    copies = frozenset(texts[line, end] for _, line, end in anchors if (line, end) in texts)
    return _Draft(
        data,
        after,
        tuple((identifier, line + moved, end + moved) for identifier, line, end in lines),
        copies,
        (*refused, *(f"{path}: {note}" for note in result.notes), *notes),
    )


def _find_unanchored(parsed: Parsed, anchored: Collection[str], here: Iterable[Rule]) -> Iterable[Anchor]:
    """Yield where rules are that were imported from this file, or from one like it, and have no anchor."""
    missing = [rule for rule in here if rule.id not in anchored]
    if not missing:
        return
    places: dict[str, list[tuple[int, int]]] = {}
    for unit in parsed.units:
        if unit.kind in PROSE or unit.kind is Kind.TABLE_ROW:
            places.setdefault(_normal(rule_text(unit)), []).append((unit.line, unit.end_line))
    for rule in missing:
        lines = places.get(_normal(as_written(rule.rule)), [])
        where = rule.provenance
        if lines and where is not None:
            place = (where.line, where.end_line)
            yield (rule.id, *(place if place in lines else lines[0]))


def _edits(
    parsed: Parsed, own: Iterable[Anchor], known: Mapping[str, Rule], removed: frozenset[str]
) -> Iterable[tuple[str, Edit]]:
    """Yield (rule id, edit) for the rules that read differently now, or are to go."""
    seen: set[tuple[int, int]] = set()
    for identifier, line, end_line in own:
        at = parsed.by_lines.get((line, end_line))
        if (line, end_line) in seen:
            continue  # two rules with the same words are in one place
        seen.add((line, end_line))
        if identifier in known:
            text = known[identifier].rule
            if at is None or _normal(rule_text(parsed.units[at])) != _normal(as_written(text)):
                yield identifier, Replace(line, end_line, text)
        elif identifier in removed and at is not None:
            yield identifier, Delete(line, end_line)


def _exportable(rule: Rule, kind: Target, files: Collection[str], *, include_home: bool) -> bool:
    """Whether a rule that has no place of its own in the target's files gets one."""
    where = rule.provenance
    if not as_written(rule.rule) or (where is not None and where.home and not include_home):
        return False
    if not rule.enabled and (where is None or where.file not in files):
        return False
    tools = {tool.casefold().replace("_", "-") for tool in rule.tool_targets}
    return not tools or not tools.isdisjoint(kind.tools)


def _statement(rule: Rule) -> tuple[str, tuple[str, ...]]:
    return _normal(rule.rule), tuple(sorted(rule.scope))


def _normal(text: str) -> str:
    return " ".join(text.split())


def _finish(path: str, draft: _Draft | None, wanted: ManagedContent) -> ExportedFile:
    """Write the managed part of a file and say where everything is."""
    if draft is None:
        part = write_managed_part(path, None, wanted, ())
        return ExportedFile(path, None, part.data, part.anchors, part.notes)
    part = write_managed_part(path, draft.data, wanted, draft.copies)
    own = [(identifier, part.line(line), part.line(end)) for identifier, line, end in draft.own]
    anchors = (
        () if part.data is None else sorted([*own, *part.anchors], key=lambda found: (found[1], found[0]))
    )
    return ExportedFile(path, draft.before, part.data, tuple(anchors), (*draft.notes, *part.notes))
