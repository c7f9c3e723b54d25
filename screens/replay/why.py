"""Why a file stands where it stands in a system's ranking for a task, in words. Pure.

What is said rests on what the replay kept: places, contributions, the pack. Contributions of a file that it
did not keep can be computed again (see `again`), then they are said as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from screens.replay.sides import TOP, RankRow, Side, rest_of
from screens.widgets.bars import Contribution

if TYPE_CHECKING:
    from workbench.records.replay import TaskRow

WEIGHS_NOTHING: Final = {
    "baseline": "It orders files by the kind of task alone and weighs no features.",
    "bm25": "It orders files by one score, of the task's words in theirs, and weighs no features.",
    "vector": "It orders files by one score, of past tasks of like meaning, and weighs no features.",
}
_NAMED: Final = 3
_FULL: Final = 0.9
"""The share of its budget from which a pack is full."""

Parts = Mapping[str, float]


def kind_of(system: str) -> str:
    """Return what a system is but for the share of its budget."""
    return system.partition("@")[0]


def weighs(system: str) -> bool:
    """Whether a system's scores are sums of features."""
    return kind_of(system) not in WEIGHS_NOTHING


def contributions(row: TaskRow, system: str, path: str, again: Mapping[str, Parts]) -> Parts:
    """Return what features add to a file's score: as computed again, else as kept, else nothing."""
    if path in again:
        return again[path]
    did = row.systems.get(system)
    return {} if did is None else did.contributions.get(path, {})


def bars(parts: Parts, *, whole: bool) -> tuple[list[Contribution], float | None]:
    """Return the rows of `FeatureBars` and their total; None if the smaller ones were not kept."""
    rows = [Contribution(name, value) for name, value in parts.items()]
    return rows, sum(parts.values()) if rows and whole else None


def why(
    row: TaskRow, side: Side, one: RankRow, budget: int | None, again: Mapping[str, Parts]
) -> tuple[tuple[str, str], ...]:
    """Return sentences about a file in a ranking, each with a title."""
    found = [_place(row, side, one)]
    if one.missed:
        found += _against(row, side, one, again)
    found += _weighed(row, side, one, again)
    found.append(("Pack", _pack(row, side, one, budget)))
    if one.other is not None and one.other != one.place:
        found.append(("Other", f"the other system has it at place {one.other}"))
    return tuple(found)


def never_there(row: TaskRow) -> tuple[tuple[str, str], ...]:
    """Return a sentence on each right file that nobody could have found."""
    where = f"the tree of {row.revision[:10]}" if row.revision else "what was known"
    told = f"it was not in {where}, as of which the task began: it counts for and against nobody"
    return tuple((path, told) for path in row.missing)


def _place(row: TaskRow, side: Side, one: RankRow) -> tuple[str, str]:
    if not one.gold:
        return "Not gold", "it was not modified for this task"
    if not one.missed:
        return "Found", f"right, at place {one.place}"
    existed = "it existed and was indexed when the task began"
    if one.place is not None:
        return "Missed", f"place {one.place}, and the first {TOP} count; {existed}"
    return "Missed", f"{rest_of(one.reason) or 'not in its ranking'}; {existed}"


def _against(row: TaskRow, side: Side, one: RankRow, again: Mapping[str, Parts]) -> list[tuple[str, str]]:
    """Say what the file that took the last place that counts has, and this one lacks."""
    rest = rest_of(one.reason) if one.place is not None else ""
    found = [("Lacks", rest)] if rest else []
    last = next((other for other in reversed(side.rows) if other.place == TOP), None)
    if last is None:
        return found
    mine = contributions(row, side.system, one.path, again)
    theirs = contributions(row, side.system, last.path, again)
    if not mine or not theirs:
        return [*found, ("Instead", f"{last.path} took place {TOP}")]
    whole = one.path in again and last.path in again  # of what was kept the smallest are missing
    names = {*mine, *theirs} if whole else mine.keys() & theirs.keys()
    gaps = {name: theirs.get(name, 0.0) - mine.get(name, 0.0) for name in names}
    order = sorted((name for name in gaps if gaps[name] > 0), key=lambda name: (-gaps[name], name))
    more = [
        f"{name} ({theirs.get(name, 0.0):+.2f}, here {mine.get(name, 0.0):+.2f})" for name in order[:_NAMED]
    ]
    by = f", by {', '.join(more)}" if more else ""
    return [*found, ("Instead", f"{last.path} took place {TOP}{by}")]


def _weighed(row: TaskRow, side: Side, one: RankRow, again: Mapping[str, Parts]) -> list[tuple[str, str]]:
    if not weighs(side.system):
        return [("Weighs", WEIGHS_NOTHING[kind_of(side.system)])]
    parts = contributions(row, side.system, one.path, again)
    if not parts:
        return [("Weighs", "its features were not kept: w weighs it again, as of when the task began")]
    order = sorted(parts, key=lambda name: (-abs(parts[name]), name))
    speaks = [f"{name} {parts[name]:+.2f}" for name in order if parts[name] > 0][:_NAMED]
    against = [f"{name} {parts[name]:+.2f}" for name in order if parts[name] < 0][:_NAMED]
    found = [("For", ", ".join(speaks))] if speaks else [("For", "no feature speaks for it")]
    return found + ([("Against", ", ".join(against))] if against else [])


def _pack(row: TaskRow, side: Side, one: RankRow, budget: int | None) -> str:
    did = row.systems[side.system]
    if did.tokens is None:
        return "no pack was made for this task"
    if one.form:
        return f"in the pack as {one.form}" + (" all the same" if one.missed else "")
    share = side.system.partition("@")[2]
    room = None if budget is None else round(budget * float(share or 1))
    used = f"{did.tokens:,}" + (f" of {room:,}" if room else "")
    if room and did.tokens < room * _FULL:
        return f"not in the pack, which has room left ({used} tokens): it was not held likely enough"
    return f"not in the pack: others took its {used} tokens"
