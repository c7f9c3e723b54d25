"""What a text must have for each shape of secret to match in it: `python -m bench.secret_hints` writes it.

Derived from the parsed expressions: strings that every way through an expression reads, and how long a run of
letters, digits, `_` and `-` it reads in one go. A test compares what is written with what this derives.
"""

from __future__ import annotations

import json
import re._constants as kinds  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from workbench.places import data_file
from workbench.text.secret_hints import HINTS
from workbench.text.secret_values import EXPRESSION, secret_shapes

Group = frozenset[str]
"""Strings of which one is in every text that matches."""

PAIRS: Final = "pairs"
_MOST: Final = 12  # strings that a class of characters or a choice may stand for
_WORDY: Final = frozenset(map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"))
_REPEATS: Final = (kinds.MAX_REPEAT, kinds.MIN_REPEAT)


def derive() -> dict[str, list[tuple[int, list[list[str]]]]]:
    """Return (run, groups) of each shape by table."""
    tables: Mapping[str, Sequence[str]] = {
        **{
            table: [shape.expression for shape in secret_shapes(table)]
            for table in ("tokens", "places", "commands")
        },
        PAIRS: [EXPRESSION],
    }
    return {
        table: [_hint(parser.parse(expression)) for expression in expressions]
        for table, expressions in tables.items()
    }


def _hint(parsed: Iterable[Any]) -> tuple[int, list[list[str]]]:
    groups = sorted(set(_groups(parsed)), key=lambda group: (-_worth(group), sorted(group)))
    return _run(parsed), [sorted(group) for group in groups if "" not in group]


def _worth(group: Group) -> float:
    """Return how seldom a group is in a text: by its shortest string."""
    return min(map(len, group)) - len(group) / 100


def _groups(parsed: Iterable[Any]) -> list[Group]:
    """Return groups that a sequence needs, all of them."""
    found: list[Group] = []
    run: Group = frozenset({""})
    for kind, value in [*parsed, (kinds.AT, None)]:
        texts = _texts(kind, value)
        if texts is not None and len(texts) * len(run) <= _MOST:
            run = frozenset(left + right for left in run for right in texts)
            continue
        found.append(run)
        run = frozenset({""}) if texts is None else texts
        if kind in _REPEATS and value[0] > 0:
            found += _groups(value[2])
        elif kind is kinds.SUBPATTERN:
            found += _groups(value[3])
        elif kind is kinds.BRANCH:
            found.append(_choice(value[1]))
    found.append(run)
    return [group for group in found if "" not in group]


def _choice(ways: Iterable[Any]) -> Group:
    """Return the group that a choice needs: the best one of each way, one of nothing if a way needs none."""
    found: set[str] = set()
    for way in ways:
        best = max(_groups(way), key=lambda group: (_worth(group), sorted(group)), default=frozenset({""}))
        found |= best
    return frozenset(found)


def _texts(kind: Any, value: Any) -> Group | None:
    """Return the strings, in lower case, that a part stands for, None if these are not few."""
    if kind is kinds.LITERAL:
        return frozenset({chr(value).lower()})
    if kind is kinds.IN and all(one[0] is kinds.LITERAL for one in value) and len(value) <= _MOST:
        return frozenset(chr(one[1]).lower() for one in value)
    if kind is kinds.SUBPATTERN:
        return _join(value[3])
    if kind is kinds.BRANCH:
        ways = [_join(way) for way in value[1]]
        texts = frozenset(text for way in ways if way is not None for text in way)
        return texts if None not in ways and len(texts) <= _MOST else None
    return None


def _join(parsed: Iterable[Any]) -> Group | None:
    joined: Group = frozenset({""})
    for kind, value in parsed:
        texts = _texts(kind, value)
        if texts is None or len(texts) * len(joined) > _MOST:
            return None
        joined = frozenset(left + right for left in joined for right in texts)
    return joined


def _run(parsed: Iterable[Any]) -> int:
    """Return how many letters, digits, `_` and `-` every match reads at least without a break."""
    best = 0
    for kind, value in parsed:
        if kind in _REPEATS and len(value[2]) == 1 and _is_wordy(*value[2][0]):
            best = max(best, value[0])
        elif kind in _REPEATS and value[0] > 0:
            best = max(best, _run(value[2]))
        elif kind is kinds.SUBPATTERN:
            best = max(best, _run(value[3]))
        elif kind is kinds.BRANCH:
            best = max(best, min(map(_run, value[1])))
    return best


def _is_wordy(kind: Any, value: Any) -> bool:
    """Whether a part reads one of those characters and nothing else."""
    if kind is kinds.LITERAL:
        return value in _WORDY
    if kind is not kinds.IN:
        return False
    for one, held in value:
        inside = (
            held in _WORDY
            if one is kinds.LITERAL
            else _WORDY.issuperset(range(held[0], held[1] + 1))
            if one is kinds.RANGE
            else one is kinds.CATEGORY and held in (kinds.CATEGORY_WORD, kinds.CATEGORY_DIGIT)
        )
        if not inside:
            return False
    return True


def main() -> None:
    """Write the file."""
    path = Path(str(data_file("workbench.text", HINTS)))
    path.write_text(render(), encoding="utf-8")


def render() -> str:
    """Return the file's text: a line for each shape."""
    tables = ",\n".join(
        f" {json.dumps(table)}: [\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for table, rows in derive().items()
    )
    return f"{{\n{tables}\n}}\n"


if __name__ == "__main__":
    main()
