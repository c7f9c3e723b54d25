"""The stash of a project, as faces keep it; putting things aside needs no model and no index.

What faces that stay open put aside is embedded at once where that is cheap. A language model that the user
set up condenses segments, and none is asked unless somebody says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from workbench.config import StashConfig
from workbench.errors import ConfigError, ModelError
from workbench.records.answers.project import DoctorFinding, State
from workbench.records.answers.stash import StashSummary
from workbench.records.segments import ContextSegment, FoundSegment
from workbench.stash.lifecycle import RetentionPolicy, StashCollection, plan_collection
from workbench.stash.service import StashService
from workbench.stash.stashstore import StashLedger
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.opening import ProjectHost
    from workbench.ports import Float32

AT_ONCE: Final = 64
"""Segments that are embedded when they are put aside; more of them would be waited for."""


def stash_service(project: OpenedProject, by: str) -> StashService:
    """Return the service that keeps a project's stash in the name of a face."""
    return StashService(project.stash_store, by)


def retention_policy(
    settings: StashConfig,
    *,
    keep_days: float | None = None,
    max_segments: int | None = None,
    max_tokens: int | None = None,
) -> RetentionPolicy:
    """Return how long and how much is kept: as given, else as the settings say."""
    return RetentionPolicy(
        settings.keep_days if keep_days is None else keep_days,
        settings.max_segments if max_segments is None else max_segments,
        settings.max_tokens if max_tokens is None else max_tokens,
    )


def collect_daily(project: OpenedProject, service: StashService) -> StashCollection | None:
    """Give up what the settings do not keep, before the first addition of a day; None if there is nothing.

    It is a step of its own, before that of the addition. Raises: StoreError.
    """
    settings = project.config.stash
    done = service.collect_daily(retention_policy(settings)) if settings.collect else None
    return done if done is not None and done.disposals else None


def stash_figures(project: OpenedProject) -> tuple[int, dict[str, str]]:
    """Return how many segments there are, and the models of types with their own. Raises: StoreError."""
    return project.stash_store.reader.read(lambda ledger: (len(ledger.records), dict(ledger.embedded_types)))


def refold_stash(project: OpenedProject) -> None:
    """Fold the journal of the stash from its beginning, and save that. Raises: StoreError."""
    reader = project.stash_store.reader
    reader.forget()
    reader.read(lambda ledger: None)
    reader.save()


