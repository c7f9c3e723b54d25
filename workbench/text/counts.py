"""Counts, times and shares as people read them: `1 file`, `2,000 files`, `48 ms`, `14k`, `62%`."""

from __future__ import annotations

_THOUSAND = 10_000


def plural(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the plural unless it is one; `plural` is for those that take no s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def shown_bytes(count: float) -> str:
    """Return a number of bytes as people read it: `312 B`, `4.0 kB`, `1.3 GB`."""
    if count < 1000:
        return f"{count:,.0f} B"
    for unit in ("kB", "MB"):
        count /= 1000
        if count < 999.95:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:,.1f} GB"


def shown_figure(value: float) -> str:
    """Return a figure of any size in a few digits, never with an exponent: `0.0123`, `15,131`."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def percent(chance: float) -> str:
    """Return a probability in percent, never as certain or impossible: `62%`, `under 1%`, `over 99%`."""
    whole = round(chance * 100)
    return "under 1%" if whole < 1 else "over 99%" if whole > 99 else f"{whole}%"


def shorten_middle(text: str, width: int) -> str:
    """Return a text in at most `width` characters, beginning and end in view: `words of…in its path`."""
    if len(text) <= width:
        return text
    end = max((width - 1) * 2 // 3, 1)
    return f"{text[: max(width - 1 - end, 0)]}…{text[-end:]}"


def split_path(path: str, width: int) -> tuple[int, int]:
    """Return how much of a path's beginning and end `width` characters hold, with an ellipsis in between.

    Its last name is whole if it fits, and what is left is shared: paths of the same name differ by
    the folders they begin with and by those the file is in.
    """
    folder, slash, last = path.rpartition("/")
    room = width - 1 - len(slash + last)
    if not folder or room < 1:
        end = max((width - 1) * 2 // 3, 1)
        return max(width - 1 - end, 0), end
    return (room + 1) // 2, len(slash + last) + room // 2


def milliseconds(value: float) -> str:
    """Return a time for people: `0.4 ms`, `48 ms`, `1.2 s`."""
    if value >= 1000:
        return f"{value / 1000:,.1f} s"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def abbreviate(value: float, noun: str = "") -> str:
    """Return a large number for people, with a noun if one is given: `812`, `14k`, `1.2M`, `1 token`."""
    if value >= 1_000_000:
        text = f"{value / 1_000_000:.1f}M"
    else:
        text = f"{value / 1000:.0f}k" if value >= _THOUSAND else f"{value:,.0f}"
    words = (text, noun if text == "1" else f"{noun}s") if noun else (text,)
    return " ".join(words)
