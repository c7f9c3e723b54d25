"""What changes a ranking after the first stage: files another program finds, a model's ratings [img §7].

Both are asked for by settings, may be absent, slow or wrong, and have bounds that hold whatever they return.
Hits of another program (grepai) never move the first ten files nor pass them. Ratings of a model move the
log-odds of being needed around their mean, so that a file with a lead of more than the bound keeps it: a
model that rates all files alike changes nothing, and one that rates at random cannot push a strong head down.
A plan that went without either says so and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from workbench.errors import WorkbenchError
from workbench.models.rerank import FileExcerpt, SecondStage
from workbench.plan.places import PlacedFile, place_chances
from workbench.plan.planner import CandidateSource, Planner, Ranking, read_files
from workbench.plan.ranking import RankingModel, rank_files
from workbench.plan.representations import Content, digests_of, outline_view
from workbench.plan.response import GREPAI, INTENT, RERANKING
from workbench.plan.workspace import Workspace
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, MlMode, PlanRequest, RankedFile
from workbench.records.project import Skipped
from workbench.text.counts import plural
from workbench.text.redact import redact
from workbench.text.sanitize import visible_line

HEAD: Final = 10  # files that hits of another program neither move nor pass
MAX_HITS: Final = 20  # files of another program that count
HIT: Final = 1.0  # log-odds that its best hit gains
USUAL_BUDGET: Final = 4_000  # tokens of a pack for which ratings count once
NAMES: Final = 300  # characters of a file's definitions that are rated
LINES: Final = 900  # characters of its lines
RESERVE: Final = 0.2  # share of the latency budget that the rest of a plan may need
LEAST: Final = 0.05  # seconds below which nothing is asked
SURE: Final = 0.8  # a kind of task that is this likely by its words is not asked about

Waiting = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class SecondLook:
    """A ranking after the second look, what it was without, notes on it, and milliseconds by stage.

    `lookups` is how many answers were known and how many were not.
    """

    ranking: Ranking
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)
    lookups: tuple[int, int] = (0, 0)


class _Asked:
    """An asking that begins now: `seconds` of the `wanted` ones are left, 0 where too few are."""

    def __init__(self, wanted: float, seconds: float) -> None:
        self.seconds = seconds
        self._limited = 0.0 < seconds < wanted
        self._began = time.perf_counter()

    def milliseconds(self) -> float:
        """Return for how many milliseconds."""
        return round((time.perf_counter() - self._began) * 1000, 3)

    def reason(self, failed: str) -> str:
        """Return why there is no answer, in the same words however little time the budget left."""
        late = self._limited and time.perf_counter() - self._began >= self.seconds - 0.01
        return _NO_ANSWER if late else failed


def look_again(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking, started: float
) -> SecondLook:
    """Return the ranking as programs and models that the settings name leave it. Never fails for want of one.

    `started` is when the plan began, by `time.perf_counter`: its latency budget counts from there.
    """
    look = SecondLook(ranking)

    def waiting(wanted: float) -> float:
        """Return for how many seconds something may be waited for that may take so many."""
        if request.latency_budget_ms is None:
            return wanted
        budget = request.latency_budget_ms / 1000
        left = budget * (1 - RESERVE) - (time.perf_counter() - started)
        return 0.0 if left < LEAST else min(wanted, round(left, 2))

    stage: SecondStage | None = None
    if request.ml_mode is MlMode.FULL:
        look, stage = _open_stage(planner, look)
    if stage is not None and stage.classify is not None and request.query_type is None:
        look = _with_kind(workspace, planner, stage, waiting, look)
    if planner.search is not None:
        look = _with_hits(workspace, planner, planner.search, waiting, look)
    if stage is not None:
        look = _with_ratings(workspace, planner, request, stage, waiting, look)
    return look


def _open_stage(planner: Planner, look: SecondLook) -> tuple[SecondLook, SecondStage | None]:
    try:
        stage = None if planner.second_stage is None else planner.second_stage()
    except WorkbenchError as error:
        return _without(look, RERANKING, _NOT_RERANKED, f"{error.message}. {error.hint}"), None
    return (look, stage) if stage is not None else (_without(look, RERANKING, _NOT_RERANKED, _NO_MODEL), None)


def _without(look: SecondLook, part: str, what: str, reason: str) -> SecondLook:
    note = f"{what}: {visible_line(reason.strip()).removesuffix('.')}"
    return replace(look, degraded=(*look.degraded, part), notes=(*look.notes, note))


def _with_hits(
    workspace: Workspace, planner: Planner, source: CandidateSource, waiting: Waiting, look: SecondLook
) -> SecondLook:
    """Add what another program finds for the task, behind the first files."""
    what = "grepai added no candidates"
    asked = _Asked(source.timeout, waiting(source.timeout))
    if not asked.seconds:
        return _without(look, GREPAI, what, _NO_TIME)
    ranking = look.ranking
    try:
        hits = source.find(redact(ranking.intent.task.text).text, asked.seconds)
    except WorkbenchError as error:
        return _without(look, GREPAI, what, asked.reason(f"{error.message}. {error.hint}"))
    look = replace(look, stages={**look.stages, GREPAI: asked.milliseconds()})
    known = [path for path in hits if path in workspace.index.positions]
    best = sorted(known, key=lambda path: (-hits[path], path))[:MAX_HITS]
    missing = [path for path in best if path not in {one.path for one in ranking.files}]
    files = (*ranking.files, *_rank_others(workspace, planner, ranking, missing))
    shares = {path: hits[path] / hits[best[0]] for path in best}
    moved = add_hits(files, shares, ranking.model.relevance[0])
    new = f", {len(missing)} of them new candidates" if missing else ""
    note = f"grepai found {plural(len(best), 'file')}{new}"
    return replace(look, ranking=replace(ranking, files=moved), notes=(*look.notes, note))


def _rank_others(
    workspace: Workspace, planner: Planner, ranking: Ranking, paths: Sequence[str]
) -> Iterable[RankedFile]:
    """Return files that were no candidates with the score that they would have as such."""
    if not paths:
        return ()
    wanted = frozenset(paths)
    return (
        one for one in _rank_again(workspace, planner, ranking, ranking.intent, paths) if one.path in wanted
    )


def _rank_again(
    workspace: Workspace, planner: Planner, ranking: Ranking, intent: Intent, also: Sequence[str]
) -> tuple[RankedFile, ...]:
    semantic = lambda: ranking.past.cosines(ranking.vector, ranking.model.adapter)  # noqa: E731
    files = rank_files(workspace.view, intent, ranking.model, semantic=semantic, also=also)
    return read_files(workspace, planner, intent, files, ranking.model)[0]


def add_hits(
    files: Sequence[RankedFile], shares: Mapping[str, float], slope: float
) -> tuple[RankedFile, ...]:
    """Raise files by what another program says, {path: score in (0, 1] of its best}; ties by path.

    The first `HEAD` files stay as they are, in the order of their scores, and no other passes them.
    """
    order = sorted(files, key=_order)
    ceiling = order[HEAD - 1].score - 1e-6 if len(order) >= HEAD else order[-1].score if order else 0.0
    raised = [*order[:HEAD]]
    for one in order[HEAD:]:
        share = shares.get(one.path)
        if share is None:
            raised.append(one)
            continue
        gain = round(max(0.0, min(one.score + HIT * share / slope, ceiling) - one.score), 6)
        raised.append(_shift_score(one, GREPAI, share, gain, (*one.sources, GREPAI)))
    return tuple(sorted(raised, key=_order))


def _with_kind(
    workspace: Workspace, planner: Planner, stage: SecondStage, waiting: Waiting, look: SecondLook
) -> SecondLook:
    """Rank again as another kind of task, where the words leave the kind open and a model knows it."""
    ranking, intent = look.ranking, look.ranking.intent
    if intent.confidence >= SURE or stage.classify is None:
        return look
    what = "the kind of task is by its words alone"
    asked = _Asked(stage.timeout, waiting(stage.timeout))
    if not asked.seconds:
        return _without(look, INTENT, what, _NO_TIME)
    answer = stage.classify(intent.task.text, asked.seconds)
    look = replace(_count_lookup(look, answer.cached), stages={**look.stages, INTENT: asked.milliseconds()})
    if answer.kind is None:
        return _without(look, INTENT, what, asked.reason(answer.failed))
    note = f"{visible_line(answer.model)} says what kind of task it is: {answer.kind}"
    look = replace(look, notes=(*look.notes, note))
    if answer.kind is intent.predicted:
        return look
    intent = replace(intent, predicted=answer.kind, confidence=SURE)
    again = _rank_again(workspace, planner, ranking, intent, ranking.overrides.pinned)
    return replace(look, ranking=replace(ranking, intent=intent, files=again))


def _with_ratings(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    stage: SecondStage,
    waiting: Waiting,
    look: SecondLook,
) -> SecondLook:
    ranking = look.ranking
    enough = waiting(stage.timeout) > 0
    excerpts = excerpts_of(workspace, planner, ranking, stage.top, request.received) if enough else ()
    if enough and not excerpts:
        return look
    asked = _Asked(stage.timeout, waiting(stage.timeout))
    if not asked.seconds:
        return _without(look, RERANKING, _NOT_RERANKED, _NO_TIME)
    given = stage.rate(ranking.intent.task.text, excerpts, asked.seconds)
    look = replace(_count_lookup(look, given.cached), stages={**look.stages, RERANKING: asked.milliseconds()})
    if given.failed:
        return _without(look, RERANKING, _NOT_RERANKED, asked.reason(given.failed))
    ratings = {one.path: value for one, value in zip(excerpts, given.values, strict=True)}
    files = rated_files(ranking.files, ratings, stage, request.token_budget, ranking.model)
    before = [one.path for one in ranking.files if one.path in ratings]
    after = [one.path for one in files if one.path in ratings]
    moved = sum(old != new for old, new in zip(before, after, strict=True))
    cost = "" if given.cost is None else f"; {given.cost.sentence()}"
    rated = f"{visible_line(stage.model)} rated the first {plural(len(ratings), 'file')}"
    note = f"reranked: {rated}, {moved or 'none'} moved{cost}"
    return replace(look, ranking=replace(ranking, files=files), notes=(*look.notes, note))


def rated_files(
    files: Sequence[RankedFile],
    ratings: Mapping[str, float],
    stage: SecondStage,
    budget: int,
    model: RankingModel,
) -> tuple[RankedFile, ...]:
    """Return files as ratings of a second stage order them for a pack of `budget` tokens."""
    return blend(files, ratings, stage.weight * budget_factor(budget), model.relevance[0])


def blend(
    files: Sequence[RankedFile], ratings: Mapping[str, float], weight: float, slope: float
) -> tuple[RankedFile, ...]:
    """Move the scores of rated files by their ratings in [0, 1] around the mean of these; ties by path.

    A rating moves the log-odds that a file is needed by less than `weight`, and changes the distance of two
    files by at most that: one with a larger lead keeps it. `slope` is log-odds by score.
    """
    mean = sum(ratings.values()) / max(1, len(ratings))
    blended = []
    for one in files:
        rating = ratings.get(one.path)
        if rating is None:
            blended.append(one)
        else:
            gain = round(weight * (rating - mean) / slope, 6)
            blended.append(_shift_score(one, RERANKING, rating, gain, one.sources))
    return tuple(sorted(blended, key=_order))


def budget_factor(tokens: int) -> float:
    """Return how much ratings count for a pack of so many tokens: the fewer fit, the more [img §7.4]."""
    return float(min(1.5, max(0.5, (USUAL_BUDGET / tokens) ** 0.5)))


def excerpts_of(
    workspace: Workspace, planner: Planner, ranking: Ranking, top: int, received: Iterable[str] = ()
) -> tuple[FileExcerpt, ...]:
    """Return what is rated of the first `top` files that can be read and are wanted, secrets masked."""
    unwanted = {*ranking.overrides.excluded, *received}
    digests = digests_of(workspace.snapshot)
    wanted = [one.path for one in ranking.files[: planner.read + top] if one.path not in unwanted]
    read = lambda path: planner.contents.read(path, workspace.index, digests)  # noqa: E731
    return first_excerpts(planner, ranking.intent, wanted, read, top)


def first_excerpts(
    planner: Planner, intent: Intent, paths: Iterable[str], read: Callable[[str], Content | Skipped], top: int
) -> tuple[FileExcerpt, ...]:
    """Return what is rated of the first `top` files that can be read, secrets masked."""
    found: list[tuple[str, Content]] = []
    for path in paths:
        content = read(path)
        if not isinstance(content, Skipped):
            found.append((path, content))
        if len(found) == top:
            break
    placed = [PlacedFile(path, role_of(path), content.cut, content.data, 0.5, {}) for path, content in found]
    places = place_chances(planner.chunks, intent, placed, 0)
    return tuple(
        _excerpt(path, content, chances.tolist())
        for (path, content), chances in zip(found, places, strict=True)
    )


def _excerpt(path: str, content: Content, chances: Sequence[float]) -> FileExcerpt:
    chosen: list[int] = []
    size = 0
    for index in sorted(range(len(chances)), key=lambda number: (-chances[number], number)):
        if size >= LINES:
            break
        chosen.append(index)
        size += sum(len(line) + 1 for line in _lines(content, index))
    parts = ["\n".join(_lines(content, index)) for index in sorted(chosen)]
    outline = outline_view(path, content.symbols)
    names = "\n".join(line.split(" ", 1)[1].strip() for line in outline.lines)
    return FileExcerpt(path, redact(names).text[:NAMES], redact("\n…\n".join(parts)).text[:LINES])


def _lines(content: Content, index: int) -> Sequence[str]:
    chunk = content.cut.chunk(index)
    return content.lines[chunk.start - 1 : chunk.end]


def _shift_score(
    one: RankedFile, name: str, value: float, gain: float, sources: tuple[str, ...]
) -> RankedFile:
    return replace(
        one,
        score=round(one.score + gain, 6),
        features={**one.features, name: round(value, 4)},
        contributions={**one.contributions, name: round(gain, 4)} if gain else one.contributions,
        sources=sources,
    )


def _order(one: RankedFile) -> tuple[float, str]:
    return -one.score, one.path


def _count_lookup(look: SecondLook, cached: bool) -> SecondLook:
    hits, misses = look.lookups
    return replace(look, lookups=(hits + cached, misses + (not cached)))


_NOT_RERANKED: Final = "not reranked, files are in the order of the first stage"
_NO_MODEL: Final = "no model is set up (rerank.cross_encoder, or models.llm with models.llm_url)"
_NO_TIME: Final = "too little of the latency budget was left to ask"
_NO_ANSWER: Final = "no answer came within the latency budget"
