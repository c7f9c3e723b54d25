"""The desk: what is asked before rules change, the change as one step in a job, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from screens.curation.record_form import RecordForm
from screens.filtering import Facet, write
from screens.jobs import Failure, Job
from screens.rules.bulk_edit import EditMarked, each_change
from screens.rules.facets import FacetCount, Facets, count_facets
from screens.rules.rows import RuleRows
from screens.rules.rule_form import (
    OWNER,
    EditRule,
    OvertakenRule,
    add_command,
    edit_command,
    form_fields,
    problems,
    switch_command,
)
from screens.rules.rule_service import (
    Overtaken,
    Saved,
    remove_rules,
    save_again,
    save_each,
    save_edit,
    save_new,
)
from screens.widgets.confirm import Ask, Confirm
from screens.widgets.external_editor import Edited, Failed, edit_externally, open_externally
from screens.widgets.filter import FilterBar
from screens.widgets.form import Field
from screens.widgets.table import VirtualTable
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.matching.examples import add_examples, remove_examples
from workbench.text.counts import counted

if TYPE_CHECKING:
    from screens.rules.screen import RulesScreen

_HOME = "mine"
_AT_ONCE = 50  # rules that are switched without a question
_LISTED = 6  # rules that a question names
_SHORT = 62


class Desk:
    """Changes rules for the screen. What was written and could not be saved is kept for the next try."""

    def __init__(self, screen: RulesScreen) -> None:
        self._screen = screen
        self._steps = 0
        self._unsaved: dict[str, str] = {}
        self._drafts: dict[str, Path] = {}

    # One rule.

    def edit(self, rule: Rule) -> None:
        """Edit a rule in a form."""
        self._screen.app.push_screen(
            EditRule(
                f"Edit {rule.id[:13]}",
                form_fields(rule),
                lambda form, changes: self._save(rule, changes, form),
                extra_tags=self._tags,
            )
        )

    def new(self) -> None:
        """Write a new rule."""
        blank = Rule(id="", name="", rule="")
        where = Field(OWNER, "Whose", "project", "choice", ("project", _HOME), required=True)
        shown = (*form_fields(blank)[:1], where, *form_fields(blank)[1:])

        def save(form: RecordForm, values: dict[str, Any]) -> None:
            home = values.pop(OWNER, "project") == _HOME
            fields = {name: value for name, value in values.items() if value != getattr(blank, name)}

            def then(saved: Saved) -> None:
                form.done()
                self._did(f"added {saved.rules[0].id[:13]}", add_command(fields, home=home), saved)

            self._ask("Adding", partial(save_new, self._engine, fields, home), then, form.refused)

        self._screen.app.push_screen(EditRule("New rule", shown, save, extra_tags=self._tags, new=True))

    def edit_text(self, rule: Rule) -> None:
        """Edit a rule's text in the person's editor; what could not be saved before is gone on with."""
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
            self._bench.tell(f"{outcome.reason}{kept}\n{outcome.hint}".strip(), severity="error")
        elif isinstance(outcome, Edited) or start != rule.rule:
            text = outcome.text if isinstance(outcome, Edited) else start
            self._unsaved[rule.id] = text
            self._save(rule, {"rule": text}, None)
        else:
            self._bench.tell("nothing was changed")

    def edit_file(self, rule: Rule) -> None:
        """Open the file a rule stands in, at its line, in the person's editor."""
        from screens.rules.rule_service import place_of

        where = rule.provenance
        work = partial(place_of, self._engine, rule)

        def then(path: Path | None) -> None:
            if path is None or where is None:
                self._bench.tell("this rule stands in no file that is there", severity="warning")
                return
            wrong = open_externally(self._screen.app, path, where.line)
            if wrong:
                self._bench.tell(wrong, severity="error")
            else:
                self._screen.mark_stale()

        self._screen.ask("File", lambda job: work(job.progress), then)

    def add_example(self, rule: Rule) -> None:
        """Ask for a message that a rule answers to, and add it."""

        def wrong(text: str) -> str:
            try:
                add_examples(rule, [text])
            except UsageError as error:
                return error.message
            return ""

        def given(text: str | None) -> None:
            if text is not None:
                command = ["rules", "examples", rule.id, "--add", text]
                self._save(rule, {"examples": add_examples(rule, [text])}, None, command)

        self._screen.app.push_screen(
            Ask("Add an example", body="A message to your agent that this rule answers to.", validate=wrong),
            given,
        )

    def remove_example(self, rule: Rule) -> None:
        """Ask which example to take away."""
        from screens.widgets.choose import Choice, Choose

        def taken(number: int | None) -> None:
            if number is not None:
                command = ["rules", "examples", rule.id, "--remove", str(number)]
                self._save(rule, {"examples": remove_examples(rule, [number])}, None, command)

        choices = [Choice(number, text) for number, text in enumerate(rule.examples, 1)]
        self._screen.app.push_screen(Choose("Remove an example", choices), taken)

    # Several rules.

    def toggle(self, rules: Sequence[Rule]) -> None:
        """Switch rules off, or on if all of them are off; many only after a question."""
        if not rules:
            return
        if len(rules) <= _AT_ONCE:
            self._toggle(rules)
            return
        title = f"Switch {counted(len(rules), 'rule')} off or on?"
        body = "Marked rules that a filter hides are among them. u takes it back."

        def answered(yes: bool | None) -> None:
            if yes:
                self._toggle(rules)

        self._screen.app.push_screen(Confirm(title, body, yes="Switch"), answered)

    def _toggle(self, rules: Sequence[Rule]) -> None:
        on = not any(rule.enabled for rule in rules)
        word = "enable" if on else "disable"
        changes = {rule.id: {"enabled": on} for rule in rules if rule.enabled is not on}
        named = next(iter(changes))[:13] if len(changes) == 1 else counted(len(changes), "rule")
        work = partial(save_each, self._engine, changes, f"{word} {named}")
        command = switch_command(list(changes), on=on)
        self._ask("Saving", work, lambda saved: self._did(f"{word}d {named}", command, saved))

    def remove(self, rules: Sequence[Rule]) -> None:
        """Put rules out of force, after a question that says how many."""
        if not rules:
            return
        count = f"{len(rules):,} rules" if len(rules) > 1 else "this rule"
        listed = [_in_short(rule) for rule in rules[:_LISTED]]
        more = [f"and {len(rules) - _LISTED:,} more"] if len(rules) > _LISTED else []
        body = "\n".join([*(f"· {text}" for text in listed), *more, "", "u brings back what was removed."])
        ids = [rule.id for rule in rules]

        def answered(yes: bool | None) -> None:
            if yes:
                work = partial(remove_rules, self._engine, ids)
                told = f"removed {count if len(ids) > 1 else ids[0][:13]}"
                self._ask("Removing", work, lambda saved: self._did(told, ["rules", "remove", *ids], saved))

        self._screen.app.push_screen(Confirm(f"Remove {count}?", body, yes="Remove", danger=True), answered)

    def edit_marked(self, rules: Sequence[Rule]) -> None:
        """Change the same fields of several rules in one step."""
        if not rules:
            return

        def save(form: EditMarked, given: Mapping[str, Any]) -> None:
            changes = each_change(rules, given)
            title = f"edit {counted(len(rules), 'rule')}: {', '.join(given)}"
            work = partial(save_each, self._engine, changes, title)

            def then(saved: Saved) -> None:
                form.done()
                for rule in saved.rules:
                    self._bench.log_action(edit_command(rule.id, changes[rule.id]), title)
                self._did(f"changed {len(saved.rules):,} of {counted(len(rules), 'rule')}", (), saved)

            self._ask("Saving", work, then, form.refused)

        self._screen.app.push_screen(EditMarked(rules, save, extra_tags=self._tags))

    # What is shown.

    def facets(self, bar: FilterBar, table: VirtualTable) -> None:
        """Count the values of every field among the rules shown, and filter by some of them."""
        rows = table.rows
        if not isinstance(rows, RuleRows):
            return

        def chosen(facets: tuple[Facet, ...] | None) -> None:
            if facets is not None:
                kept = [term for term in bar.filter.terms if not _is_plain(term)]
                bar.set_text(write([*kept, *facets]))

        def then(counts: tuple[FacetCount, ...]) -> None:
            terms = [term for term in bar.filter.terms if isinstance(term, Facet) and _is_plain(term)]
            self._screen.app.push_screen(Facets(counts, terms), chosen)

        self._screen.ask("Counting", lambda job: count_facets(rows, job.progress), then)

    # Files.

    def import_files(self) -> None:
        """Choose rule files and import them."""
        from screens.rules.file_import import ImportFiles

        self._dialog(ImportFiles(self._screen))

    def export(self) -> None:
        """Choose agents and write their files."""
        from screens.rules.file_export import ExportRules

        self._dialog(ExportRules(self._screen))

    def drift(self) -> None:
        """Bring files and rules in step."""
        from screens.rules.file_sync import DriftDesk

        self._dialog(DriftDesk(self._screen))

    # How it works.

    @property
    def _bench(self) -> Any:
        return self._screen.bench

    @property
    def _engine(self) -> Any:
        return self._screen.engine

    @property
    def _tags(self) -> tuple[str, ...]:
        tags: tuple[str, ...] = self._engine.config.rules.tags
        return tags

    def _dialog(self, dialog: Any) -> None:
        def closed(changed: bool | None) -> None:
            if changed:
                self._screen.mark_stale()

        self._screen.app.push_screen(dialog, closed)

    def _save(
        self, seen: Rule, changes: Mapping[str, Any], form: RecordForm | None, command: Sequence[str] = ()
    ) -> None:
        """Save an edit; what others did meanwhile is shown first."""

        def then(saved: Saved | Overtaken) -> None:
            if isinstance(saved, Overtaken):
                self._overtaken(saved, form)
                return
            if form is not None:
                form.done()
            self._unsaved.pop(seen.id, None)
            after = saved.rules[0]
            version = f": version {after.version}" if after.id != seen.id else ""
            told = f"saved {after.id[:13]}{version}"
            self._did(told, command or edit_command(seen.id, changes), saved)

        refused = self._tell_refused if form is None else form.refused
        self._ask("Saving", partial(save_edit, self._engine, seen, changes), then, refused)

    def _overtaken(self, found: Overtaken, form: RecordForm | None) -> None:
        told = "the rule was changed by somebody else meanwhile: nothing was saved"
        if form is not None:
            form.refused(told)
        if found.now is None:
            self._gone(found, form)
            return
        now = found.now

        def merged(changes: dict[str, Any] | None) -> None:
            if changes is None:
                self._bench.tell(f"{told}. What you wrote is kept.", severity="warning")
            elif changes:
                self._save(now, changes, form)
            else:
                self._unsaved.pop(found.seen.id, None)
                if form is not None:
                    form.done()
                self._bench.tell("theirs holds; nothing was changed")
                self._screen.mark_stale()

        self._screen.app.push_screen(
            OvertakenRule(found.seen, now, found.changes, extra_tags=self._tags), merged
        )

    def _gone(self, found: Overtaken, form: RecordForm | None) -> None:
        """The rule was removed meanwhile: offer to add it anew."""

        def answered(yes: bool | None) -> None:
            if not yes:
                return

            def then(saved: Saved) -> None:
                if form is not None:
                    form.done()
                self._did(f"added {saved.rules[0].id[:13]}", add_command(again), saved)

            again = {"rule": found.changes.get("rule", found.seen.rule)}
            refused = self._tell_refused if form is None else form.refused
            self._ask("Adding", partial(save_again, self._engine, found.seen, found.changes), then, refused)

        self._screen.app.push_screen(
            Confirm(
                "The rule was removed meanwhile",
                "Somebody else put it out of force while you edited it. Add it again with what you wrote?",
                yes="Add",
            ),
            answered,
        )

    def _ask(
        self,
        name: str,
        work: Callable[[Job], Any],
        then: Callable[[Any], None],
        refused: Callable[[str, str], None] | None = None,
    ) -> None:
        tell = refused or self._tell_refused

        def failed(failure: Failure) -> None:
            tell(failure.message, failure.hint)
            if failure.details:
                self._bench.log_action(["rules", name.lower()], failure.details, failed=True)

        # A group of its own each time: no step takes the place of another that is being recorded.
        self._steps += 1
        self._screen.ask(name, work, then, group=f"step {self._steps}", failed=failed, writes=True)

    def _tell_refused(self, message: str, hint: str = "") -> None:
        self._bench.tell(f"{message}\n{hint}".strip(), severity="error")

    def _did(self, told: str, command: Sequence[str], saved: Saved) -> None:
        """Say what was done and which files do not say so yet; have the cursor on the rule."""
        lines = [
            told,
            *(f"{file} does not say so yet: D shows what is to be written" for file in saved.behind),
        ]
        self._bench.tell("\n".join(lines))
        if command:
            self._bench.log_action(command, told)
        if len(saved.rules) == 1:
            self._screen.go_to(saved.rules[0].id)
        self._screen.mark_stale()


def _in_short(rule: Rule) -> str:
    """Return a rule's beginning on one line of a question."""
    line = " ".join(rule.rule[: 4 * _SHORT].split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


def _is_plain(term: object) -> bool:
    """Whether a term is one that the counts of values can show: a value of a field, not negated."""
    return isinstance(term, Facet) and not term.negated and not term.op.value
