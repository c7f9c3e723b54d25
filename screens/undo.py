"""Undo and redo of what is curated on the screen that is shown: one key each, whatever was done.

A step that a later one is built upon cannot be taken back; the one before it is offered. One of another
screen or of an earlier sitting is asked about first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from screens.base import SectionScreen
from screens.jobs import Failure, Job
from screens.terminal import TerminalApp

if TYPE_CHECKING:
    from screens.curation.walking import AskedFirst
    from workbench.curation.steps import BuiltUpon

Undo = Callable[[Job, str], str]
"""Undoes the last step, or the one with an id that was agreed to; returns in words what was undone."""


class UndoApp(TerminalApp):
    """The base of the app: how steps of curation are taken back, and done again."""

    def __init__(self) -> None:
        super().__init__()
        self._refused_undo: BuiltUpon | AskedFirst | None = None
        self.began = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="microseconds")[:-6] + "Z"

    def log_action(self, arguments: Sequence[str], outcome: str = "", *, failed: bool = False) -> None:
        """Note what was done as the command line that does the same."""
        raise NotImplementedError

    @property
    def section(self) -> SectionScreen | None:
        """The section that is shown, below any dialog."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, SectionScreen):
                return screen
        return None

    def action_undo(self) -> None:
        """Take back the last step of what is curated on this screen."""
        self._step("undo", "undone")

    def action_redo(self) -> None:
        """Do the last undone step again."""
        self._step("redo", "redone")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse undo and redo in a terminal that is too small to see what they do."""
        return not (action in ("undo", "redo") and self.section is not None and self.section.too_small)

    def undo_rule(self, job: Job, step: str = "") -> str:
        """Take back the last step of curating rules, or another one; return it in words and its files."""
        from screens.curation.walking import walk_back

        with self.engine.rules("undo", job.progress) as rules:
            return walk_back(rules.curator, step, began=self.began, settles=False)

    def redo_rule(self, job: Job) -> str:
        """Do the last undone step of curating rules again; return it in words and its files."""
        from screens.curation.walking import last_step_words

        with self.engine.rules("redo", job.progress) as rules:
            return last_step_words(rules.curator, rules.curator.redo().summary)

    def _step(self, verb: str, done: str) -> None:
        here = self.section
        if here is None or self.screen is not here:
            return
        undo, redo, _ = here.undo_with()
        self._walk(here, verb, done, partial(self._undo, undo, "") if verb == "undo" else redo)

    def _undo(self, undo: Undo, step: str, job: Job) -> str:
        """Undo, and keep a refusal that names a step to be asked about."""
        from screens.curation.walking import REFUSED

        try:
            return undo(job, step)
        except REFUSED as error:
            self._refused_undo = error
            raise

    def _walk(self, here: SectionScreen, verb: str, done: str, work: Callable[[Job], str]) -> None:
        def then(title: str) -> None:
            sentence = f"{done}: {title.removeprefix(f'{verb}: ')}"
            self.report(sentence)
            here.say(sentence)  # the line may name what was just undone, as if it held
            for arguments in here.step_commands(verb):
                self.log_action(arguments, title)
            here.mark_stale()

        here.ask(verb.capitalize(), work, then, failed=partial(self._offer_older_undo, verb), writes=True)

    def _offer_older_undo(self, verb: str, failure: Failure) -> None:
        from screens.curation.walking import AskedFirst
        from screens.widgets.dialogs import Confirm

        refused, self._refused_undo = self._refused_undo, None
        here = self.section
        if refused is None or not refused.older or here is None:
            self.report(f"{failure.message}\n{failure.hint}".strip(), severity="warning")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._walk(here, "undo", "undone", partial(self._undo, here.undo_with()[0], refused.older))

        if isinstance(refused, AskedFirst):
            title, body = "Undo this step?", f"{refused.older_title}\n\n{failure.message}"
        else:
            title = "This step stays as it is"
            body = f"{failure.message}\n\nUndo the step before it instead: {refused.older_title}?"
        self.push_screen(Confirm(title, body, yes="Undo"), answered)
