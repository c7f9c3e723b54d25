"""Changes of rules from their screen: what is asked before, each as one step, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from screens.curation.changes import Overtaken, RecordChanges, Refused, Saved
from screens.curation.record_form import RecordFields, RecordForm
from screens.rules.rule_form import (
    OWNER,
    BulkEditForm,
    add_command,
    each_change,
    edit_command,
    form_fields,
    problems,
    rule_fields,
    switch_command,
)
from screens.rules.rule_service import FileQuestion, RuleWriter, place_of
from screens.widgets.dialogs import Ask, Choose, Confirm, DialogChoice
from screens.widgets.external_editor import Edited, Failed, edit_externally, open_externally
from screens.widgets.form import FormField
from workbench.errors import UsageError
from workbench.records.rules import Rule, is_unenforced
from workbench.rules.descriptions import check_text
from workbench.rules.matching.examples import add_examples, remove_examples
from workbench.text.counts import plural
from workbench.text.sanitize import quote

if TYPE_CHECKING:
    from screens.jobs import Job
    from screens.rules.screen import RulesScreen
    from workbench.rules.enforcement.suggestions import CheckSuggestion

_HOME = "mine"
_SHORT = 13  # characters that tell rules apart
_AT_ONCE = 50  # rules that are switched without a question
_LISTED = 6  # rules that a question names
_LINE = 62  # characters of a rule in a question
_UNENFORCED = "; no hook enforces it"


class RuleChanges(RecordChanges[Rule]):
    """Changes rules for their screen. What was written and could not be saved is kept for the next try."""

    noun: ClassVar = "rule"

    def __init__(self, screen: RulesScreen) -> None:
        super().__init__(screen)
        self._screen = screen
        self._unsaved: dict[str, str] = {}
        self._drafts: dict[str, Path] = {}

    # What rules say.

    @property
    def service(self) -> RuleWriter:
        """What changes rules."""
        return RuleWriter(self._screen.engine)

    @property
    def fields(self) -> RecordFields:
        """How the fields of rules are called, written and read."""
        return rule_fields(self._tags)

    def form_fields(self, record: Rule) -> Sequence[FormField]:
        """Return the fields that people decide."""
        return form_fields(record)

    def edit_command(self, identifier: str, changes: Mapping[str, Any]) -> list[str]:
        """Return the command that makes changes of a rule."""
        return edit_command(identifier, changes)

    def again_commands(self, found: Overtaken[Rule]) -> list[list[str]]:
        """Return the command that adds a removed rule again."""
        return [add_command({"rule": found.changes.get("rule", found.seen.rule)})]

    def saved_text(self, seen: Rule, after: Rule) -> str:
        """Return what is said of an edit; new words made another version."""
        version = f": version {after.version}" if after.id != seen.id else ""
        is_news = is_unenforced(after) and (after.rule != seen.rule or not is_unenforced(seen))
        return f"saved {_rule_names([after])}{version}{_UNENFORCED if is_news else ''}"

    def edit_ended(self, seen: Rule) -> None:
        """Forget the draft of a rule."""
        self._unsaved.pop(seen.id, None)

    def step(
        self,
        name: str,
        work: Callable[[Job], Any],
        then: Callable[[Any], None],
        *,
        command: Sequence[str],
        refused: Refused | None = None,
        returned: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry out a step in a job; what changes files is shown first, and done with them or not at all."""

        def look(result: Any) -> None:  # noqa: ANN401 - what the step returns
            if not isinstance(result, FileQuestion):
                then(result)
                return
            names = ", ".join(one.file for one in result.files)

            def answered(yes: bool | None) -> None:
                if yes:
                    self.step(name, result.go_on, then, command=command, refused=refused, returned=returned)
                    return
                if refused is None:
                    self._screen.bench.report("nothing was changed")
                else:
                    refused("Nothing was saved yet, and no file was written.", "")
                returned()

            from screens.rules.file_differences import preview_text  # not for the first paint

            title, body = f"Save, and write {names}?", preview_text(result.files)
            self._screen.app.push_screen(Confirm(title, body, yes="Write", no="Back"), answered)

        super().step(name, work, look, command=command, refused=refused, returned=returned)

    def report(self, text: str, commands: Sequence[Sequence[str]], saved: Saved[Rule] | None = None) -> None:
        """Say what was done, and which files were written with it."""
        files = () if saved is None else saved.written
        writing = [["rules", "drift", "--merge", "--file", file] for file in files]
        done, unenforced, _ = text.partition(_UNENFORCED)
        wrote = f", wrote {', '.join(files)}" if files else ""
        super().report(f"{done}{wrote}{unenforced}", [*commands, *writing], saved)

    @property
    def _tags(self) -> tuple[str, ...]:
        return self._screen.engine.config.rules.tags

    # One rule.

    def new(self) -> None:
        """Write a new rule."""
        blank, service = Rule(id="", name="", rule=""), self.service
        first, *others = form_fields(blank)
        where = FormField(OWNER, "Whose", "project", "choice", ("project", _HOME), required=True)

        def save(form: RecordForm, values: dict[str, Any]) -> None:
            home = values.pop(OWNER, "project") == _HOME
            fields = {name: value for name, value in values.items() if value != getattr(blank, name)}
            command = add_command(fields, home=home)

            def then(saved: Saved[Rule]) -> None:
                form.close_saved()
                rule = saved.records[0]
                note = _UNENFORCED if is_unenforced(rule) else ""
                self.report(f"added {_rule_names([rule])}{note}", [command], saved)
                if note:
                    self._offer_check(rule)

            def work(job: Job) -> Saved[Rule]:
                return service.add(fields, home, job)

            self.step("Adding", work, then, command=command, refused=form.show_refusal)

        self._open("New rule", (first, where, *others), save, new=True)

    def _offer_check(self, rule: Rule) -> None:
        """Offer the check that the words of a new absolute rule ask for, if they ask for one."""

        def propose(job: Job) -> tuple[CheckSuggestion, ...]:
            from workbench.rules.enforcement.suggestions import suggest_checks  # many expressions

            return suggest_checks([rule])

        def offer(found: tuple[CheckSuggestion, ...]) -> None:
            if not found:
                return
            check = found[0].check

            def answered(yes: bool | None) -> None:
                if yes:
                    self.save(rule, {"check": check})

            title = "Check calls of tools against this rule?"
            body = (
                f"{check_text(replace(rule, check=check))}\n\nWithout a check{_UNENFORCED.removeprefix(';')}."
            )
            self._screen.app.push_screen(Confirm(title, body, yes="Check", no="Not now"), answered)

        self._screen.ask("Check", propose, offer)

    def edit_text(self, rule: Rule) -> None:
        """Edit a rule's text in the person's editor, beginning with what could not be saved before."""
        start = self._unsaved.get(rule.id, rule.rule)
        outcome = edit_externally(
            self._screen.app,
            start,
            validate=lambda text: problems({"rule": text}).get("rule", ""),
            draft=self._drafts.pop(rule.id, None),
        )
        if isinstance(outcome, Failed):
            kept = f"\nWhat you wrote is kept in {outcome.kept}." if outcome.kept else ""
            if outcome.kept:
                self._drafts[rule.id] = outcome.kept
            self.report_refused(f"{outcome.reason}{kept}", outcome.hint)
        elif isinstance(outcome, Edited) or start != rule.rule:
            text = outcome.text if isinstance(outcome, Edited) else start
            self._unsaved[rule.id] = text
            self.save(rule, {"rule": text})
        else:
            self._screen.bench.report("nothing was changed")

    def edit_file(self, rule: Rule) -> None:
        """Open the file of a rule, at its line, in the person's editor."""
        where, engine = rule.provenance, self._screen.engine

        def then(path: Path | None) -> None:
            if path is None or where is None:
                self._screen.bench.report("the file of this rule is not there", severity="warning")
                return
            wrong = open_externally(self._screen.app, path, where.line)
            if wrong:
                self.report_refused(wrong)
            else:
                self._screen.mark_stale()

        self._screen.ask("File", lambda job: place_of(engine, rule, job.progress), then)

    def add_example(self, rule: Rule) -> None:
        """Ask for a message that a rule matches, and add it."""

        def wrong(text: str) -> str:
            try:
                add_examples(rule, [text])
            except UsageError as error:
                return error.message
            return ""

        def given(text: str | None) -> None:
            if text is not None:
                command = ["rules", "examples", rule.id, "--add", text]
                self.save(rule, {"examples": add_examples(rule, [text])}, command=command)

        self._screen.app.push_screen(
            Ask("Add an example", body="A message to your agent that this rule matches.", validate=wrong),
            given,
        )

    def remove_example(self, rule: Rule) -> None:
        """Ask which example to remove."""

        def chosen(number: int | None) -> None:
            if number is not None:
                command = ["rules", "examples", rule.id, "--remove", str(number)]
                self.save(rule, {"examples": remove_examples(rule, [number])}, command=command)

        choices = [DialogChoice(number, text) for number, text in enumerate(rule.examples, 1)]
        self._screen.app.push_screen(Choose("Remove an example", choices), chosen)

    # Several rules.

    def toggle(self, rules: Sequence[Rule]) -> None:
        """Switch rules off, or on if all of them are off; many only after a question."""
        if len(rules) <= _AT_ONCE:
            self._toggle(rules)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._toggle(rules)

        title = f"Switch {plural(len(rules), 'rule')} off or on?"
        body = "Marked rules that a filter hides are among them. u takes it back."
        self._screen.app.push_screen(Confirm(title, body, yes="Switch"), answered)

    def _toggle(self, rules: Sequence[Rule]) -> None:
        on, service = not any(rule.enabled for rule in rules), self.service
        switched = [rule for rule in rules if rule.enabled is not on]
        changes = {rule.id: {"enabled": on} for rule in switched}
        if not changes:
            return
        word = "enable" if on else "disable"
        named = next(iter(changes))[:_SHORT] if len(changes) == 1 else plural(len(changes), "rule")
        command = switch_command(list(changes), on=on)
        self.step(
            "Saving",
            lambda job: service.save_each(changes, f"{word} {named}", job),
            lambda saved: self.report(f"{word}d {_rule_names(switched)}", [command], saved),
            command=command,
        )

    def remove(self, rules: Sequence[Rule]) -> None:
        """Put rules out of force, after a question that says how many."""
        if not rules:
            return
        service, ids = self.service, [rule.id for rule in rules]
        count = f"{len(rules):,} rules" if len(rules) > 1 else "this rule"
        listed = [f"· {_line(rule)}" for rule in rules[:_LISTED]]
        more = [f"and {len(rules) - _LISTED:,} more"] if len(rules) > _LISTED else []
        body = "\n".join([*listed, *more, "", "u brings back what was removed."])

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            text = f"removed {_rule_names(rules)}"
            command = ["rules", "remove", *ids]
            self.step(
                "Removing",
                lambda job: service.remove(ids, job),
                lambda saved: self.report(text, [command], saved),
                command=command,
            )

        self._screen.app.push_screen(Confirm(f"Remove {count}?", body, yes="Remove", danger=True), answered)

    def edit_marked(self, rules: Sequence[Rule]) -> None:
        """Change the same fields of several rules in one step."""
        if not rules:
            return
        service = self.service

        def save(form: RecordForm, given: dict[str, Any]) -> None:
            changes = each_change(rules, given)
            title = f"edit {plural(len(rules), 'rule')}: {', '.join(given)}"

            def then(saved: Saved[Rule]) -> None:
                form.close_saved()
                for rule in saved.records:
                    self._screen.bench.log_action(edit_command(rule.id, changes[rule.id]), title)
                self.report(f"changed {len(saved.records):,} of {plural(len(rules), 'rule')}", [], saved)

            def work(job: Job) -> Saved[Rule]:
                return service.save_each(changes, title, job)

            self.step("Saving", work, then, command=["rules", "edit"], refused=form.show_refusal)

        self._screen.app.push_screen(BulkEditForm(rules, save, extra_tags=self._tags))


def _rule_names(rules: Sequence[Rule]) -> str:
    """Return what a note calls rules: one by its words."""
    return quote(rules[0].rule) if len(rules) == 1 else plural(len(rules), "rule")


def _line(rule: Rule) -> str:
    """Return a rule's beginning on one line of a question."""
    line = " ".join(rule.rule[: 4 * _LINE].split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
