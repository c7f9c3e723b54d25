"""Why one file is in a plan or out of it, and what would have to change for it to be in.

A file is compared with the last one that is in, the shown file of the lowest score: feature by feature in the
linear first stage, in the trees and in the hand mixture. What a signal alone would change is found by giving
the file that signal's values of the last one in and scoring it again, because trees do not add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace

from workbench.plan.overrides import EXCLUDED, RECEIVED
from workbench.plan.pipeline import Plan
from workbench.plan.ranking import FIRST, RankingModel, needed_chances, weigh_first
from workbench.plan.reading import READ
from workbench.plan.reasons import ESTIMATE, phrase, reasons_of
from workbench.plan.render import span_text
from workbench.plan.response import NOTHING_KNOWN, likelihood
from workbench.records.answers.explanation import (
    FileExplanation,
    Inclusion,
    ScoreChange,
    WeighedFeature,
    WeighedFile,
)
from workbench.records.dataclass import dataclass
from workbench.records.plan import RankedFile, Representation
from workbench.text.counts import plural, shorten_middle
from workbench.text.sanitize import visible_line

_REASONS: Final = 3
_ROWS: Final = 14
_WIDTH: Final = 80
_LEAST_WORDS: Final = 12
_NUMBER: Final = 9
_EPSILON: Final = 1e-9
_NO_SOURCE: Final = "no source proposed it: nothing of the task points to it"
HAND_MIXTURE: Final[Mapping[str, float]] = {
    "bm25_body": 0.35,
    "bm25_path": 0.2,
    "affinity": 0.3,
    "recency_50": 0.2,
    "frequency": 0.1,
}
"""Weights chosen by hand, of shares of the best file's: what learned ones are compared with."""


@dataclass(frozen=True, slots=True)
class RankedPlaces:
    """All ranked files of a plan, each with its place from 1 in three orders."""

    files: Mapping[str, RankedFile]
    final: Mapping[str, int]
    linear: Mapping[str, int]
    mixture: Mapping[str, int]
    chances: Mapping[str, float]


def rank_places(plan: Plan) -> RankedPlaces:
    """Return the places of a plan's files."""
    weights = plan.ranking.model.weights
    linear = {one.path: _linear_score(one, weights) for one in plan.ranked}
    mixture = {one.path: sum(mixture_parts(one.features).values()) for one in plan.ranked}
    return RankedPlaces(
        files={one.path: one for one in plan.ranked},
        final={one.path: place for place, one in enumerate(plan.ranked, 1)},
        linear=_places(linear),
        mixture=_places(mixture),
        chances=needed_chances(plan.ranking.model, plan.ranking.files, plan.overrides.pinned),
    )


def explain_file(
    plan: Plan, path: str, *, unranked: str = "", sufficient: int | None = None
) -> FileExplanation:
    """Explain a file of a plan by the learned ranking.

    unranked: why it is not in the index, '' if it is; sufficient: a budget that shows it, if one is known.
    """
    places = rank_places(plan)
    packed = {candidate.path: offer for candidate, offer in plan.pack.files}
    found, offer = places.files.get(path), packed.get(path)
    last = _last_in(plan, path)
    lacking, changes = (None, ()) if found is None else _lacking(plan.ranking.model, places, found, last)
    shown = offer is not None and offer.view.representation is not Representation.PATH
    reason = "" if shown else _reason(plan, path, found is not None, offer is not None, unranked)
    state = Inclusion.SHOWN if shown else Inclusion.NAMED if offer else Inclusion.OUT
    made = FileExplanation(
        path=path,
        state=state if found is not None or offer else Inclusion.UNRANKED,
        representation=None if offer is None else offer.view.representation,
        tokens=0 if offer is None else offer.tokens,
        lines="" if offer is None else span_text(offer.view.spans),
        reason=reason,
        candidates=len(places.files),
        file=None if found is None else _weigh(plan.ranking.model, places, found),
        last_in=None if last is None else _weigh(plan.ranking.model, places, places.files[last]),
        lacking=None if shown else lacking,
        changes=() if shown else changes,
        token_budget=plan.pack.report.token_budget,
        sufficient_budget=None if shown else sufficient,
        remedies=(),
        reasons=() if found is None else reasons_of(plan.ranking).of(found),
    )
    return made if shown else replace(made, remedies=tuple(_remedies(made)))


def is_shown(plan: Plan, path: str) -> bool:
    """Whether a plan shows some of a file, not only its name."""
    return any(
        candidate.path == path and offer.view.representation is not Representation.PATH
        for candidate, offer in plan.pack.files
    )


def _last_in(plan: Plan, path: str) -> str | None:
    """Return the other file of the lowest score that is shown and not pinned."""
    shown = [
        (candidate.score, candidate.path)
        for candidate, offer in plan.pack.files
        if offer.view.representation is not Representation.PATH
        and not candidate.pinned
        and candidate.path != path
    ]
    return min(shown)[1] if shown else None


