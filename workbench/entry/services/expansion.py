"""Expansion as every face asks for it: handles to text, within a budget, not what the session has already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.entry.services.handovers import agent_session, record_handover, session_context
from workbench.entry.services.requests import MOST_TOKENS
from workbench.errors import StoreError, UsageError
from workbench.expand.blocks import Make, SessionLines, fill, spans_of
from workbench.records.answers.expansion import ExpandedHandle, ExpandResponse
from workbench.records.expansion import TOKENS, Aspect, ExpandRequest, Found
from workbench.records.plan import Representation
from workbench.records.usage import Handover, ShownLines
from workbench.sessions.episodes_checks import one_of

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.metrics import Measured
    from workbench.expand.blocks import HandleText
    from workbench.plan.workspace import Progress

MOST_HANDLES: Final = 50
EVENT: Final = "expand"
_SERVER: Final = "http"


def expand_request(
    project: OpenedProject,
    handles: Sequence[str],
    *,
    budget: int | None = None,
    aspect: str = "",
    session: str = "",
    again: bool = False,
    by: str,
) -> ExpandRequest:
    """Return the request for handles; without a session it is for that of the agent that runs this program.

    Raises: UsageError for no handle or too many, a budget below 1, an unknown aspect.
    """
    named = tuple(dict.fromkeys(handle.strip() for handle in handles if handle.strip()))
    if not named:
        raise UsageError(
            "nothing is named",
            hint="Name a definition, a file or lines: parseKeymap, src/options.go:120-180.",
        )
    if len(named) > MOST_HANDLES:
        raise UsageError(f"{len(named)} handles at once", hint=f"Ask for at most {MOST_HANDLES} at a time.")
    limit = TOKENS if budget is None else budget
    if not 1 <= limit <= MOST_TOKENS:
        raise UsageError(f"a budget of {limit} tokens is not possible", hint=f"Give 1 to {MOST_TOKENS:,}.")
    # The session in the environment of a server is that of whoever started it, not of its caller.
    known = session or ("" if by == _SERVER else agent_session(project.environment))
    return ExpandRequest(named, limit, one_of(Aspect, aspect or "show", "aspect"), known, again)


def expand_for(
    project: OpenedProject,
    measurement: Measured,
    request: ExpandRequest,
    *,
    progress: Progress | None = None,
    by: str,
) -> ExpandResponse:
    """Answer handles and record what the session was given. The index is synced with the files first.

    Raises: UsageError if all handles are unknown; StoreError.
    """
    from workbench.expand.answers import answer
    from workbench.expand.handles import parse_handle
    from workbench.expand.lookup import path_finder
    from workbench.expand.sources import Sources

    workspace = project.workspace
    synced = workspace.sync_index(progress)
    measurement.cache["index"] = (1, 0) if synced.cache == "hit" else (0, 1)
    sources = Sources(project.root, workspace.index, workspace.snapshot, project.config.index.max_file_bytes)
    held = None if request.again else session_context(project, request.session_id)
    given = SessionLines() if held is None else SessionLines.of(held.shown, sorted(held.lists))
    find_paths = path_finder(sources)
    makes: list[Make] = []
    for text in request.handles:
        handle = parse_handle(text, find_paths, request.aspect)
        makes.append(partial(answer, sources, handle))
    text, blocks = fill(makes, given, request.token_budget, project.counter.count)
    if all(block.found is Found.UNKNOWN for block in blocks):
        first = blocks[0]
        names = first.heading.partition(": ")[0]
        why, _, near = first.note.partition(". ")
        hint = near or "A handle is a name, a file, path:name or path:1-40."
        raise UsageError(f"{names}: {why}", hint=hint)
    measurement.tokens = project.counter.count(text)
    measurement.candidates = len(blocks)
    try:
        record_handover(project, _handover(request, blocks, measurement.tokens), by=by)
    except StoreError as error:
        measurement.note = f"what was given is not recorded: {error.message}"
    return ExpandResponse(
        text=text,
        tokens=measurement.tokens,
        token_budget=request.token_budget,
        tokenizer=project.counter.name,
        freshness=synced.freshness,
        handles=tuple(
            ExpandedHandle(name, block.found, block.path, spans_of(block.numbers), block.note)
            for name, block in zip(request.handles, blocks, strict=True)
        ),
    )


def _handover(request: ExpandRequest, blocks: Sequence[HandleText], tokens: int) -> Handover:
    """Return what a session was given: files of which it has lines, and which ones."""
    shown: dict[str, list[ShownLines]] = {}
    for one in blocks:
        if one.numbers:
            shown.setdefault(one.path, []).append(ShownLines(one.digest, spans_of(one.numbers)))
    return Handover(
        session=request.session_id,
        agent="",
        event=EVENT,
        files=dict.fromkeys(sorted(shown), str(Representation.SNIPPETS)),
        tokens=tokens,
        shown={path: tuple(pieces) for path, pieces in sorted(shown.items())},
        lists=tuple(sorted(block.key for block in blocks if block.key and block.found is Found.SHOWN)),
    )