def stash_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield what of the stash cannot be read, and how much there is. Raises: StoreError."""
    policy, now = retention_policy(project.config.stash), project.clock.now()

    def read(ledger: StashLedger) -> tuple[tuple[str, ...], StashCollection]:
        return tuple(ledger.skipped), plan_collection(ledger, policy, now)

    skipped, plan = project.stash_store.reader.read(read)
    if skipped:
        text = f"{plural(len(skipped), 'entry', 'entries')} left out, the first: {visible_line(skipped[0])}"
        yield DoctorFinding("stash", State.NOTE, text, "The others are read; the journal keeps the lines.")
    number, tokens = plan.kept + len(plan.disposals), plan.kept_tokens + plan.tokens
    held = f"{plural(number, 'segment')} of {plural(tokens, 'token')}, {plan.protected:,} protected"
    due = f"; `workbench stash gc` removes {len(plan.disposals):,}" if plan.disposals else ""
    yield DoctorFinding("stash", State.OK, held + due)
    from workbench.entry.services.stash_models import models_of_types  # what only adds needs no models

    try:
        for kind, setting in models_of_types(project.config.stash).items():
            vectors, missing = project.vectors_by_setting(setting)
            text = f"{kind} is embedded by {vectors.model}" if vectors else f"{kind}, {setting}: {missing}"
            state = State.OK if vectors else State.NOTE
            yield DoctorFinding("stash", state, text, "The default model embeds it until then.")
    except ConfigError as error:
        yield DoctorFinding("stash", State.BROKEN, error.message, error.hint)


def segment_embedding(project: OpenedProject, service: StashService, identifier: str) -> Float32:
    """Return the unit vector of a segment's text by the model of its type, as far as it reads; float32 [d].

    Raises: UsageError for an unknown one; ModelError where no model is ready; StoreError.
    """
    from workbench.entry.services.stash_models import model_by, segment_model

    one = service.find(identifier)
    vectors, missing = project.text_vectors
    if vectors is None:
        raise ModelError(missing, hint="workbench model prepare")
    model, _ = segment_model(project, model_by(vectors))
    found: Float32 = model.part(one.type).embed([one.text])[0]
    return found


def linked_segments(
    service: StashService, identifier: str, max_hops: int, direction: str
) -> tuple[ContextSegment, ...]:
    """Return the segments so many references away from one, the nearest first. Raises: UsageError."""
    from workbench.stash.stashstore import ReferenceDirection, follow_references, stash_links

    start = service.find(identifier).id
    walk = follow_references(start, stash_links(service.store, ReferenceDirection(direction)), max_hops)
    return service.find_all([one.segment_id for one in walk]) if walk else ()


@contextmanager
def curate_stash(host: ProjectHost, operation: str) -> Iterator[StashService]:
    """Hold the stash of a project that is kept open. Raises: WorkbenchError."""
    with host.operation(operation) as work:
        yield stash_service(work.project, host.by)


def put_aside(
    project: OpenedProject, by: str, segments: Iterable[ContextSegment], reason: str = ""
) -> tuple[ContextSegment, ...]:
    """Put segments aside as one step, for a face that stays open; return them as they are kept.

    They are embedded at once where a model is loaded. Raises: as `StashService.add_many`.
    """
    service = stash_service(project, by)
    collect_daily(project, service)
    kept = service.add_many(segments, reason=reason).segments
    if project.loaded_vectors is not None:
        embed_at_once(project, kept)
    return kept


def embed_at_once(project: OpenedProject, segments: Sequence[ContextSegment]) -> None:
    """Embed segments that were just put aside, so that the next search has their vectors.

    Where this process has not loaded a model yet, or there are more than `AT_ONCE`, that search embeds them,
    as it does where a model fails, and says so.
    """
    vectors = project.loaded_vectors
    if vectors is None or len(segments) > AT_ONCE:
        return
    import numpy as np

    from workbench.entry.services.stash_models import model_by, segment_model
    from workbench.stash.chunking import embedded_text
    from workbench.stash.columns import TYPES
    from workbench.stash.segmenttail import segment_chunks

    texts: list[str] = []
    types: list[int] = []
    for one in segments:
        chunks = segment_chunks(one, one.text, project.counter.count, project.config.stash.chunk_tokens)
        texts += [embedded_text(one.text, chunk) for chunk in chunks]
        types += [TYPES.index(one.type)] * len(chunks)
    with suppress(ModelError, ConfigError):
        segment_model(project, model_by(vectors))[0].embed_segments(texts, np.array(types, np.int8))


def summarize_segments(
    project: OpenedProject,
    query: str,
    segments: Sequence[FoundSegment | ContextSegment],
    *,
    tell: Callable[[str], None] | None = None,
) -> StashSummary:
    """Return what of segments matters for a query, by the model of the settings `models.llm`.

    Of what a search found the part that was hit is condensed. Never fails: where no model is set up, or it
    does not answer as agreed, the summary is degraded and its notes say why.
    """
    from workbench.entry.project import language_model
    from workbench.stash.summary import SummaryLimits, condense, without_summary

    try:
        model = language_model(project.config)
    except ConfigError as error:
        return without_summary(error.message)
    if model is None:
        return without_summary("models.llm and models.llm_url are not both set")
    settings = project.config.stash
    return condense(
        query,
        [_segment_of(segment) for segment in segments],
        model,
        SummaryLimits(settings.summary_timeout, settings.summary_tokens),
        project.answer_cache,
        count_tokens=project.counter.count,
        tell=tell,
    )


def _segment_of(one: FoundSegment | ContextSegment) -> ContextSegment:
    return one if isinstance(one, ContextSegment) else replace(one.segment, text=one.passage)
