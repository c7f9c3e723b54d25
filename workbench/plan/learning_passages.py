"""Which learnings enter a plan: those about the task, reviewed ones first, in a small share of the budget.

They are matched as rules are, by meaning where an embedding model is ready and by words. A learning never
binds: it competes for its place, names its origin and whether anybody reviewed it, and every one that is left
out has a reason. Where nothing was ever learned, nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.plan.overrides import PINNED
from workbench.plan.planner import Planner, Ranking
from workbench.plan.render import LEARNINGS, Passage
from workbench.plan.rule_passages import matched_text, request_context
from workbench.plan.semantics import TaskVector
from workbench.plan.workspace import Workspace
from workbench.records.plan import PlanRequest

if TYPE_CHECKING:
    from workbench.memory.learnings.keeping import Kept
    from workbench.memory.learnings.prompt import Candidate
    from workbench.ports import Float32

SHARE = 0.12
"""Of a plan's budget: enough for a handful, and files stay what a plan is for."""

UNREVIEWED = 3
_REVIEWED_WORTH = 0.5
_UNREVIEWED_WORTH = 0.15
_OWN_TASK = 0.6
LEAST_OVERLAP = 0.25
LEAST_SHARED = 2
_FULL_OVERLAP = 0.6


@dataclass(frozen=True, slots=True)
class Learned:
    """Learnings for a plan as passages, and (id, reason) of those left out; `texts` are their texts by id."""

    passages: tuple[Passage, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def given(self, passages: Sequence[Passage]) -> dict[str, str]:
        """Return {id: text} of the learnings among the passages of a finished pack."""
        return {one.id: self.texts[one.id] for one in passages if one.id in self.texts}


NOTHING = Learned()


def learned_passages(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking
) -> Learned:
    """Return the learnings that may enter a plan, in the order of their claims. Raises: StoreError."""
    kept = workspace.learnings()
    if kept is None or not kept.known.live:
        return NOTHING
    from workbench.memory.learnings.prompt import candidates  # where there is something to select

    tasks = _tasks(request, ranking.intent.entities.issue_refs)
    relevance, whys = _relevance(workspace, planner, request, ranking, kept)
    for one in kept.known.live:
        if one.task_id is not None and one.task_id in tasks:
            relevance[one.id] = max(relevance.get(one.id, 0.0), _OWN_TASK)
    overrides = ranking.overrides
    relevance |= {one.id: 1.0 for one in kept.known.live if one.id in overrides.pinned}
    found = candidates(
        kept.known, workspace.adapters.now(), feature=request.feature, tasks=tasks, relevance=relevance
    )
    claims = [one for one in found.candidates if one.learning.id not in overrides.excluded]
    claims.sort(key=lambda one: one.learning.id not in overrides.pinned)
    share = int(request.token_budget * SHARE)
    passages, dropped = _admit(claims, planner, share, whys, pinned=overrides.pinned)
    left_out = tuple(one for one in found.left_out if one[0] not in overrides.excluded)
    texts = {one.learning.id: one.learning.text for one in found.candidates}
    return Learned(tuple(passages), (*dropped, *left_out), texts)


def _relevance(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking, kept: Kept
) -> tuple[dict[str, float], dict[str, str]]:
    """Return {id: relevance in [0, 1]} of the learnings about a task, and why, by words and by meaning."""
    from workbench.rules.matching.filters import RuleQuery, reject
    from workbench.rules.matching.lexical import shared_words, term_overlap
    from workbench.rules.matching.search import match_message

    text = matched_text(ranking.intent.task)
    adapters = workspace.adapters
    query = RuleQuery(
        request.task, adapters.project_id, request_context(workspace, request, ranking), adapters.now()
    )
    relevance: dict[str, float] = {}
    whys: dict[str, str] = {}
    overlap, shared = term_overlap(kept.words, text)
    for row in ((overlap >= LEAST_OVERLAP) & (shared >= LEAST_SHARED)).nonzero()[0].tolist():
        rule = kept.rules[row]
        if not reject(rule, query):
            relevance[rule.id] = min(1.0, float(overlap[row]) / _FULL_OVERLAP)
            whys[rule.id] = f"shares {', '.join(shared_words(rule, text))} with the task"
    vector = _vector(planner, ranking)
    if vector is not None:
        index = planner.learned.index(kept.rules, kept.words, planner.embedder)
        if index.vectors is not None:
            for match in match_message(index, query, vector, planner.matching, text=text).matches:
                if match.relevance > relevance.get(match.rule.id, 0.0):
                    relevance[match.rule.id], whys[match.rule.id] = match.relevance, match.why
    return relevance, whys


def _vector(planner: Planner, ranking: Ranking) -> Float32 | None:
    vector = ranking.vector.get()
    return TaskVector(planner.embedder, ranking.intent.task).get() if vector is None else vector


def _tasks(request: PlanRequest, references: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks a request is about: the one it names, and the issues its text does."""
    named = [] if request.task_id is None else [request.task_id]
    return tuple(dict.fromkeys((*named, *references, *(one.lstrip("#") for one in references))))


def _admit(
    claims: Sequence[Candidate],
    planner: Planner,
    tokens: int,
    whys: Mapping[str, str],
    *,
    pinned: Sequence[str] = (),
) -> tuple[list[Passage], list[tuple[str, str]]]:
    from workbench.memory.learnings.prompt import escape_frame, source_of

    passages: list[Passage] = []
    dropped: list[tuple[str, str]] = []
    left, unreviewed = tokens, 0
    for place, claim in enumerate(claims):
        one = claim.learning
        text, origin = escape_frame(one), source_of(one, None)
        cost = planner.counter.count(f"- ({origin}) {text}\n")
        wanted = one.id in pinned
        if not wanted and not one.reviewed and unreviewed >= UNREVIEWED:
            dropped.append((one.id, f"more than {UNREVIEWED} learnings that nobody reviewed"))
            continue
        if not wanted and cost > left:
            dropped.append((one.id, f"its {cost} tokens exceed the {tokens} of the learnings"))
            continue
        left -= cost
        unreviewed += not one.reviewed
        worth = (_REVIEWED_WORTH if one.reviewed else _UNREVIEWED_WORTH) * claim.score
        passages.append(
            Passage(
                id=one.id,
                section=LEARNINGS,
                text=text,
                origin=origin,
                why="; ".join(
                    filter(None, (claim.why, PINNED if wanted else whys.get(one.id, "about the same task")))
                ),
                score=claim.score,
                utility=worth / (1.0 + 0.1 * place),
            )
        )
    return passages, dropped
