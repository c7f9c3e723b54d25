"""Undo and redo as the sections ask for them: which step it is, in words, and whether that is asked first.

The journals know the steps of all screens, faces and days. A key pressed once too often would take back what
somebody did elsewhere or long ago, so that such a step is undone only once that is agreed to.
"""

from __future__ import annotations

import re
from typing import Any, Final

from screens.engine import BY
from workbench.curation.ledger import Ledger
from workbench.curation.records import CurationStep
from workbench.curation.service import CurationService
from workbench.curation.steps import BuiltUpon, draft_undo
from workbench.errors import UsageError
from workbench.text.sanitize import quote

UNDOES: Final = "u undoes"
"""What a note of a step says after it."""
_MOST_NAMED: Final = 20
_ID: Final = re.compile(r"\b[a-z]+-\w{3,}")


class AskedFirst(UsageError):
    """The last step is not this screen's in this sitting: `older` is its id, to undo it once agreed to."""

    def __init__(self, message: str, older: str, older_title: str) -> None:
        super().__init__(message, hint="Agree to undo it.")
        self.older = older
        self.older_title = older_title


REFUSED: Final = (BuiltUpon, AskedFirst)
"""Refusals to undo that name a step which may be undone instead, if that is agreed to."""


def walk_back(
    curated: CurationService[Any, Any], step: str, *, began: str, settles: bool | None = None
) -> str:
    """Undo the last step, or `step`, which was agreed to; return in words what was undone.

    `began` is when the sitting began, `settles` whether the screen settles conflicts and nothing else,
    or what is no conflict; None is both.
    Raises: AskedFirst for a step of another screen, face or sitting; as `CurationService.undo`.
    """
    if not step:
        last = curated.store.reader.read(_last_done)
        if last is not None and (why := _why_asked(*last, began, settles)):
            curated.store.reader.read(draft_undo)  # one that is built upon has another question
            raise AskedFirst(why, last[0].id, in_words(curated, last[0], last[0].title))
    return last_step_words(curated, curated.undo(step).summary)


def last_step_words(curated: CurationService[Any, Any], title: str) -> str:
    """Return the title of the last step that is called so with the words of its records for their ids.

    Files that were written with it are in the title, and a step of their own after it.
    """
    newest = curated.store.reader.read(
        lambda ledger: next(
            (step for step in reversed(ledger.steps.values()) if title.startswith(step.title)),
            ledger.steps[next(reversed(ledger.steps))],
        )
    )
    return in_words(curated, newest, title)


def in_words(curated: CurationService[Any, Any], step: CurationStep[Any], title: str) -> str:
    """Return a title in which ids, of records that a step changed or left as they were, are their words."""
    kind, ids = curated.store.empty_ledger().type, set(_ID.findall(title))
    both_sides = (side for change in step.changes[:_MOST_NAMED] for side in (change.before, change.after))
    changed = [record for record in both_sides if record is not None]
    named = curated.store.reader.read(
        lambda ledger: [record for name, record in ledger.records.items() if kind.short(name) in ids]
    )
    words = {
        kind.short(record.id): quote(said)
        for record in curated.with_texts([*named, *changed])
        if (said := str(getattr(record, kind.words)))
    }

    def name(found: re.Match[str]) -> str:
        return next((words[one] for one in words if one.startswith(found[0])), found[0])

    return _ID.sub(name, title)


def _last_done(ledger: Ledger[Any]) -> tuple[CurationStep[Any], str] | None:
    """Return the step that undo is about, and when it was done, or done again; None if there is none."""
    if not ledger.done:
        return None
    step = ledger.steps[ledger.done[-1]]
    return step, max([step.at, *(ledger.steps[walk].at for walk in ledger.walks.get(step.id, ()))])


def _why_asked(step: CurationStep[Any], at: str, began: str, settles: bool | None) -> str:
    """Return why a step is undone only once that is agreed to, "" if it is this screen's of this sitting."""
    if at < began:
        where = "in the app" if step.by == BY else f"by {step.by}"
        return f"It was done before this sitting: {step.at[:16].replace('T', ' ')}, {where}."
    if step.by != BY:
        return f"It was not done in the app, but by {step.by}."
    if settles is not None and settles != bool(step.resolved or step.reopened):
        return f"It was done on {'another screen' if settles else 'Conflicts'}."
    return ""
