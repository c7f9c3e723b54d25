"""What the repository of a project is asked for by planning, and what changed in it since a revision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.errors import GitError

if TYPE_CHECKING:
    from store.git_repository import Repository
    from workbench.plan.adapters import VersionControl
    from workbench.records.answers.project import Delta
    from workbench.records.episodes import Commit
    from workbench.records.worktree import CommitPatch

DELTA_COMMITS: Final = 10  # how far back a delta looks unless it is given a revision


def version_control(repository: Repository) -> VersionControl:
    """Return what planning asks a repository."""
    from store import git_log, git_repository
    from store.git_diff import touched_files
    from workbench.plan.adapters import VersionControl
    from workbench.sessions.importers.git import Commits

    def newest(limit: int | None, since: str | None, unreadable: set[str]) -> Iterator[Commit]:
        present = None if since is None else git_repository.resolve(repository, since)  # it may be pruned
        return git_log.log_commits(
            repository, limit=limit, since_sha=present, line_counts=False, unreadable=unreadable
        )

    def patches(limit: int | None, since: str | None, unreadable: set[str]) -> Iterator[CommitPatch]:
        from store.git_patches import log_patches  # most plans read none

        return log_patches(repository, limit=limit, since_sha=since, unreadable=unreadable)

    return VersionControl(
        head=partial(git_repository.head_state, repository),
        inputs=lambda: git_repository.listing_inputs(repository),
        touched=partial(touched_files, repository),
        commits=Commits(
            newest=newest,
            count=lambda since: git_log.count_commits(repository, since_sha=since),
            lost=partial(git_log.lost_commits, repository),
            edge=partial(git_log.shallow_edge, repository),
        ),
        patches=patches,
        distance=partial(git_log.count_after, repository),
        operation=partial(git_repository.operation_of, repository),
    )


def delta(repository: Repository, since: str | None, excluded: Sequence[str] = ()) -> Delta:
    """Return what changed since a revision, or within the last commits, without `excluded` paths.

    Raises: GitError.
    """
    from store.git_diff import recent_bases

    failure = GitError("there is no commit to compare with", hint="Commit something first.")
    for base in [since] if since else recent_bases(repository, DELTA_COMMITS):
        try:
            return _delta_since(repository, base, excluded)
        except GitError as error:
            failure = error
    raise failure


def _delta_since(repository: Repository, base: str, excluded: Sequence[str]) -> Delta:
    from store.git_diff import changes_since, diff_hunks
    from workbench.project.delta import admit_changes, digest
    from workbench.project.directories import path_filter

    changes = admit_changes(changes_since(repository, base), path_filter(excluded))
    return digest(changes, diff_hunks(repository, changes.base))
