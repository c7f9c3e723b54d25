"""The server that the settings name for vectors, opened: Qdrant, or the team's PostgreSQL."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from store.team.settings import read_settings
from workbench.errors import ConfigError
from workbench.memory.schema import collection_name

if TYPE_CHECKING:
    from store.postgres.vectors import PostgresVectors
    from store.qdrant import QdrantServer
    from store.qdrant_collection import QdrantCollection, Schema
    from workbench.config import Config
    from workbench.entry.project.project import OpenedProject
    from workbench.ports import VectorCollection

SEGMENTS: Final = ":stash"
"""What the collection of segments is of, as others are of a feature, whose names have no colon."""

MEMORY: Final = "_memory"
"""The collection of rules, of all projects together [rules]."""

_SEARCHES: Final = 4
"""Connections of a process to the team's server for searches at the same time."""

_SEGMENT_FIELDS: Final[Schema] = {
    "type": "keyword",
    "topic": "keyword",
    "session": "keyword",
    "model": "keyword",
    "time": "integer",
    "expires": "integer",
}
_RULE_FIELDS: Final[Schema] = {
    **dict.fromkeys(("category", "authority", "scope", "project_id", "tool_targets", "tags"), "keyword"),
    "priority": "integer",
}
_ITERATION_FIELDS: Final[Schema] = {
    **dict.fromkeys(("record_type", "project", "feature", "task_id", "outcome", "error_types"), "keyword"),
    "iteration_number": "integer",
}


def qdrant_server(config: Config) -> QdrantServer:
    """Return the Qdrant of the settings; nothing is asked yet. Raises: ConfigError."""
    if not config.vectors.qdrant_url:
        raise ConfigError(
            "vectors.store is qdrant and vectors.qdrant_url is empty",
            hint="`workbench config set vectors.qdrant_url http://127.0.0.1:6333`",
        )
    if find_spec("qdrant_client") is None:
        raise ConfigError(
            "vectors.store is qdrant and its client is not installed",
            hint="Install context-workbench[qdrant].",
        )
    from store.qdrant import QdrantServer

    given = config.vectors
    return QdrantServer(given.qdrant_url, timeout=given.timeout, m=given.m, ef=given.ef)


def server_identity(project: OpenedProject) -> str:
    """Return what tells the server and the project there from others, without what is secret in an address.

    Raises: TeamError.
    """
    team, settings = read_settings(project.state), project.config.vectors
    parts = (settings.store, settings.qdrant_url) if settings.store == "qdrant" else (settings.store,)
    named = (*parts, *(("", "") if team is None else (team.url, team.project)))
    return hashlib.sha256("\0".join(named).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def segment_collection(project: OpenedProject, model: str, dimensions: int) -> VectorCollection:
    """Return where the server keeps vectors of a project's segments; it is open until the project closes.

    Raises: ConfigError, TeamError.
    """
    kept = project.vector_collections
    key = server_identity(project), model, dimensions
    if key not in kept:
        kept[key] = _open_segments(project, model, dimensions)
    return kept[key]


def _open_segments(project: OpenedProject, model: str, dimensions: int) -> VectorCollection:
    if project.config.vectors.store == "postgres":
        return postgres_vectors(project, model, dimensions)
    from store.qdrant_collection import QdrantCollection

    server = qdrant_server(project.config)
    return QdrantCollection(server, segments_name(project), model, dimensions, _SEGMENT_FIELDS, words=False)


def segments_name(project: OpenedProject) -> str:
    """Return the collection of a project's segments, the same for all machines of its team.

    Raises: TeamError.
    """
    team = read_settings(project.state)
    return collection_name(str(project.root) if team is None else team.project, SEGMENTS)


def postgres_vectors(project: OpenedProject, model: str, dimensions: int) -> PostgresVectors:
    """Return the vectors of segments on the server of the project's team. Raises: ConfigError, TeamError."""
    team = read_settings(project.state)
    if team is None:
        raise ConfigError(
            "vectors.store is postgres and this project has no team",
            hint="`workbench store use URL` gives it one; vectors.store = local does without.",
        )
    from store.postgres.connection import Connections
    from store.postgres.vectors import PostgresVectors

    given = project.config.vectors
    connections = Connections(team.url, most=_SEARCHES)
    return PostgresVectors(
        connections, team.project, "stash", model, dimensions, seconds=given.timeout, ef=given.ef
    )


def rule_collection(server: QdrantServer, model: str, dimensions: int) -> QdrantCollection:
    """Return the collection of rules [rules], by meaning and words."""
    from store.qdrant_collection import QdrantCollection

    return QdrantCollection(server, MEMORY, model, dimensions, _RULE_FIELDS, words=True)


def feature_collection(server: QdrantServer, name: str, model: str, dimensions: int) -> QdrantCollection:
    """Return the collection of a feature's iterations [ralph], by meaning and words."""
    from store.qdrant_collection import QdrantCollection

    return QdrantCollection(server, name, model, dimensions, _ITERATION_FIELDS, words=True)
