"""A project's directory, its repository, and the state kept for it: journals, generations and locks.

Found by looking at a few files, because a hook that runs before every tool of an agent waits for it: nothing
is listed, indexed or loaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from store import generations, journal, locks
from store.clock import SystemClock
from store.files import replace_file, write_atomic
from store.git_repository import Repository, find_repository, head_state, tracked_below
from store.journal import HOME, PROJECT, FileJournal, OriginJournals, Quarantined
from store.location import DIRECTORY, Location, damage_notes, damaged_journals, is_usual, locate
from workbench.errors import GitError, StoreBusy, StoreError
from workbench.places import state_places, user_home
from workbench.ports import Clock, Damaged, Entry
from workbench.records.dataclass import dataclass
from workbench.records.worktree import HeadState

if TYPE_CHECKING:
    from store.archive import Archive, Clean
    from store.journal_copies import JournalDamage
    from store.team.peers import EntryAside, PeerJournals
    from store.vectors import IndexAbout

PATIENCE: Final = 60.0  # seconds that a lock is waited for
BUILD_PATIENCE: Final = 600.0  # seconds: an index that another process builds is worth waiting for
PROJECT_INDEX: Final = "project"
"""The kind of generation that a project has once it was indexed."""
_INDEX = "index"
_CONSENT = "index-all"
_SHARED = frozenset({f"{DIRECTORY}/config.toml", f"{DIRECTORY}/.gitignore"})


@dataclass(frozen=True, slots=True)
class IndexState:
    """A stored index: its kind and number, what is wrong with it, its size and when it was made.

    `parts` say of those that are searched by words or by meaning what they hold, how and by which model.
    """

    kind: str
    number: int
    faults: tuple[str, ...]
    bytes: int = 0
    created_at: float = 0.0
    parts: tuple[IndexAbout, ...] = ()


@dataclass(frozen=True, eq=False)
class ProjectState:
    """A project's root, its repository if it has one, and what is kept for it.

    `note` says why there is no repository, empty if there is one.
    """

    root: Path
    repository: Repository | None
    note: str
    location: Location
    clock: Clock = field(default_factory=SystemClock)

    @cached_property
    def project_id(self) -> str:
        """The project's name in records."""
        return project_id(self.root)

    @property
    def branch(self) -> str:
        """The branch that is checked out, empty where there is none."""
        return "" if self.repository is None else self.repository.branch or ""

    @property
    def state(self) -> Path:
        """The project's state directory."""
        return self.location.root

    @property
    def home(self) -> Path:
        """The user's own state directory."""
        return self.location.home

    @cached_property
    def journal(self) -> FileJournal:
        """The project's journals."""
        return FileJournal(self.state, self.clock, floor=self.state / "team" / "floor")

    @cached_property
    def home_journal(self) -> FileJournal:
        """The journals of the user's home."""
        return FileJournal(self.home, self.clock)

    @cached_property
    def journals(self) -> Mapping[str, FileJournal]:
        """All journals by origin: the project's, the home's, those of the team's other machines now."""
        return OriginJournals({PROJECT: self.journal, HOME: self.home_journal}, lambda: self.peer_journals)

    @property
    def peer_journals(self) -> Mapping[str, FileJournal]:
        """The journals of the team's other machines by the machines' ids, as received; empty without a team.

        Nobody but `store.team` writes them. They hold what their machines share, with the ids that these gave
        entries; what they say of their project they say of this one.
        """
        if not (self.state / "team" / "machines").is_dir():
            return {}
        return self._peers.journals()

    @property
    def has_team(self) -> bool:
        """Whether the project is in a team now."""
        return (self.state / "team" / "team.json").is_file()

    @property
    def team_journals(self) -> Mapping[str, FileJournal] | None:
        """The journals of peers, None where no team is used: entries then say nothing of what others did."""
        return self.peer_journals or ({} if self.has_team else None)

    @property
    def machine_names(self) -> Mapping[str, str]:
        """What people call the team's machines, by id, this one's "": the machine and the member.

        Empty without a team.
        """
        if not (self.state / "team" / "machines").is_dir():
            return {}
        from store.team.record import machine_label, read_machines  # where a team is used
        from store.team.replicas import own_machine

        machines, own = read_machines(self.state / "team"), own_machine(self.state)
        names = {machine.id: machine_label(machine) for machine in machines}
        mine = next((machine.member for machine in machines if machine.id == own), "")
        return names | {"": f"this machine ({mine})"} if mine else names

    @cached_property
    def _peers(self) -> PeerJournals:
        from store.team.peers import PeerJournals  # where a team is used

        return PeerJournals(self.state, self.clock, self.project_id, self.home_journal)

    @property
    def machine(self) -> str:
        """The id of this machine in its team, "" where none was ever used."""
        from store.team.replicas import own_machine  # where a team is used

        return own_machine(self.state)

    def put_aside(self, streams: str = "") -> list[EntryAside]:
        """Return what does not count of the journals of other machines whose names begin so, and why.

        They are read whole. Raises: JournalError.
        """
        return self._peers.put_aside(streams) if (self.state / "team" / "machines").is_dir() else []

    def latest(self, kind: str) -> Path | Damaged | None:
        """Return the directory of a kind's current generation, or its damage; None before the first."""
        found = generations.latest(self.state, kind)
        if isinstance(found, generations.DamagedGeneration):
            return Damaged(found.reason)
        return None if found is None else found.path

    def usable(self, kind: str) -> Path | None:
        """Return the directory of a kind's current generation, None where a new one has to be made."""
        found = self.latest(kind)
        return None if isinstance(found, Damaged) else found

    def publish(self, kind: str, write: Callable[[Path], None]) -> Path:
        """Make a new generation of a kind and return its directory. Raises: StoreError."""
        return generations.publish(self.state, kind, write, clock=self.clock).path

    def lock(self, name: str, patience: float | None = None) -> AbstractContextManager[None]:
        """Return a lock of the project, waited for so many seconds; entering it raises StoreBusy."""
        usual = BUILD_PATIENCE if name == _INDEX else PATIENCE
        timeout = usual if patience is None else patience
        return locks.exclusive(self.state / "locks" / f"{name}.lock", timeout=timeout)

    def replace_file(self, path: Path, data: bytes | None, expected: bytes | None) -> None:
        """Replace a file of the user's: in the project without leaving it, elsewhere as links lead.

        Raises: StoreError.
        """
        inside = self.root if path.is_relative_to(self.root) else None
        replace_file(path, data, expected=expected, inside=inside)

    def mentioning(self, stream: str, text: str) -> Iterator[Entry]:
        """Yield the entries of a stream of the project whose lines hold a text. Raises: JournalError."""
        from store.journal_search import mentioning

        return mentioning(self.state, stream, text)

    def newest(self, stream: str, most: int) -> Iterator[Entry]:
        """Yield the entries of the last `most` bytes of a stream of the project. Raises: JournalError."""
        from store.journal_search import newest

        return newest(self.state, stream, most)

    def broken_lines(self, stream: str) -> int:
        """Return how many lines of a stream are no journal lines at all. Raises: JournalError."""
        return sum(isinstance(found, Quarantined) for _, _, found in self.journal.scan(stream))

    def archive(self, max_bytes: int = 0, cleaning: Callable[[], Clean] | None = None) -> Archive:
        """Return the copies of transcripts that imports made."""
        from store.archive import Archive

        return Archive(self.state, max_bytes, cleaning)

    def journal_faults(self) -> dict[Path, list[Quarantined]]:
        """Return the lines that cannot be read of the project's and of the user's journals, by directory.

        Raises: JournalError.
        """
        return {root: journal.verify(root) for root in dict.fromkeys((self.state, self.home))}

    def journal_damages(self) -> list[JournalDamage]:
        """Return how journals of the project and of the user differ from their copies, after reading both.

        Raises: JournalError, StoreBusy.
        """
        from store.journal_copies import damages

        return [one for root in dict.fromkeys((self.state, self.home)) for one in damages(root)]

    def settle_journals(self, *, accepted: bool) -> list[tuple[JournalDamage, Path]]:
        """Repair what is damaged, or accept it as it is; return (damage, where both files are as they were).

        Raises: StoreError, StoreBusy.
        """
        from store.journal_copies import accept, repair

        moment = datetime.fromtimestamp(self.clock.now(), UTC).strftime("%Y%m%dT%H%M%S%fZ")
        settle = accept if accepted else repair
        return [(one, settle(one, moment)) for one in self.journal_damages()]

    @property
    def is_indexed(self) -> bool:
        """Whether the project has an index that can be used."""
        return self.usable(PROJECT_INDEX) is not None

    @property
    def index_fault(self) -> str:
        """Why the project's index cannot be used, empty if it can or there is none."""
        found = self.latest(PROJECT_INDEX)
        return found.reason if isinstance(found, Damaged) else ""

    def index_states(self, *, deep: bool) -> list[IndexState]:
        """Return every stored index with its faults; `deep` reads all of it and compares checksums."""
        paths = (self.state / "index").glob("*-*")
        kinds = sorted({path.name.rpartition("-")[0] for path in paths if path.is_dir()})
        states = []
        for kind in filter(None, kinds):
            found = generations.latest(self.state, kind)
            if isinstance(found, generations.DamagedGeneration):
                states.append(IndexState(kind, found.number, (found.reason,)))
            elif found is not None:
                faults = tuple(generations.check(found)) if deep else ()
                size = sum(found.files.values())
                parts = tuple(_parts(found))
                states.append(IndexState(kind, found.number, faults, size, found.created_at, parts))
        return states

    def retire_damaged(self) -> list[IndexState]:
        """Let every stored index that is damaged be built again by whoever needs it; return them.

        All of them are read. Raises: StoreError, StoreBusy.
        """
        damaged = [state for state in self.index_states(deep=True) if state.faults]
        for state in damaged:
            generations.retire(self.state, state.kind, state.number)
        return damaged

    def held_locks(self) -> list[tuple[str, int, str]]:
        """Return (name, process or 0, its command) of the locks that are held now."""
        held = []
        for path in sorted((self.state / "locks").glob("*.lock")):
            try:
                with locks.exclusive(path, timeout=0):
                    pass
            except StoreBusy:
                process = next(iter(locks.holders(path)), 0)
                held.append((path.stem, process, locks.command_of(process) if process else ""))
        return held


