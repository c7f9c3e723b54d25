"""The stash of a project from Python: context put aside, to come back when it matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

from workbench.api.curation import CuratedRecords
from workbench.entry.services.opening import report

if TYPE_CHECKING:
    from workbench.curation.service import CurationService
    from workbench.lists.segments import SegmentRow
    from workbench.lists.tables import Page
    from workbench.ports import Float32
    from workbench.records.answers.stash import ImportResponse, MergeResponse, PruneResponse, StashSummary
    from workbench.records.segments import ContextSegment, FoundSegment, SegmentFields, SegmentFilters


class ProjectStash(CuratedRecords["ContextSegment"]):
    """Segments of conversations, kept for this project by every session and for no other project.

    Every change is one step, on disk before the call returns, that `undo` takes back. The beginning of an id
    names a segment.
    """

    _operation: ClassVar = "stash"

    def _hold_service(self, operation: str) -> AbstractContextManager[CurationService[Any, Any]]:
        from workbench.entry.services.stash import curate_stash

        return curate_stash(self._host, operation)

    def add(self, text: str | ContextSegment, **fields: Unpack[SegmentFields]) -> ContextSegment:
        """Put a text aside and return the segment as it is kept: secrets masked, tokens counted.

        A segment may be given instead of the text and its fields. The same text of the same session and
        source is the same segment. Raises: UsageError for an empty or too long text, an invalid time, or an
        id that has another text; StoreError.
        """
        from workbench.records.segments import ContextSegment

        one = text if isinstance(text, ContextSegment) else ContextSegment(text=text, **fields)
        return self.add_many([one])[0]

    def add_many(self, segments: Iterable[ContextSegment]) -> tuple[ContextSegment, ...]:
        """Put segments aside as one step, written at once; return them as they are kept. Raises: as `add`."""
        from workbench.entry.services.stash import put_aside

        with self._host.operation("stash-edit") as work:
            return put_aside(work.project, self._host.by, segments)

    def get(self, identifier: str) -> ContextSegment:
        """Return a segment with its text. Raises: UsageError for none or several; StoreError."""
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash") as service:
            return service.find(identifier)

    def list(
        self, filter: str = "", *, sort: str = "", cursor: str | None = None, limit: int = 100
    ) -> Page[SegmentRow]:
        """Return a page of segments, their texts cut after 2,000 characters, newest first.

        `filter`, `sort` and `cursor` are those of `workbench stash list`. Raises: UsageError, StoreError.
        """
        from workbench.lists.segments import SEGMENTS
        from workbench.lists.tables import read_page

        with self._host.operation("stash") as work:
            return read_page(work.project.segment_list, SEGMENTS.query(filter, sort), cursor, limit)

    def search(
        self,
        text: str = "",
        *,
        task: str = "",
        messages: Sequence[str] = (),
        files: Sequence[str] = (),
        top_k: int | None = None,
        min_similarity: float | None = None,
        filters: SegmentFilters | None = None,
    ) -> tuple[FoundSegment, ...]:
        """Return the segments that matter, best first, with their texts, scores and why [rag §7].

        `text` is what is looked for, `task` what is worked on, `messages` the latest of a conversation,
        `files` the paths that are open: any of them, or all. What is not given is as the settings `stash.*`
        say. The first search after many additions embeds them, with progress.
        Raises: UsageError for an empty query; StoreError, ModelError.
        """
        from workbench.entry.services.stash_search import search_stash

        host = self._host
        with host.operation("stash-search") as work:
            found, notes = search_stash(
                work.project,
                text,
                task=task,
                messages=messages,
                files=files,
                top_k=top_k,
                min_similarity=min_similarity,
                filters=filters,
                progress=host.progress,
            )
            work.measurement.candidates = len(found)
        for note in notes:
            report(note)
        return found

    def summarize(self, query: str, segments: Sequence[FoundSegment | ContextSegment]) -> StashSummary:
        """Return what of segments matters for a query, each sentence with the ids it rests on.

        The language model of the settings `models.llm` is asked, once; the texts go to its server. Without
        one, or where it fails, the summary has no sentences and its notes say why. Never fails.
        """
        from workbench.entry.services.stash import summarize_segments

        with self._host.operation("stash") as work:
            return summarize_segments(work.project, query, segments)

    def references(
        self, identifier: str, *, max_hops: int = 2, direction: Literal["to", "from", "both"] = "both"
    ) -> tuple[ContextSegment, ...]:
        """Return the segments linked with one, the nearest first, each once [rag §7].

        `direction` is `to` for those it refers to, `from` for those that refer to it. A reference to a
        segment that is not there leads nowhere. Raises: UsageError for an unknown one; StoreError.
        """
        from workbench.entry.services.stash import curate_stash, linked_segments

        with curate_stash(self._host, "stash") as service:
            return linked_segments(service, identifier, max_hops, direction)

    def embedding(self, identifier: str) -> Float32:
        """Return the unit vector of a segment's text, as far as the model reads; float32 [dimensions].

        Raises: UsageError for an unknown one; ModelError where no model is ready; StoreError.
        """
        from workbench.entry.services.stash import segment_embedding, stash_service

        with self._host.operation("stash") as work:
            return segment_embedding(work.project, stash_service(work.project, self._host.by), identifier)

    def merge(
        self,
        *identifiers: str,
        hops: int = 0,
        neighbours: int = 0,
        remove: bool = False,
        session_id: str = "",
        summary: bool = False,
        task: str = "",
    ) -> MergeResponse:
        """Return segments as one framed text to be taken back into a context; note that they were useful.

        With `hops` those linked with them come along, so many references away, with `neighbours` so many of
        their session just before and after. With `remove` they leave the stash. With `summary` the text is
        what a language model says of them for a task (`summarize`); if it fails, the segments as they are.
        Raises: UsageError for an unknown one, or with `remove` for a protected one; StoreError.
        """
        from workbench.entry.services.stash import stash_service, summarize_segments
        from workbench.entry.services.stash_context import merge_for

        with self._host.operation("stash-edit" if remove else "stash") as work:
            return merge_for(
                stash_service(work.project, self._host.by),
                identifiers,
                hops=hops,
                neighbours=neighbours,
                remove=remove,
                session_id=session_id,
                summarize=partial(summarize_segments, work.project, task) if summary else None,
            )

    def import_files(
        self,
        *places: str | PathLike[str],
        session_id: str = "",
        expires_in: float | None = None,
        reason: str = "",
    ) -> ImportResponse:
        """Put aside what transcripts hold, or segments given as JSON lines, as one step.

        Of directories the .jsonl files below them are read; `session_id` replaces that of the files,
        `expires_in` are days. What was imported before adds nothing; malformed lines are in the answer.
        Raises: UsageError for a file that is not there; StoreError.
        """
        from workbench.entry.services.stash import collect_daily, stash_service
        from workbench.entry.services.stash_import import StashImportRequest, import_files, import_response

        with self._host.operation("stash-import") as work:
            service = stash_service(work.project, self._host.by)
            collect_daily(work.project, service)
            expires_at = None if expires_in is None else service.in_days(expires_in)
            request = StashImportRequest(session_id, expires_at=expires_at, reason=reason)
            return import_response(list(import_files(service, [Path(place) for place in places], request)))

    def prune(
        self,
        transcript: str | PathLike[str],
        budget: int,
        *,
        task: str = "",
        latest: int = 6,
        apply: bool = False,
        expires_in: float | None = None,
    ) -> PruneResponse:
        """Return what to put aside of the context in a transcript so that the rest has `budget` tokens.

        Without a task it is about what the user asked for last; `latest` turns at the end stay. With `apply`
        the proposal is stashed, as one step. Raises: UsageError for what is no transcript; StoreError.
        """
        from workbench.entry.services.stash import stash_service
        from workbench.entry.services.stash_context import prune_response, prune_transcript, stash_proposal

        with self._host.operation("stash-prune") as work:
            found = prune_transcript(work.project, Path(transcript), budget=budget, task=task, latest=latest)
            if not apply:
                return prune_response(found)
            service = stash_service(work.project, self._host.by)
            expires_at = None if expires_in is None else service.in_days(expires_in)
            return prune_response(found, stash_proposal(service, found, expires_at=expires_at))

    def edit(self, identifier: str, *, reason: str = "", **changes: Unpack[SegmentFields]) -> ContextSegment:
        """Change what is known of a segment, by fields of ContextSegment; its text never changes.

        Raises: UsageError for an unknown segment or field, or if nothing would change; StoreError.
        """
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash-edit") as service:
            return service.edit(identifier, reason=reason, **changes)

    def protect(self, *identifiers: str, reason: str = "") -> tuple[ContextSegment, ...]:
        """Keep segments from expiring and from being removed. Raises: UsageError, StoreError."""
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash-edit") as service:
            return service.protect(identifiers, reason=reason)

    def unprotect(self, *identifiers: str, reason: str = "") -> tuple[ContextSegment, ...]:
        """Let segments expire and be removed again. Raises: as `protect`."""
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash-edit") as service:
            return service.unprotect(identifiers, reason=reason)

    def expire(
        self, *identifiers: str, days: float | None = None, at: str | None = None, reason: str = ""
    ) -> tuple[ContextSegment, ...]:
        """Let segments expire in so many days, or at a moment (ISO 8601); with neither they never do.

        Raises: as `protect`.
        """
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash-edit") as service:
            if days is not None:
                return service.expire_in(identifiers, days, reason=reason)
            return service.expire_at(identifiers, at, reason=reason)

    def remove(self, *identifiers: str, reason: str = "") -> None:
        """Remove segments. Raises: UsageError for an unknown or protected one; StoreError."""
        from workbench.entry.services.stash import curate_stash

        with curate_stash(self._host, "stash-edit") as service:
            service.remove(identifiers, reason=reason)

    def gc(
        self,
        *,
        max_age: float | None = None,
        max_segments: int | None = None,
        max_tokens: int | None = None,
        dry_run: bool = False,
    ) -> tuple[tuple[str, str], ...]:
        """Remove what expired, is unneeded for `max_age` days, repeats a text or is beyond a size limit.

        What is not given is as the settings `stash.*` say; 0 is without a limit. Return (id, why) of each;
        with `dry_run` nothing is changed. Raises: StoreError.
        """
        from workbench.entry.services.stash import retention_policy, stash_service

        with self._host.operation("stash-edit") as work:
            policy = retention_policy(
                work.project.config.stash,
                keep_days=max_age,
                max_segments=max_segments,
                max_tokens=max_tokens,
            )
            done = stash_service(work.project, self._host.by).collect(policy, dry_run=dry_run)
            return tuple((disposal.segment.id, disposal.why) for disposal in done.disposals)
