"""A stash as it was at moments of the past: a scratch project where segments are put aside in time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config import Config
from workbench.entry.project import OpenedProject, find_state
from workbench.entry.services.stash import stash_service
from workbench.entry.services.stash_search import order_weights
from workbench.records.segments import MAX_SEGMENT, ContextSegment, FoundSegment, StashQuery
from workbench.stash.retrieval import retrieve
from workbench.stash.scoring import OrderWeights
from workbench.stash.segmentindex import SegmentIndex
from workbench.stash.segmentmodels import EmbeddingModel, Progress

if TYPE_CHECKING:
    from workbench.ports import Int64

_BY: Final = "replay"


@dataclass(slots=True)
class MomentClock:
    """A clock that shows what it was set to, in seconds since the epoch."""

    moment: float = 0.0

    def now(self) -> float:
        """Return the moment."""
        return self.moment


@dataclass(slots=True)
class PastStash:
    """The stash of a scratch project. Segments are known by their rows among `segments`."""

    segments: Sequence[ContextSegment]
    project: OpenedProject
    clock: MomentClock
    index: SegmentIndex
    model: EmbeddingModel | None
    weights: OrderWeights
    progress: Progress | None = None
    stashed: set[int] = field(default_factory=set)

    def put(self, known: Int64, at: float) -> None:
        """Put aside, at a moment, those of the rows `known` that are not there yet, and embed them.

        Raises: StoreError, ModelError.
        """
        new = [row for row in known.tolist() if row not in self.stashed]
        self.stashed.update(new)
        self.clock.moment = max(self.clock.moment, at)
        usable = [one for row in new if 0 < len((one := self.segments[row]).text) <= MAX_SEGMENT]
        if usable:
            stash_service(self.project, _BY).add_many(usable)
        self.index.refresh()
        if self.index.is_behind("" if self.model is None else self.model.model):
            self.index.publish(self.model, self.progress)  # all of a tail is read again whenever it grows
        elif self.model is not None:
            self.index.embed_tail(self.model, self.progress)

    def find(self, known: Int64, query: StashQuery, at: float) -> tuple[FoundSegment, ...]:
        """Return what is found of the rows `known`, which were put aside, at a moment. Raises: ModelError."""
        allowed = {self.segments[row].segment_id for row in known.tolist()}
        spare = len(self.stashed) - len(allowed)
        found = retrieve(
            self.index,
            replace(query, top_k=query.top_k + spare),
            embed=None if self.model is None else self.model.embed_query,
            now=at,
            weights=self.weights,
            per_session=self.project.config.stash.per_session,
        )
        return tuple(one for one in found if one.segment.segment_id in allowed)[: query.top_k]


@contextmanager
def stash_past(
    segments: Sequence[ContextSegment],
    config: Config,
    model: EmbeddingModel | None,
    weights: OrderWeights | None = None,
    progress: Progress | None = None,
) -> Iterator[PastStash]:
    """Open an empty stash for segments, which goes with the context. Raises: StoreError."""
    with tempfile.TemporaryDirectory(prefix="workbench-stash-") as scratch:
        root = Path(scratch) / "project"
        (root / ".workbench").mkdir(parents=True)
        environment = {**os.environ, "WORKBENCH_HOME": str(Path(scratch) / "home")}
        clock = MomentClock()
        project = replace(find_state(root, config, environment), clock=clock)
        yield PastStash(
            segments,
            project,
            clock,
            project.segment_index,
            model,
            weights or order_weights(config.stash),
            progress,
        )
