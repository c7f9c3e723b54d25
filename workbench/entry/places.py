"""Where a project and its state are, and the rules kept there, found without anything a plan needs besides.

For what has to answer in moments, such as a hook before a tool runs. With `bootstrap` and `storage` the only
module that imports `store`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from store import generations, locks
from store.clock import SystemClock
from store.files import replace_file, write_atomic
from store.git_repository import Repository, find_repository, head_state, tracked_below
from store.journal import FileJournal
from store.location import DIRECTORY, fallback_root, is_usual, locate, user_home
from workbench.errors import GitError, StoreError, Unasked

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.records.plan import Intent, QueryType
    from workbench.records.rules import Rule
    from workbench.records.worktree import HeadState
    from workbench.sessions.episodes import EpisodeDesk

_SHARED = frozenset({f"{DIRECTORY}/config.toml", f"{DIRECTORY}/.gitignore"})
MOST_FILES = 5_000  # outside of a repository, without anybody having been asked
_AGREED = "index-all"
_PATIENCE = 60.0  # seconds
_DESK_PATIENCE = 10.0  # what a hook may wait for others that record


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


def foreign_state(repository: Repository | None) -> str:
    """Return why the state directory in a work tree is not this user's own, empty if it may well be.

    A repository can bring journals and indexes of its making: rules its users never wrote, a past that
    never was. Shared settings are another matter, and meant to be tracked.
    """
    if repository is None or not os.path.lexists(repository.root / DIRECTORY):
        return ""
    try:
        tracked = tracked_below(repository, DIRECTORY)
    except GitError as error:
        return f"whether git tracks files in {DIRECTORY} cannot be told: {error.message}"
    foreign = [path for path in tracked if path not in _SHARED]
    if not foreign:
        return ""
    return f"git tracks {foreign[0]}: what a repository brings as state is not used"


def require_consent(root: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Ask for more than the wish to plan before all of a directory outside of any repository is indexed.

    The home directory, what holds it, and directories of more than `MOST_FILES` files are indexed only where
    a person agreed to it. Raises: Unasked.
    """
    if (root / ".git").exists():
        return  # a repository all the same, whatever keeps git from reading it
    kept = root / DIRECTORY, fallback_root(root, user_home(environment))
    if any((place / _AGREED).is_file() for place in kept):
        return
    home = Path(environment.get("HOME") or Path.home()).absolute()
    if home.is_relative_to(root):
        raise Unasked(root, "is your home directory" if home == root else "holds your home directory")
    from workbench.project.directories import walk_lister

    if len(walk_lister(root, max_names=MOST_FILES + 1)(None).paths) > MOST_FILES:
        raise Unasked(root, f"holds more than {MOST_FILES:,} files")


def agree(root: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Note that all of a directory may be indexed, if it is in no repository. Raises: StoreError."""
    if repository_at(root)[0] is None:
        write_atomic(locate(root, environment).root / _AGREED, b"")


def state_notes(project: Path, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what is unusual about where the state of a project is; mostly nothing, and then at once."""
    if is_usual(project, environment):
        return ()
    repository, _ = repository_at(project)
    if repository is not None and repository.bare:
        return ()
    root = project if repository is None else repository.root
    try:
        return locate(root, environment, distrust=foreign_state(repository)).notes
    except StoreError:
        return ()  # whoever needs the state says so


def replace_user_file(root: Path | None, path: Path, data: bytes | None, expected: bytes | None) -> None:
    """Replace a file of the user's: in a project without leaving it, elsewhere as the links lead.

    Raises: StoreError.
    """
    inside = root if root is not None and path.is_relative_to(root) else None
    replace_file(path, data, expected=expected, inside=inside)


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


def kept_rules(
    start: Path, config: Config, environment: Mapping[str, str] = os.environ
) -> tuple[Rule, ...] | None:
    """Return a project's rules as they are kept, None if they have to be read anew. Raises: StoreError.

    See `unchanged_rules`: takes no listing, no index and no model.
    """
    from workbench.rules.curation.rulestore import RuleStore
    from workbench.rules.rulebook import unchanged_rules

    repository, _ = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    location = locate(root, environment, distrust=foreign_state(repository))
    clock = SystemClock()
    store = RuleStore(
        root=root,
        project_id=project_id(root),
        home=Path(environment.get("HOME") or Path.home()) if config.rules.home else None,
        journal=FileJournal(location.root, clock),
        home_journal=FileJournal(location.home, clock),
        latest=partial(_latest, location.root),
        publish=lambda kind, write: generations.publish(location.root, kind, write, clock=clock).path,
        lock=partial(_lock, location.root),
        now=clock.now,
        count_tokens=lambda text: _count_tokens(config, text),
        replace_file=partial(replace_user_file, root),
    )
    return unchanged_rules(store)


def episode_desk(
    start: Path, config: Config, by: str, environment: Mapping[str, str] = os.environ
) -> EpisodeDesk:
    """Return where sessions of the project around a directory are recorded. Raises: StoreError.

    Needs no index, no model and no tables.
    """
    from store.journal_search import mentioning
    from workbench.sessions.closing import DESK, HOUR
    from workbench.sessions.episodes import EpisodeDesk, EpisodeStore
    from workbench.sessions.episodes_fold import STREAM

    repository, _ = repository_at(start)
    root = start.absolute() if repository is None else repository.root
    location = locate(root, environment, distrust=foreign_state(repository))
    clock = SystemClock()
    name = project_id(root)
    return EpisodeDesk(
        EpisodeStore(
            root=str(root),
            project_id=name,
            journal=FileJournal(location.root, clock),
            mentioning=partial(mentioning, location.root, STREAM),
            lock=lambda: locks.exclusive(location.root / "locks" / f"{DESK}.lock", timeout=_DESK_PATIENCE),
            understand=partial(_understand, name),
            now=clock.now,
            timeout=config.sessions.timeout_hours * HOUR,
            excluded=partial(_is_excluded, config.privacy.exclude),
        ),
        by,
    )


def _is_excluded(patterns: Sequence[str], path: str) -> bool:
    from workbench.sessions.importers.withholding import excluding

    return excluding(patterns)(path)


def _understand(name: str, task: str, kind: QueryType | None) -> Intent:
    from workbench.plan.intent import parse_intent

    return parse_intent(task, project_id=name, query_type=kind)


def _latest(root: Path, kind: str) -> Path | None:
    found = generations.latest(root, kind)
    return None if found is None or isinstance(found, generations.DamagedGeneration) else found.path


def _lock(root: Path, name: str) -> AbstractContextManager[None]:
    return locks.exclusive(root / "locks" / f"{name}.lock", timeout=_PATIENCE)


def _count_tokens(config: Config, text: str) -> int:
    from workbench.text.tokens import token_counter

    return token_counter(config.plan.tokenizer).count(text)
