"""Baseline and hybrid for one task: where each has a file, whose pack holds it, and what moved it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.plan.reasons import reasons_of

if TYPE_CHECKING:
    from workbench.plan.pipeline import Plan


@dataclass(frozen=True, slots=True)
class RankedPack:
    """The files of one ranking in their order, the place of each from 1, and which of them it packs."""

    order: tuple[str, ...]
    places: Mapping[str, int]
    packed: frozenset[str]


@dataclass(frozen=True, slots=True)
class RankingComparison:
    """Baseline and hybrid for one task. `reasons` are sentences on the files of the hybrid."""

    baseline: RankedPack
    hybrid: RankedPack
    reasons: Mapping[str, tuple[str, ...]]
    kind: str

    def beside(self, path: str) -> str:
        """Return the baseline's file in the place that a file has in the hybrid, "" where it has none."""
        place = self.hybrid.places[path]
        return self.baseline.order[place - 1] if place <= len(self.baseline.order) else ""

    def move(self, path: str) -> str:
        """Return how far a file is higher (▲) or lower (▼) in the hybrid, = where it is in the same place."""
        before, now = self.baseline.places.get(path), self.hybrid.places.get(path)
        if before is None or now is None:
            return "new" if before is None else "gone"
        return "=" if before == now else f"▲{before - now:,}" if before > now else f"▼{now - before:,}"


def compare_rankings(hybrid: Plan, baseline: Plan) -> RankingComparison:
    """Return the rankings and packs of two plans of one task."""
    reasons = reasons_of(hybrid.ranking)
    return RankingComparison(
        _ranked_pack(baseline),
        _ranked_pack(hybrid),
        {found.path: reasons.of(found) for found in hybrid.ranked},
        str(hybrid.intent.predicted),
    )


def _ranked_pack(plan: Plan) -> RankedPack:
    order = tuple(found.path for found in plan.ranked)
    places = {path: place for place, path in enumerate(order, 1)}
    return RankedPack(order, places, frozenset(one.path for one, _ in plan.pack.files))


def comparison_in_short(found: RankingComparison) -> str:
    """Return which packs have how many files: `14 in both packs, 5 in baseline alone, 3 in hybrid alone`."""
    hybrid, baseline = found.hybrid.packed, found.baseline.packed
    return (
        f"{len(hybrid & baseline):,} in both packs, {len(baseline - hybrid):,} in baseline alone, "
        f"{len(hybrid - baseline):,} in hybrid alone"
    )


def explain_move(found: RankingComparison, path: str) -> list[str]:
    """Return sentences on a file of the hybrid, and on the one that the baseline has in its place."""
    place = found.hybrid.places.get(path)
    if place is None:
        return []
    before = found.baseline.places.get(path)
    there = "not in baseline" if before is None else f"{before:,} in baseline"
    lines = [f"{found.move(path)}  place {place:,} in hybrid, {there}; {_whose(found, path)}"]
    if reasons := "; ".join(found.reasons.get(path, ())):
        passed = before is not None and before < place
        head = "files with more evidence passed it; its own" if passed else "why"
        lines.append(f"{head}: {reasons}")
    beside = found.beside(path)
    if beside and beside != path:
        now = found.hybrid.places.get(beside)
        where = "not in hybrid" if now is None else f"{now:,} in hybrid"
        lines.append(f"beside it {beside}: place {place:,} in baseline, {where}; {_whose(found, beside)}")
    lines.append(f"baseline goes by the kind of task alone ({found.kind})")
    return lines


def _whose(found: RankingComparison, path: str) -> str:
    inside = path in found.hybrid.packed, path in found.baseline.packed
    return {
        (True, True): "in both packs",
        (True, False): "in the pack of hybrid alone",
        (False, True): "in the pack of baseline alone",
        (False, False): "in no pack",
    }[inside]
