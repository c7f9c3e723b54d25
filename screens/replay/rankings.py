"""The ranking of a system for a task beside another's, and why a file is where it is, in words.

Explanations rest on what the replay recorded: places, contributions, the pack. Contributions of a file that
it did not record can be computed again (see `again`), then they are explained as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.content import Content

from screens.commands import key_of
from screens.safe_text import safe
from screens.widgets.bars import Contribution
from screens.widgets.table import Column
from workbench.plan.reasons import ESTIMATE, by_phrase

if TYPE_CHECKING:
    from workbench.records.replay import SystemRow, TaskRow

TOP: Final = 10
GOLD, MISSED = "★", "☆"
_PLACE: Final = re.compile(r"place (\d{1,9})(?:: )?")
_FORMS: Final = {"path": "·", "outline": "≡", "snippets": "▪", "full": "■"}
LEGEND: Final = "★ gold ☆ missed ∅ not in the other  pack: ■ full ▪ snippets ≡ outline · path"

COLUMNS: Final = (
    Column("place", "Place", "The file's place in this ranking.", 5, "right", priority=8),
    Column("gold", "", "★ right, ☆ right and missed.", 1, priority=7),
    Column("file", "File", "The file that was ranked.", share=1, least=12, priority=9, path=True),
    Column("pack", "", "How it was packed: ■ full, ▪ snippets, ≡ outline, · path.", 1, priority=3),
    Column(
        "shift",
        "Other",
        "Its place in the other ranking, ∅ where it is not in that one.",
        5,
        "right",
        priority=4,
    ),
)


@dataclass(frozen=True, slots=True)
class RankRow:
    """A file in the ranking of a system, or a right file that is not among its first ones.

    `place` is None where it is nowhere in the ranking; `other` its place with the other system, None where it
    is not among that one's first ones. `form` is how it is packed, '' if it is not. `reason` is the replay's
    sentence about a right file that is not among the first ten.
    """

    path: str
    place: int | None
    gold: bool
    form: str = ""
    other: int | None = None
    reason: str = ""

    @property
    def missed(self) -> bool:
        """Whether it is right and not among the first ten."""
        return self.gold and (self.place is None or self.place > TOP)


@dataclass(frozen=True, slots=True)
class RankedSide:
    """What a system did with a task."""

    system: str
    rows: tuple[RankRow, ...]
    measures: tuple[tuple[str, str], ...]

    @property
    def missed(self) -> tuple[RankRow, ...]:
        """The right files that are not among the first ten."""
        return tuple(row for row in self.rows if row.missed)


_MEASURES: Final = (
    ("nDCG", "ndcg_at_10", 3),
    ("R@10", "recall_at_10", 2),
    ("packed", "packed_recall", 2),
    ("tokens", "context_tokens", 0),
    ("ms", "latency_ms", 1),
)


def ranked_side(row: TaskRow, system: str, other: str) -> RankedSide:
    """Return what a system did with a task, places compared with another's; nothing if it did not do it."""
    did = row.systems.get(system)
    if did is None:
        return RankedSide(system, (), ())
    there = row.systems.get(other)
    others = {} if there is None else _places(there)
    gold = set(row.truth)
    ranked = [
        RankRow(
            path, place, path in gold, did.packed.get(path, ""), others.get(path), did.missed.get(path, "")
        )
        for place, path in enumerate(did.ranking, 1)
    ]
    known = set(did.ranking)
    beyond = [
        RankRow(path, place_of(why), True, did.packed.get(path, ""), others.get(path), why)
        for path, why in did.missed.items()
        if path not in known
    ]
    beyond.sort(key=lambda one: (one.place is None, one.place or 0, one.path))
    measures = tuple(
        (title, f"{did.measures[name]:,.{digits}f}")
        for title, name, digits in _MEASURES
        if name in did.measures
    )
    return RankedSide(system, (*ranked, *beyond), measures)


def place_of(reason: str) -> int | None:
    """Return the place that the replay's sentence about a missed file names."""
    found = _PLACE.match(reason)
    return None if found is None else int(found[1])


