"""Changes rules inside the files people wrote, and nothing else in them.

For export and curation. An edit names a unit of the file by its lines. What is written is read back before it
is returned: the rule says what was asked for, and every other unit of the file says what it said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.rules.curation.ledger import Undo
from workbench.rules.files.readback import Change, ReadBack, read_back
from workbench.rules.files.unit_edits import (
    Delete,
    Edit,
    Insert,
    Options,
    Parsed,
    Patch,
    options_for,
    parse,
    parse_again,
)
from workbench.rules.formats.textfile import TextFile, join_lines, keep_hidden
from workbench.rules.reading.imports import content_digest
from workbench.text.sanitize import is_safe

Lines = tuple[int, int]  # first and last line, 1-based and inclusive


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that can't be expressed in the file. `at` is its place among the edits, `line` the file's."""

    at: int
    line: int
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class EditResult:
    """A file after edits.

    `lines` maps the lines of each unit that stayed or was replaced to those it has now; `placed` gives the
    lines of each edit's unit, None where it was deleted or refused. `changed` are other rules that read
    differently because their introduction was edited. `notes` are sentences for people.
    """

    data: bytes
    notes: tuple[str, ...]
    lines: Mapping[Lines, Lines]
    placed: tuple[Lines | None, ...]
    changed: tuple[Change, ...]
    refused: tuple[Refused, ...]
    undo: Undo


def edit_file(data: bytes, edits: Sequence[Edit], *, path: str = "") -> EditResult:
    """Return a file with all edits made.

    Every byte outside of the edited units stays, but for the blank line that a deletion would leave doubled.
    Raises: ParseError with path, line and hint for the first edit that can't be expressed.
    """
    result = try_edits(data, edits)
    for refused in result.refused:
        raise ParseError(refused.reason, path=path, line=refused.line, hint=refused.hint)
    return result


def try_edits(data: bytes, edits: Sequence[Edit]) -> EditResult:
    """Return a file with the edits that can be expressed; `refused` names the others and why."""
    parsed = parse(data)
    refused: dict[int, Refused] = {}
    options: dict[int, Options] = {}
    taken: set[int] = set()
    for at, edit in enumerate(edits):
        try:
            found = options_for(parsed, edit)
            if found.unit is not None and found.unit in taken:
                raise ParseError("is edited twice", line=edit.line, hint="Give one edit for each rule.")
        except ParseError as error:
            refused[at] = Refused(at, error.line, error.message, error.hint)
            continue
        if found.unit is not None:
            taken.add(found.unit)
        options[at] = found
    settled, reasons = _settle(parsed, options)
    for at, reason in reasons.items():
        refused[at] = Refused(at, options[at].line, reason, _hint(reason))
    after, read = _attempt(parsed, settled)
    ordered = tuple(refused[at] for at in sorted(refused))
    notes = [*read.notes, *_remarks(edits, options, settled, read)]
    return EditResult(
        after,
        tuple(notes),
        read.lines,
        tuple(read.placed.get(at) for at in range(len(edits))),
        tuple(read.changed),
        ordered,
        undo_between(data, after),
    )


def _remarks(
    edits: Sequence[Edit], options: Mapping[int, Options], made: Mapping[int, Patch], read: ReadBack
) -> Iterator[str]:
    """Yield what an edit did otherwise than asked."""
    for at, patch in sorted(made.items()):
        edit, place = edits[at], read.placed.get(at)
        if place is None or isinstance(edit, Delete):
            continue
        if not is_safe(edit.text.replace("\r\n", "\n")):
            yield f"line {place[0]}: control characters of the rule are written as signs"
        if isinstance(edit, Insert) and patch.start != options[at].line:
            asked = options[at].line
            yield f"line {place[0]}: the new rule is here; after line {asked} it would read differently"


def undo_edits(data: bytes, undo: Undo, *, path: str = "") -> bytes:
    """Return the file as it was before an edit.

    Raises: ParseError if the file is not what the edit left.
    """
    if content_digest(data) != undo.digest:
        raise ParseError(
            "changed since the edit that is to be undone",
            path=path,
            hint="Look at `workbench rules drift` first.",
        )
    return data[: undo.offset] + undo.data + data[undo.offset + undo.length :]


