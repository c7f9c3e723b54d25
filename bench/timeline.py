"""A repository as it was: the index and the history the engine would have had just before a commit.

Leak-safe by construction: the tree is the parent's, and the history holds only the parent's ancestors.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from store.git import BlobReader, Repository, find_repository, log_commits, read_tree, resolve
from workbench.errors import GitError
from workbench.plan.intent import classify, find_entities
from workbench.plan.view import ProjectView, view_project
from workbench.project.admission import content_refusal, refusal
from workbench.project.facts import extract_facts
from workbench.project.index import ProjectIndex
from workbench.project.updating import build_index, update_index
from workbench.records.episodes import Commit
from workbench.records.plan import QueryType
from workbench.records.project import FileFacts
from workbench.sessions.history import History, PastTask, build_history
from workbench.text.tasks import clean_task
from workbench.text.terms import count_terms

MAX_BYTES = 1_000_000
HISTORY = 2000
_TAILS = 40


@dataclass(frozen=True, slots=True)
class Moment:
    """What was known at a commit: the view the ranker gets, the blobs of the tree, the past newest first."""

    view: ProjectView
    blobs: dict[str, str]
    past: tuple[Commit, ...]


class Timeline:
    """Steps through a repository's past. Facts are cached by (path, blob), on disk when `cache` is given."""

    def __init__(self, path: Path, *, cache: Path | None = None, commits: int = 6000) -> None:
        repository = find_repository(path)
        if repository is None:
            raise GitError(f"{path} is no git repository")
        self.repository: Repository = repository
        self.name = path.parent.name if path.name == "repo" else path.name
        self.tip = resolve(repository, "HEAD") or resolve(repository, "main") or resolve(repository, "master")
        if self.tip is None:
            raise GitError(f"{path} has no HEAD, main or master")
        found = log_commits(repository, until=self.tip, limit=commits, line_counts=False)
        self.commits: list[Commit] = list(found)[::-1]
        self._parents = _parents(repository, self.tip)
        self._by_sha = {commit.sha: commit for commit in self.commits}
        self._reader = BlobReader(repository, MAX_BYTES).__enter__()  # ends with the process
        self._cache = None if cache is None else cache / f"{self.name}.facts"
        self._facts: dict[tuple[str, str], FileFacts | None] = {}
        if self._cache is not None and self._cache.exists():
            self._facts = pickle.loads(self._cache.read_bytes())
        self._index: ProjectIndex | None = None
        self._tree: dict[str, tuple[str, int]] = {}
        self._past: dict[str, PastTask] = {}

    def save(self) -> None:
        """Write the facts cache."""
        if self._cache is not None:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            self._cache.write_bytes(pickle.dumps(self._facts))

    def read(self, sha: str) -> bytes:
        """Return a blob's content, empty if it is missing or too large."""
        with_data = self._reader.read(sha)
        return with_data or b""

    def facts(self, path: str, sha: str) -> FileFacts | None:
        """Return a blob's facts, None if it is no text the index takes."""
        key = (path, sha)
        if key not in self._facts:
            data = self._reader.read(sha)
            refused = data is None or content_refusal(path, data) is not None
            self._facts[key] = None if refused or data is None else extract_facts(path, data)
        return self._facts[key]

    def at(self, revision: str) -> Moment:
        """Return what was known at a revision."""
        tree = {
            path: (sha, size)
            for path, sha, size in read_tree(self.repository, revision)
            if 0 <= size <= MAX_BYTES and refusal(path) is None and self.facts(path, sha) is not None
        }
        index = self._step(tree)
        past, history = self.history(revision)
        view = view_project(index, history)
        return Moment(view, {path: sha for path, (sha, _) in tree.items()}, past)

    def history(self, revision: str) -> tuple[tuple[Commit, ...], History]:
        """Return the past of a revision, newest first, as commits and as the engine's arrays."""
        past = self._ancestors(revision)
        return past, build_history(self._task(commit) for commit in past)

    def _step(self, tree: dict[str, tuple[str, int]]) -> ProjectIndex:
        index = self._index
        if index is None or len(index.segments) > _TAILS or index.count > 1.3 * len(tree) + 300:
            paths = sorted(tree)
            known = [(self.facts(path, tree[path][0]), tree[path][1]) for path in paths]
            kept = [
                (path, facts, size)
                for path, (facts, size) in zip(paths, known, strict=True)
                if facts is not None
            ]
            index = build_index(
                [item[0] for item in kept], [item[1] for item in kept], [item[2] for item in kept]
            )
        else:
            changed = {
                path: (facts, size)
                for path, (sha, size) in tree.items()
                if self._tree.get(path) != (sha, size) and (facts := self.facts(path, sha)) is not None
            }
            removed = [path for path in self._tree if path not in tree]
            if changed or removed:
                index = update_index(index, changed, removed)
        self._index, self._tree = index, tree
        return index

    def _ancestors(self, revision: str) -> tuple[Commit, ...]:
        wanted: set[str] = set()
        stack = [revision]
        while stack:
            sha = stack.pop()
            if sha not in wanted and sha in self._parents:
                wanted.add(sha)
                stack.extend(self._parents[sha])
        return tuple(commit for commit in self.commits if commit.sha in wanted)[:HISTORY]

    def _task(self, commit: Commit) -> PastTask:
        known = self._past.get(commit.sha)
        if known is None:
            text = clean_task(f"{commit.subject}\n\n{commit.body}")
            known = self._past[commit.sha] = PastTask(
                commit.at,
                count_terms(text),
                commit.files,
                find_entities(text).issue_refs,
                classify(text)[0] is QueryType.BUGFIX,
            )
        return known


def _parents(repository: Repository, tip: str) -> dict[str, tuple[str, ...]]:
    from store.git_process import run

    lines = (
        run(repository.root, ["rev-list", "--parents", "--max-count=20000", tip]).decode("ascii").splitlines()
    )
    return {sha: tuple(parents) for sha, *parents in (line.split() for line in lines)}


def repositories(folder: Path, names: Iterable[str]) -> list[Path]:
    """Return the named repositories below a folder: `<name>`, `<name>.git` or `<name>/repo`."""
    found = []
    for name in names:
        for candidate in (folder / name / "repo", folder / name, folder / f"{name}.git"):
            if candidate.is_dir() and find_repository(candidate) is not None:
                found.append(candidate)
                break
    return found