def rest_of(reason: str) -> str:
    """Return the replay's sentence about a missed file without its place."""
    return _PLACE.sub("", reason, count=1)


def cells(one: RankRow) -> tuple[Content, ...]:
    """Return the cells of a file: place, right or missed, name and folder, form in the pack, other place."""
    return (
        safe("–" if one.place is None else str(one.place), "$text-muted"),
        glyph(one),
        name(one.path, tone=_tone(one)),
        safe(_FORMS.get(one.form, ""), "$text-muted"),
        shift(one),
    )


def glyph(one: RankRow) -> Content:
    """Return the glyph of a right file, found or missed; blank for others."""
    if one.missed:
        return Content.styled(MISSED, "bold $text-error")
    return Content.styled(GOLD, "bold $text-success") if one.gold else Content(" ")


def name(path: str, *, tone: str = "") -> Content:
    """Return a path with its last part first, which distinguishes files where there is little room."""
    folder, _, last = path.rpartition("/")
    if not folder:
        return safe(path, tone)
    return Content.assemble(safe(last, tone), "  ", safe(f"{folder}/", "$text-muted"))


def shift(one: RankRow) -> Content:
    """Return how much higher (▲) or lower (▼) a file is here than with the other system, ∅ if not there."""
    if one.other is None:
        return Content.styled("∅", "$text-muted")
    if one.place is None:
        return Content.styled(f"▼#{one.other}", "$text-error" if one.gold else "$text-muted")
    change = one.other - one.place
    if not change:
        return Content.styled("=", "$text-muted")
    tone = "$text-muted" if not one.gold else "$text-success" if change > 0 else "$text-error"
    return Content.styled(f"{'▲' if change > 0 else '▼'}{abs(change)}", tone)


def _tone(one: RankRow) -> str:
    if one.gold:
        return "bold"
    return "" if one.place is not None and one.place <= TOP else "$text-muted"


def _places(did: SystemRow) -> dict[str, int]:
    found = {path: place for place, path in enumerate(did.ranking, 1)}
    for path, why in did.missed.items():
        place = place_of(why)
        if path not in found and place is not None:
            found[path] = place
    return found


WEIGHS_NOTHING: Final = {
    "baseline": "It orders files by the kind of task alone and weighs no features.",
    "bm25": "It orders files by one score, how well their words match the task's, and weighs no features.",
    "vector": "It orders files by one score, of past tasks with a similar meaning, and weighs no features.",
}
_NAMED: Final = 3
_FULL: Final = 0.9
"""The share of its budget from which a pack is full."""

Parts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature added to a file's score, and the sentences that a plan would show of the file."""

    contributions: Parts
    reasons: tuple[str, ...] = ()

    @property
    def parts(self) -> Parts:
        """What was added, by what the features measure, in words."""
        return by_phrase(self.contributions)


Again = Mapping[str, Weights]
"""Weights that were computed again, by path."""


def kind_of(system: str) -> str:
    """Return what a system is but for the share of its budget."""
    return system.partition("@")[0]


def weighs(system: str) -> bool:
    """Whether a system's scores are sums of features."""
    return kind_of(system) not in WEIGHS_NOTHING


def weights(row: TaskRow, system: str, path: str, again: Again) -> Weights:
    """Return what a file's score is made of: as computed again, else as recorded, else nothing."""
    if path in again:
        return again[path]
    did = row.systems.get(system)
    return Weights({}) if did is None else Weights(did.contributions.get(path, {}), did.reasons.get(path, ()))


def bars(parts: Parts, *, whole: bool) -> tuple[list[Contribution], float | None]:
    """Return the rows of `FeatureBars` and their total; None if the smaller ones were not kept."""
    rows = [Contribution(name, value) for name, value in parts.items()]
    return rows, sum(parts.values()) if rows and whole else None


