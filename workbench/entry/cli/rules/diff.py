"""How changes of rules are shown: field by field, texts word by word, coloured on a terminal.

Marks as git's word diff has them, `[-gone-]{+new+}`, say the same without colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from types import MappingProxyType
from typing import Any

from workbench.curation.concurrency import writer
from workbench.entry.cli.curation import ChangeRow, ChangeView, at_text, machine_document
from workbench.entry.cli.output import Output
from workbench.rules.curation.differences import DescribedChange, FieldChange, describe_changes
from workbench.rules.files.drift import Written
from workbench.text.sanitize import visible, visible_line
from workbench.text.word_diff import Piece

_NAMES = {"rule": "text", "tool_targets": "tools", "condition_text": "condition", "conditions": "when"}
_KEPT = 60  # characters on either side of a change; more of what both have says nothing
_INDENT = "    "
_PLACE = re.compile(r"( [-+])(\d+)")


def diff_lines(out: Output, changes: Sequence[FieldChange]) -> list[str]:
    """Return lines, ready for `painted`, that say what changed."""
    lines = []
    for change in changes:
        name = _NAMES.get(change.name, change.name)
        if change.pieces:
            lines.append(f"{_INDENT}{name}: {_words(out, change.pieces)}")
        else:
            before, after = _value(change.before), _value(change.after)
            changed = f"{out.style(before, '31')} -> {out.style(after, '32')}"
            lines.append(f"{_INDENT}{name}: {changed}")
    return lines


def change_line(out: Output, entry: DescribedChange, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the line above the differences: when, who, what, which version, and why.

    `names` are those of a team's machines.
    """
    change = entry.change
    by = visible_line(writer(change.by, change.machine, names))
    rule = entry.after or entry.before
    version = "" if rule is None else f" v{rule.version}"
    why = f"  {visible_line(change.reason)}" if change.reason else ""
    instead = f" in favour of {change.successor[:13]}" if change.successor else ""
    return (
        f"{at_text(change.at)}  {by:<8}  {out.style(f'{entry.what:<9}', '1')} "
        f"{out.style(change.record_id[:13], '2')}{version}{instead}{why}"
    )


def change_document(entry: DescribedChange) -> dict[str, Any]:
    """Return a change as JSON has it."""
    rule = entry.after or entry.before
    return {
        "at": entry.change.at,
        "by": entry.change.by,
        "what": entry.what,
        "rule_id": entry.change.record_id,
        "version": None if rule is None else rule.version,
        "reason": entry.change.reason,
        "step": entry.change.step,
        "title": entry.title,
        "successor": entry.change.successor or None,
        "fields": {field.name: {"before": field.before, "after": field.after} for field in entry.fields},
        "diff": plain_words(entry.fields),
        **machine_document(entry.change),
    }


def plain_words(changes: Sequence[FieldChange]) -> str | None:
    """Return the word diff of the rule's text, None where it did not change."""
    found = next((change.pieces for change in changes if change.name == "rule"), None)
    return None if found is None else "".join(_mark(kind, text) for kind, text in found)


def _words(out: Output, pieces: Sequence[Piece]) -> str:
    shown = []
    for place, (kind, text) in enumerate(pieces):
        if kind == "same":
            shown.append(_short(visible(text), first=place == 0, last=place == len(pieces) - 1))
        else:
            shown.append(out.style(visible(_mark(kind, text)), "31" if kind == "old" else "32"))
    return "".join(shown).replace("\n", "\n" + _INDENT * 2)


def _mark(kind: str, text: str) -> str:
    return text if kind == "same" else f"[-{text}-]" if kind == "old" else f"{{+{text}+}}"


def _short(text: str, *, first: bool, last: bool) -> str:
    """Return what is near a change of a stretch that both texts have."""
    if len(text) <= 2 * _KEPT + 20:
        return text
    return ("" if first else text[:_KEPT]) + " … " + ("" if last else text[-_KEPT:])


def _value(value: object) -> str:
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, list):
        return visible_line(", ".join(map(str, value)))
    if isinstance(value, dict):
        return visible_line(
            ", ".join(
                f"{name}={item}" for name, item in value.items() if item not in ("", (), [], None, False)
            )
        )
    return visible_line(str(value))


def show_written(out: Output, written: Sequence[Written]) -> None:
    """Show what files gained and lost, and say what else is to know of them and what they could not take."""
    for item in written:
        for line in changed_lines(item.file, item.before, item.after):
            out.paint(out.style(line, line_paint(line)))
        for note in item.notes:
            out.say(f"{item.file}: {note}")
        for reason in item.refused:
            out.warn(f"{item.file}: {reason}")


def written_document(item: Written) -> dict[str, object]:
    """Return a written file as JSON has it."""
    return {
        "file": item.file,
        "diff": list(changed_lines(item.file, item.before, item.after)),
        "refused": list(item.refused),
        "notes": list(item.notes),
    }


def changed_lines(name: str, before: bytes, after: bytes) -> Iterator[str]:
    """Yield the lines that a file gains and loses, as a unified diff."""
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in line_diff(old, new, f"a/{name}", f"b/{name}"):
        yield visible_line(line)


def line_diff(old: Sequence[str], new: Sequence[str], before: str, after: str) -> Iterator[str]:
    """Yield a unified diff with one line of context; what both begin and end with is not compared again."""
    head = max(_count_shared(old, new) - 1, 0)
    old, new = old[head:], new[head:]
    tail = max(_count_shared(old[::-1], new[::-1]) - 1, 0)
    old, new = old[: len(old) - tail], new[: len(new) - tail]
    for line in unified_diff(old, new, before, after, n=1, lineterm=""):
        yield (
            _PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + head}", line) if line[:2] == "@@" else line
        )


def _count_shared(old: Sequence[str], new: Sequence[str]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def line_paint(line: str) -> str:
    """Return the colour of a line of a diff."""
    if line.startswith(("+++", "---")):
        return "1"
    return {"+": "32", "-": "31", "@": "36"}.get(line[:1], "0")


def _change_row(entry: DescribedChange) -> ChangeRow:
    rule = entry.after or entry.before
    return ChangeRow(entry.what, entry.change.record_id[:13], "" if rule is None else rule.rule)


def _change_lines(out: Output, entry: DescribedChange) -> list[str]:
    return [change_line(out, entry), *diff_lines(out, entry.fields)]


RULE_CHANGES = ChangeView(describe_changes, _change_row, _change_lines, change_document)
