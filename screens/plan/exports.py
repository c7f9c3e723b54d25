"""How a pack leaves the plan: to the clipboard, into a file, to the episode that begins with it."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

from screens.base import SectionScreen
from screens.plan import work
from screens.plan.candidates import ShownPlan
from screens.plan.query import PlanQuery


class PlanExports(SectionScreen):
    """The commands that hand a pack over; each records that it was used."""

    asked: PlanQuery
    plan: ShownPlan | None

    def action_copy(self) -> None:
        """Put the pack on the clipboard."""
        if self.plan is not None:
            self.bench.copy(self.plan.text, "the pack")
            self._handed_over(self.plan)
            self.bench.log_action(self.asked.arguments("--copy"))

    def action_copy_pack(self) -> None:
        """Copy the pack from the task field."""
        self.action_copy()

    def action_export(self) -> None:
        """Ask for a form and a path, and write the pack there."""
        from screens.widgets.dialogs import Ask, Choose, DialogChoice

        if self.plan is None:
            return
        asked, plan = self.asked, self.plan

        def formed(form: str | None) -> None:
            if form is None:
                return
            # Beside the state, where no later plan takes the pack for a file of the project.
            title, name = f"Export as {form}", f".workbench/context.{work.FORMATS[form]}"
            body = f"A path, relative to {self.engine.root} unless absolute."
            named = partial(self._export_to, asked, plan, form)
            self.app.push_screen(Ask(title, body=body, value=name, validate=_wrong_path), named)

        details = {"json": "the full answer, with every reason", "xml": "for prompts with tags"}
        choices = [DialogChoice(form, form, details.get(form, "")) for form in work.FORMATS]
        self.app.push_screen(Choose("Export the pack as", choices), formed)

    def _export_to(self, asked: PlanQuery, plan: ShownPlan, form: str, path: str | None) -> None:
        if path is None:
            return
        target = self.engine.root / Path(path.strip()).expanduser()
        job = partial(work.export_pack, self.engine, asked, form, target, False)
        then = partial(self._finish_export, asked, plan, form, target)
        self.ask("Exporting", job, then, group="export", writes=True)

    def _finish_export(
        self, asked: PlanQuery, plan: ShownPlan, form: str, target: Path, written: int | None
    ) -> None:
        from screens.widgets.dialogs import Confirm

        if written is None:

            def answered(yes: bool | None) -> None:
                if yes:
                    job = partial(work.export_pack, self.engine, asked, form, target, True)
                    then = partial(self._finish_export, asked, plan, form, target)
                    self.ask("Exporting", job, then, group="export", writes=True)

            self.app.push_screen(
                Confirm("Replace the file?", f"{target} already exists.", yes="Replace", danger=True),
                answered,
            )
            return
        self._handed_over(plan)
        self.bench.report(f"{written:,} characters of {form} written to {target}")
        line = shlex.join(("workbench", *asked.arguments("--format", form)))
        self.bench.log_of_actions.add(f"{line} > {shlex.quote(str(target))}", f"{written:,} characters")

    def action_save(self) -> None:
        """Start an episode with this task and this pack."""
        plan, asked = self.plan, self.asked
        if plan is None:
            return
        from screens.sessions.beginning import ask_name  # not for the first paint

        def named(name: str) -> None:
            job = partial(work.start_episode, self.engine, asked, plan, name)
            self.ask("Saving", job, partial(self._finish_saving, asked, plan), group="save", writes=True)

        ask_name(self, plan.task, named)

    def _handed_over(self, plan: ShownPlan, session: str = "") -> None:
        job = partial(work.record_use, self.engine, plan, session)
        self.ask("Recording use", job, lambda _: None, group="given", quiet=True)

    def _finish_saving(self, asked: PlanQuery, plan: ShownPlan, session: str) -> None:
        self._handed_over(plan, session)
        self.bench.log_action(asked.arguments("--session", session), session)
        self.bench.report(
            f"Episode {session} has begun: in Sessions it is among those that run, and ends there"
        )


def _wrong_path(text: str) -> str:
    path = text.strip()
    if not path:
        return "a path is missing"
    return "a path cannot contain NUL characters" if "\0" in path else ""
