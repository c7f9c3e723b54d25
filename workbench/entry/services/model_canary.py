"""Models tried on a share of plans: both orders are recorded and scored by what sessions edit; one stays.

Every plan that a session is handed while a canary runs is ranked by it and by the active model. A session
counts once, however many plans it asked for, so that nobody decides by asking often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.errors import ModelError
from workbench.models.registry import (
    ACTIVATED,
    SERVED,
    SETTLED,
    STREAM,
    ModelRegistry,
    RunningCanary,
    ServedPlan,
)
from workbench.plan.own_models import check_model
from workbench.plan.planner import Ranking
from workbench.plan.ranking import rank_files
from workbench.records.answers.models import CanaryState
from workbench.records.dataclass import dataclass
from workbench.records.episodes import EventType
from workbench.replay.metrics import ndcg
from workbench.replay.statistics import paired_permutation
from workbench.sessions.episodes_fold import EVENT, IMPORTED, MALFORMED, imported_episode, read_event
from workbench.sessions.episodes_fold import STREAM as SESSIONS
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.ports import Entry

FIRST: Final = 10  # files of an order that are recorded and scored
SOON: Final = 6  # sessions after which a canary that is clearly worse is rolled back
NEEDED: Final = 20  # sessions after which it is decided either way
CHANCE: Final = 0.05
_RECENT: Final = 4 << 20  # bytes of the journal of sessions in which edits are looked for


@dataclass(frozen=True, slots=True)
class CanaryScores:
    """nDCG@10 of the canary and of the active model, a pair for each session that edited files."""

    canary: tuple[float, ...]
    active: tuple[float, ...]

    @property
    def gain(self) -> float:
        """The mean that the canary is above the active model, 0 before the first session."""
        return float(np.subtract(self.canary, self.active).mean()) if self.canary else 0.0


def record_served(project: OpenedProject, made: Ranking, session: str, *, by: str) -> None:
    """Record how a canary and the active model order the files of a plan that a session is handed.

    Then see whether the canary is to be settled. Raises: StoreError.
    """
    registry = project.own_models.registry()
    if registry.canary is None or not session:
        return
    planner, view = project.planner, project.workspace.view
    base = planner.ranking
    if made.past.index is None and planner.plain_ranking is not None:
        base = planner.plain_ranking()
    orders = {}
    for name, canary in (("canary", True), ("active", False)):
        model, _ = project.own_models.apply(base, canary=canary)
        files = rank_files(
            view,
            made.intent,
            model,
            semantic=partial(made.past.cosines, made.vector, model.adapter),
            limit=FIRST,
        )
        orders[name] = [file.path for file in files]
    body = {
        "model_id": registry.canary.model_id,
        "session_id": session,
        "task": made.intent.task_fingerprint,
        **orders,
    }
    project.journal.append(STREAM, SERVED, [body], by=by, sync=False)
    review_canary(project)


def review_canary(project: OpenedProject) -> tuple[CanaryState | None, list[str]]:
    """Return how the canary does and what was decided; one that was scored often enough is settled.

    Raises: StoreError.
    """
    canary = project.own_models.registry().canary
    if canary is None:
        return None, []
    with project.lock("models"):
        registry = project.own_models.registry()
        if registry.canary is None or registry.canary.model_id != canary.model_id:
            return None, []
        scores = score_canary(registry.canary, project.newest(SESSIONS, _RECENT))
        verdict = _fault(registry) or canary_verdict(scores)
        if not verdict:
            return canary_state(registry.canary, scores), []
        reason = f"nDCG@10 {scores.gain:+.3f} in {plural(len(scores.canary), 'session')}"
        body = {"model_id": canary.model_id, "verdict": verdict, "reason": reason}
        drafts: list[tuple[str, Mapping[str, object]]] = [(SETTLED, body)]
        if verdict == "promoted":
            drafts.append((ACTIVATED, {"model_id": canary.model_id}))
        project.journal.append_all(STREAM, drafts, by="canary")
    return None, [f"{canary.model_id} was {verdict}: {reason}"]


def _fault(found: ModelRegistry) -> str:
    assert found.canary is not None
    try:
        check_model(found.models[found.canary.model_id])
    except ModelError as error:
        return f"rolled back ({error.message})"
    return ""


def canary_state(canary: RunningCanary, scores: CanaryScores) -> CanaryState:
    """Return how a canary does so far."""
    plans, scored = len(canary.served), len(scores.canary)
    return CanaryState(canary.model_id, canary.share, plans, scored, NEEDED, round(scores.gain, 4))


def canary_verdict(scores: CanaryScores) -> str:
    """Return `promoted`, `rolled back`, or nothing while it is too early.

    A canary that is worse beyond chance goes at once; one that is not better after NEEDED sessions goes, too.
    """
    count = len(scores.canary)
    if count >= SOON and scores.gain < 0 and paired_permutation(scores.canary, scores.active) < CHANCE:
        return "rolled back"
    if count < NEEDED:
        return ""
    return "promoted" if scores.gain > 0 else "rolled back"


def score_canary(canary: RunningCanary, sessions: Iterable[Entry]) -> CanaryScores:
    """Score both orders of the plans of each session by the files that it edited after its first plan."""
    plans: dict[str, list[ServedPlan]] = {}
    for plan in canary.served:
        plans.setdefault(plan.session, []).append(plan)
    edited: dict[str, set[str]] = {name: set() for name in plans}
    for entry in sessions:
        name = str(entry.body.get("session_id", ""))
        if name not in plans:
            name = name.rpartition("/")[0]  # a prompt of a session is an episode of its own, `session/1`
        if name in plans:
            edited[name].update(_edits(entry, plans[name][0].at))
    pairs = [
        (_mean([one.canary for one in plans[name]], files), _mean([one.active for one in plans[name]], files))
        for name, files in edited.items()
        if files
    ]
    return CanaryScores(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))


def _edits(entry: Entry, since: str) -> list[str]:
    try:
        if entry.kind == IMPORTED:
            return [change.path for change in imported_episode(entry.body, entry.by).changes]
        if entry.kind == EVENT and _time(entry.at) >= _time(since):
            event = read_event(entry.body)
            return [event.file_path] if event.event_type is EventType.EDIT and event.file_path else []
    except MALFORMED:
        pass
    return []


def _time(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _mean(orders: Sequence[Sequence[str]], files: set[str]) -> float:
    return float(np.mean([ndcg([path in files for path in order], len(files)) for order in orders]))
