"""Whether an edited rule file reads as it was meant to: the check before anything is written."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field

from workbench.records.dataclass import dataclass
from workbench.rules.files.unit_edits import Parsed, Patch
from workbench.rules.formats.markdown import Kind
from workbench.rules.reading.construction import is_rule, rule_text, why_no_rule
from workbench.rules.reading.units import Unit


@dataclass(frozen=True, slots=True)
class Change:
    """A rule that was not edited and reads differently, at this line of the edited file.

    `before` is empty for an introduction that reads as a rule now that its list is gone, `after` for a rule
    that became part of the one before it.
    """

    line: int
    before: str
    after: str


@dataclass(slots=True)
class ReadBack:
    """What an edited file says. `reason` is why it is not what was meant, empty if it is.

    `failed` are the reasons of edits whose own unit reads wrongly; where another unit does, `suspects` are
    the edits before and after it. `lines` and `placed` give where units stand now, by their lines before and
    by the edit's number.
    """

    reason: str = ""
    failed: dict[int, str] = field(default_factory=dict)
    suspects: tuple[int, ...] = ()
    notes: list[str] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    lines: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    placed: dict[int, tuple[int, int]] = field(default_factory=dict)


_WORDS = re.compile(r"\w+")
_SPLIT = "would be split up, or run together with the text around it"
Expected = tuple[Unit | None, int | None, Patch | None]


def read_back(before: Parsed, patches: Mapping[int, Patch], after: Parsed) -> ReadBack:
    """Compare the units of an edited file with those it should have. `patches` are by the edit's number."""
    result = ReadBack()
    if after.front.fields != before.front.fields:
        result.reason = "would change the front matter"
        return result
    if Counter(after.warnings) - Counter(before.warnings):
        result.reason = "would leave a code fence or the front matter open"
        return result
    expected = list(_expect(before, patches))
    regroup = any(patch.regroup for patch in patches.values())
    index = 0
    for number, found in enumerate(after.units):
        if index == len(expected):
            result.reason = _SPLIT if number < len(after.units) else ""
            break
        unit, at, patch = expected[index]
        index += 1
        if at is not None and patch is not None and patch.text is not None:
            reason = _check_edited(unit, at, patch.text, found, result)
            if reason:
                result.failed[at] = reason
        elif unit is not None:
            result.reason = _check_same(unit, found, result)
            together = _together(expected, index - 1, found) if result.reason and regroup else []
            if together:
                result.reason = _regroup(together, found, result)
                index += len(together) - 1
            if result.reason:
                result.suspects = _around(patches, unit.line)
                break
    if not result.reason and index < len(expected):
        result.reason = _SPLIT
    if result.reason == _SPLIT:
        result.suspects = _around(patches, len(before.lines) + 1)
    result.reason = next(iter(result.failed.values()), result.reason)
    return result


def _together(expected: list[Expected], index: int, found: Unit) -> list[Unit]:
    """Return the units from `index` on that a unit of the edited file holds all the words of, in order."""
    words = _WORDS.findall(found.text)
    group: list[Unit] = []
    said: list[str] = []
    for unit, at, _ in expected[index:]:
        if unit is None or at is not None or len(said) >= len(words):
            break
        group.append(unit)
        said += _WORDS.findall(unit.text)
    return group if len(group) > 1 and said == words else []


def _regroup(group: list[Unit], found: Unit, result: ReadBack) -> str:
    """Take note that units read as one now; return why that is not to be if rules would get lost."""
    rules = [unit for unit in group if is_rule(unit)]
    if rules and not is_rule(found):
        return f"the rule at line {rules[0].line} depends on it and would no longer read as one"
    after = rule_text(found) if is_rule(found) else ""
    for at, unit in enumerate(rules):
        result.changed.append(Change(found.line, rule_text(unit), "" if at else after))
    if after and not rules:
        result.changed.append(Change(found.line, "", after))
    if rules:
        result.notes.append(f"line {found.line}: now reads as one rule: {_short(after)!r}")
    result.lines.update({(unit.line, unit.end_line): (found.line, found.end_line) for unit in group})
    return ""


def _around(patches: Mapping[int, Patch], line: int) -> tuple[int, ...]:
    """Return the edits before and after a line, which may have changed how it reads."""
    ordered = sorted((patch.start, at) for at, patch in patches.items())
    place = bisect_left(ordered, (line, -1))
    return tuple(at for _, at in ordered[max(0, place - 1) : place + 1])


def _expect(before: Parsed, patches: Mapping[int, Patch]) -> Iterator[Expected]:
    """Yield the units that should be there, in order: (unit as it was, edit's number, its patch)."""
    edited = {patch.unit: (at, patch) for at, patch in patches.items() if patch.unit is not None}
    inserted: dict[int, list[tuple[int, Patch]]] = {}
    for at, patch in sorted(patches.items(), key=lambda item: (item[1].start, item[1].stop)):
        if patch.unit is None:
            inserted.setdefault(patch.before, []).append((at, patch))
    for index, unit in enumerate((*before.units, None)):
        for at, patch in inserted.get(index, ()):
            yield None, at, patch
        if unit is None:
            return
        if index not in edited:
            yield unit, None, None
        elif edited[index][1].text is not None:
            yield unit, *edited[index]


def _check_edited(unit: Unit | None, at: int, text: str, found: Unit, result: ReadBack) -> str:
    """Return why an edited unit does not read as it should, '' if it does."""
    says = rule_text(found)
    if " ".join(says.split()) != " ".join(text.split()):
        if says.endswith(text) or text.endswith(says):
            return f"would read {_short(says)!r} there, after what introduces or prohibits it"
        return f"would read {_short(says)!r} there"
    if not is_rule(found):
        return f"reads as no instruction there and would not be imported as a rule: {why_no_rule(found)}"
    if says != text:
        result.notes.append(f"line {found.line}: line breaks and spaces of the rule changed")
    if unit is not None:
        result.lines[unit.line, unit.end_line] = (found.line, found.end_line)
    result.placed[at] = (found.line, found.end_line)
    return ""


def _check_same(unit: Unit, found: Unit, result: ReadBack) -> str:
    """Return why a unit that was not edited is another one now, '' if it is the same."""
    if unit.kind is not found.kind or unit.text != found.text or unit.own != found.own:
        return f"would change what is at line {unit.line}"
    result.lines[unit.line, unit.end_line] = (found.line, found.end_line)
    if (unit.lead, unit.section, unit.introduces) == (found.lead, found.section, found.introduces):
        return ""
    was, stays = is_rule(unit), is_rule(found)
    if was and not stays and unit.kind is not Kind.HEADING:
        return f"the rule at line {unit.line} depends on it and would no longer read as one"
    before, after = rule_text(unit), rule_text(found)
    if stays and (not was or before != after):
        result.changed.append(Change(found.line, before if was else "", after))
        result.notes.append(f"line {found.line}: now reads {_short(after)!r}")
    return ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