def explain_file(
    row: TaskRow, side: RankedSide, one: RankRow, budget: int | None, again: Again
) -> tuple[tuple[str, str], ...]:
    """Return sentences about a file in a ranking, each with a title."""
    found = [_explain_place(row, side, one)]
    if one.missed:
        found += _explain_rivals(row, side, one, again)
    found += _explain_features(row, side, one, again)
    found.append(("Pack", _explain_pack(row, side, one, budget)))
    if one.other is not None and one.other != one.place:
        found.append(("Other", f"the other system has it at place {one.other}"))
    return tuple(found)


def explain_absent(row: TaskRow) -> tuple[tuple[str, str], ...]:
    """Return a sentence on each right file that nobody could have found."""
    where = f"the tree of {row.revision[:10]}" if row.revision else "what was known"
    sentence = f"it was not in {where} at the start of the task: it counts for and against nobody"
    return tuple((path, sentence) for path in row.missing)


def _explain_place(row: TaskRow, side: RankedSide, one: RankRow) -> tuple[str, str]:
    if not one.gold:
        return "Not gold", "it was not modified for this task"
    if not one.missed:
        return "Found", f"right, at place {one.place}"
    existed = "it existed and was indexed when the task began"
    if one.place is not None:
        return "Missed", f"place {one.place}, and the first {TOP} count; {existed}"
    return "Missed", f"{rest_of(one.reason) or 'not in its ranking'}; {existed}"


def _explain_rivals(row: TaskRow, side: RankedSide, one: RankRow, again: Again) -> list[tuple[str, str]]:
    """Say what the file that took the last place that counts has, and this one lacks."""
    rest = rest_of(one.reason) if one.place is not None else ""
    found = [("Lacks", rest)] if rest else []
    last = next((other for other in reversed(side.rows) if other.place == TOP), None)
    if last is None:
        return found
    mine = weights(row, side.system, one.path, again).parts
    theirs = weights(row, side.system, last.path, again).parts
    if not mine or not theirs:
        return [*found, ("Instead", f"{last.path} took place {TOP}")]
    whole = one.path in again and last.path in again  # of what was kept the smallest are missing
    names = {*mine, *theirs} if whole else mine.keys() & theirs.keys()
    gaps = {name: theirs.get(name, 0.0) - mine.get(name, 0.0) for name in names}
    order = sorted(
        (name for name in gaps if gaps[name] > 0), key=lambda name: (name == ESTIMATE, -gaps[name], name)
    )
    more = [
        f"{name} ({theirs.get(name, 0.0):+.2f}, here {mine.get(name, 0.0):+.2f})" for name in order[:_NAMED]
    ]
    by = f", by {', '.join(more)}" if more else ""
    return [*found, ("Instead", f"{last.path} took place {TOP}{by}")]


def _explain_features(row: TaskRow, side: RankedSide, one: RankRow, again: Again) -> list[tuple[str, str]]:
    if not weighs(side.system):
        return [("Weighs", WEIGHS_NOTHING[kind_of(side.system)])]
    weighed = weights(row, side.system, one.path, again)
    if not (parts := weighed.parts):
        how = f"{key_of('replay.weigh')} computes them again, as of the task's start"
        return [("Weighs", f"what speaks for it was not recorded: {how}")]
    speaks = "; ".join(weighed.reasons) or ", ".join(
        [f"{name} {parts[name]:+.2f}" for name in parts if parts[name] > 0][:_NAMED]
    )
    against = [f"{name} {parts[name]:+.2f}" for name in parts if parts[name] < 0][:_NAMED]
    found = [("For", speaks or "no feature raises its score")]
    return found + ([("Against", ", ".join(against))] if against else [])


def _explain_pack(row: TaskRow, side: RankedSide, one: RankRow, budget: int | None) -> str:
    did = row.systems[side.system]
    if did.tokens is None:
        return "no pack was made for this task"
    if one.form:
        return f"in the pack as {one.form}" + (" anyway" if one.missed else "")
    share = side.system.partition("@")[2]
    room = None if budget is None else round(budget * float(share or 1))
    used = f"{did.tokens:,}" + (f" of {room:,}" if room else "")
    if room and did.tokens < room * _FULL:
        return f"not in the pack, which has room left ({used} tokens): it was not likely enough"
    return f"not in the pack: others took its {used} tokens"
