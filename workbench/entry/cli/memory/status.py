"""`workbench memory status` and `search`: which iterations are remembered, and what a text is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError
from workbench.memory.journal import feature_stream
from workbench.records.iterations import PointType
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.entry.services.memory_index import Hit
    from workbench.memory.learnings.ledger import LearningLedger

_SUMMARY = 160  # characters shown of a summary


@command
@click.option("--clean", is_flag=True, help="Remove search indexes of features that no longer exist.")
def status(clean: bool) -> None:
    """Show what is remembered of each feature, and what of it cannot be read.

    Each feature has a journal of its own. Lines that were damaged, edited to something else or written by
    another version are counted and left where they are; everything else is read. The search index is made
    from the journals; the last lines say whether it and its models are ready.
    """
    from workbench.entry.project import find_state, language_state
    from workbench.entry.services.memory import feature_streams, learning_store
    from workbench.entry.services.memory_index import drop_orphans
    from workbench.entry.services.memory_index import status as index_status

    here = current()
    config = here.settings().config
    place = find_state(here.project, config)
    ledger = learning_store(place).ledger()
    features = [_feature(place, stream, ledger) for stream in feature_streams(place)]
    dropped = drop_orphans(place) if clean else []
    embedder, note = place.text_vectors
    index = index_status(place, "" if embedder is None else embedder.model, note)
    if config.models.llm and config.models.llm_url:
        language = language_state(config)
        index = replace(index, llm_ready=language.available, llm_note=language.reason)
    if here.flags.json:
        facts = {"state_directory": str(place.state), "features": features, "removed": dropped}
        facts["unreadable_learnings"] = ledger.skipped
        here.out.json({**facts, "healthy": index.healthy, "index": index})
        return
    for one in features:
        last = f", last {one['last']} {one['outcome']}" if one["last"] else ""
        here.out.data(
            f"{visible_line(one['feature'])}: {plural(one['iterations'], 'iteration')}{last}{_learnings(one)}"
        )
        unread = len(one["set_aside"]) + one["broken_lines"]
        if unread:
            here.out.warn(f"{one['journal']}: {plural(unread, 'line')} cannot be read and are left out")
    if not features:
        here.out.say(
            "nothing is remembered yet: `workbench memory ingest FILE` or `… | workbench memory collect`"
        )
        return
    state = f"{plural(index.points, 'point')} in {plural(index.collections, 'collection')}"
    here.out.data(
        f"index: {state}, {index.behind:,} to be rebuilt, by {index.embedding_model or 'words alone'}"
    )
    for problem in ledger.skipped:
        here.out.warn(f"{problem}; it is left out")
    for name in dropped:
        here.out.say(f"removed: {name}")
    for name in index.orphans:
        here.out.say(f"{name} belongs to no feature: `workbench memory status --clean` removes it")
    for fault in index.faults:
        here.out.warn(f"{fault}; the next search rebuilds it")


def _learnings(feature: dict[str, Any]) -> str:
    if not feature["learnings"]:
        return ""
    waiting = f" ({feature['unreviewed']:,} to review)" if feature["unreviewed"] else ""
    return f", {plural(feature['learnings'], 'learning')}{waiting}"


def _feature(place: OpenedProject, stream: str, ledger: LearningLedger) -> dict[str, Any]:
    from workbench.entry.services.memory import read_stream

    found = read_stream(place, stream)
    mine = [one for one in ledger.records.values() if one.live and feature_stream(one.feature) == stream]
    newest = found.entries[-1].record if found.entries else None
    return {
        "feature": found.feature,
        "journal": f"journal/{stream}.jsonl",
        "iterations": len(found.entries),
        "last": None if newest is None else newest.timestamp,
        "outcome": None if newest is None else str(newest.outcome),
        "set_aside": [{"id": one.id, "reason": one.reason} for one in found.set_aside],
        "broken_lines": place.broken_lines(stream),
        "learnings": len(mine),
        "unreviewed": sum(not one.reviewed for one in mine),
    }


@command
@click.argument("text")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="Only this one. Repeatable.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="At most N (memory.search_limit).")
def search(text: str, features: tuple[str, ...], top: int | None) -> None:
    """Find iterations by what they were about, by meaning and words, best first.

    The learnings of a feature are searched as well, as one text. The index is made from the journals when
    it is behind them; deleting it loses nothing. Without an embedding model words alone decide.
    """
    from workbench.entry.project import find_state
    from workbench.entry.services.memory_index import Embedding
    from workbench.entry.services.memory_index import search as run_search

    if not text.strip():
        raise UsageError("there is nothing to search for", hint="Give a few words.")
    here = current()
    config = here.settings().config
    place = find_state(here.project, config)
    embedder, note = place.text_vectors
    with here.out.progress("Embedding iterations") as line:
        embedding = None
        if embedder is not None:
            wrapped = embedder
            embedding = Embedding(wrapped.model, lambda texts: wrapped.embed(texts, progress=line))
        hits = run_search(place, config.memory, text, embedding, features, top)
    degraded = [] if embedding is not None else ["embeddings"]
    if here.flags.json:
        here.out.json({"query": text, "hits": [_hit(hit) for hit in hits], "degraded": degraded})
        return
    for hit in hits:
        found = hit.payload
        what = f"#{found.iteration_number} {found.outcome} {found.timestamp[:10]}"
        if found.record_type is PointType.FEATURE_SNAPSHOT:
            what = "what was learned:"
        title = visible_line(found.task_title)
        here.out.data(f"{hit.score:.2f}  {visible_line(found.feature)} {what}  {title}".rstrip())
        if found.summary:
            here.out.data(f"      {visible_line(found.summary[:_SUMMARY])}")
    if not hits:
        here.out.say("no iteration is about that")
    if note:
        here.out.say(f"by words alone: {note}")


def _hit(hit: Hit) -> dict[str, Any]:
    payload: dict[str, Any] = msgspec.to_builtins(hit.payload)
    return {"score": hit.score, "bm25": hit.words, "cosine": hit.cosine, **payload}
