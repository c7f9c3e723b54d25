"""A project's past, kept up to date: new commits become journal entries, entries the history a plan weighs.

Only what is new is read, from version control and from the journal alike. Switching branches forgets nothing;
commits that no reference holds any more are forgotten, by an entry like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import field, replace
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from workbench.errors import GitError, JournalError, StoreError
from workbench.ports import Damaged, Entry, Journal
from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Commit, Completeness
from workbench.records.plan import Intent
from workbench.sessions.episode_ledger import (
    EpisodeLedger,
    Moves,
    fold,
    follow_moves,
    pack_ledger,
    recall,
    recall_templates,
    unpack_ledger,
)
from workbench.sessions.episodes_fold import ENDED, FORGOTTEN, HOUR, STREAM, TIMEOUT, overdue, timed_out
from workbench.sessions.history import History, Trust, empty_history, load_history, save_history
from workbench.sessions.importers.git import (
    KIND,
    SOURCE,
    Commits,
    commit_episodes,
    commit_session,
    session_commit,
    unreadable_sentence,
)
from workbench.text.counts import plural
from workbench.text.terms import TERMS_VERSION

Progress = Callable[[str, int, int], None]

GENERATION = "history"
_META = "meta.msgpack"
_LEDGER = "ledger.msgpack"
_BATCH = 500
_STEP = 50
_NEVER = -(1 << 62)  # an offset, where the ledger on disk is of no use
_IDLE_BYTES = 1 << 18  # entries of others that are read again by each process before a past is stored again


@dataclass(frozen=True, slots=True)
class PastStore:
    """Where the past of a project comes from and goes to. `commits` is None outside a repository.

    `recording_lock` is held by whoever records sessions; one that was quiet for `timeout` seconds is over.
    `trust` is how far outcomes count.
    """

    project_id: str
    journal: Journal
    open: Callable[[], Path | Damaged | None]
    publish: Callable[[Callable[[Path], None]], Path]
    lock: Callable[[], AbstractContextManager[None]]
    understand: Callable[[str], Intent]
    commits: Commits | None
    recording_lock: Callable[[], AbstractContextManager[None]]
    now: Callable[[], float]
    timeout: float = 12.0 * HOUR
    trust: Trust = field(default_factory=Trust)


@dataclass(frozen=True, slots=True)
class HistoryMark:
    """How far version control was read: from the commit `tip`, `depth` commits back (-1: all of them).

    `unreadable` is how many of those commits it could not read.
    """

    tip: str
    edge: str
    depth: int
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """The history a plan weighs. `heads` are the first lines of its tasks, newest first.

    `templates` are the shingles that its prompts share, with how many sessions do.
    `offset` is how far the journal is folded in, `events` and `malformed` how many entries of it counted and
    could not be read. `quiet` is the last event of the open session that is quiet for longest, `trust`
    what the history was weighed with.
    """

    history: History = field(default_factory=empty_history)
    heads: tuple[str, ...] = ()
    offset: int = 0
    events: int = 0
    malformed: int = 0
    limit: int = 0
    mark: HistoryMark | None = None
    quiet: int | None = None
    trust: Trust = field(default_factory=Trust)
    templates: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastSync:
    """A past synced with version control and journal, what came and went, and what could not be done."""

    past: Past
    imported: int = 0
    forgotten: int = 0
    notes: tuple[str, ...] = ()


class PastKeeper:
    """Keeps one project's past; not thread-safe. The ledger is read when something is new, not before."""

    def __init__(self, store: PastStore, workers: int | None = None) -> None:
        self.store = store
        self.workers = workers
        self.past: Past | None = None
        self._ledger: EpisodeLedger | None = None
        self._kept = 0  # the journal's offset in the generation on disk

    def sync(
        self,
        head: str | None,
        *,
        limit: int,
        progress: Progress | None = None,
        rebuild: bool = False,
        may_lag: bool = False,
    ) -> PastSync:
        """Sync the past with the commit `head`, and build it from the newest `limit` tasks.

        With `may_lag` sessions that ended a moment ago may be missing: whoever ended them has the past built.
        Failures of git or of the disk leave a past that is as good as it can be, and a note.
        """
        notes: list[str] = []
        if rebuild:
            self.past, self._ledger = None, EpisodeLedger(limit)
        elif self.past is None:
            self.past = self._open(notes)
        mark = None if self.past is None else self.past.mark
        imported = forgotten = 0
        commits = self.store.commits
        try:
            if commits is not None and head is not None:
                wanted = HistoryMark(head, commits.edge(), limit)
                if mark is None or not _covers(mark, wanted):
                    mark, imported, forgotten = self._import(commits, mark, wanted, limit, progress)
        except GitError as error:
            notes.append(f"history is incomplete: {error.with_hint}")
        except StoreError as error:
            notes.append(f"history cannot be recorded: {error.message}")
        past = self._close_overdue(self._remember(limit, mark, notes, may_lag=may_lag), notes)
        if past.malformed:
            notes.append(
                f"malformed and left out: {plural(past.malformed, 'entry', 'entries')} of the sessions "
                "journal; see `workbench doctor`"
            )
        if past.mark is not None and past.mark.unreadable:
            notes.append(unreadable_sentence(past.mark.unreadable))
        return PastSync(past, imported, forgotten, tuple(notes))

    def stored_past(self) -> Past | None:
        """Return the past as of the last sync, of whichever process, and change nothing."""
        return self.past or self._open([])

    def move(self, moves: Moves) -> None:
        """Go along with a journal that was written again; what cannot is read from it by the next sync."""
        past, ledger = self.stored_past(), self._ledger or self._open_ledger()
        if past is not None and ledger is not None and follow_moves(ledger, moves):
            self.past, self._ledger = replace(past, offset=-1, events=-1), ledger
        else:
            self.past = self._ledger = None

    def stories(self, limit: int) -> tuple[Completeness, int]:
        """Return how complete the stories of sessions are now, and how many entries are malformed.

        The journal is read on from where the last sync ended; nothing is written. Raises: JournalError.
        """
        ledger = self._caught_up(limit)
        return ledger.stories, ledger.malformed

    def import_commits(
        self, head: str, *, depth: int | None, limit: int, progress: Progress | None = None
    ) -> PastSync:
        """Import the newest `depth` commits (None: all) that the journal does not have yet.

        Raises: GitError, StoreError.
        """
        notes: list[str] = []
        if self.past is None:
            self.past = self._open(notes)
        mark = None if self.past is None else self.past.mark
        imported = forgotten = 0
        if self.store.commits is not None:
            wanted = HistoryMark(head, self.store.commits.edge(), -1 if depth is None else depth)
            mark, imported, forgotten = self._import(self.store.commits, mark, wanted, limit, progress)
            if mark.unreadable:
                notes.append(unreadable_sentence(mark.unreadable))
        return PastSync(self._remember(limit, mark, notes), imported, forgotten, tuple(notes))

    def _import(
        self,
        commits: Commits,
        mark: HistoryMark | None,
        wanted: HistoryMark,
        limit: int,
        progress: Progress | None,
    ) -> tuple[HistoryMark, int, int]:
        """Return how far version control was read, and how many commits came and went."""
        store = self.store
        since = mark.tip if mark is not None and _covers(replace(mark, tip=wanted.tip), wanted) else None
        with store.lock():
            ledger = self._caught_up(limit)
            forgotten = _forget(store, ledger, commits)
            depth = None if wanted.depth < 0 else wanted.depth
            total = commits.count(since) if progress is not None else 0
            if depth is not None:
                total = min(total, depth)
            unreadable: set[str] = set()
            found = _report_progress(commits.newest(depth, since, unreadable), total, progress)
            new = (commit for commit in found if commit_session(commit.sha) not in ledger.alive)
            bodies = commit_episodes(new, store.project_id, store.understand, workers=self.workers)
            imported = 0
            with closing(bodies):
                while batch := list(islice(bodies, _BATCH)):
                    imported += len(store.journal.append(STREAM, KIND, batch, by=SOURCE))
        before = 0 if mark is None or since is None else mark.unreadable
        return replace(wanted, unreadable=before + len(unreadable)), imported, forgotten

    def _caught_up(self, limit: int) -> EpisodeLedger:
        """Return the ledger with everything the journal holds now."""
        if self._ledger is None:
            self._ledger = self._open_ledger()
        journal = self.store.journal
        if self._ledger is None or self._ledger.limit != limit:
            self._ledger, self._kept = EpisodeLedger(limit), _NEVER
        try:
            if self._ledger.offset > journal.size(STREAM):
                raise JournalError("the journal of sessions is shorter than it was")
            fold(self._ledger, partial(_read, journal))
        except JournalError:
            if not self._ledger.offset:
                raise
            # The journal was replaced: what is known of it is of another.
            self.past, self._ledger = None, EpisodeLedger(limit)
            fold(self._ledger, partial(_read, journal))
        return self._ledger

    def _open_ledger(self) -> EpisodeLedger | None:
        directory = self.store.open()
        if directory is None or isinstance(directory, Damaged):
            return None
        try:
            return unpack_ledger((directory / _LEDGER).read_bytes())
        except (OSError, ValueError, msgspec.MsgspecError):
            return None  # damaged: rebuilt from the journal

    def _remember(
        self, limit: int, mark: HistoryMark | None, notes: list[str], *, may_lag: bool = False
    ) -> Past:
        """Fold in what the journal has that the past has not; with `may_lag` once that is much."""
        past = self.past
        same = past is not None and past.limit == limit and past.trust == self.store.trust
        if past is not None and same and past.mark == mark:
            behind = self.store.journal.size(STREAM) - past.offset
            if not behind or (may_lag and 0 < behind <= _IDLE_BYTES):
                return past
        ledger, past = self._caught_up(limit), self.past
        if past is not None and same and ledger.events == past.events:
            history, heads, templates = past.history, past.heads, past.templates
        else:
            (history, heads), templates = recall(ledger, self.store.trust), recall_templates(ledger)
        counts = (ledger.offset, ledger.events, ledger.malformed)
        quiet = min((episode.last_at for episode, *_ in ledger.live.values()), default=None)
        self.past = Past(history, heads, *counts, limit, mark, quiet, self.store.trust, templates)
        idle = past is not None and history is past.history and mark == past.mark
        if not idle or ledger.offset - self._kept > _IDLE_BYTES:
            self._keep(self.past, ledger, notes)
        return self.past

    def _close_overdue(self, past: Past, notes: list[str]) -> Past:
        """End the sessions that nobody ended and that have been quiet for too long."""
        store = self.store
        if past.quiet is None or store.now() - past.quiet <= store.timeout:
            return past
        try:
            with store.recording_lock():
                live = [episode for episode, *_ in self._caught_up(past.limit).live.values()]
                over = overdue(live, store.now(), store.timeout)
                bodies = [timed_out(episode.session_id, episode.last_at) for episode in over]
                store.journal.append(STREAM, ENDED, bodies, by=TIMEOUT)
        except StoreError as error:
            notes.append(f"sessions that timed out are not closed: {error.message}")
            return past
        return self._remember(past.limit, past.mark, notes)

    def _keep(self, past: Past, ledger: EpisodeLedger, notes: list[str]) -> None:
        mark = past.mark
        meta = _Meta(
            past.heads,
            past.offset,
            past.events,
            past.malformed,
            past.limit,
            None if mark is None else (mark.tip, mark.edge, mark.depth),
            past.quiet,
            past.trust,
            dict(past.templates),
            0 if mark is None else mark.unreadable,
            TERMS_VERSION,
        )

        def write(directory: Path) -> None:
            save_history(past.history, directory)
            (directory / _META).write_bytes(msgspec.msgpack.encode(meta))
            (directory / _LEDGER).write_bytes(pack_ledger(ledger))

        try:
            self.store.publish(write)
            self._kept = past.offset
        except StoreError as error:
            notes.append(f"history is not kept for the next run: {error.message}")

    def _open(self, notes: list[str]) -> Past | None:
        directory = self.store.open()
        if directory is None:
            return None
        try:
            if isinstance(directory, Damaged):
                raise ValueError(directory.reason)
            history = load_history(directory)
            meta = decode_msgpack((directory / _META).read_bytes(), _Meta)
            if meta.terms != TERMS_VERSION:
                raise ValueError("its terms are those of another version")
            if len(meta.heads) != history.size or meta.offset > self.store.journal.size(STREAM):
                raise ValueError("it is of another journal")
        except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError) as error:
            notes.append(f"the stored history could not be used ({error}) and is rebuilt from the journal")
            return None
        mark = None if meta.mark is None else HistoryMark(*meta.mark, meta.unreadable)
        self._kept = meta.offset
        counts = (meta.offset, meta.events, meta.malformed)
        past = Past(history, meta.heads, *counts, meta.limit, mark, meta.quiet, meta.trust)
        return replace(past, templates=meta.templates)


