"""Tasks of a session as the bodies of journal entries: with paths of the project, without secrets.

Decides which tasks are the project's, what their outcome is and what it rests on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind, Outcome
from workbench.records.plan import Intent
from workbench.sessions.importers.fold import PromptTask, SessionStory
from workbench.sessions.importers.places import is_inside, relative
from workbench.sessions.importers.prompts import is_bare
from workbench.text.redact import redact
from workbench.text.terms import clean_task, split_head

MAX_TEXT = 8_000  # characters of a prompt that are kept
MAX_FILES = 400
_CONTEXT = 500
_SESSION = 100


@dataclass(frozen=True, slots=True)
class EpisodeBodies:
    """The bodies of a session's tasks in order, and how many tasks and paths were left out as others'.

    `masked` counts the secrets of each kind that were taken out of its prompts.
    """

    bodies: tuple[dict[str, Any], ...]
    elsewhere: int = 0
    paths_outside: int = 0
    empty: int = 0
    masked: Counter[str] = field(default_factory=Counter)


def episode_bodies(
    story: SessionStory,
    roots: Sequence[str],
    *,
    project_id: str,
    source: str,
    understand: Callable[[str], Intent],
    fallback_at: int,
    complete: bool,
) -> EpisodeBodies:
    """Return what of a session is kept. Without `complete` its last task is left for later.

    `roots` are the project's directories where it ran. A time that the session does not record is
    `fallback_at`.
    """
    tasks = story.tasks if complete else story.tasks[:-1]
    bodies: list[dict[str, Any]] = []
    elsewhere = outside = empty = 0
    context = ""
    masked: Counter[str] = Counter()
    for task in tasks:
        clean = redact(clean_task(task.text))
        masked.update(clean.counts)
        text = clean.text[:MAX_TEXT].strip()
        bare = is_bare(text)
        shown = f"{text}\n\n{context}" if bare and context else text
        if text and not bare:
            context = split_head(text)[0][:_CONTEXT]
        changes, reads, others = _files(task, roots)
        outside += others
        if not text:
            empty += 1
        elif not (changes or reads or not task.cwd or is_inside(task.cwd, roots)):
            elsewhere += 1
        else:
            bodies.append(_body(task, shown, changes, reads, project_id, source, understand, fallback_at))
    return EpisodeBodies(tuple(bodies), elsewhere, outside, empty, masked)


def _body(
    task: PromptTask,
    text: str,
    changes: list[list[Any]],
    reads: list[str],
    project_id: str,
    source: str,
    understand: Callable[[str], Intent],
    fallback_at: int,
) -> dict[str, Any]:
    intent = understand(text)
    outcome, evidence = judge_task(task, edited=bool(changes))
    started = task.started if task.started >= 0 else fallback_at
    return {
        "session_id": task.id,
        "project_id": project_id,
        "task_text": text,
        "task_fingerprint": intent.task_fingerprint,
        "query_type": intent.predicted.value,
        "started_at": started,
        "ended_at": max(task.ended, started),
        "outcome": outcome.value,
        "commit_sha": task.commit or None,
        "issue_refs": list(intent.entities.issue_refs),
        "changes": changes,
        "reads": reads,
        "token_used": task.tokens or None,
        "source": source,
        "parent_session": redact(_printable(task.session)).text[:_SESSION] or None,
        "prompt_index": task.index,
        "outcome_evidence": evidence or None,
    }


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text).encode("utf-8", "replace").decode()


def _files(task: PromptTask, roots: Sequence[str]) -> tuple[list[list[Any]], list[str], int]:
    """Return (changes, reads) with paths of the project, and how many paths are not."""
    changes: list[list[Any]] = []
    others = 0
    for touch in task.edits.values():
        path = _own(touch.path, roots)
        if path is None:
            others += 1
            continue
        old = _own(touch.old_path, roots) if touch.old_path else None
        kind = touch.kind or ChangeKind.MODIFIED
        changes.append([path, kind.value, touch.added, touch.removed, old or ""])
    reads = []
    for name in task.reads:
        path = _own(name, roots)
        if path is None:
            others += 1
        else:
            reads.append(path)
    return changes[:MAX_FILES], list(dict.fromkeys(reads))[:MAX_FILES], others


def _own(path: str, roots: Sequence[str]) -> str | None:
    if roots and not path.startswith("/") and path[1:2] != ":":
        path = f"{roots[0]}/{path}"  # the session does not record where it worked
    found = relative(path, roots)
    return found if found is not None and redact(found).text == found else None


def judge_task(task: PromptTask, *, edited: bool) -> tuple[Outcome, str]:
    """Return how a task ended, and what speaks for it."""
    evidence = []
    if task.commit is not None:
        name = f"commit {task.commit[:12]}" if task.commit else "commit"
        evidence.append(f"{name} asked for by a later prompt" if task.later else name)
    if task.tests is not None:
        evidence.append("tests passed" if task.tests else "tests failed")
    if task.corrected:
        evidence.append("corrected by the next prompt")
    if task.interrupted:
        evidence.append("interrupted")
    if task.guessed:
        evidence.append("the prompt is not recorded: the agent's opening words stand for it")
    return _outcome(task, edited=edited), "; ".join(evidence)


def _outcome(task: PromptTask, *, edited: bool) -> Outcome:
    committed = task.commit is not None
    if task.corrected:
        return Outcome.PARTIAL if committed else Outcome.FAILED
    if committed:
        return Outcome.PARTIAL if task.tests is False else Outcome.SUCCESS
    if task.interrupted:
        return Outcome.PARTIAL if edited else Outcome.UNKNOWN
    if task.tests is not None:
        return Outcome.SUCCESS if task.tests else Outcome.FAILED
    return Outcome.UNKNOWN
