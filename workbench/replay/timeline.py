"""A repository as it was: the index and the history the engine would have had at a task's start.

Leak-safe by construction: the tree is that of the revision the task started from, read through git, and the
past holds ancestors of that revision and sessions that had ended by then. Nothing later is ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.plan.intent import classify, find_entities
from workbench.plan.view import RankingView, view_project
from workbench.project.admission import content_refusal, refusal
from workbench.project.extraction import extract_facts
from workbench.project.index import ProjectIndex
from workbench.project.updates import build_index, compact, update_index
from workbench.records.episodes import Commit
from workbench.records.plan import QueryType
from workbench.records.project import FileFacts
from workbench.records.worktree import Hunk
from workbench.replay.facts_cache import FactsCache
from workbench.sessions.episode_ledger import MAX_HEAD
from workbench.sessions.history import PastTask, Trust, build_history
from workbench.sessions.importers.git import MAX_CHANGES, MAX_TEXT
from workbench.text.terms import clean_task, count_terms

MAX_BYTES = 1_000_000
HISTORY = 2000
_TAILS = 8  # segments at which an index is compacted: each of them costs every query a little


@dataclass(frozen=True, slots=True)
class CommitGraph:
    """A repository's commits as a graph: `parents` and `times` (seconds) of every commit of a tip, by id."""

    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastReader:
    """What a replay asks of version control. All may raise GitError.

    `commits` are the newest ones that `tip` reaches, newest first and without merges; `tip` is empty where
    there is none. `tree(revision)` is (path, blob, bytes) of its files; `read(blob)` its content, None if it
    is missing or larger than `MAX_BYTES`; `hunks(old, new)` the changed line ranges by path. `unreadable` is
    how many commits are left out because they cannot be read.
    """

    tip: str
    commits: Sequence[Commit]
    line: CommitGraph
    tree: Callable[[str], Sequence[tuple[str, str, int]]]
    read: Callable[[str], bytes | None]
    hunks: Callable[[str, str], Mapping[str, tuple[Hunk, ...]]]
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A past task as a plan knows it: what it weighs and its first line. `commit` is None for a session's.

    `ended` is the second from which on it was known.
    """

    task: PastTask
    head: str
    ended: int
    commit: Commit | None = None
    sha: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """What was known at a task's start: the view rankers get, the blobs of the tree, the past newest first.

    `reused` is the share of the tree's files whose facts did not have to be read for it.
    """

    view: RankingView
    blobs: Mapping[str, str]
    past: tuple[KnownTask, ...]
    reused: float = 1.0


class RepositoryTimeline:
    """Steps through a repository's past; the nearer the next revision, the cheaper the step.

    `sessions` are past tasks that are not commits, in any order; `trust` is how far outcomes
    count. Not thread-safe.
    """

    def __init__(
        self,
        reader: PastReader,
        *,
        sessions: Iterable[KnownTask] = (),
        cache: FactsCache | None = None,
        history: int = HISTORY,
        trust: Trust | None = None,
        admits: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self.reader = reader
        self.limit = history
        self._trust = trust
        self._sessions = sorted(sessions, key=lambda known: -known.task.at)
        self._cache = cache or FactsCache()
        self._admits = admits
        self._facts: dict[tuple[str, str], FileFacts | None] = {}
        self._names: dict[str, bool] = {}
        self._read = 0
        self._index: ProjectIndex | None = None
        self._tree: dict[str, tuple[str, int]] = {}
        self._known: dict[str, KnownTask | None] = {}
        self._view: RankingView | None = None

    def facts(self, path: str, sha: str) -> FileFacts | None:
        """Return a blob's facts, None if the index does not take it."""
        key = (path, sha)
        if key not in self._facts:
            found = self._cache.get(path, sha)
            if found is None:
                self._read += 1
                data = self.reader.read(sha)
                if data is not None and content_refusal(path, data) is None:
                    found = extract_facts(path, data)
                    self._cache.put(path, sha, found)
            self._facts[key] = found
        return self._facts[key]

    def at(self, revision: str, moment: int) -> Moment:
        """Return what was known at a revision and a second of the clock. Raises: GitError."""
        before = self._read
        tree = {
            path: (sha, size)
            for path, sha, size in self.reader.tree(revision)
            if 0 <= size <= MAX_BYTES and self._admits_path(path) and self.facts(path, sha) is not None
        }
        index = self._step(tree)
        self._facts = {(path, sha): self._facts[path, sha] for path, (sha, _) in tree.items()}
        past = self.past(revision, moment)
        history = build_history((known.task for known in past), self._trust)
        self._view = view_project(index, history, previous=self._view)
        reused = 1.0 - (self._read - before) / max(len(tree), 1)
        return Moment(self._view, {path: sha for path, (sha, _) in tree.items()}, past, max(reused, 0.0))

    def _admits_path(self, path: str) -> bool:
        if path not in self._names:
            self._names[path] = refusal(path) is None and self._admits(path)
        return self._names[path]

    def past(self, revision: str, moment: int) -> tuple[KnownTask, ...]:
        """Return what was done before: ancestors of a revision, and sessions that had ended, newest first."""
        ancestors = self.ancestors(revision)
        found = [
            known
            for commit in self.reader.commits
            if commit.sha in ancestors and (known := self._commit(commit)) is not None
        ][: self.limit]
        if self._sessions:
            found += [
                known
                for known in self._sessions
                if known.ended <= moment and (not known.sha or known.sha in ancestors)
            ]
        return tuple(sorted(found, key=lambda known: -known.task.at)[: self.limit])

    def ancestors(self, revision: str) -> set[str]:
        """Return the commits a revision reaches, itself among them."""
        parents = self.reader.line.parents
        found: set[str] = set()
        stack = [revision]
        while stack:
            sha = stack.pop()
            if sha not in found and sha in parents:
                found.add(sha)
                stack.extend(parents[sha])
        return found

    def close(self) -> None:
        """Write what is worth keeping for the next run."""
        self._cache.flush()

    def _step(self, tree: dict[str, tuple[str, int]]) -> ProjectIndex:
        """Return the index of a tree.

        It is compacted when paths came or went, so that ties break the same whatever was indexed before.
        """
        index = self._index
        if index is None:
            paths = sorted(tree)
            every = [found for path in paths if (found := self.facts(path, tree[path][0])) is not None]
            index = build_index(paths, every, [tree[path][1] for path in paths])
        else:
            changed = {
                path: (facts, size)
                for path, (sha, size) in tree.items()
                if self._tree.get(path) != (sha, size) and (facts := self.facts(path, sha)) is not None
            }
            removed = [path for path in self._tree if path not in tree]
            if changed or removed:
                index = update_index(index, changed, removed)
            if tree.keys() != self._tree.keys() or len(index.segments) > _TAILS:
                index = compact(index)
        self._index, self._tree = index, tree
        return index

    def _commit(self, commit: Commit) -> KnownTask | None:
        if commit.sha not in self._known:
            self._known[commit.sha] = known_commit(commit)
        return self._known[commit.sha]


def known_commit(commit: Commit) -> KnownTask | None:
    """Return a commit as a plan knows it, None without message or changes (see `commit_episode`)."""
    text = clean_task(f"{commit.subject}\n\n{commit.body}" if commit.body else commit.subject)[:MAX_TEXT]
    if not text or not commit.files:
        return None
    task = PastTask(
        commit.at,
        count_terms(text),
        commit.files[:MAX_CHANGES],
        find_entities(text).issue_refs,
        classify(text)[0] is QueryType.BUGFIX,
    )
    return KnownTask(task, head_of(text), commit.at, commit, commit.sha)


def head_of(text: str) -> str:
    """Return the line of a past task."""
    return text[:MAX_HEAD].split("\n", 1)[0]