def _reason(plan: Plan, path: str, ranked: bool, named: bool, unranked: str) -> str:
    """Return why a file is not shown."""
    reasons = {one.file: one.reason for one in plan.response.dropped_candidates}
    if path in reasons and path not in plan.overrides.pinned:
        return reasons[path]
    if not plan.response.known:
        return NOTHING_KNOWN
    if named:
        return "its text has no room or is not worth its tokens, its name is"
    return reasons.get(path) or unranked or ("" if ranked else _NO_SOURCE)


def _linear_score(found: RankedFile, weights: Mapping[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in found.features.items())


def mixture_parts(features: Mapping[str, float]) -> dict[str, float]:
    """Return what each signal of a ranked file gives in the hand mixture, without zeros."""
    return {name: weight * features[name] for name, weight in HAND_MIXTURE.items() if features.get(name)}


def _places(scores: Mapping[str, float]) -> dict[str, int]:
    order = sorted(scores, key=lambda path: (-round(scores[path], 6), path))
    return {path: place for place, path in enumerate(order, 1)}


def _weigh(model: RankingModel, places: RankedPlaces, found: RankedFile) -> WeighedFile:
    by_trees = model.trees is not None and places.final[found.path] <= FIRST
    mixture = mixture_parts(found.features)
    names = sorted({*found.contributions, *(name for name in found.features if not name.startswith("f_"))})
    return WeighedFile(
        path=found.path,
        place=places.final[found.path],
        linear_place=places.linear[found.path],
        mixture_place=places.mixture[found.path],
        score=found.score,
        linear_score=round(_linear_score(found, model.weights), 4),
        mixture_score=round(sum(mixture.values()), 4),
        chance=places.chances.get(found.path),
        features=tuple(
            WeighedFeature(
                feature=name,
                words=phrase(name),
                value=found.features.get(name, 0.0),
                weight=model.weights.get(name, 0.0),
                linear=round(found.features.get(name, 0.0) * model.weights.get(name, 0.0), 4),
                trees=found.contributions.get(name, 0.0) if by_trees else None,
                mixture=round(mixture.get(name, 0.0), 4),
            )
            for name in names
        ),
    )


def _lacking(
    model: RankingModel, places: RankedPlaces, found: RankedFile, last: str | None
) -> tuple[float | None, tuple[ScoreChange, ...]]:
    """Return the score a file lacks to the last one in, and what single signals would add, the largest first.

    Behind the first fifty it is the score of the first stage, by which these are chosen.
    """
    if last is None or places.final[found.path] < places.final[last]:
        return None, ()
    best = places.files[last]
    if model.reorders and places.final[found.path] > FIRST:
        gap = _linear_score(best, model.weights) - _linear_score(found, model.weights)
    else:
        gap = best.score - found.score
    if gap <= _EPSILON:
        return None, ()
    changes = sorted(
        _gains(model, found, best, places.final[found.path]),
        key=lambda one: (one[0] == ESTIMATE, -one[1], one[0]),
    )
    return round(gap, 4), tuple(
        ScoreChange(words, round(gain, 4), gain >= gap) for words, gain in changes if round(gain, 4) > 0
    )


def _gains(
    model: RankingModel, found: RankedFile, best: RankedFile, place: int
) -> Iterator[tuple[str, float]]:
    """Yield what each signal would add to a file's score if it were as strong as another file's."""
    names = sorted(name for name in {*found.features, *best.features} if not name.startswith("f_"))
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        groups.setdefault(phrase(name), []).append(column)
    mine, other = (
        np.asarray([one.features.get(name, 0.0) for name in names], dtype=np.float32) for one in (found, best)
    )
    rows = np.repeat(mine[None], len(groups) + 1, axis=0)
    for row, columns in enumerate(groups.values(), 1):
        rows[row, columns] = other[columns]
    if not model.reorders or place > FIRST:
        weights = np.asarray([model.weights.get(name, 0.0) for name in names])
        scores = rows.astype(np.float64) @ weights
    else:
        scores = weigh_first(model, names, rows).sum(axis=1)
        if model.reading is not None and place <= READ:
            scores += model.reading.contribute(names, rows).sum(axis=1)
    yield from zip(groups, (scores[1:] - scores[0]).tolist(), strict=True)


def _remedies(made: FileExplanation) -> Iterator[str]:
    """Yield what would bring a file in, the cheapest for a person last."""
    if made.reason == EXCLUDED:
        yield "take its exclusion back"
        return
    if made.reason == RECEIVED:
        yield "nothing: the session has it already"
        return
    if made.file is None:
        if made.reason != _NO_SOURCE:
            return
        yield "name it, or something it defines, in the task"
    elif made.lacking is not None and made.last_in is not None:
        yield _score_remedy(made, made.file, made.last_in)
    if made.sufficient_budget is not None:
        yield f"a budget of about {made.sufficient_budget:,} tokens in place of {made.token_budget:,}"
    yield f"a pin: --pin {visible_line(made.path)}"


def _score_remedy(made: FileExplanation, file: WeighedFile, last: WeighedFile) -> str:
    stage = "score in the first stage" if file.place > FIRST and file.features else "score"
    goal = f"{made.lacking:.2f} more {stage}, as {visible_line(last.path)} has"
    enough = [one for one in made.changes if one.enough]
    chosen = enough or made.changes
    if not chosen:
        return goal
    parts = ", ".join(f"{one.words} (+{one.gain:.2f})" for one in chosen[:_REASONS])
    how = "one of these would do" if enough else "no signal alone would do; most by"
    return f"{goal}; {how}: {parts}"


def explanation_lines(made: FileExplanation, width: int = _WIDTH) -> Iterator[str]:
    """Yield an explanation as a person reads it: plain words first, the table after, of at most `width`."""
    yield f"{visible_line(made.path)} {_verdict(made)}"
    if made.file is not None:
        yield f"  {_standing(made.file, made.candidates)}"
    yield from (f"  - {reason}" for reason in made.reasons)
    if made.file is not None and made.last_in is not None:
        last = made.last_in
        yield f"  last in: {visible_line(last.path)}, number {last.place:,}, score {last.score:.2f}"
    if made.remedies:
        yield "What would bring it in"
        yield from (f"  - {one}" for one in made.remedies)
    if made.file is not None:
        yield "What each signal gives"
        yield from _table(made.file, made.last_in, width)


def _verdict(made: FileExplanation) -> str:
    if made.state is Inclusion.SHOWN:
        lines = f", lines {made.lines}" if made.lines else ""
        return f"is in: {made.representation}{lines}, {plural(made.tokens, 'token')}"
    what = "is named only" if made.state is Inclusion.NAMED else "is out"
    return f"{what}: {made.reason}" if made.reason else what


def _standing(file: WeighedFile, candidates: int) -> str:
    chance = "" if file.chance is None else f", {likelihood(file.chance)}"
    return (
        f"number {file.place:,} of {plural(candidates, 'candidate')}, score {file.score:.2f}{chance}; "
        f"number {file.linear_place:,} by the weights alone, {file.mixture_place:,} by the hand mixture"
    )


def _table(file: WeighedFile, last: WeighedFile | None, width: int) -> Iterator[str]:
    """Yield what each signal gives the file and the last one in, the largest differences first."""
    columns = [_by_words(file)] + ([] if last is None else [_by_words(last)])
    words = {name for column in columns for name in column}
    names = max(width - 3 - _NUMBER * (2 * len(columns) + 1), _LEAST_WORDS)
    zero = (0.0, 0.0, 0.0)

    def difference(name: str) -> float:
        mine, other = columns[0].get(name, zero), columns[-1].get(name, zero) if last else zero
        return max(abs(a - b) for a, b in zip(mine, other, strict=True))

    order = sorted(words, key=lambda name: (name == ESTIMATE, -difference(name), name))
    heads = "".join(f"{title:>18}" for title in ("this file", "last in")[: len(columns)])
    yield f"  {'':<{names}}{heads}{'mixture':>9}"
    yield f"  {'':<{names}}" + f"{'weights':>9}{'trees':>9}" * len(columns) + f"{'by hand':>9}"
    for name in order[:_ROWS]:
        numbers = [value for column in columns for value in column.get(name, zero)[:2]]
        numbers.append(columns[0].get(name, zero)[2])
        yield f"  {shorten_middle(name, names - 1):<{names}}" + "".join(
            f"{_format_signed(value):>9}" for value in numbers
        )
    if len(order) > _ROWS:
        yield f"  and {len(order) - _ROWS:,} more (all of them with --json)"
    totals = [total for column in columns for total in _sums(column.values())[:2]]
    totals.append(file.mixture_score)
    yield f"  {'sum':<{names}}" + "".join(f"{value:>9.2f}" for value in totals)


def _by_words(file: WeighedFile) -> dict[str, tuple[float, float, float]]:
    found: dict[str, tuple[float, float, float]] = {}
    for one in file.features:
        linear, trees, mixture = found.get(one.words, (0.0, 0.0, 0.0))
        found[one.words] = (linear + one.linear, trees + (one.trees or 0.0), mixture + one.mixture)
    return found


def _sums(rows: Iterable[tuple[float, float, float]]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)] or [0.0, 0.0, 0.0]


def _format_signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= 0.005 else "·"