def _settle(parsed: Parsed, options: Mapping[int, Options]) -> tuple[dict[int, Patch], dict[int, str]]:
    """Return a patch for each edit so that all read back well together, and why the others can't be made.

    All edits are tried at once. An edit that reads wrongly takes its next layout; where the text around
    edits reads wrongly the edits next to it are tried alone, and what then still fails by halves.
    """
    choice = dict.fromkeys(sorted(options), 0)
    reasons: dict[int, str] = {}
    alone: set[int] = set()
    while True:
        read = _attempt(parsed, {at: options[at].patches[turn] for at, turn in choice.items()})[1]
        if not read.reason:
            return {at: options[at].patches[turn] for at, turn in choice.items()}, _final(reasons, choice)
        if read.failed:
            for at, reason in read.failed.items():
                reasons.setdefault(at, reason)
                _next_layout(choice, at, options[at])
            continue
        suspects = [at for at in read.suspects if at not in alone]
        if not suspects:
            break
        for at in suspects:
            alone.add(at)
            reason = _attempt(parsed, {at: options[at].patches[choice[at]]})[1].reason
            while at in choice and reason:
                reasons.setdefault(at, reason)
                _next_layout(choice, at, options[at])
                if at in choice:
                    reason = _attempt(parsed, {at: options[at].patches[choice[at]]})[1].reason
    settled: dict[int, Patch] = {}
    reasons.update(_by_halves(parsed, options, list(choice), settled))
    return settled, _final(reasons, settled)


def _next_layout(choice: dict[int, int], at: int, options: Options) -> None:
    choice[at] += 1
    if choice[at] == len(options.patches):
        del choice[at]


def _final(reasons: Mapping[int, str], made: Mapping[int, object]) -> dict[int, str]:
    return {at: reason for at, reason in reasons.items() if at not in made}


def _by_halves(
    parsed: Parsed, options: Mapping[int, Options], group: Sequence[int], settled: dict[int, Patch]
) -> Iterator[tuple[int, str]]:
    """Settle edits that are well alone and not together, halving the group where it reads wrongly."""
    reason = _attempt(parsed, settled | {at: options[at].patches[0] for at in group})[1].reason
    if not reason:
        settled.update((at, options[at].patches[0]) for at in group)
    elif len(group) > 1:
        middle = len(group) // 2
        yield from _by_halves(parsed, options, group[:middle], settled)
        yield from _by_halves(parsed, options, group[middle:], settled)
    else:
        for patch in options[group[0]].patches[1:]:
            if not _attempt(parsed, settled | {group[0]: patch})[1].reason:
                settled[group[0]] = patch
                return
        yield group[0], reason


def _attempt(parsed: Parsed, patches: Mapping[int, Patch]) -> tuple[bytes, ReadBack]:
    data = apply_patches(parsed.file, sorted(patches.values(), key=lambda patch: (patch.start, patch.stop)))
    return data, read_back(parsed, patches, parse_again(data, parsed))


def apply_patches(file: TextFile, patches: Sequence[Patch]) -> bytes:
    """Return the file with runs of its lines replaced, in order. Lines that stay keep their bytes and end."""
    raw: list[str] = []
    ends: list[str] = []
    at = 0
    for patch in patches:
        raw.extend(file.raw[at : patch.start])
        ends.extend(file.ends[at : patch.start])
        for laid in patch.lines:
            if laid.index is None:
                raw.append(laid.text)
                ends.append(ends[-1] if ends and ends[-1] not in ("", "\r") else file.end)
            else:
                raw.append(keep_hidden(file.raw[laid.index], file.shown[laid.index], laid.text))
                ends.append(file.ends[laid.index])
        at = patch.stop
    raw.extend(file.raw[at:])
    ends.extend(file.ends[at:])
    open_ended = bool(file.ends) and file.ends[-1] in ("", "\r")
    grown = at == len(file.raw) and bool(patches) and patches[-1].lines
    for index in range(len(ends) - 1):
        if ends[index] in ("", "\r"):
            ends[index] = file.end  # was the last line without an end, and is followed by others now
    if open_ended and grown and patches[-1].lines[-1].index is None:
        ends[-1] = ""
    return join_lines(file, raw, ends)


def undo_between(before: bytes, after: bytes) -> Undo:
    """Return what takes `after` back to `before`: the bytes between what both begin and end with."""
    head = _common(before, after)
    limit = min(len(before), len(after)) - head
    tail = min(limit, _common(before[::-1], after[::-1]))
    return Undo(content_digest(after), head, len(after) - tail - head, before[head : len(before) - tail])


def _common(first: bytes, second: bytes) -> int:
    """Return how many bytes two texts begin with alike, by halving."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _hint(reason: str) -> str:
    if "no instruction" in reason:
        return "Word it as an instruction: 'Use …', 'Never …', '… must …'."
    if "introduc" in reason or "prohibit" in reason:
        return "Begin the text as it is shown, or move the rule to another section of the file."
    if "depends on it" in reason or "what is at line" in reason:
        return "The rules of that list hang together: change them in the file itself, the import follows."
    return "Word it as one paragraph without headings, lines of dashes, fences and HTML comments."
