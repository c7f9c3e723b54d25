"""The segments of a plan: what was put aside and is about the task, selected within its share, as passages.

They take the road of learnings: they never bind, compete for their place and say what they are, how old and
from which session; every one that was looked at and is left out has a reason. Where nothing was ever put
aside, nothing of the stash is read or imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.plan.planner import Planner, Ranking
from workbench.plan.render import SEGMENTS, Passage
from workbench.plan.semantics import task_text
from workbench.plan.workspace import Workspace
from workbench.project.scan import read_bytes
from workbench.records.dataclass import dataclass
from workbench.records.plan import PlanRequest
from workbench.records.project import Skipped
from workbench.records.segments import VECTORS

if TYPE_CHECKING:
    from workbench.ports import StashSearch
    from workbench.records.segments import FoundSegment
    from workbench.stash.selection import ChosenSegment

LOOKED_AT = 6  # segments a plan asks for; those that repeat what is known leave room for others
NEAR = 0.4  # similarity from which a segment is named with the reason why it is out
_WORTH = 0.4


@dataclass(frozen=True, slots=True)
class Stashed:
    """Segments for a plan as passages, and (id, reason) of those left out.

    `asked` is whether there is a stash. `chosen` are those of the passages by id, `found` all that were
    looked at. `notes` say why the stash, or the server of its vectors, could not be asked; `degraded` names
    what is missing then.
    """

    asked: bool = False
    passages: tuple[Passage, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    chosen: Mapping[str, ChosenSegment] = field(default_factory=dict)
    found: Mapping[str, FoundSegment] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()

    def segments_in(self, passages: Sequence[Passage]) -> tuple[ChosenSegment, ...]:
        """Return the segments among the passages of a finished pack, in its order."""
        return tuple(self.chosen[one.id] for one in passages if one.id in self.chosen)


NOTHING = Stashed()


def stashed_passages(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking, known: Sequence[Passage]
) -> Stashed:
    """Return the segments that may enter a plan beside what is known to be in it, best first.

    A stash that cannot be read costs a plan its segments and nothing else.
    """
    if not request.stash or not planner.segment_share:
        return NOTHING
    try:
        stash = workspace.adapters.stash()
        return (
            NOTHING if stash is None else _select_stashed(stash, workspace, planner, request, ranking, known)
        )
    except WorkbenchError as error:
        return Stashed(True, notes=(f"the stash was not asked: {error.message}",))


def _select_stashed(
    stash: StashSearch,
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    ranking: Ranking,
    known: Sequence[Passage],
) -> Stashed:
    from workbench.stash.selection import PackSurroundings, select_segments  # where there is something

    overrides = ranking.overrides
    now = workspace.adapters.now()
    moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    asked = [one for one in _find_segments(stash, ranking) if one.segment.id not in overrides.excluded]
    found = [one for one in asked if not one.segment.is_expired(moment)]
    over = [one.segment for one in asked if one.segment.is_expired(moment)]
    around = PackSurroundings(
        now=now,
        budget=request.token_budget,
        tokens=int(request.token_budget * planner.segment_share),
        evidence="lexical" if stash.lexical else "dense",
        task=ranking.intent.task.text,
        count=planner.counter.count,
        read=_reader(workspace),
        known={one.id: one.text for one in known if one.id not in overrides.excluded},
    )
    selection = select_segments(found, around, pinned=overrides.pinned)
    return Stashed(
        True,
        tuple(_passage(one, place) for place, one in enumerate(selection.chosen)),
        (*selection.left_out, *((one.id, f"it expired: {str(one.expires_at)[:10]}") for one in over)),
        {one.found.segment.id: one for one in selection.chosen},
        {one.segment.id: one for one in found},
        (f"the vectors of the stash are compared here: {stash.fault}",) if stash.fault else (),
        (VECTORS,) if stash.fault else (),
    )


def _find_segments(stash: StashSearch, ranking: Ranking) -> Sequence[FoundSegment]:
    """Return what the stash has about a task, and the segments that are pinned."""
    from workbench.records.segments import FoundSegment, StashQuery

    ranking.vector.get()  # the same text is embedded once
    query = StashQuery(task=task_text(ranking.intent.task), top_k=LOOKED_AT, min_similarity=NEAR)
    found = list(stash.find(query))
    there = {one.segment.id for one in found}
    wanted = [name for name in ranking.overrides.pinned if name not in there]
    pinned = stash.segments(wanted) if wanted else ()
    return [
        *found,
        *(
            FoundSegment(segment=one, score=1.0, similarity=1.0, temporal=1.0, recency=1.0, rank=len(found))
            for one in pinned
        ),
    ]


def _reader(workspace: Workspace) -> Callable[[str], str | None]:
    """Return what reads files of the project as they are now."""
    index = workspace.index

    def read(path: str) -> str | None:
        if path not in index.positions:
            return None
        data = read_bytes(workspace.adapters.root, path, workspace.limits.max_bytes)
        return None if isinstance(data, Skipped) else data.decode("utf-8", "replace")

    return read


def _passage(one: ChosenSegment, place: int) -> Passage:
    return Passage(
        id=one.found.segment.id,
        section=SEGMENTS,
        text=one.text,
        origin=one.origin,
        why=one.why,
        score=one.found.score,
        utility=_WORTH * one.found.score / (1.0 + 0.1 * place),
        block="\n" in one.text,
    )
