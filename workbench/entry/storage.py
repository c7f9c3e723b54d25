"""What commands ask of the store besides planning: measurements, tables, journals and their soundness.

Together with `bootstrap` the only module that imports `store`; what is heavy is imported when called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from store import generations, journal, locks
from store.embedding import EmbedderReport, ModelOption, resolve_embedder, survey
from store.git_diff import changes_since, diff_hunks, recent_base
from store.git_process import run as run_git
from store.git_repository import Repository
from workbench.config import Config
from workbench.entry.project import Opened, OpenedWorkspace, embedding_settings
from workbench.entry.services.metrics import Measured, Record
from workbench.errors import GitError, StoreBusy
from workbench.ports import Embedder, Journal, LanguageModel
from workbench.project.upkeep import PROJECT, SEEN
from workbench.sessions.closing import HOUR

if TYPE_CHECKING:
    from store.episode_queries import Companion as Companion
    from store.episode_queries import FileSession as FileSession
    from store.episode_queries import SessionRow as SessionRow
    from store.metrics import Call as Call
    from store.metrics import Measurements as Measurements
    from store.metrics import OperationStats as OperationStats
    from store.ollama import ModelState as ModelState
    from store.tables import CatchUp, Tables
    from workbench.ports import Float32
    from workbench.project.delta import Delta
    from workbench.records.episodes import Completeness
    from workbench.rules.conflicts.queue import Meaning

DELTA_COMMITS = 10  # how far back a delta looks unless told otherwise


@dataclass(frozen=True, slots=True)
class IndexState:
    """A stored index: its kind and number, and what is wrong with it."""

    kind: str
    number: int
    faults: tuple[str, ...]


def recorder(opened: Opened, by: str = "cli") -> Record | None:
    """Return what writes measurements into the project's journal, None where the settings say no."""
    return journal_recorder(opened.journal, opened.config, by)


def journal_recorder(journal: Journal, config: Config, by: str = "cli") -> Record | None:
    """Return what writes measurements into a journal, None where the settings say no."""
    if not config.store.metrics:
        return None

    def record(operation: str, duration_ms: float, told: Measured, ok: bool) -> None:
        from store import metrics

        metrics.record(
            journal,
            operation,
            duration_ms,
            by=by,
            stages=told.stages,
            cache=told.cache,
            tokens=told.tokens,
            tokens_saved=told.tokens_saved,
            candidates=told.candidates,
            degraded=told.degraded,
            ok=ok,
        )

    return record


def open_tables(opened: Opened | OpenedWorkspace) -> Tables:
    """Return the tables of the project and of the user's own journals."""
    from store.tables import Tables

    journals = {"project": opened.journal, "home": opened.home_journal}
    return Tables(opened.location.root, journals, opened.clock)


@contextmanager
def _reading(opened: Opened | OpenedWorkspace) -> Iterator[Tables]:
    """Open the tables to be read, those of the project index as the last plan left that."""
    tables = open_tables(opened)
    try:
        _follow(opened, tables)
        yield tables
    finally:
        tables.close()


def statistics(opened: Opened, since: float) -> list[OperationStats]:
    """Return the figures of each operation since a time in seconds. Raises: StoreError."""
    from store.metrics import operation_stats

    with _reading(opened) as tables:
        return operation_stats(tables, since)


def measured_between(
    place: OpenedWorkspace, *, since: float, until: float, step: float, operation: str = ""
) -> Measurements:
    """Return what was measured between two times in seconds, see `store.metrics`. Raises: StoreError."""
    from store.metrics import measurements

    with _reading(place) as tables:
        return measurements(tables, since=since, until=until, step=step, operation=operation)


def recorded_sessions(
    place: OpenedWorkspace, timeout: float, *, commits: bool, ended: bool, limit: int
) -> tuple[list[SessionRow], Completeness]:
    """Return the newest sessions of a project, and how complete the stories of all are. Raises: StoreError.

    `timeout` is in seconds: what has been quiet for longer is over.
    """
    from store import episode_queries

    quiet = place.clock.now() - timeout
    with _reading(place) as tables:
        rows = episode_queries.sessions(tables, quiet_since=quiet, commits=commits, ended=ended, limit=limit)
        return rows, episode_queries.completeness(tables, quiet_since=quiet)


def sessions_touching(place: OpenedWorkspace, part: str) -> frozenset[str]:
    """Return the ids of sessions that read or edited a file with a text in its path. Raises: StoreError."""
    from store import episode_queries

    with _reading(place) as tables:
        return episode_queries.touching(tables, part)


def file_past(place: OpenedWorkspace, path: str, *, limit: int) -> tuple[list[FileSession], list[Companion]]:
    """Return the sessions that read or edited a file, newest first, and the files edited with it.

    Sweeping changes say nothing about two files and are left out of the latter. Raises: StoreError.
    """
    from store import episode_queries
    from workbench.sessions.history import MAX_FILES_PER_TASK

    with _reading(place) as tables:
        found = episode_queries.file_sessions(tables, path, limit)
        return found, episode_queries.companions(tables, path, most=MAX_FILES_PER_TASK, limit=limit)


