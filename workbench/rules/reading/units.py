"""Blocks of a rule file grouped into units: each a rule or a piece of context, with its lines.

A bullet keeps its continuation lines and, if short, its sub-bullets; an introduction ("Before every commit:")
keeps the code it announces; lines of a paragraph that are sentences of their own stand alone. Every non-blank
line belongs to exactly one unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from workbench.records.dataclass import dataclass
from workbench.rules.formats.managed import Stated, managed_lines, reach_in, read_entries
from workbench.rules.formats.markdown import Block, Kind, blocks
from workbench.text.instructions import judge, negative_lead
from workbench.text.prose import bare, plain

MERGE_CHARS = 600  # a bullet with its sub-bullets up to this length is one rule
ATTACH_LINES = 16  # code up to this many lines belongs to the sentence that announces it
MAX_DEPTH = 24  # deeper nesting is not split
_LINE_START = re.compile(r"^[A-Z0-9`*\"'\[(@#]|^[^\w\s]")
_LINE_END = re.compile(r"[.!?:;]$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a rule file. `line` and `end_line` are 1-based and inclusive.

    `text` is what it says, without list and heading marks. `section` are the headings above it, outermost
    first; `lead` is the sentence that introduces the list it is in, or the head of the table. `own` is
    the beginning of `text` without sub-bullets and code. A unit that `introduces` others may say
    nothing without them. `stated` is there for what the workbench wrote: a rule as it is worded.
    """

    kind: Kind
    line: int
    end_line: int
    text: str
    section: tuple[str, ...] = ()
    lead: str = ""
    own: str = ""
    introduces: bool = False
    stated: Stated | None = None


Warnings = tuple[tuple[int, str], ...]
Headings = list[tuple[int, str]]


def split_units(lines: list[str], start: int = 0) -> tuple[tuple[Unit, ...], Warnings]:
    """Cut a file's lines from index `start` on into units, with warnings as (1-based line, message)."""
    headings: Headings = []
    part = managed_lines(lines, start)
    if part is None:
        return _split(lines, start, headings)
    above, warnings = _split(lines[: part.start], start, headings)
    below, more = _split(lines, part.stop, headings)
    return (*above, *_stated_units(lines, part), *below), (*warnings, *more)


def _stated_units(lines: Sequence[str], part: range) -> list[Unit]:
    """Return the units of what the workbench wrote: its rules as they are worded, and what is around them."""
    entries, _ = read_entries(lines, part)
    units: list[Unit] = []
    at = part.start
    for entry in entries:
        units.extend(_between(lines, at, entry.start))
        text, at = entry.text, entry.end
        place = (entry.start + 1, entry.end)
        units.append(Unit(Kind.BULLET, *place, text, entry.section, own=text, stated=entry.stated))
    return [*units, *_between(lines, at, part.stop)]


def _between(lines: Sequence[str], start: int, stop: int) -> Iterable[Unit]:
    if not any(line.strip() for line in lines[start:stop]):
        return
    for unit in _split(list(lines[start:stop]), 0, [])[0]:
        kind = Kind.TAG if reach_in(lines[unit.line - 1 + start]) else unit.kind
        yield replace(unit, kind=kind, line=unit.line + start, end_line=unit.end_line + start)


def _split(lines: list[str], start: int, headings: Headings) -> tuple[tuple[Unit, ...], Warnings]:
    """Cut lines into units. `headings` are those above, outermost first, and are brought along."""
    found, warnings = blocks(lines, start)
    units: list[Unit] = []
    lead = head = ""
    index = 0
    while index < len(found):
        block = found[index]
        section = tuple(name for _, name in headings if name)
        if block.kind is Kind.HEADING:
            headings[:] = [item for item in headings if item[0] < block.depth]
            headings.append((block.depth, plain(block.text)))
            units.append(_unit([block], section))
            lead, index = "", index + 1
        elif block.kind is Kind.BULLET:
            end = _subtree_end(found, index)
            units.extend(_bullet_units(found[index:end], section, lead, 0))
            index = end
        elif block.kind is Kind.PARAGRAPH:
            taken = _with_code(found, index)
            listed = _list_end(found, index + 1)
            lead = _lead_of(block) if taken == index + 1 else ""
            if lead and listed > taken and _one_rule(found[index:listed], section):
                units.append(_unit(found[index:listed], section))
                lead, taken = "", listed
            else:
                introduces = bool(lead) and listed > taken
                units.extend(_paragraph_units(found[index:taken], section, introduces))
            index = taken
        elif block.kind is Kind.TABLE_ROW:
            units.append(_unit([block], section, head))
            index += 1
        else:
            head = block.text if block.kind is Kind.TABLE_HEAD else ""
            units.append(_unit([block], section, lead))
            index += 1
    return tuple(units), warnings


def _unit(group: Sequence[Block], section: tuple[str, ...], lead: str = "", introduces: bool = False) -> Unit:
    first, last = group[0], group[-1]
    text = "\n".join(_as_text(block, first) for block in group)
    return Unit(first.kind, first.start + 1, last.end, text, section, lead, first.text, introduces)


