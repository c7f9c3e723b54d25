"""The nearest known name to one that is not known: one place for every "did you mean".

`suggest` is generous, for names that are refused anyway: settings, commands, values of an enumeration.
`near_miss` is strict, for places where any name is allowed and only slips of the pen shall be pointed out.
"""

from __future__ import annotations

from collections.abc import Iterable

CUTOFF = 0.6  # share of characters two names have in common, as difflib counts it
_CONSIDERED = 5


def suggest(value: str, choices: Iterable[str], *, cutoff: float = CUTOFF) -> str:
    """Return the choice nearest to a value, or ''.

    Case and outer blanks don't count. A choice that begins with the value, three characters or more, comes
    before one that only resembles it. Of equally near ones the first in the order of `choices` is taken.
    """
    from difflib import get_close_matches

    by_name: dict[str, str] = {}
    for choice in choices:
        by_name.setdefault(choice.casefold(), choice)
    wanted = value.strip().casefold()
    if wanted in by_name:
        return by_name[wanted]
    begun = [name for name in by_name if len(wanted) >= 3 and name.startswith(wanted)]
    if len(begun) == 1:
        return by_name[begun[0]]
    close = get_close_matches(wanted, list(by_name), n=_CONSIDERED, cutoff=cutoff)
    if not close:
        return ""
    best = edits(wanted, close[0])  # difflib's order, unless another of its choices needs fewer edits
    nearest = min(close, key=lambda name: (edits(wanted, name), close.index(name)))
    return by_name[nearest if edits(wanted, nearest) < best else close[0]]


def did_you_mean(value: str, choices: Iterable[str], otherwise: str = "") -> str:
    """Return a hint, `Did you mean python?`, or `otherwise` where nothing is near."""
    found = suggest(value, choices)
    return f"Did you mean {found}?" if found else otherwise


def near_miss(value: str, choices: Iterable[str]) -> str:
    """Return the choice that a value is a misspelling of, or ''; a choice itself is no misspelling.

    Up to three characters only two neighbours may have changed places (`gti`), up to five characters one
    edit counts as a slip, from six on two do: short names that differ by a letter are mostly different names
    (`npm`, `npx`).
    """
    known = list(choices)
    if value in known:
        return ""
    ranked = [(edits(value, choice), choice) for choice in known if _slips(value, choice)]
    return min(ranked, key=lambda item: item[0])[1] if ranked else ""


def _slips(value: str, choice: str) -> bool:
    length = min(len(value), len(choice))
    if length <= 3:
        return len(value) == len(choice) and sorted(value) == sorted(choice) and edits(value, choice) == 1
    allowed = 1 if length <= 5 else 2
    return abs(len(value) - len(choice)) <= allowed and edits(value, choice) <= allowed


def edits(left: str, right: str) -> int:
    """Return the optimal string alignment distance: inserts, deletions, substitutions, neighbours swapped.

    Source: Damerau (1964), restricted so that no substring is edited twice.
    """
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (char != other),
            )
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
