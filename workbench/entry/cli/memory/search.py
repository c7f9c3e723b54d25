"""`workbench memory search`: the iterations that a text is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbench.entry.cli.frame import command, current
from workbench.errors import UsageError
from workbench.records.iterations import RecordType
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.memory_index import Hit

_SUMMARY = 160  # characters shown of a summary


@command(
    examples=(
        'workbench memory search "token is not refreshed on 401"',
        'workbench memory search "flaky upload test" --feature uploads --json',
    )
)
@click.argument("text")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="Only this one. Repeatable.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="At most N (memory.search_limit).")
def search(text: str, features: tuple[str, ...], top: int | None) -> None:
    """Find iterations by what they were about, by meaning and words, best first.

    What a feature's learnings say is found, too, all of them as one. The index is made from the journals when
    it is behind them; deleting it loses nothing. Without an embedding model words alone decide.
    """
    from workbench.entry.project import cached_embedder, find_state
    from workbench.entry.services.memory_index import Embedding
    from workbench.entry.services.memory_index import search as run_search

    if not text.strip():
        raise UsageError("there is nothing to search for", hint="Give a few words.")
    here = current()
    config = here.settings().config
    place = find_state(here.project)
    embedder, note = cached_embedder(config, place.home)
    with here.out.progress("Embedding iterations") as line:
        embedding = None
        if embedder is not None:
            wrapped = embedder
            embedding = Embedding(wrapped.model, lambda texts: wrapped.embed(texts, progress=line))
        hits = run_search(place, config.memory, text, embedding, features, top)
    degraded = [] if embedding is not None else ["embeddings"]
    if here.flags.json:
        here.out.json({"query": text, "hits": [_facts(hit) for hit in hits], "degraded": degraded})
        return
    for hit in hits:
        found = hit.payload
        what = f"#{found.iteration_number} {found.outcome} {found.timestamp[:10]}"
        if found.record_type is RecordType.FEATURE_SNAPSHOT:
            what = "what was learned:"
        title = visible_line(found.task_title)
        here.out.data(f"{hit.score:.2f}  {visible_line(found.feature)} {what}  {title}".rstrip())
        if found.summary:
            here.out.data(f"      {visible_line(found.summary[:_SUMMARY])}")
    if not hits:
        here.out.say("no iteration is about that")
    if note:
        here.out.say(f"by words alone: {note}")


def _facts(hit: Hit) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(hit.payload)
    return {"score": hit.score, "bm25": hit.words, "cosine": hit.cosine, **told}
