"""Rule files that were written, or would be, as the lines they gain and lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from workbench.entry.cli.output import Output
from workbench.rules.files.drift import Written
from workbench.text.sanitize import visible_line


def tell_written(out: Output, written: Sequence[Written]) -> None:
    """Show what files gained and lost, and say what else is to know of them and what they could not take."""
    for item in written:
        for line in changed_lines(item.file, item.before, item.after):
            out.painted(out.style(line, line_paint(line)))
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
    for line in unified_diff(old, new, f"a/{name}", f"b/{name}", n=1, lineterm=""):
        yield visible_line(line)


def line_paint(line: str) -> str:
    """Return the colour of a line of a diff."""
    if line.startswith(("+++", "---")):
        return "1"
    return {"+": "32", "-": "31", "@": "36"}.get(line[:1], "0")