class _Meta(msgspec.Struct):
    heads: tuple[str, ...]
    offset: int
    events: int
    malformed: int
    limit: int
    mark: tuple[str, str, int] | None
    quiet: int | None
    trust: Trust
    templates: dict[int, int] = {}
    unreadable: int = 0
    terms: int = 0


def _covers(mark: HistoryMark, wanted: HistoryMark) -> bool:
    deep = mark.depth < 0 or 0 <= wanted.depth <= mark.depth
    return mark.tip == wanted.tip and mark.edge == wanted.edge and deep


def _forget(store: PastStore, ledger: EpisodeLedger, commits: Commits) -> int:
    known = [sha for session in ledger.alive if (sha := session_commit(session))]
    gone = sorted(commits.lost(known)) if known else []
    if gone:
        body = {
            "session_ids": [commit_session(sha) for sha in gone],
            "reason": "no reference holds these commits any more",
        }
        store.journal.append(STREAM, FORGOTTEN, [body], by=SOURCE)
    return len(gone)


def _report_progress(commits: Iterable[Commit], total: int, progress: Progress | None) -> Iterator[Commit]:
    for number, commit in enumerate(commits, 1):
        if progress is not None and (number % _STEP == 0 or number == total):
            progress("reading history", min(number, total), total)
        yield commit


def _read(journal: Journal, start: int) -> Iterator[tuple[int, Entry]]:
    return journal.read(STREAM, start)
