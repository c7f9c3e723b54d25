"""A commit as other tasks and other histories would have it, for models that are right there, too.

Models are trained on commits as they are, and on about 70 more for each 100 of them that have one line or all
but the first one of the message, a past of fifty commits as a shallow clone has, or a past of five commits
squashed into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from workbench.plan.view import view_project
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import KnownTask, Moment
from workbench.sessions.history import build_history
from workbench.text.terms import count_terms, parse_task

Shapes = Callable[[int, Moment, ReplayTask], Iterator[tuple[Moment, ReplayTask]]]

SHALLOW = 50
SQUASHED = 5
_BODY = 12  # terms that a message without its first line must have to say what is to be done


def as_they_are(number: int, moment: Moment, task: ReplayTask) -> Iterator[tuple[Moment, ReplayTask]]:
    yield moment, task


def shape_tasks(number: int, moment: Moment, task: ReplayTask) -> Iterator[tuple[Moment, ReplayTask]]:
    """Yield a task, and as `source` says another text or another past of it; `number` chooses which."""
    yield moment, task
    text = parse_task(task.text)
    long = len(count_terms(text.body)) >= _BODY
    if number % 2:
        past = moment.past[:SHALLOW] if number % 4 == 1 else squash(moment.past)
        yield with_past(moment, past), replace(task, source="shallow" if number % 4 == 1 else "squashed")
    elif long:
        yield moment, replace(task, source="body", text=text.body)
    if long:
        yield moment, replace(task, source="subject", text=text.head)


def with_past(moment: Moment, past: Sequence[KnownTask]) -> Moment:
    """Return a moment that knows another past, newest first."""
    view = view_project(moment.view.index, build_history(known.task for known in past))
    return replace(moment, view=view, past=tuple(past))


def squash(past: Sequence[KnownTask], size: int = SQUASHED) -> tuple[KnownTask, ...]:
    """Return past tasks, newest first, with every few of them as one."""
    return tuple(_merge(past[at : at + size]) for at in range(0, len(past), size))


def _merge(some: Sequence[KnownTask]) -> KnownTask:
    newest = some[0]
    changes = {change.path: change for known in reversed(some) for change in known.task.changes}
    terms: dict[str, int] = {}
    for known in some:
        for term, count in known.task.terms.items():
            terms[term] = terms.get(term, 0) + count
    issues = dict.fromkeys(issue for known in some for issue in known.task.issue_refs)
    fix = any(known.task.fix for known in some)
    task = replace(newest.task, terms=terms, changes=(*changes.values(),), issue_refs=(*issues,), fix=fix)
    return replace(newest, task=task)
