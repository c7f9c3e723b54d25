"""Tasks with known answers: commits of a repository, and prompts of recorded agent sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.timeline import Timeline
from store.git_process import run
from workbench.errors import GitError
from workbench.project.admission import refusal
from workbench.records.episodes import ChangeKind, Commit
from workbench.replay import tasks as replay
from workbench.replay.tasks import MAX_FILES, ReplayTask
from workbench.text.terms import count_terms

AGES = (100, 75, 50, 25)
LIFE = 8
YOUNG = 30  # commits before which a history says nothing
CHECKPOINTS = "entire/checkpoints/v1"
_TRAILER = re.compile(r"^Entire-Checkpoint:\s*([0-9a-f]{12})\s*$", re.MULTILINE)
_BETWEEN = re.compile(r"\n\n?---\n\n?")


def commit_tasks(timeline: Timeline, limit: int) -> list[ReplayTask]:
    """Return the newest commits with one parent, a message and at least one modified text file."""
    return replay.commit_tasks(timeline.commits, timeline.reader.line, limit)


def aged_tasks(timeline: Timeline, limit: int) -> list[ReplayTask]:
    """Return commits from the ends of the four quarters of a history, as many of each, the newest first."""
    return [task for age in AGES for task in tasks_at(timeline, limit // 4, age)]


def life_tasks(timeline: Timeline, limit: int) -> list[ReplayTask]:
    """Return commits of a whole history from its 30th on: the same number at the ends of its eighths."""
    commits = timeline.commits[: max(len(timeline.commits) - YOUNG, 0)]
    found: dict[str, ReplayTask] = {}
    for eighth in range(LIFE):
        newest = commits[len(commits) * eighth // LIFE : len(commits) * (eighth + 1) // LIFE]
        found |= {task.id: task for task in replay.commit_tasks(newest, timeline.reader.line, limit // LIFE)}
    return [*found.values()]


def tasks_at(timeline: Timeline, limit: int, age: int) -> list[ReplayTask]:
    """Return the newest commits of a history that ends at a share of its age, in per cent."""
    commits = timeline.commits
    return replay.commit_tasks(commits[len(commits) * (100 - age) // 100 :], timeline.reader.line, limit)


def age_of(timeline: Timeline, task: ReplayTask) -> int:
    """Return how much of the history a task had, in per cent: 25, 50, 75 or 100."""
    place = next(number for number, commit in enumerate(timeline.commits) if commit.sha == task.commit)
    return 25 * (4 - 4 * place // len(timeline.commits))


def prompt_tasks(timeline: Timeline, limit: int) -> list[ReplayTask]:
    """Return the prompts of sessions recorded by the Entire tool, with the files their commits modified.

    The prompt is the last of the session's that says something (four terms or more).
    """
    tasks: list[ReplayTask] = []
    seen: set[str] = set()
    for commit in timeline.commits:
        match = _TRAILER.search(commit.body)
        modified = _modified(commit)
        if match is None or match[1] in seen or len(commit.parents) != 1 or not modified:
            continue
        seen.add(match[1])
        prompts = [part.strip() for part in _prompts(timeline, match[1]) if len(count_terms(part)) >= 4]
        if prompts and len(commit.files) <= MAX_FILES:
            parent, cluster = commit.parents[0], match[1]
            at = timeline.reader.line.times.get(parent, commit.at)
            tasks.append(
                ReplayTask(
                    commit.sha, cluster, "session", prompts[-1], parent, commit.sha, at, modified, modified
                )
            )
        if len(tasks) >= limit:
            break
    return tasks


def _prompts(timeline: Timeline, checkpoint: str) -> Iterator[str]:
    last = ""
    for number in range(8):
        name = f"{CHECKPOINTS}:{checkpoint[:2]}/{checkpoint[2:]}/{number}/prompt.txt"
        try:
            last = run(timeline.repository.root, ["show", name]).decode("utf-8", "replace")
        except GitError:
            break
    yield from _BETWEEN.split(last)


def _modified(commit: Commit) -> tuple[str, ...]:
    return tuple(
        change.old_path or change.path
        for change in commit.files
        if change.kind is ChangeKind.MODIFIED and refusal(change.path) is None
    )
