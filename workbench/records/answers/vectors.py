"""The answers about vectors that a server keeps: what it has, what was sent, what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from workbench.records.answers.base import Answer, Count, Text


class SyncedVectors(Answer, frozen=True):
    """What a server was sent of one kind."""

    kind: Annotated[Text, Meta(description="stash, rules or iterations.")]
    place: Annotated[Text, Meta(description="The server and the collection.")]
    model: Text
    points: Annotated[Count, Meta(description="Vectors that it has now.")]
    written: Annotated[Count, Meta(description="Of these, new or changed ones.")]
    removed: Count


class VectorSyncReport(Answer, frozen=True):
    """What `workbench vectors sync --json` prints."""

    synced: tuple[SyncedVectors, ...]
    dropped: Annotated[tuple[str, ...], Meta(description="Collections that were removed, with --clean.")]


class StoredCollection(Answer, frozen=True):
    """A collection of a server with vectors of this project, or with the rules of all."""

    name: Text
    kind: Annotated[Text, Meta(description="stash, rules, iterations or orphan.")]
    model: Annotated[str, Meta(description="Empty where only its digest is known.")]
    points: Count
    serving: Annotated[bool, Meta(description="Whether a search that names no model is answered by it.")]


class VectorStatus(Answer, frozen=True):
    """What `workbench vectors status --json` prints."""

    store: Annotated[str, Meta(description="local, postgres or qdrant.")]
    place: Annotated[str, Meta(description="The server; empty for this machine.")]
    kinds: tuple[str, ...]
    collections: tuple[StoredCollection, ...]
    segments: Annotated[Count, Meta(description="Vectors of the stash.")]
    here: Annotated[Count, Meta(description="Up to how many of them are searched on this machine.")]
    current: Annotated[bool, Meta(description="Whether the server has all of them.")]
    fault: Annotated[str, Meta(description="Why the server is not asked at the moment.")] = ""


class VectorHit(Answer, frozen=True):
    """A point that a search on the server found."""

    score: Annotated[
        float, Meta(description="A cosine (dense), weights of words (sparse), or both fused by ranks.")
    ]
    fields: Annotated[Mapping[str, Any], Meta(description="What the point says of its record.")]


class VectorSearchReport(Answer, frozen=True):
    """What `workbench vectors search --json` prints."""

    collection: Text
    mode: Annotated[str, Meta(description="hybrid, dense or sparse; empty for a page without a query.")]
    hits: tuple[VectorHit, ...]
    next_cursor: Annotated[str, Meta(description="Where the next page begins; empty after the last.")] = ""
