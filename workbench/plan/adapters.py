"""What a workspace needs from outside, as records of functions: the store, version control, the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ports import Damaged, Journal, StashSearch
from workbench.project.scan import Lister
from workbench.project.upkeep import IndexStore
from workbench.records.dataclass import dataclass
from workbench.records.worktree import CommitPatch, HeadState
from workbench.rules.curation.rulestore import RuleStore
from workbench.sessions.edits import GENERATION as EDITS
from workbench.sessions.edits import EditStore
from workbench.sessions.episodes_fold import HOUR, RECORDING_LOCK
from workbench.sessions.history import Trust
from workbench.sessions.importers.git import Commits
from workbench.sessions.past import GENERATION as HISTORY
from workbench.sessions.past import PastStore

if TYPE_CHECKING:
    from workbench.plan.cut_cache import CutCache
    from workbench.records.plan import Intent


@dataclass(frozen=True, slots=True)
class VersionControl:
    """What a repository answers.

    `head()` is what is checked out, `operation()` what git is in the middle of, such as "a merge". `inputs()`
    are files outside the project that decide which names are listed. `touched()` are paths with uncommitted
    changes. `patches` and `distance` are those of an `EditStore`. All may raise GitError.
    """

    head: Callable[[], HeadState]
    inputs: Callable[[], tuple[str, ...]]
    touched: Callable[[], tuple[str, ...]]
    commits: Commits
    patches: Callable[[int | None, str | None, set[str]], Iterator[CommitPatch]]
    distance: Callable[[str], int | None]
    operation: Callable[[], str] = lambda: ""


@dataclass(frozen=True, slots=True)
class Adapters:
    """Everything a workspace needs from outside.

    `latest(kind)` returns the directory of the current generation, None before the first, or that it is
    damaged; `publish(kind, write)` makes a new one and returns its directory. `rule_store()` opens where
    rules come from and go to. `control` is None outside a repository. `stash()` opens the stash, None where
    nothing was ever put aside. `cuts` keeps what files are cut into. `degraded` names what is missing,
    `notes` explain why in sentences.
    """

    root: Path
    project_id: str
    journal: Journal
    home_journal: Journal
    latest: Callable[[str], Path | Damaged | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    lister: Lister
    rule_store: Callable[[], RuleStore]
    control: VersionControl | None = None
    stash: Callable[[], StashSearch | None] = lambda: None
    cuts: CutCache | None = None
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def head(self) -> str | None:
        """Return the commit checked out, None without one. Raises GitError."""
        return None if self.control is None else self.control.head().sha

    def usable(self, kind: str) -> Path | None:
        """Return the current generation of a kind that is simply rebuilt when it is damaged."""
        found = self.latest(kind)
        return None if isinstance(found, Damaged) else found

    def index_store(self) -> IndexStore:
        """Return where the project's index comes from and goes to."""
        return IndexStore(
            root=self.root,
            lister=self.lister,
            inputs=(lambda: ()) if self.control is None else self.control.inputs,
            latest=self.latest,
            publish=self.publish,
            lock=partial(self.lock, "index"),
            texts=self.cuts,
        )

    def edit_store(self) -> EditStore | None:
        """Return where the lines that commits changed come from and go to; None outside a repository."""
        control = self.control
        if control is None:
            return None
        return EditStore(
            open=partial(self.latest, EDITS),
            publish=partial(self.publish, EDITS),
            lock=partial(self.lock, EDITS),
            patches=control.patches,
            distance=control.distance,
        )

    def past_store(self, limits: WorkspaceLimits) -> PastStore:
        """Return where the project's past comes from and goes to."""
        return PastStore(
            project_id=self.project_id,
            journal=self.journal,
            open=partial(self.latest, HISTORY),
            publish=partial(self.publish, HISTORY),
            lock=partial(self.lock, HISTORY),
            understand=partial(_understand, project_id=self.project_id),
            commits=None if self.control is None else self.control.commits,
            recording_lock=partial(self.lock, RECORDING_LOCK),
            now=self.now,
            timeout=limits.session_timeout,
            trust=limits.trust,
        )


def _understand(task: str, project_id: str) -> Intent:
    from workbench.plan.intent import parse_intent  # commands about rules read no task

    return parse_intent(task, project_id=project_id)


@dataclass(frozen=True, slots=True)
class WorkspaceLimits:
    """Bounds of what is indexed and remembered.

    A session that is not ended is over when it was quiet for `session_timeout` seconds; `trust` says how far
    the outcomes of tasks count.
    """

    max_files: int = 50_000
    max_bytes: int = 1_000_000
    history_commits: int = 2000
    max_mended: int = 2000
    excluded: tuple[str, ...] = ()
    workers: int | None = None
    session_timeout: float = 12.0 * HOUR
    trust: Trust = field(default_factory=Trust)
