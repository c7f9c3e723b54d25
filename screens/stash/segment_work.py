"""What the screen asks of the engine about the stash; called in jobs only, raises WorkbenchError."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from screens.curation.search_screen import SearchAnswer
from screens.curation.steps import wait_for
from screens.curation.walking import last_step_words, walk_back
from screens.engine import AppEngine
from screens.jobs import Job
from workbench.curation.concurrency import sign_changes
from workbench.lists.segments import SegmentRow
from workbench.records.segments import ContextSegment, FoundSegment

if TYPE_CHECKING:
    from workbench.curation.records import RecordChange
    from workbench.entry.services.stash_context import TranscriptPruning
    from workbench.records.answers.stash import MergeResponse
    from workbench.stash.lifecycle import StashCollection

DEPTH: Final = 2
"""How many references away the tree of references goes [rag §7]."""

MOST_FOUND: Final = 100
"""Segments a search lists."""

_MOST: Final = 60  # segments of a tree


@dataclass(frozen=True, slots=True)
class Reference:
    """A segment in the tree of references: how deep, which way, its row, None where it is not there.

    `forward` is what it refers to, backward what refers to it. One that is in the tree already is `again`.
    """

    depth: int
    forward: bool
    segment_id: str
    row: SegmentRow | None
    again: bool = False


@dataclass(frozen=True, slots=True)
class SegmentStory:
    """One segment with its whole text, what is linked with it and what was done to it."""

    row: SegmentRow
    text: str
    references: tuple[Reference, ...]
    changes: tuple[RecordChange[ContextSegment], ...]

    @property
    def segment(self) -> ContextSegment:
        """The segment; its text may be cut."""
        return self.row.segment


@dataclass(frozen=True, slots=True)
class StashWriter:
    """Reads and changes segments, each change one step that `u` takes back."""

    engine: AppEngine

    def story(self, row: SegmentRow, job: Job) -> SegmentStory:
        """Return everything known of a segment."""
        identifier, lists = row.segment.id, self.engine.lists()
        text = lists.segment_texts([identifier]).get(identifier, row.segment.text)
        job.check()
        references = tuple(self._references(row, job))
        with self.engine.stash(job.progress) as stash:
            changes = sign_changes(stash.history(identifier), stash.store.names())
        return SegmentStory(row, text, references, changes)

    def find(self, text: str, job: Job) -> SearchAnswer[FoundSegment]:
        """Return the segments that a text finds, the likeliest first, however unlikely."""
        from workbench.entry.services.stash_search import open_stash_search

        with self.engine.open_project(job.progress) as opened:
            searcher = open_stash_search(opened, progress=partial(job.progress, "Embedding segments"))
            job.check()
            found = searcher.find(searcher.query(text, top_k=MOST_FOUND, min_similarity=0.0))
        mode = "words" if searcher.lexical else "meaning and words"
        return SearchAnswer({one.segment.id: one for one in found}, mode, tuple(searcher.notes))

    def protect(self, segments: Sequence[ContextSegment], on: bool, job: Job) -> tuple[str, ...]:
        """Protect segments, or let them go; return the ids of those that were not so already."""
        ids = [one.id for one in segments]
        with self.engine.stash(job.progress) as stash:
            done = stash.protect(ids) if on else stash.unprotect(ids)
        return tuple(one.id for one in done)

    def expire(self, ids: Sequence[str], days: float | None, job: Job) -> tuple[str, ...]:
        """Let segments expire in so many days, None for never; return the ids of those that changed."""
        with self.engine.stash(job.progress) as stash:
            done = stash.expire_at(ids, None) if days is None else stash.expire_in(ids, days)
        return tuple(one.id for one in done)

    def remove(self, ids: Sequence[str], job: Job) -> Sequence[str]:
        """Remove segments; return their ids."""
        with self.engine.stash(job.progress) as stash:
            stash.remove(ids)
        return ids

    def text(self, identifier: str, job: Job) -> str:
        """Return the whole text of a segment."""
        return self.engine.lists().segment_texts([identifier]).get(identifier, "")

    def merge(self, ids: Sequence[str], job: Job) -> MergeResponse:
        """Return segments as one text, and note that they were useful."""
        from workbench.entry.services.stash_context import merge_for

        with self.engine.stash(job.progress) as stash:
            return merge_for(stash, ids)

    def collect(self, dry_run: bool, job: Job) -> StashCollection:
        """Remove what retention gives up, or only say what that is."""
        from workbench.entry.services.stash import retention_policy

        with self.engine.stash(job.progress) as stash:
            return stash.collect(retention_policy(self.engine.config.stash), dry_run=dry_run)

    def transcript(self, job: Job) -> str:
        """Return the path of the project's latest transcript, empty without any."""
        from workbench.entry.services.transcripts import newest_transcript

        with self.engine.workspace(job.progress) as opened:
            found = newest_transcript(opened)
        return "" if found is None else str(found)

    def propose(self, transcript: str, budget: int, task: str, job: Job) -> TranscriptPruning:
        """Return what of a transcript's context to put aside for a budget of tokens."""
        from workbench.entry.services.stash_context import prune_transcript

        path = Path(transcript).expanduser()
        with self.engine.open_project(job.progress) as opened:
            return prune_transcript(opened, self.engine.root / path, budget=budget, task=task)

    def put_aside(self, pruning: TranscriptPruning, job: Job) -> str:
        """Put aside what was proposed, as one step; return how many segments are new and known."""
        from workbench.entry.services.stash_context import stash_proposal

        with self.engine.stash(job.progress) as stash:
            return stash_proposal(stash, pruning).summary

    def undo(self, idle: Event, began: str, job: Job, step: str = "") -> str:
        """Undo the last step, or one, after those on their way; return it in words. Raises: as walk_back."""
        wait_for(idle, job)
        with self.engine.stash(job.progress) as stash:
            return walk_back(stash, step, began=began)

    def redo(self, idle: Event, job: Job) -> str:
        """Redo the last undone step, after those on their way; return it in words."""
        wait_for(idle, job)
        with self.engine.stash(job.progress) as stash:
            return last_step_words(stash, stash.redo().summary)

    def _references(self, row: SegmentRow, job: Job) -> Iterator[Reference]:
        """Yield the tree of what a segment refers to, then of what refers to it, depth first."""
        lists = self.engine.lists()
        table, left = lists.segment_list, [_MOST]

        def walk(identifier: str, one: SegmentRow | None, depth: int, forward: bool) -> Iterator[Reference]:
            if one is None or depth > DEPTH:
                return
            near = one.segment.references if forward else lists.referring_segments([identifier])[identifier]
            for linked in near:
                if not left[0]:
                    return
                left[0] -= 1
                job.check()
                again = linked in seen
                seen.add(linked)
                there = table.record(linked)
                yield Reference(depth, forward, linked, there, again)
                if not again:
                    yield from walk(linked, there, depth + 1, forward)

        for forward in (True, False):
            seen = {row.segment.id}
            yield from walk(row.segment.id, row, 1, forward)
