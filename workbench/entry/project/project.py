"""A project as work is done in it, found by looking at a few files.

Its settings, journals, tables, indexes, workspace and planner are opened when they are first asked for, and
what is heavy is imported then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store.location import locate
from store.project_state import foreign_state, has_consent, repository_at
from workbench.entry.project.indexes import STASH, ProjectIndexes
from workbench.errors import ProjectError, Unasked

if TYPE_CHECKING:
    from store.git_repository import Repository
    from store.sandbox import Sandbox
    from store.table_queries import TableQueries
    from workbench.config import Config
    from workbench.models.registry import RegisteredParams
    from workbench.models.rerank import SecondStage
    from workbench.plan.adapters import Adapters
    from workbench.plan.cut_cache import CutCache
    from workbench.plan.own_models import OwnModels
    from workbench.plan.planner import Planner
    from workbench.plan.ranking import RankingModel
    from workbench.plan.workspace import Workspace
    from workbench.ports import StashSearch
    from workbench.rules.matching.match import RuleMatch
    from workbench.rules.matching.recheck import Rechecked

MOST_FILES: Final = 5_000  # outside of a repository, without anybody having been asked


class OpenedProject(ProjectIndexes):
    """A project: its root, its state, and what is opened of both when it is first asked for."""

    past_may_lag = False
    """Whether sessions that ended a moment ago may be missing in plans, see `PastKeeper.sync`."""

    @cached_property
    def workspace(self) -> Workspace:
        """The project's files, history and rules, to be synced and asked."""
        from workbench.entry.parameters import index_limits
        from workbench.plan.workspace import Workspace

        workspace = Workspace(self._adapters(), index_limits(self.config))
        workspace.past_may_lag = self.past_may_lag
        return workspace

    @cached_property
    def planner(self) -> Planner:
        """What planning needs besides a workspace. Raises: ModelError."""
        # Commands that only read rules do without what plans, which takes as long to import as they take.
        from workbench.entry.parameters import match_params
        from workbench.entry.project.models import candidate_source
        from workbench.plan.planner import Planner
        from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_chunk_model, load_model
        from workbench.plan.representations import Contents

        chunks = load_chunk_model()
        embedder, unprepared = self.text_vectors
        usual = LEXICAL_MODEL if embedder is None else DEFAULT_MODEL
        return Planner(
            ranking=load_model(self.config.models.ranking or usual),
            plain_ranking=partial(load_model, LEXICAL_MODEL),
            own=self.own_ranking,
            embedder=embedder,
            embedder_note=unprepared,
            chunks=chunks,
            counter=self.counter,
            contents=Contents(self.root, self.counter, cap=self.config.index.max_file_bytes, cuts=self._cuts),
            matching=match_params(self.config.rules),
            recheck=self._recheck if self.config.rules.recheck else None,
            search=candidate_source(self.config, self.root, self.repository),
            second_stage=self.second_stage,
            segment_share=self.config.stash.share,
            confident=self.config.hooks.threshold,
        )

    @cached_property
    def _cuts(self) -> CutCache:
        from workbench.plan.cut_cache import CutCache

        return CutCache(self.state / "cuts", self.config.plan.tokenizer)

    def own_ranking(self, base: RankingModel, task: str) -> tuple[RankingModel, str]:
        """Return what the project's own models make of a packaged one for a task; nothing without any."""
        if not self.has_models:
            return base, ""
        return self.own_models.ranking(base, task)

    @cached_property
    def own_models(self) -> OwnModels:
        """The models that were registered for the project, as they are at every question."""
        from workbench.plan.own_models import OwnModels  # only where there are some

        return OwnModels(self.journal)

    def second_stage(self) -> SecondStage | None:
        """Return what rates the first files again, None without a model. Raises: ConfigError, ModelError."""
        from workbench.entry.project.models import second_stage

        active = self.registered_reranker()
        if active not in self._second_stages:
            self._second_stages[active] = second_stage(
                self.config, self.answer_cache, self.counter.count, self.active_reranker()
            )
        return self._second_stages[active]

    def active_reranker(self) -> RegisteredParams | None:
        """Return the project's own second stage that is active now."""
        active = self.registered_reranker()
        return self.own_models.registry().models[active] if active else None

    def registered_reranker(self) -> str:
        """Return the id of the project's own second stage that is active now, empty without one."""
        return self.own_models.registry().active.get("ollama_rerank", "") if self.has_models else ""

    @cached_property
    def _second_stages(self) -> dict[str, SecondStage | None]:
        """Second stages by the registered model that is active, '' for that of the settings."""
        return {}

    def _adapters(self) -> Adapters:
        from store.git_repository import lister
        from workbench.entry.parameters import excluded_patterns
        from workbench.entry.project.repository import version_control
        from workbench.plan.adapters import Adapters
        from workbench.project.directories import exclude_paths, walk_lister

        repository = self.repository
        listed = walk_lister(self.root) if repository is None else lister(repository)
        return Adapters(
            root=self.root,
            project_id=self.project_id,
            journal=self.journal,
            home_journal=self.home_journal,
            latest=self.latest,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            lister=exclude_paths(listed, excluded_patterns(self.config)),
            rule_store=self.rule_store,
            notes=tuple(filter(None, (self.note, *self.location.notes))),
            degraded=() if repository is not None else ("history",),
            control=None if repository is None else version_control(repository),
            stash=self._stash_search,
            cuts=self._cuts,
        )

    def _stash_search(self) -> StashSearch | None:
        if not self.journal.size(STASH):
            return None
        from workbench.entry.services.stash_search import open_stash_search  # where there is something

        searcher = open_stash_search(self, write=False)
        return searcher if searcher.index.columns.alive.any() else None

    def _recheck(self, matches: Sequence[RuleMatch], message: str) -> Rechecked:
        from workbench.entry.project.models import language_model
        from workbench.rules.matching.recheck import recheck_as_set  # only where the settings ask for it

        model = partial(language_model, self.config)
        return recheck_as_set(self.config.rules, model, matches, message, self.counter.count)

    @contextmanager
    def journal_tables(self) -> Iterator[TableQueries]:
        """Open the tables to be read, all but those of the project index. Raises: StoreError."""
        kept: TableQueries | None = vars(self).get("kept_tables")
        tables = kept or self.open_tables()
        try:
            yield tables
        finally:
            if tables is not kept:
                tables.close()

    @contextmanager
    def tables(self) -> Iterator[TableQueries]:
        """Open the tables to be read, those of the project index as of the last plan. Raises: StoreError."""
        with self.journal_tables() as tables:
            self._follow_index(tables)
            yield tables

    @contextmanager
    def sandbox(self, seconds: float, output: Path | None = None) -> Iterator[Sandbox]:
        """Open a copy of the tables for statements of a person's own. Raises: StoreError."""
        from store.sandbox import sandbox

        with closing(self.open_tables("duckdb")) as tables:  # statements are DuckDB's, and read a copy
            self._follow_index(tables)
            with sandbox(tables, seconds=seconds, output=output) as found:
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
