"""Undo and redo of what is curated on the screen that is shown: one key each, whatever was done.

A step that a later one is built upon cannot be taken back; the one before it is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from screens.base import SectionScreen
from screens.jobs import Failure, Job
from screens.terminal import TerminalApp

if TYPE_CHECKING:
    from workbench.curation.steps import BuiltUpon


class UndoApp(TerminalApp):
    """The base of the app: how steps of curation are taken back, and done again."""

    def __init__(self) -> None:
        super().__init__()
        self._refused_undo: BuiltUpon | None = None

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
        """Take back the last step of curating rules, or another one; return its title and its files."""
        from workbench.curation.steps import BuiltUpon

        with self.engine.rules("undo", job.progress) as rules:
            try:
                return rules.curator.undo(step).summary
            except BuiltUpon as error:
                self._refused_undo = error
                raise

    def redo_rule(self, job: Job) -> str:
        """Do the last undone step of curating rules again; return its title and its files."""
        with self.engine.rules("redo", job.progress) as rules:
            return rules.curator.redo().summary

    def _step(self, verb: str, done: str) -> None:
        here = self.section
        if here is None or self.screen is not here:
            return
        undo, redo, _ = here.undo_with()
        self._walk(here, verb, done, undo if verb == "undo" else redo)

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
        from screens.widgets.dialogs import Confirm

        refused, self._refused_undo = self._refused_undo, None
        here = self.section
        if refused is None or not refused.older or here is None:
            self.report(f"{failure.message}\n{failure.hint}".strip(), severity="warning")
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._walk(here, "undo", "undone", partial(self.undo_rule, step=refused.older))

        body = f"{failure.message}\n\nUndo the step before it instead: {refused.older_title}?"
        self.push_screen(Confirm("This step stays as it is", body, yes="Undo"), answered)