def _list_end(found: Sequence[Block], index: int) -> int:
    """Return the index after the list that starts at `index`, or `index` if none does."""
    end = index
    while end < len(found) and (
        found[end].kind is Kind.BULLET
        or (
            end > index
            and found[end].kind in (Kind.PARAGRAPH, Kind.CODE)
            and found[end].indent > found[index].indent
        )
    ):
        end += 1
    return end


def _one_rule(group: Sequence[Block], section: tuple[str, ...]) -> bool:
    """Whether an introduction and its list are one instruction ("Use these tools:" and their names)."""
    if sum(len(block.text) for block in group) > MERGE_CHARS or negative_lead(group[0].text):
        return False
    if not judge(bare(group[0].text).rstrip(" :"), section).instruction:
        return False
    bullets = [block for block in group[1:] if block.kind is Kind.BULLET]
    return 2 * sum(1 for block in bullets if judge(block.text, section).instruction) < len(bullets)


def _as_text(block: Block, first: Block) -> str:
    if block is first or block.kind is Kind.CODE:
        return _dedent(block.text) if block.kind is Kind.CODE else block.text
    mark = "- " if block.kind is Kind.BULLET else ""
    return "  " * (1 if block.indent > first.indent else 0) + mark + block.text


def _dedent(text: str) -> str:
    lines = text.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _lead_of(block: Block) -> str:
    """Return a paragraph's last sentence if it introduces what follows."""
    text = plain(block.text)
    last = text.split("\n")[-1]
    if last.rstrip().endswith(":") or negative_lead(last):
        return last
    return ""


def _with_code(found: Sequence[Block], index: int) -> int:
    """Return the end of the group of a paragraph and the short code or quote it announces."""
    block = found[index]
    after = index + 1
    if after >= len(found) or found[after].kind is not Kind.CODE:
        return after
    announces = bare(block.text).rstrip(" *_").endswith((":", "`", "with", "run", "using")) or (
        found[after].start == block.end
    )
    short = found[after].end - found[after].start <= ATTACH_LINES
    return after + 1 if announces and short and judge(block.text).instruction else after


def _paragraph_units(group: Sequence[Block], section: tuple[str, ...], introduces: bool) -> list[Unit]:
    block = group[0]
    lines = block.text.split("\n")
    if len(group) > 1 or not _separate_lines(lines):
        return [_unit(group, section, introduces=introduces)]
    last = len(lines) - 1
    return [
        Unit(
            block.kind,
            block.start + 1 + at,
            block.start + 1 + at,
            text,
            section,
            own=text,
            introduces=introduces and at == last,
        )
        for at, text in enumerate(lines)
    ]


def _separate_lines(lines: list[str]) -> bool:
    """Whether the lines of a paragraph are sentences of their own, not one text wrapped."""
    if len(lines) < 2 or not all(line and _LINE_START.match(line) for line in lines):
        return False
    ended = sum(1 for line in lines[:-1] if _LINE_END.search(line) or len(line) < 60)
    return 2 * ended >= len(lines) - 1


def _subtree_end(found: Sequence[Block], index: int) -> int:
    """Return the index after the blocks that are indented below the bullet at `index`."""
    inside = (Kind.BULLET, Kind.PARAGRAPH, Kind.CODE, Kind.TABLE_HEAD, Kind.TABLE_ROW, Kind.COMMENT, Kind.TAG)
    end = index + 1
    while end < len(found) and found[end].kind in inside and found[end].indent > found[index].indent:
        end += 1
    return end


def _bullet_units(tree: Sequence[Block], section: tuple[str, ...], lead: str, depth: int) -> list[Unit]:
    """Return the units of a bullet and what is indented below it: one, or the bullet and its children."""
    own = 1
    while own < len(tree) and tree[own].kind is not Kind.BULLET and _belongs(tree[own]):
        own += 1
    if own == len(tree) or depth >= MAX_DEPTH or _stays_whole(tree, section):
        return [_unit(tree, section, lead)]
    introduces = bare(tree[0].text).rstrip().endswith(":")
    units = [_unit(tree[:own], section, lead, introduces)]
    text = plain(tree[0].text)
    below = text if introduces else lead
    if negative_lead(lead) and below is text:
        below = f"{lead} {text}"
    index = own
    while index < len(tree):
        if tree[index].kind is Kind.BULLET:
            end = _subtree_end(tree, index)
            units.extend(_bullet_units(tree[index:end], section, below, depth + 1))
            index = end
        else:
            units.append(_unit([tree[index]], section, below))
            index += 1
    return units


def _belongs(block: Block) -> bool:
    return block.kind is not Kind.CODE or block.end - block.start <= ATTACH_LINES


def _stays_whole(tree: Sequence[Block], section: tuple[str, ...]) -> bool:
    """Whether sub-bullets elaborate their bullet rather than being rules of their own."""
    if sum(len(block.text) for block in tree) > MERGE_CHARS:
        return False
    children = [block for block in tree[1:] if block.kind is Kind.BULLET]
    instructing = sum(1 for block in children if judge(block.text, section).instruction)
    if bare(tree[0].text).rstrip().endswith(":") or not judge(tree[0].text, section).instruction:
        return 2 * instructing < len(children)
    return True
