"""The journals, tables and indexes of a project: what is curated, listed and searched of it.

Each is opened when it is first asked for; a project with its settings and journals is the least.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from store.project_state import ProjectState
from workbench.entry.project.models import embedding_settings, ready_embedder
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from store.answer_cache import AnswerCache
    from store.table_queries import TableQueries
    from store.table_state import TableFile
    from store.vector_store import VectorStore
    from store.vectors import CosineIndex
    from workbench.config import Config
    from workbench.lists.conflicts import ConflictStore
    from workbench.lists.learnings import LearningRow
    from workbench.lists.segments import SegmentRow
    from workbench.lists.tables import ListTable, TableRebuild
    from workbench.ports import Embedder, Entry, Float32, VectorCollection
    from workbench.records.rules import Rule
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.stash.segmentindex import SegmentIndex
    from workbench.stash.stashstore import StashStore
    from workbench.text.tokens import TokenCounter

S = TypeVar("S")
STASH: Final = "stash"
"""The stream of segments (`workbench.stash.segmenttype.STREAM`)."""
MODELS: Final = "models"
"""The stream of models (`workbench.models.registry.STREAM`)."""


@dataclass(frozen=True, eq=False)
class ProjectJournals(ProjectState):
    """A project's state with its settings.

    `given` are settings that are loaded already; `environment` is where the user's home is looked up.
    """

    given: Config | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def config(self) -> Config:
        """The settings. Raises: ConfigError."""
        if self.given is not None:
            return self.given
        from workbench.config_layers import load

        return load(project=self.root).config

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts tokens as the settings ask for it."""
        from workbench.places import user_cache
        from workbench.text.tokens import table_counter

        return table_counter(self.config.plan.tokenizer, user_cache())

    @property
    def rules_home(self) -> Path | None:
        """The user's home, None where rule files there are not to be read."""
        return Path(self.environment.get("HOME") or Path.home()) if self.config.rules.home else None

    def rule_store(self) -> RuleStore:
        """Return where the project's rules come from and go to, without opening a workspace."""
        from workbench.rules.curation.rulestore import RuleStore

        return self.curated_store(
            RuleStore, root=self.root, home=self.rules_home, replace_file=self.replace_file
        )

    def curated_store(self, store: Callable[..., S], **own: Any) -> S:
        """Return a store of curated records over these journals, with what is its own."""
        team = {
            "peers": lambda: self.team_journals,
            "names": lambda: self.machine_names,
            "machine": lambda: self.machine,
        }
        return store(
            project_id=self.project_id,
            journal=self.journal,
            home_journal=self.home_journal,
            latest=self.usable,
            publish=self.publish,
            lock=self.lock,
            now=self.clock.now,
            count_tokens=lambda text: self.counter.count(text),
            **{**team, **own},
        )

    @property
    def has_stash(self) -> bool:
        """Whether anything was ever put aside; if not, nothing of the stash is imported."""
        return STASH in self.journal.streams()

    @property
    def has_models(self) -> bool:
        """Whether a model was ever registered; if not, nothing of the project's own models is imported."""
        return self.journal.size(MODELS) > 0

    @cached_property
    def answer_cache(self) -> AnswerCache:
        """The answers of language models about what is here, kept with the project's state."""
        from store.answer_cache import AnswerCache

        return AnswerCache(self.state / "answers")