def _parts(found: generations.Generation) -> Iterator[IndexAbout]:
    from store.vectors import ABOUT, read_about

    for name in sorted(found.files):
        if name.rpartition("/")[2] == ABOUT:
            with suppress(OSError, ValueError):  # what is damaged is among the faults
                yield read_about((found.path / name).parent)


def project_id(root: Path) -> str:
    """Return a short readable name for a project directory, the same on every run."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:8]
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in root.name)
    return f"{name or 'root'}-{digest}"


def repository_at(start: Path) -> tuple[Repository | None, str]:
    """Return the repository that holds a directory, and a note where there is none or git fails."""
    try:
        repository = find_repository(start)
    except GitError as error:
        return None, f"git cannot be used here: {error.message}"
    return repository, "" if repository is not None else "not a git repository: planning without history"


def project_root(start: Path) -> Path:
    """Return the root of the repository that holds a directory, or the directory itself outside of any."""
    repository = repository_at(start)[0]
    return start.absolute() if repository is None or repository.bare else repository.root


def foreign_state(repository: Repository | None) -> str:
    """Return why the state directory in a work tree is not this user's own, empty if it may well be.

    A repository can bring journals and indexes of its making: rules its users never wrote, a past that
    never was. Shared settings are another matter, and meant to be tracked. A bare repository holds no state.
    """
    if repository is None:
        return ""
    if repository.bare:
        return "it is a bare repository"
    if not os.path.lexists(repository.root / DIRECTORY):
        return ""
    try:
        tracked = tracked_below(repository, DIRECTORY)
    except GitError as error:
        return f"git cannot list the files it tracks in {DIRECTORY}: {error.message}"
    foreign = [path for path in tracked if path not in _SHARED]
    if not foreign:
        return ""
    return f"git tracks {foreign[0]}: what a repository brings as state is not used"


def state_notes(start: Path, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what is unusual about where the state of a project is; mostly nothing, and then at once."""
    if is_usual(start, environment):
        return damage_notes(damaged_journals(start / DIRECTORY, user_home(environment)))
    repository, _ = repository_at(start)
    if repository is not None and repository.bare:
        return ()
    root = start if repository is None else repository.root
    try:
        return locate(root, environment, distrust=foreign_state(repository)).notes
    except StoreError:
        return ()  # whoever needs the state reports it


def has_consent(root: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a person agreed that all of a directory outside of any repository is indexed."""
    return any((place / _CONSENT).is_file() for place in state_places(root, environment))


def give_consent(root: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Record that all of a directory may be indexed, if it is in no repository. Raises: StoreError."""
    if repository_at(root)[0] is None:
        write_atomic(locate(root, environment).root / _CONSENT, b"")


def work_state(start: Path) -> tuple[HeadState | None, tuple[str, ...] | None]:
    """Return what is checked out around a directory, and the uncommitted files; None where git cannot say."""
    from store.git_diff import touched_files

    repository, _ = repository_at(start)
    if repository is None or repository.bare:
        return None, None
    try:
        return head_state(repository), touched_files(repository)
    except GitError:
        return None, None
