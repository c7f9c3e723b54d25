"""The DuckDB tables of a project: a projection of its journals that any process brings up to date.

The file is used under the store's own lock for one round at a time: attach, project at most `ROUND` entries
in one transaction together with the offsets they end at, detach. A process killed anywhere leaves either the
old state or the new one. A file that cannot be read is set aside and rebuilt from the journals.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from store import locks, projector
from store.duck import DamagedTables, KeptConnection, log_file
from store.files import open_state, private_dir, translate_errors
from store.journal import FileJournal
from store.migrations import ForeignSchema, is_migrated, migrate
from store.projections import artifacts
from store.projector import (
    ALL,
    CatchUp,
    Rejected,
    Replaced,
    Round,
    Sizes,
    caught_up,
    of_streams,
    with_streams,
)
from store.table_attachment import TableAttachment
from store.table_digests import digests
from store.table_files import identity, is_open, remove, set_aside
from store.table_state import written_later
from workbench.errors import StoreError
from workbench.lists.tables import TableRebuild
from workbench.ports import REBUILD_WATCHER, Clock

if TYPE_CHECKING:
    from store.duck import Connection


FILE: Final = "tables.duckdb"
ROUND: Final = 4_000
"""Entries of a round: others have their turn some four times a second."""

LARGE_ROUND: Final = 40_000
"""Those of a rebuild, which nobody waits for, and of whoever finds more than a round: a third of the time."""

REBUILD_PATIENCE: Final = 600.0
"""Seconds that others may take who rebuild the tables, one after the other."""

SELECT_REJECTED: Final = """
SELECT count(*) OVER (), origin, stream, position, kind, reason FROM rejected
ORDER BY origin, stream, position LIMIT 1
"""

T = TypeVar("T")


class Tables:
    """The tables under the state directory `root`.

    `journals` are the project's and, if it has rules, the user's own: `{"project": …, "home": …}`.
    Threads may share one; processes each have their own.
    """

    def __init__(
        self, root: Path, journals: Mapping[str, FileJournal], clock: Clock, *, timeout: float = 60.0
    ) -> None:
        self.path = root / FILE
        self._lock = locks.FairLock(root / "locks", "tables", timeout)
        self._rebuilding = root / "locks" / "tables-rebuild.lock"
        self._journals = journals
        self._clock = clock
        self._kept = KeptConnection(root / "spill")
        self._attachment = TableAttachment(self.path, self._kept, self._lock)
        self._caught_up: Sizes = {}
        self._settled: Sizes | None = None
        self.latest_rebuild: TableRebuild | None = None
        """The last rebuild by this process, also while it goes on."""
        self.degraded = ""
        """Why another place than the configured one answers, empty if none does."""

    def catch_up(self) -> CatchUp:
        """Project what the journals hold beyond the tables. Idempotent; does nothing where nothing is new.

        Raises: StoreError, StoreBusy.
        """
        with self._attachment.alone():
            sizes = self._sizes()
            if not self._is_behind(sizes, ALL) and self._is_current(sizes):
                return CatchUp()
            return self._catch_up(sizes)

    def rebuild(self) -> CatchUp:
        """Rebuild the tables from the journals. The old ones serve readers until the new ones are whole.

        Artifacts are not in the journals: those tables are empty until `follow_index`.
        Raises: StoreError, StoreBusy.
        """
        with self._attachment.alone(), locks.exclusive(self._rebuilding, timeout=REBUILD_PATIENCE):
            try:
                former = open_state(self.path)
            except OSError:  # nobody reads meanwhile
                with self._lock.exclusive():
                    return self._rebuild("asked for")
            try:
                return self._rebuild("asked for", former=former)
            finally:
                os.close(former)

    def query(self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Return the rows of a SELECT over tables that are up to date. Raises: StoreError, StoreBusy."""
        return self.read(lambda connection: connection.execute(statement, parameters).fetchall())

    def read(self, work: Callable[[Connection], T], streams: tuple[str, ...] = ALL) -> T:
        """Return what `work` reads from tables that are up to date; it may be called twice.

        `streams` are the beginnings of the names of those that have to be in them. What `work` reads of these
        tables in turn is of the same state. Raises: StoreError, StoreBusy.
        """
        with self._attachment.in_line():
            if self._attachment.reading is not None:
                return work(self._attachment.reading)
            sizes = self._sizes()
            wanted = of_streams(sizes, streams)
            found = None if self._is_behind(wanted, streams) else self._read_current(work, wanted, streams)
            rounds: list[Round] = []
            while found is None and self._turn(sizes, rounds) is None:
                found = self._read_current(work, wanted, streams)
            if found is not None:
                return found[0]
            seen = identity(self.path)
            try:
                return self._read(work)
            except (DamagedTables, FileNotFoundError) as finding:
                self._recover(seen, f"the database was damaged: {finding}")
            try:
                return self._read(work)
            except (DamagedTables, FileNotFoundError) as finding:
                raise StoreError(
                    f"reading {self.path} failed: {finding}", hint="Check the disk."
                ) from finding

    @contextlib.contextmanager
    def settle(self) -> Iterator[None]:
        """Catch up once for all questions inside, whatever others write meanwhile. For one thread's use.

        Where many write, each question of its own would wait for its own turn. Raises: StoreError, StoreBusy.
        """
        sizes = self._sizes()
        self.catch_up()
        self._settled = sizes
        try:
            yield
        finally:
            self._settled = None

    def rejected_entries(self) -> tuple[int, Rejected]:
        """Return how many entries were left out for their form, and the first. Raises: StoreError."""
        rows = self.query(SELECT_REJECTED)
        return (rows[0][0], Rejected(*rows[0][1:])) if rows else (0, Rejected("", "", 0, "", ""))

    def digest(self) -> dict[str, str]:
        """Return a content hash of each table that is built from journals."""
        return self.read(digests)

    def follow_index(
        self, current: artifacts.States, describe: Callable[[Sequence[str]], artifacts.Artifacts]
    ) -> int:
        """Bring the tables of the project index up to date in one transaction; return how many files changed.

        `current` are the files of the index, `describe` gives what it knows of some of them, with all edges.
        Raises: StoreError, StoreBusy.
        """
        with self._attachment.alone():
            if self.read(artifacts.states) == current:
                return 0

            def work(connection: Connection) -> int:
                known = artifacts.states(connection)
                gone = sorted(known.keys() - current.keys())
                changed = sorted(path for path, state in current.items() if known.get(path) != state)
                artifacts.update(connection, gone, describe(changed))
                return len(gone) + len(changed)

            return self.write(work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` does, in one transaction, to tables that no journal is behind.

        Raises: StoreError, StoreBusy.
        """
        with self._attachment.alone(), self._lock.exclusive():
            try:
                with self._kept.attach(self.path) as connection:
                    connection.execute("BEGIN")
                    done = work(connection)
                    connection.execute("COMMIT")
                return done
            except DamagedTables as finding:
                raise StoreError(
                    f"writing {self.path} failed: {finding}", hint="Run `workbench rebuild`."
                ) from finding

    @contextlib.contextmanager
    def replacing(self) -> Iterator[KeptConnection]:
        """Hold the file alone while it is replaced; what is yielded attaches files. Raises: StoreBusy."""
        with self._attachment.alone(), self._lock.exclusive():
            yield self._kept
            self._caught_up = {}

    def file(self) -> int | None:
        """Return what identifies the database's file, None before there is one; a rebuild changes it."""
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return None

    @property
    def on_server(self) -> bool:
        """Whether a server has them, as far as is known: not where `degraded` says why it has not."""
        return False

    @property
    def place(self) -> str:
        """Where they are, for people."""
        return str(self.path)

    def close(self) -> None:
        """Keep no connection any more, also where a thread still reads; later questions open one each."""
        self._attachment.close()
        self._kept.close()

    def keep_attached(self) -> None:
        """Let the file stay attached for a moment after each question, unless somebody writes to it."""
        self._attachment.keep_attached()

    def let_go(self) -> None:
        """Let others write to the file without waiting for that moment."""
        self._attachment.let_go()

    def _sizes(self) -> Sizes:
        if self._settled is not None:
            return self._settled
        return {
            (origin, stream): journal.size(stream)
            for origin, journal in self._journals.items()
            for stream in projector.projected_streams(origin, journal)
        }

    def _is_caught_up(self, sizes: Sizes, streams: tuple[str, ...] = ALL) -> bool:
        return sizes == of_streams(self._caught_up, streams)

    def _catch_up(self, sizes: Sizes) -> CatchUp:
        rounds: list[Round] = []
        while (report := self._turn(sizes, rounds)) is None:
            if self._is_current(sizes):
                return caught_up(rounds)
        return report

    def _turn(self, sizes: Sizes, rounds: list[Round]) -> CatchUp | None:
        """Project a round, or wait for another process's; None where a look has to tell what is missing."""
        self._attachment.detach()
        self._kept.prepare(writing=True)
        with self._lock.turn() as own:
            if not own:
                return None
            with self._lock.exclusive():
                if not self.path.exists():
                    self.latest_rebuild = TableRebuild("there were none", sum(sizes.values()))
                try:
                    rounds.append(self._round(self.path, LARGE_ROUND if rounds else ROUND))
                    self._note_progress(rounds[-1])
                except DamagedTables as finding:
                    aside = str(set_aside(self.path, self._clock.now()))
                    return self._rebuild(f"the database was damaged: {finding}", aside)
                except (Replaced, ForeignSchema) as finding:
                    return self._rebuild(str(finding))
        if rounds[-1].more:
            return None
        if self.latest_rebuild is not None and not self.latest_rebuild.over:
            self.latest_rebuild = replace(self.latest_rebuild, over=True)
        self._caught_up = dict(sizes)
        return caught_up(rounds)

    def _is_behind(self, sizes: Sizes, streams: tuple[str, ...]) -> bool:
        """Tell whether a journal was written after the tables: nobody has projected that yet."""
        if self._is_caught_up(sizes, streams):
            return False
        with contextlib.suppress(OSError):  # a look tells
            return any(True for _ in written_later(self.path, self._journals, sizes))
        return False

    def _is_current(self, sizes: Sizes) -> bool:
        if self._is_caught_up(sizes) and self.path.exists():
            return True
        return self._read_current(lambda _: None, sizes) is not None

    def _read_current(
        self, work: Callable[[Connection], T], sizes: Sizes, streams: tuple[str, ...] = ALL
    ) -> tuple[T] | None:
        """Return what `work` reads, None if the tables hold less of the journals, whoever projected it."""
        if not self.path.exists():
            return None

        def current(connection: Connection) -> tuple[T] | None:
            if not self._is_caught_up(sizes, streams):
                if not is_migrated(connection):
                    return None
                if not projector.is_current(connection, self._journals, sizes, streams):
                    return None
                self._caught_up = with_streams(self._caught_up, sizes, streams)
            return (work(connection),)

        try:
            return self._read(current)
        except (DamagedTables, FileNotFoundError):
            return None

    def _round(self, path: Path, limit: int = LARGE_ROUND) -> Round:
        private_dir(path.parent)
        with self._kept.attach(path) as connection:
            migrate(connection)
            return projector.project(connection, self._journals, limit)

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self._attachment.read(work)

    def _recover(self, seen: object, reason: str) -> None:
        """Rebuild the tables, unless another process did so since `seen`."""
        self._attachment.detach()
        with self._lock.exclusive():
            if identity(self.path) == seen:
                self._rebuild(reason, str(set_aside(self.path, self._clock.now())))

    def _rebuild(self, reason: str, set_aside: str = "", *, former: int | None = None) -> CatchUp:
        """Rebuild the tables while their lock is held, or beside the open file that they are until then."""
        self.latest_rebuild = TableRebuild(reason, sum(self._sizes().values()), set_aside=set_aside)
        fresh = self.path.with_name(f"{FILE}.{'new' if former is None else 'beside'}")
        with translate_errors(f"rebuilding {self.path}"), contextlib.ExitStack() as held:
            remove(fresh)
            rounds: list[Round] = []
            try:
                self._project_all(lambda: self._round(fresh), rounds)
                if former is not None:
                    held.enter_context(self._lock.exclusive())
                    self._finish_beside(fresh, rounds, former)
                # The file alone takes the old one's place, so that everything has to be in it.
                with self._kept.attach(fresh) as connection:
                    connection.execute("CHECKPOINT tables")
            except (DamagedTables, Replaced, ForeignSchema) as finding:
                self.latest_rebuild = None
                raise StoreError(
                    f"rebuilding {self.path} failed: {finding}",
                    hint="Check the disk; the journals are untouched.",
                ) from finding
            # The old log must not be taken for the new file's. Without it the old file is an earlier state.
            log_file(self.path).unlink(missing_ok=True)
            os.replace(fresh, self.path)
        self._caught_up = {}
        self.latest_rebuild = replace(self.latest_rebuild, over=True)
        return replace(caught_up(rounds), rebuilt=reason, set_aside=set_aside)

    def _finish_beside(self, fresh: Path, rounds: list[Round], former: int) -> None:
        """Project what was written meanwhile; begin again where journals are not those that were read."""
        if is_open(self.path, former):  # else they were purged, or damaged and rebuilt
            with contextlib.suppress(Replaced):
                self._project_all(lambda: self._round(fresh), rounds)
                return
        remove(fresh)
        rounds.clear()
        self._project_all(lambda: self._round(fresh), rounds)

    def _project_all(self, project: Callable[[], Round], rounds: list[Round]) -> None:
        """Project round by round until no entry is left."""
        more = True
        while more:
            rounds.append(project())
            more = rounds[-1].more
            self._note_progress(rounds[-1])

    def _note_progress(self, made: Round) -> None:
        """Note how far a rebuild is, and report it to who waits for it."""
        if self.latest_rebuild is not None and not self.latest_rebuild.over:
            done = self.latest_rebuild.done + sum(tally.bytes for tally in made.tallies)
            self.latest_rebuild = replace(self.latest_rebuild, done=done)
            if watcher := REBUILD_WATCHER.get():
                watcher(done, self.latest_rebuild.total)