class ProjectTables(ProjectJournals):
    """A project whose lists can be read."""

    def open_tables(self, setting: str = "") -> TableQueries:
        """Return the tables of the project's and of the user's own journals, where `store.tables` has them.

        They are elsewhere if a `setting` is given.
        """
        from store.table_places import open_tables

        return open_tables(setting or self.config.store.tables, self.state, self.journals, self.clock)

    def remove_server_tables(self) -> str:
        """Drop what the team's server has of the tables; return what kept that from being done, or ""."""
        from store.table_places import remove_server_tables

        return remove_server_tables(self.state, self.clock)

    def table_file(self) -> TableFile | None:
        """Return how the file of the tables is without opening it, None before the first. Raises: OSError."""
        from store.table_state import table_file
        from store.tables import FILE

        return table_file(self.state / FILE, self.journals)

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

        return rule_list(self.kept_tables, self.project_id, home=self.rules_home is not None)

    @cached_property
    def learning_list(self) -> ListTable[LearningRow]:
        """The learnings as a list, live or not."""
        from store.lists.learnings import learning_list

        return learning_list(self.kept_tables, self.clock)

    def learning_entries(self, identifiers: Iterable[str]) -> list[tuple[Entry, bool]]:
        """Return the entries about some learnings in order, and whether the home's. Raises: StoreError."""
        from store.lists.learnings import learning_entries

        found = learning_entries(self.kept_tables, self.journals, identifiers)
        return [(entry, origin == "home") for entry, origin in found]

    def unreadable_learnings(self) -> tuple[int, str]:
        """Return how many entries about learnings cannot be read, and why one cannot. Raises: StoreError."""
        from store.lists.learnings import unreadable_learnings

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

    def session_segments(self, session: str) -> tuple[str, ...]:
        """Return the ids of the segments of a session, in no order. Raises: StoreError."""
        from store.lists.segments import session_segments

        return session_segments(self.kept_tables, session)

    @cached_property
    def conflicts(self) -> ConflictStore:
        """The conflicts of rules and of learnings that the last searches found."""
        from store.lists.conflicts import ConflictTable

        return ConflictTable(self.kept_tables, self.clock)


class ProjectIndexes(ProjectTables):
    """A project whose vectors can be compared."""

    @cached_property
    def vector_collections(self) -> dict[tuple[str, str, int], VectorCollection]:
        """What is open of a server that keeps vectors, by the server, the model and its dimensions."""
        return {}

    def close(self) -> None:
        """Free what lists are read from, and what is open of a server of vectors; all else works on."""
        ProjectTables.close(self)
        for one in vars(self).pop("vector_collections", {}).values():
            one.close()

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
        from store.embedding_cache import cache_embeddings
        from store.vector_store import VectorStore
        from workbench.places import user_cache

        return VectorStore(
            cache_embeddings(embedder, self.home / "embeddings"),
            self.latest,
            self.publish,
            setting=setting,
            note=note,
            cache=user_cache(),
        )

    @property
    def loaded_vectors(self) -> VectorStore | None:
        """What embeds texts where this process has asked for it before, None where it has not."""
        found: tuple[VectorStore | None, str] = vars(self).get("text_vectors", (None, ""))
        return found[0]

    def vectors_by_setting(self, setting: str, *, prepare: bool = False) -> tuple[VectorStore | None, str]:
        """Return what embeds by just the model of a setting, and what is missing if it is not ready."""
        from store import embedding

        settings = replace(embedding_settings(self.config), model=setting)
        embedder, missing = embedding.configured_embedder(settings, prepare=prepare)
        return (None if embedder is None else self.vectors_by(embedder, setting)), missing

    def vectors_of(self, model: str, setting: str) -> VectorStore | None:
        """Return what embeds by a model that was opened by a setting before, None where it is gone."""
        from store import embedding

        former = replace(embedding_settings(self.config), model=setting, download=False)
        embedder, _ = embedding.ready_embedder(former)
        return (
            self.vectors_by(embedder, setting) if embedder is not None and embedder.model == model else None
        )

    @cached_property
    def stash_store(self) -> StashStore:
        """Where the segments of the project come from and go to; what was folded once stays folded."""
        from workbench.stash.stashstore import StashStore

        return self.curated_store(
            StashStore,
            texts=self.segment_texts,
            referring=self.referring_segments,
            of_session=self.session_segments,
        )

    @cached_property
    def segment_index(self) -> SegmentIndex:
        """The index of the stash, not opened yet; `refresh` does."""
        from store.vectors import load_index
        from workbench.places import user_cache
        from workbench.stash.segmentindex import IndexPlaces, SegmentIndex

        return SegmentIndex(
            IndexPlaces(
                journal=self.journal,
                texts=self.segment_texts,
                latest=self.latest,
                publish=self.publish,
                build=partial(_build_measured, user_cache()),
                load=load_index,
                count_tokens=lambda text: self.counter.count(text),
                chunk_tokens=self.config.stash.chunk_tokens,
            )
        )


def _build_measured(cache: Path, vectors: Float32, *, model: str = "") -> CosineIndex:
    """Return an index of vectors as pays on this machine; what measures is imported by then alone."""
    from store.crossovers import build_measured

    return build_measured(cache, vectors, model=model)
