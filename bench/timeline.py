"""Clones of public repositories as the product replays them: its timeline, with what finds and opens them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from store.git_repository import find_repository
from workbench.entry.services.replay_engine import past_reader
from workbench.errors import GitError
from workbench.replay.facts_cache import SegmentedFacts
from workbench.replay.timeline import Moment
from workbench.replay.timeline import RepositoryTimeline as ProductTimeline
from workbench.sessions.history import History, build_history
from workbench.text.terms import TERMS_VERSION

COMMITS = 6000


class Timeline:
    """The past of a clone, as plans would have known it; facts are kept below `cache` where it is given."""

    def __init__(self, path: Path, *, cache: Path | None = None, commits: int = COMMITS) -> None:
        repository = find_repository(path)
        if repository is None:
            raise GitError(f"{path} is not a git repository")
        self.repository = repository
        self.name = path.parent.name if path.name == "repo" else path.name
        self._open = ExitStack()  # ends with the process
        self.reader = self._open.enter_context(past_reader(repository, commits))
        self.tip = self.reader.tip
        if not self.tip:
            raise GitError(f"{path} has no HEAD, main or master")
        self.commits = self.reader.commits
        kept = (
            None if cache is None else SegmentedFacts(cache / f"{self.name}.facts", f"bench-{TERMS_VERSION}")
        )
        self._timeline = ProductTimeline(self.reader, cache=kept)

    def save(self) -> None:
        """Write the facts that are not yet kept."""
        self._timeline.close()

    def at(self, revision: str) -> Moment:
        """Return what was known at a revision."""
        return self._timeline.at(revision, self.reader.line.times.get(revision, 0))

    def history(self, revision: str) -> tuple[tuple[str, ...], History]:
        """Return the past of a revision, newest first, as ids of commits and as the engine's arrays."""
        past = self._timeline.past(revision, self.reader.line.times.get(revision, 0))
        return tuple(known.sha for known in past), build_history(known.task for known in past)


def repositories(folder: Path, names: Iterable[str]) -> list[Path]:
    """Return the named repositories below a folder: `<name>`, `<name>.git` or `<name>/repo`."""
    found = []
    for name in names:
        for candidate in (folder / name / "repo", folder / name, folder / f"{name}.git"):
            if candidate.is_dir() and find_repository(candidate) is not None:
                found.append(candidate)
                break
    return found