def session_stories(opened: Opened) -> Completeness:
    """Return how many sessions tell a whole story. Raises: StoreError."""
    from store.episode_queries import completeness

    quiet = opened.clock.now() - opened.config.sessions.timeout_hours * HOUR
    with _reading(opened) as tables:
        return completeness(tables, quiet_since=quiet)


def rebuild_tables(opened: Opened) -> tuple[dict[str, str], dict[str, str], CatchUp]:
    """Make the tables anew from the journals; return their content hashes before and after.

    Raises: StoreError, StoreBusy.
    """
    tables = open_tables(opened)
    try:
        before = tables.digest()
        report = tables.rebuild()
        return before, tables.digest(), report
    finally:
        tables.close()


def follow_index(opened: Opened | OpenedWorkspace) -> None:
    """Bring the tables of the project index up to date with the index of the last plan. Raises: StoreError.

    Whatever reads tables does so; this is for those who read them with other programs.
    """
    with _reading(opened):
        pass


# What the tables at a path were last brought up to date with by this process.
_followed: dict[Path, object] = {}


def _follow(opened: Opened | OpenedWorkspace, tables: Tables) -> None:
    from store.duck import storable
    from store.projections.artifacts import Artifacts
    from workbench.project.index import artifact_columns

    root = opened.location.root
    revision = (generations.latest(root, PROJECT), generations.latest(root, SEEN))
    if tables.file() is not None and _followed.get(tables.path) == (tables.file(), revision):
        return
    stored = opened.workspace.stored_index()
    if stored is None:
        return
    index, snapshot = stored
    rows = {path: row for row, path in enumerate(snapshot.paths)}
    names = {storable(path) or path: path for path in index.positions}
    states = {
        name: (snapshot.hashes[rows[path]], int(snapshot.mtimes[rows[path]])) for name, path in names.items()
    }
    tables.follow_index(
        states, lambda changed: Artifacts(*artifact_columns(index, snapshot, [names[one] for one in changed]))
    )
    _followed[tables.path] = (tables.file(), revision)


def journal_faults(root: Path) -> list[journal.Quarantined]:
    """Return the lines of all journals under a state directory that cannot be read. Raises: JournalError."""
    return journal.verify(root)


def index_states(root: Path, *, deep: bool) -> list[IndexState]:
    """Return every stored index with its faults; `deep` reads all of it and compares checksums."""
    kinds = sorted({path.name.rpartition("-")[0] for path in (root / "index").glob("*-*") if path.is_dir()})
    states = []
    for kind in filter(None, kinds):
        found = generations.latest(root, kind)
        if isinstance(found, generations.DamagedGeneration):
            states.append(IndexState(kind, found.number, (found.reason,)))
        elif found is not None:
            faults = tuple(generations.check(found)) if deep else ()
            states.append(IndexState(kind, found.number, faults))
    return states


def held_locks(root: Path) -> list[tuple[str, int | None]]:
    """Return (name, process if it said so) of the locks that somebody holds now."""
    held = []
    for path in sorted((root / "locks").glob("*.lock")):
        try:
            with locks.exclusive(path, timeout=0):
                pass
        except StoreBusy:
            held.append((path.stem, locks.holder(path)))
    return held


def git_version() -> str:
    """Return `git version 2.43.0`. Raises: GitError without a git that runs."""
    return run_git(Path.cwd(), ["--version"]).decode("utf-8", "replace").strip()


def embedding_options(config: Config) -> tuple[ModelOption, ...]:
    """Return where an embedding model could come from, in order, by looking only."""
    return survey(embedding_settings(config))


def prepare_embedder(config: Config) -> tuple[Embedder | None, EmbedderReport]:
    """Return the first embedder that can be used, building or fetching its model where allowed."""
    return resolve_embedder(embedding_settings(config))


def language_model(config: Config) -> LanguageModel | None:
    """Return the language model the user set up, None where there is none. Nothing is asked yet.

    Raises: ConfigError for an address that is none.
    """
    if not config.models.llm or not config.models.llm_url:
        return None
    from store.ollama import Ollama

    return Ollama(config.models.llm_url, config.models.llm)


def language_state(config: Config) -> ModelState:
    """Return whether the language model can be asked; a server that is set up is asked for its models.

    Raises: ConfigError for an address that is none.
    """
    from store.ollama import survey as ask_server

    return ask_server(config.models.llm_url, config.models.llm)


def delta(repository: Repository, since: str | None) -> Delta:
    """Return what changed since a revision, or within the last commits. Raises: GitError."""
    from workbench.project.delta import digest

    base = since or recent_base(repository, DELTA_COMMITS)
    if base is None:
        raise GitError("there is no commit to compare with", hint="Commit something first.")
    changes = changes_since(repository, base)
    return digest(changes, diff_hunks(repository, changes.base))


def meaning(opened: Opened, progress: Callable[[str, int, int], None]) -> Meaning | None:
    """Return how texts are compared by meaning here, None without an embedding model that is ready."""
    import numpy as np

    from store.vectors import open_index
    from workbench.rules.conflicts.queue import Meaning

    embedder = opened.planner.embedder
    if embedder is None:
        return None

    def embed(texts: Sequence[str]) -> Float32:
        return embedder.embed(texts, progress=lambda done, total: progress("embedding", done, total))

    return Meaning(embedder.model, embed, lambda vectors: open_index(vectors, np.arange(len(vectors))))
