"""The tables of a project, opened when they are first asked for: what lists and counts are read from."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.entry.project.journals import ProjectJournals

if TYPE_CHECKING:
    from store.table_queries import TableQueries
    from store.table_state import TableFile
    from workbench.lists.conflicts import ConflictStore
    from workbench.lists.learnings import LearningRow
    from workbench.lists.segments import SegmentRow
    from workbench.lists.tables import ListTable, TableRebuild
    from workbench.ports import Entry
    from workbench.records.rules import Rule


class ProjectTables(ProjectJournals):
    """A project whose lists can be read."""

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

        return rule_list(self.kept_tables, self.project_id, home=self.rules_home is not None)

    @cached_property
    def learning_list(self) -> ListTable[LearningRow]:
        """The learnings as a list, live or not."""
        from store.lists.learnings import learning_list

        return learning_list(self.kept_tables, self.clock)

    def learning_entries(self, identifiers: Iterable[str]) -> list[tuple[Entry, bool]]:
        """Return the entries about some learnings in order, and whether the home's. Raises: StoreError."""
        from store.lists.learnings import learning_entries

        journals = {"project": self.journal, "home": self.home_journal}
        found = learning_entries(self.kept_tables, journals, identifiers)
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
