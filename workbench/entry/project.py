"""A project as work is done in it: the only module that knows both the engine and its adapters in `store`.

An `OpenedProject` is found by looking at a few files. Its settings, journals, workspace, planner and tables
are opened when they are first asked for, and what is heavy is imported then. What of `store` needs no wiring
is handed on as it is, and imported when it is named.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store.clock import SystemClock
from store.git_repository import Repository
from store.location import locate
from store.project_state import (
    IndexState,
    ProjectState,
    foreign_state,
    give_consent,
    has_consent,
    project_id,
    project_root,
    repository_at,
    state_notes,
    work_state,
)
from workbench.errors import GitError, ProjectError, Unasked
from workbench.places import user_home

if TYPE_CHECKING:
    from store.answer_cache import AnswerCache
    from store.app_state import place_file, read_place_file, seems_indexed, update_place_file
    from store.archive import Archive
    from store.cache import ProcessCache, RedisCache
    from store.embedding import EmbedderReport, EmbeddingSettings, ModelOption
    from store.embedding_cache import CachedEmbedder
    from store.file_history import AskedTask, Companion, FileArtifact, FileHistory, FileSession
    from store.files import private_dir, replace_file, write_atomic
    from store.git_diff import diff_hunks
    from store.git_log import commit_parents, log_commits, shallow_edge
    from store.git_objects import BlobReader, read_tree
    from store.git_process import git_version
    from store.git_repository import remote_addresses, resolve, share_history, work_trees
    from store.lists.sessions import SessionList, session_family
    from store.locks import waited
    from store.metrics import Call, Measurements, OperationStats, record_call
    from store.ollama import ModelState
    from store.runs import list_runs, open_run, put_run, write_rows
    from store.sandbox import ColumnType, Sandbox, StatementRows
    from store.search_index import SearchIndex, build_search_index, load_search_index
    from store.table_notes import table_notes
    from store.table_queries import TableQueries
    from store.table_state import TableFile
    from store.tables import CatchUp
    from store.vector_store import VectorStore
    from store.vectors import build_index
    from workbench.config import Config
    from workbench.lists.conflicts import ConflictStore
    from workbench.lists.learnings import LearningRow
    from workbench.lists.segments import SegmentRow
    from workbench.lists.tables import ListTable, TableRebuild
    from workbench.plan.adapters import Adapters, VersionControl
    from workbench.plan.planner import Planner
    from workbench.plan.workspace import Workspace
    from workbench.ports import Embedder, Entry, LanguageModel, StashSearch
    from workbench.project.delta import Delta
    from workbench.records.episodes import Commit
    from workbench.records.rules import Rule
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.rules.matching.match import RuleMatch
    from workbench.rules.matching.recheck import Rechecked
    from workbench.stash.segmentindex import SegmentIndex
    from workbench.stash.stashstore import StashStore
    from workbench.text.tokens import TokenCounter

MOST_FILES: Final = 5_000  # outside of a repository, without anybody having been asked
DELTA_COMMITS: Final = 10  # how far back a delta looks unless it is given a revision

STASH: Final = "stash"
"""The stream of segments (`workbench.stash.segmenttype.STREAM`)."""

_HANDED_ON = {
    "store.app_state": ("place_file", "read_place_file", "seems_indexed", "update_place_file"),
    "store.cache": ("ProcessCache", "RedisCache"),
    "store.file_history": ("AskedTask",),
    "store.files": ("private_dir", "replace_file", "write_atomic"),
    "store.git_diff": ("diff_hunks",),
    "store.git_log": ("commit_parents", "log_commits", "shallow_edge"),
    "store.git_objects": ("BlobReader", "read_tree"),
    "store.git_process": ("git_version",),
    "store.git_repository": ("remote_addresses", "resolve", "share_history", "work_trees"),
    "store.lists.sessions": ("SessionList", "session_family"),
    "store.locks": ("waited",),
    "store.metrics": ("record_call",),
    "store.runs": ("list_runs", "open_run", "put_run", "write_rows"),
    "store.search_index": ("SearchIndex", "build_search_index", "load_search_index"),
    "store.table_notes": ("table_notes",),
    "store.vectors": ("build_index",),
}
_HOMES = {name: module for module, names in _HANDED_ON.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@dataclass(frozen=True, eq=False)
class OpenedProject(ProjectState):
    """A project: its root, its state, and what is opened of both when it is first asked for.

    `given` are settings that are loaded already; `environment` is where the user's home is looked up.
    """

    given: Config | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def config(self) -> Config:
        """The settings. Raises: ConfigError."""
        if self.given is not None:
            return self.given
        from workbench.config import load

        return load(project=self.root).config

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts tokens as the settings ask for it."""
        from workbench.text.tokens import token_counter

        return token_counter(self.config.plan.tokenizer)

    @cached_property
    def workspace(self) -> Workspace:
        """The project's files, history and rules, to be synced and asked."""
        from workbench.entry.parameters import index_limits
        from workbench.plan.workspace import Workspace

        return Workspace(self._adapters(), index_limits(self.config))

    @cached_property
    def planner(self) -> Planner:
        """What planning needs besides a workspace. Raises: ModelError."""
        # Commands that only read rules do without what plans, which takes as long to import as they take.
        from workbench.entry.parameters import match_params
        from workbench.plan.planner import Planner
        from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_chunk_model, load_model
        from workbench.plan.representations import Contents

        chunks, worth = load_chunk_model()
        embedder, unprepared = self.text_vectors
        return Planner(
            ranking=load_model(self.config.models.ranking or DEFAULT_MODEL),
            plain_ranking=load_model(LEXICAL_MODEL),
            embedder=embedder,
            embedder_note=unprepared,
            chunks=chunks,
            worth=worth,
            counter=self.counter,
            contents=Contents(self.root, self.counter, cap=self.config.index.max_file_bytes),
            matching=match_params(self.config.rules),
            recheck=self._recheck if self.config.rules.recheck else None,
            segment_share=self.config.stash.share,
        )

    @cached_property
    def text_vectors(self) -> tuple[VectorStore | None, str]:
        """What embeds texts and knows the vectors of those here, None without a model; and what is missing.

        Where vectors are stored of another model than the configured one, that one serves until those of the
        configured one are prepared.
        """
        from store import embedding
        from store.vector_store import stored_model

        settings = embedding_settings(self.config)
        embedder, missing = ready_embedder(self.config)
        former = None if settings.model.lower() in embedding.OFF else stored_model(self.latest)
        note = ""
        if former is not None and (embedder is None or embedder.model != former.model):
            other, _ = embedding.ready_embedder(replace(settings, model=former.setting, download=False))
            if other is not None and other.model == former.model:
                wanted = settings.model or "the packaged model"
                missing = note = (
                    f"{former.model} compares texts until `workbench model prepare` is done by {wanted}"
                )
                embedder, settings = other, replace(settings, model=former.setting)
        return (None if embedder is None else self.vectors_by(embedder, settings.model, note)), missing

    def vectors_by(self, embedder: Embedder, setting: str, note: str = "") -> VectorStore:
        """Return what knows the vectors of texts here by a model, which was opened by a setting."""
        from store.embedding_cache import cached
        from store.vector_store import VectorStore

        return VectorStore(
            cached(embedder, self.home / "embeddings"), self.latest, self.publish, setting=setting, note=note
        )

    @property
    def _rules_home(self) -> Path | None:
        """The user's home, None where rule files there are not to be read."""
        return Path(self.environment.get("HOME") or Path.home()) if self.config.rules.home else None

    def rule_store(self) -> RuleStore:
        """Return where the project's rules come from and go to, without opening a workspace."""
        from workbench.rules.curation.rulestore import RuleStore

        return RuleStore(
            root=self.root,
            project_id=self.project_id,
            home=self._rules_home,
            journal=self.journal,
            home_journal=self.home_journal,
            latest=self.usable,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            count_tokens=lambda text: self.counter.count(text),
            replace_file=self.replace_file,
        )

    @property
    def has_stash(self) -> bool:
        """Whether anything was ever put aside; if not, nothing of the stash is imported."""
        return STASH in self.journal.streams()

    @cached_property
    def stash_store(self) -> StashStore:
        """Where the segments of the project come from and go to; what was folded once stays folded."""
        from workbench.stash.stashstore import StashStore

        return StashStore(
            project_id=self.project_id,
            journal=self.journal,
            home_journal=self.home_journal,
            latest=self.usable,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            count_tokens=lambda text: self.counter.count(text),
            texts=self.segment_texts,
        )

    def _adapters(self) -> Adapters:
        from store.git_repository import lister
        from workbench.entry.parameters import excluded_patterns
        from workbench.plan.adapters import Adapters
        from workbench.project.directories import exclude_paths, walk_lister

        repository = self.repository
        listed = walk_lister(self.root) if repository is None else lister(repository)
        return Adapters(
            root=self.root,
            project_id=self.project_id,
            home=self._rules_home,
            journal=self.journal,
            home_journal=self.home_journal,
            count_tokens=lambda text: self.counter.count(text),
            latest=self.latest,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            lister=exclude_paths(listed, excluded_patterns(self.config)),
            replace_file=self.replace_file,
            notes=tuple(filter(None, (self.note, *self.location.notes))),
            degraded=() if repository is not None else ("history",),
            control=None if repository is None else _version_control(repository),
            stash=self._stash_search,
        )

    def _stash_search(self) -> StashSearch | None:
        if not self.journal.size(STASH):
            return None
        from workbench.entry.services.stash_search import open_stash_search  # where there is something

        searcher = open_stash_search(self, write=False)
        return searcher if searcher.index.columns.alive.any() else None

    def _recheck(self, matches: Sequence[RuleMatch], message: str) -> Rechecked:
        from workbench.rules.matching.recheck import recheck_as_set  # only where the settings ask for it

        model = partial(language_model, self.config)
        return recheck_as_set(self.config.rules, model, matches, message, self.counter.count)

    def open_tables(self) -> TableQueries:
        """Return the tables of the project's and of the user's own journals."""
        from store.table_queries import TableQueries

        return TableQueries(self.state, {"project": self.journal, "home": self.home_journal}, self.clock)

    def table_file(self) -> TableFile | None:
        """Return how the file of the tables is without opening it, None before the first. Raises: OSError."""
        from store.table_state import table_file
        from store.tables import FILE

        return table_file(self.state / FILE, {"project": self.journal, "home": self.home_journal})

    @cached_property
    def kept_tables(self) -> TableQueries:
        """The tables that lists are read from, and all else once they are asked for, until `close`."""
        return self.open_tables()

    def close(self) -> None:
        """Free what lists are read from, without waiting for who still reads; all else works on."""
        kept: TableQueries | None = vars(self).get("kept_tables")
        if kept is not None:
            kept.close()

    @property
    def table_rebuild(self) -> TableRebuild | None:
        """The last rebuild of the tables that lists are read from, also while it goes on."""
        kept: TableQueries | None = vars(self).get("kept_tables")
        return None if kept is None else kept.latest_rebuild

    @cached_property
    def rule_list(self) -> ListTable[Rule]:
        """The rules in force as a list, as of the last time they were synced with their files."""
        from store.lists.rules import rule_list

        return rule_list(self.kept_tables, self.project_id, home=self._rules_home is not None)

    @cached_property
    def learning_list(self) -> ListTable[LearningRow]:
        """The learnings as a list, live or not."""
        from store.lists.learnings import learning_list

        return learning_list(self.kept_tables, self.clock)

    def learning_entries(self, identifiers: Iterable[str]) -> list[tuple[Entry, bool]]:
        """Return the entries about some learnings in order, and whether the home's. Raises: StoreError."""
        from store.learning_entries import learning_entries

        journals = {"project": self.journal, "home": self.home_journal}
        found = learning_entries(self.kept_tables, journals, identifiers)
        return [(entry, origin == "home") for entry, origin in found]

    def unreadable_learnings(self) -> tuple[int, str]:
        """Return how many entries about learnings cannot be read, and why one cannot. Raises: StoreError."""
        from store.learning_entries import unreadable_learnings

        return unreadable_learnings(self.kept_tables)

    @cached_property
    def segment_list(self) -> ListTable[SegmentRow]:
        """The segments of the stash as a list."""
        from store.lists.segments import segment_list

        return segment_list(self.kept_tables, self.clock)

    def segment_texts(self, identifiers: Collection[str]) -> dict[str, str]:
        """Return the texts of segments by id; an unknown id is missing. Raises: StoreError."""
        from store.lists.segments import segment_texts

        return segment_texts(self.kept_tables, identifiers)

    def referring_segments(self, identifiers: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return, for each id, those of the segments that refer to it. Raises: StoreError."""
        from store.lists.segments import referring_segments

        return referring_segments(self.kept_tables, identifiers)

    @cached_property
    def segment_index(self) -> SegmentIndex:
        """The index of the stash, not opened yet; `refresh` does."""
        from store.vectors import build_index, load_index
        from workbench.stash.segmentindex import IndexPlaces, SegmentIndex

        return SegmentIndex(
            IndexPlaces(
                journal=self.journal,
                texts=self.segment_texts,
                latest=self.latest,
                publish=self.publish,
                build=build_index,
                load=load_index,
                count_tokens=lambda text: self.counter.count(text),
                chunk_tokens=self.config.stash.chunk_tokens,
            )
        )

    def vectors_of(self, model: str, setting: str) -> VectorStore | None:
        """Return what embeds by a model that was opened by a setting before, None where it is gone."""
        from store import embedding

        former = replace(embedding_settings(self.config), model=setting, download=False)
        embedder, _ = embedding.ready_embedder(former)
        return (
            self.vectors_by(embedder, setting) if embedder is not None and embedder.model == model else None
        )

    @cached_property
    def answer_cache(self) -> AnswerCache:
        """The answers of language models about what is here, kept with the project's state."""
        from store.answer_cache import AnswerCache

        return AnswerCache(self.state / "answers")

    @cached_property
    def conflicts(self) -> ConflictStore:
        """The conflicts of rules and of learnings that the last searches found."""
        from store.lists.conflicts import ConflictTable

        return ConflictTable(self.kept_tables, self.clock)

    @contextmanager
    def tables(self) -> Iterator[TableQueries]:
        """Open the tables to be read, those of the project index as of the last plan. Raises: StoreError."""
        kept: TableQueries | None = vars(self).get("kept_tables")
        tables = kept or self.open_tables()
        try:
            self._follow_index(tables)
            yield tables
        finally:
            if tables is not kept:
                tables.close()

    @contextmanager
    def sandbox(self, seconds: float, output: Path | None = None) -> Iterator[Sandbox]:
        """Open a copy of the tables for statements of a person's own. Raises: StoreError."""
        from store.sandbox import sandbox

        with self.tables() as tables, sandbox(tables, seconds=seconds, output=output) as found:
            yield found

    def _follow_index(self, tables: TableQueries) -> None:
        """Bring the tables of the project index up to date with the index of the last plan."""
        from store.duck import storable
        from store.projections.artifacts import Artifacts
        from workbench.project.index import artifact_columns
        from workbench.project.upkeep import PROJECT, SEEN

        revision = (self.latest(PROJECT), self.latest(SEEN))
        if tables.file() is not None and _followed.get(tables.path) == (tables.file(), revision):
            return
        stored = self.workspace.stored_index()
        if stored is None:
            return
        index, snapshot = stored
        rows = {path: row for row, path in enumerate(snapshot.paths)}
        names = {storable(path) or path: path for path in index.positions}
        states = {
            name: (snapshot.hashes[rows[path]], int(snapshot.mtimes[rows[path]]))
            for name, path in names.items()
        }
        tables.follow_index(
            states,
            lambda changed: Artifacts(*artifact_columns(index, snapshot, [names[one] for one in changed])),
        )
        _followed[tables.path] = (tables.file(), revision)


# What the tables at a path were last brought up to date with by this process.
_followed: dict[Path, object] = {}


def find_state(
    start: Path, config: Config | None = None, environment: Mapping[str, str] = os.environ
) -> OpenedProject:
    """Return the project around a directory, a bare repository too, for its journals. Raises: StoreError."""
    repository, note = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    location = locate(root, environment, distrust=foreign_state(repository))
    return OpenedProject(root, repository, note, location, given=config, environment=environment)


def open_workspace(start: Path, config: Config, environment: Mapping[str, str] = os.environ) -> OpenedProject:
    """Open the index, history and rules of the project around `start`.

    Raises: ProjectError for a bare repository; Unasked; StoreError if no directory can hold its state.
    """
    repository = require_consent(start.absolute(), environment)
    if repository is not None and repository.bare:
        message = f"{repository.root} is a bare repository: there are no files to plan from"
        raise ProjectError(message, hint="Clone it.")
    return find_state(start, config, environment)


def open_project(start: Path, config: Config, environment: Mapping[str, str] = os.environ) -> OpenedProject:
    """Open the project around `start` for planning. Raises: as `open_workspace`; ModelError."""
    project = open_workspace(start, config, environment)
    _ = project.planner  # a model that cannot be loaded is reported before anything is measured
    return project


def require_consent(root: Path, environment: Mapping[str, str] = os.environ) -> Repository | None:
    """Ask for more than the wish to plan before all of a directory outside of any repository is indexed.

    The home directory, what holds it, and directories of more than `MOST_FILES` files are indexed only where
    a person agreed to it. Returns the repository if there is one. Raises: Unasked.
    """
    repository = repository_at(root)[0]
    if repository is not None or (root / ".git").exists():
        return repository  # or one all the same, whatever keeps git from reading it
    if has_consent(root, environment):
        return None
    home = Path(environment.get("HOME") or Path.home()).absolute()
    if home.is_relative_to(root):
        raise Unasked(root, "is your home directory" if home == root else "holds your home directory")
    from workbench.project.directories import walk_lister

    if len(walk_lister(root, max_names=MOST_FILES + 1)(None).paths) > MOST_FILES:
        raise Unasked(root, f"holds more than {MOST_FILES:,} files")
    return None


def _version_control(repository: Repository) -> VersionControl:
    from store import git_log, git_repository
    from store.git_diff import touched_files
    from workbench.plan.adapters import VersionControl
    from workbench.sessions.past import Commits

    def present(sha: str | None) -> str | None:
        """Return a commit that is still there, None for one that was pruned."""
        return None if sha is None else git_repository.resolve(repository, sha)

    def newest(limit: int | None, since: str | None) -> Iterator[Commit]:
        return git_log.log_commits(repository, limit=limit, since_sha=present(since), line_counts=False)

    return VersionControl(
        head=partial(git_repository.head_state, repository),
        inputs=lambda: git_repository.listing_inputs(repository),
        touched=partial(touched_files, repository),
        commits=Commits(
            newest=newest,
            count=lambda since: git_log.count_commits(repository, since_sha=present(since)),
            lost=partial(git_log.lost_commits, repository),
            edge=partial(git_log.shallow_edge, repository),
        ),
    )


def delta(repository: Repository, since: str | None) -> Delta:
    """Return what changed since a revision, or within the last commits. Raises: GitError."""
    from store.git_diff import changes_since, diff_hunks, recent_base
    from workbench.project.delta import digest

    base = since or recent_base(repository, DELTA_COMMITS)
    if base is None:
        raise GitError("there is no commit to compare with", hint="Commit something first.")
    changes = changes_since(repository, base)
    return digest(changes, diff_hunks(repository, changes.base))


def embedding_settings(config: Config) -> EmbeddingSettings:
    """Return what the configuration says about the embedding model."""
    from store.embedding import EmbeddingSettings
    from workbench.config import user_cache

    models = config.models
    return EmbeddingSettings(
        cache=user_cache(), model=models.embedding_path or models.embedding, download=models.download
    )


def ready_embedder(config: Config) -> tuple[Embedder | None, str]:
    """Return the embedder if a model is ready, without the cache of vectors, and what is missing if not."""
    from store import embedding

    return embedding.ready_embedder(embedding_settings(config))


def cached_embedder(config: Config, home: Path | None = None) -> tuple[CachedEmbedder | None, str]:
    """Return the embedder with the cache of vectors in the user's home, as `ready_embedder` otherwise."""
    from store.embedding_cache import cached

    embedder, unprepared = ready_embedder(config)
    directory = (user_home(os.environ) if home is None else home) / "embeddings"
    return (None if embedder is None else cached(embedder, directory)), unprepared


def embedding_options(config: Config) -> tuple[ModelOption, ...]:
    """Return where an embedding model could come from, in order, by looking only."""
    from store.embedding import survey

    return survey(embedding_settings(config))


def prepare_embedder(config: Config) -> tuple[Embedder | None, EmbedderReport]:
    """Return the first embedder that can be used, building or fetching its model where allowed."""
    from store.embedding import resolve_embedder

    return resolve_embedder(embedding_settings(config))


def language_model(config: Config) -> LanguageModel | None:
    """Return the language model the user set up, None where there is none. Nothing is asked yet.

    Raises: ConfigError for an invalid address.
    """
    if not config.models.llm or not config.models.llm_url:
        return None
    from store.ollama import Ollama

    return Ollama(config.models.llm_url, config.models.llm)


def language_state(config: Config) -> ModelState:
    """Return whether the language model can be asked; a server that is set up is asked for its models.

    Raises: ConfigError for an invalid address.
    """
    from store.ollama import survey

    return survey(config.models.llm_url, config.models.llm)
