"""Feedback given in the app, step by step, so that undo and redo walk through it, in the next run too.

The journal only ever grows: to undo feedback is to record again what was known before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from screens.sessions.work import SessionVerdict
from workbench.errors import UsageError

_MOST: Final = 50
_MOST_TOGETHER: Final = 500

Step = tuple[SessionVerdict, ...]


@dataclass(frozen=True, slots=True)
class FeedbackHistory:
    """Steps that were done, and steps that were undone and can be done again; the last is the newest."""

    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()

    def did(self, step: Sequence[SessionVerdict]) -> FeedbackHistory:
        """Return it after another step."""
        return FeedbackHistory((*self.done, tuple(step))[-_MOST:])

    def last(self, *, back: bool) -> Step:
        """Return the step that undo (`back`) or redo is about. Raises: UsageError if there is none."""
        steps = self.done if back else self.undone
        if not steps:
            verb = "undo" if back else "redo"
            raise UsageError(
                f"there is no feedback to {verb}",
                hint="s, x, p and c record how a session went, at any time.",
            )
        return steps[-1]

    def walked(self, *, back: bool) -> FeedbackHistory:
        """Return it after an undo (`back`) or a redo."""
        if back:
            return FeedbackHistory(self.done[:-1], (*self.undone, self.done[-1]))
        return FeedbackHistory((*self.done, self.undone[-1]), self.undone[:-1])


def arguments(verdict: SessionVerdict, *, back: bool = False) -> tuple[str, ...]:
    """Return the command line that says a verdict, or what was known before it."""
    outcome, why = (verdict.before, verdict.before_why) if back else (verdict.outcome, verdict.why)
    reason = ("--why", why) if why else ()
    return ("feedback", verdict.session, "--outcome", outcome, *reason)


def title(step: Step) -> str:
    """Return what a step was, in a few words."""
    what = f"{len(step):,} sessions" if len(step) > 1 else step[0].task
    return f"{step[0].outcome}: {what}"


def dump_history(judged: FeedbackHistory) -> dict[str, Any]:
    """Return the steps as JSON values; those of very many sessions are left out."""
    return {
        name: [[asdict(one) for one in step] for step in steps if len(step) <= _MOST_TOGETHER]
        for name, steps in (("done", judged.done), ("undone", judged.undone))
    }


def load_history(values: object) -> FeedbackHistory:
    """Return the steps that were kept; what is foreign is left out."""
    if not isinstance(values, Mapping):
        return FeedbackHistory()
    return FeedbackHistory(*(_steps(values.get(name)) for name in ("done", "undone")))


def _steps(values: object) -> tuple[Step, ...]:
    if not isinstance(values, list):
        return ()
    steps = (tuple(map(_verdict, step)) for step in values[-_MOST:] if isinstance(step, list))
    return tuple(tuple(one for one in step if one) for step in steps if step and all(step))


def _verdict(value: object) -> SessionVerdict | None:
    names = [field.name for field in fields(SessionVerdict)]
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in names):
        return None
    return SessionVerdict(**{name: value[name] for name in names})
