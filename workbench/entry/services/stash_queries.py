"""Queries to the stash as they come in JSON lines, and its answers as faces hand them out [rag §9]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from workbench.entry.services.opening import ProjectHost
from workbench.entry.services.stash import stash_service
from workbench.entry.services.stash_search import LEXICAL, StashSearcher, open_stash_search
from workbench.errors import UsageError
from workbench.records.answers.stash import RetrievedSegment, RetrieveResponse, StashSummary
from workbench.records.segments import VECTORS, FoundSegment, SegmentFilters, SegmentType, StashQuery
from workbench.stash.times import require_time

PREVIEW: Final = 500
"""Characters of a segment that an answer shows [rag §9]."""

MOST: Final = 1_000
"""Segments that one query may ask for."""

_FIELDS: Final = {
    "types": ("type", "types"),
    "topics": ("topic", "topics"),
    "sessions": ("session", "sessions", "session_id"),
    "sources": ("source", "sources"),
    "start_time": ("start_time", "since"),
    "end_time": ("end_time", "until"),
}
Summarize = Callable[[str, Sequence[FoundSegment]], StashSummary]
"""Condenses what was found to what matters for words."""

_NAMES: Final = {name: field for field, names in _FIELDS.items() for name in names}


def make_filters(
    *,
    types: Sequence[str] = (),
    topics: Sequence[str] = (),
    sessions: Sequence[str] = (),
    sources: Sequence[str] = (),
    start_time: str = "",
    end_time: str = "",
) -> SegmentFilters:
    """Return filters from texts. Raises: UsageError for an unknown type or an invalid time."""
    known = [one.value for one in SegmentType]
    for name in types:
        if name not in known:
            raise UsageError(f"{name[:40]!r} is not a type of segment", hint=f"There are {', '.join(known)}.")
    return SegmentFilters(
        types=tuple(map(SegmentType, types)),
        topics=tuple(topics),
        sessions=tuple(sessions),
        sources=tuple(sources),
        start_time=_time(start_time, end=False),
        end_time=_time(end_time, end=True),
    )


def read_query(searcher: StashSearcher, value: object) -> StashQuery:
    """Return the query of a JSON object {query, top_k, min_similarity, filters, task, messages, files}.

    Only what is asked for has to be there. Raises: UsageError that names the field that is invalid.
    """
    if not isinstance(value, dict):
        raise UsageError("a query is a JSON object", hint='{"query": "how do we store sessions?"}')
    text, task = _text(value, "query"), _text(value, "task")
    messages, files = _texts(value.get("messages"), "messages"), _texts(value.get("files"), "files")
    if not any(one.strip() for one in (text, task, *messages, *files)):
        raise UsageError("there is nothing to look for", hint="Give a query, a task, messages or files.")
    return searcher.query(
        text,
        task=task,
        messages=messages,
        files=files,
        top_k=_number(value, "top_k", 1, MOST, whole=True),
        min_similarity=_number(value, "min_similarity", 0, 1),
        filters=_filters(value.get("filters")),
    )


def answer(
    searcher: StashSearcher, query: StashQuery, summarize: Summarize | None = None
) -> RetrieveResponse:
    """Return what a query finds, with `summarize` a summary of it. Raises: StoreError, ModelError."""
    found = searcher.find(query)
    response = _response(searcher, query, found)
    if summarize is None or not found:
        return response
    words = "\n".join(filter(None, (query.text, query.task, *query.messages))) or "\n".join(query.files)
    summary = summarize(words, found)
    return replace(
        response,
        summary=summary,
        degraded=(*response.degraded, *summary.degraded),
        notes=(*response.notes, *summary.notes),
    )


def answer_query(host: ProjectHost, asked: Mapping[str, object], session: str = "") -> RetrieveResponse:
    """Return what a query finds in a project that is kept open; that it was shown is noted.

    `asked` is as `read_query` takes it. Raises: UsageError, StoreError, ModelError.
    """
    with host.operation("stash-search") as work:
        embedding = None if host.progress is None else partial(host.progress, "embedding segments")
        searcher = open_stash_search(work.project, progress=embedding)
        query = read_query(searcher, asked)
        found = answer(searcher, query)
        work.measurement.candidates = found.total_found
        if found.segments:
            ids = [one.segment_id for one in found.segments]
            stash_service(work.project, host.by).note_shown(ids, query=query.text, session_id=session)
    return found


def _response(searcher: StashSearcher, query: StashQuery, found: Sequence[FoundSegment]) -> RetrieveResponse:
    return RetrieveResponse(
        query=query.text or query.task or "\n".join((*query.messages, *query.files)),
        total_found=len(found),
        segments=tuple(map(_retrieved_segment, found)),
        degraded=(
            *((LEXICAL,) if searcher.lexical and len(searcher.index) else ()),
            *((VECTORS,) if searcher.fault else ()),
        ),
        notes=tuple(searcher.notes),
    )


def _retrieved_segment(one: FoundSegment) -> RetrievedSegment:
    segment = one.segment
    text = one.passage if len(one.passage) <= PREVIEW else f"{one.passage[: PREVIEW - 1]}…"
    return RetrievedSegment.of(
        segment,
        score=one.score,
        similarity=one.similarity,
        temporal=one.temporal,
        recency=one.recency,
        age_days=one.age_days,
        topic=segment.topic or "",
        text=text,
        why=one.why,
        parts=one.parts,
    )


def _filters(value: object) -> SegmentFilters:
    if value is None:
        return SegmentFilters()
    if not isinstance(value, dict):
        raise UsageError("filters are a JSON object", hint='{"type": "decision", "session_id": "s1"}')
    given: dict[str, Any] = {}
    for name, content in value.items():
        field = _NAMES.get(name)
        if field is None:
            raise UsageError(f"there is no filter {name[:40]!r}", hint=f"There are {', '.join(_NAMES)}.")
        if content in (None, ""):
            continue
        given[field] = str(content) if field.endswith("_time") else _texts(content, name)
    return make_filters(**given)


def _time(value: str, *, end: bool) -> str:
    """Return a time in UTC; a day that ends something is over at its end. Raises: UsageError."""
    if not value:
        return ""
    found = require_time(value)
    return found.replace("T00:00:00", "T23:59:59") if end and ":" not in value else found


def _text(value: Mapping[str, Any], name: str) -> str:
    given = value.get(name)
    if given is None:
        return ""
    if not isinstance(given, str):
        raise UsageError(f"{name} is not text", hint="Give it as a JSON string.")
    return given


def _texts(given: object, name: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise UsageError(f"{name} is neither a text nor a list of texts", hint="Give JSON strings.")
    return tuple(given)


def _number(value: Mapping[str, Any], name: str, least: int, most: int, *, whole: bool = False) -> Any:  # noqa: ANN401 - a whole number or any
    given = value.get(name)
    if given is None:
        return None
    kinds = (int,) if whole else (int, float)
    if isinstance(given, bool) or not isinstance(given, kinds) or not least <= given <= most:
        number = "a whole number" if whole else "a number"
        raise UsageError(f"{name} is not {number} from {least} to {most:,}", hint=f"Leave {name} out.")
    return given
