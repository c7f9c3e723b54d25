"""The planner: models, tokenizer and limits, and the ranking of a project's files that a plan begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from workbench.plan.intent import understand_prompt
from workbench.plan.matching import LEARNINGS, RuleMatcher
from workbench.plan.overrides import Overrides, resolve_overrides
from workbench.plan.ranking import RankingModel, rank_files
from workbench.plan.representations import Contents, Shares
from workbench.plan.response import EMBEDDINGS
from workbench.plan.semantics import KnownPast, TaskVector, known_past
from workbench.plan.snippets import ChunkModel
from workbench.plan.workspace import Progress, Synced, Workspace
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent, QueryType, RankedFile
from workbench.rules.matching.match import MatchParams, RuleMatch
from workbench.text.templates import OwnWords
from workbench.text.terms import parse_task
from workbench.text.tokens import TokenCounter

if TYPE_CHECKING:
    from workbench.models.rerank import SecondStage
    from workbench.ports import TextVectors
    from workbench.rules.matching.recheck import Rechecked

Recheck = Callable[[Sequence[RuleMatch], str], "Rechecked"]

READ = 20  # candidates whose content is looked at
NAMED = 80  # further candidates that may at least be named


@dataclass(frozen=True, slots=True)
class CandidateSource:
    """Another program that finds files: `find` takes a task and seconds and returns scores by path.

    It raises a WorkbenchError where it cannot. It is waited for `timeout` seconds at most.
    """

    timeout: float
    find: Callable[[str, float], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Planner:
    """What planning needs besides a workspace: models, tokenizer, limits.

    `plain_ranking` loads what ranks where past tasks are not known by meaning. `own` takes either and the
    fingerprint of a task, and returns what the project's own models make of it, and why they cannot be used.
    `recheck` takes matches and the message and returns what a language model leaves of them; None: no model.
    `search` finds more candidates; `second_stage` opens what rates the first files again, None: no model.
    Segments may take `segment_share` of a budget. An answer without a file that is needed with a chance of
    `confident` is of low confidence.
    """

    ranking: RankingModel
    chunks: ChunkModel
    worth: Shares
    counter: TokenCounter
    contents: Contents
    matching: MatchParams
    plain_ranking: Callable[[], RankingModel] | None = None
    own: Callable[[RankingModel, str], tuple[RankingModel, str]] | None = None
    embedder: TextVectors | None = None
    embedder_note: str = ""
    matcher: RuleMatcher = field(default_factory=RuleMatcher)
    learned: RuleMatcher = field(default_factory=partial(RuleMatcher, LEARNINGS))
    recheck: Recheck | None = None
    search: CandidateSource | None = None
    second_stage: Callable[[], SecondStage | None] | None = None
    segment_share: float = 0.15
    confident: float = 0.3
    read: int = READ
    named: int = NAMED


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files in order, the model that ordered them, and what was known of past tasks by meaning.

    `own` is what of a task that follows a template is its own; `note` is why the project's own models do not
    rank, empty if they do or there are none.
    """

    intent: Intent
    files: tuple[RankedFile, ...]
    synced: Synced
    model: RankingModel
    past: KnownPast
    vector: TaskVector
    overrides: Overrides = field(default_factory=Overrides)
    own: OwnWords | None = None
    note: str = ""


def rank(
    workspace: Workspace,
    planner: Planner,
    task: str,
    *,
    query_type: QueryType | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    pinned: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> Ranking:
    """Rank the project's files for a task, best first; pinned ones are among them.

    Raises: UsageError for something pinned or excluded that is not there.
    """
    synced = workspace.sync(strict=strict, progress=progress)
    overrides = resolve_overrides(
        pinned,
        excluded,
        workspace.index.positions.keys(),
        overridable_ids(workspace) if pinned or excluded else (),
    )
    past = known_past(planner.embedder, workspace.task_heads)
    needed = past.index is not None or bool(workspace.rulebook.rules)
    text = parse_task(task)
    intent, own = understand_prompt(
        text, workspace.templates, project_id=workspace.adapters.project_id, query_type=query_type
    )
    vector = TaskVector(planner.embedder if needed else None, intent.task)
    model = planner.ranking
    if past.index is None and planner.plain_ranking is not None:
        model = planner.plain_ranking()
    note = ""
    if planner.own is not None:
        model, note = planner.own(model, intent.task_fingerprint)
        if past.index is not None and model.adapter is not None and model.adapter.embedding != vector.model:
            note = note or f"the project's adapter is not used: it maps vectors of {model.adapter.embedding}"
    ranked = rank_files(
        workspace.view,
        intent,
        model,
        semantic=lambda: past.compared(vector, model.adapter),
        also=overrides.pinned,
    )
    return Ranking(intent, ranked, synced, model, past, vector, overrides, own, note)


def overridable_ids(workspace: Workspace) -> frozenset[str]:
    """Return the ids of the passages that can be pinned and excluded: rules, learnings and segments."""
    kept, stash = workspace.learnings(), workspace.adapters.stash()
    learned = () if kept is None else kept.known.live
    put_aside = () if stash is None else stash.ids()
    rules = workspace.rulebook.rules
    return frozenset((*(rule.id for rule in rules), *(one.id for one in learned), *put_aside))


def missing_parts(workspace: Workspace, planner: Planner) -> tuple[str, ...]:
    """Return what a plan has to do without here."""
    missing = (EMBEDDINGS,) if planner.embedder is None else ()
    return (*workspace.adapters.degraded, *missing)


def is_unprepared(planner: Planner, ranking: Ranking) -> bool:
    """Whether a plan would be better informed after `workbench model prepare`."""
    return bool(planner.embedder_note or ranking.past.missing or planner.matcher.note)
