"""The service that curates rules: besides what it does for records of any type, rule files are kept in mind.

Words that a rule's file could not hold are refused, and what a step wrote into files is undone with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from workbench.curation import CURATION
from workbench.curation.records import StepDraft, combine
from workbench.curation.service import CurationService
from workbench.curation.steps import draft_addition, draft_redo, draft_undo
from workbench.curation.store import preview
from workbench.errors import StoreError, UsageError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Provenance, Rule
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.curation.versions import past_ids
from workbench.text.counts import plural
from workbench.text.prose import plain, short_name
from workbench.text.redact import redact_values

if TYPE_CHECKING:
    from workbench.rules.files.drift import Written
    from workbench.rules.files.undo import Walked


@dataclass(frozen=True, slots=True)
class Curator(CurationService[RuleLedger, Rule]):
    """Curates the rules of a project and of its user. `by` is the face that acts: cli, tui, http, mcp.

    `rule_files` lists the project's rule files: with it, words that their file cannot hold are refused, and
    what a step wrote into files is undone and done again with it. Without it files are left alone.
    """

    store: RuleStore
    rule_files: Callable[[], Sequence[str]] | None = None

    LOCK: ClassVar[str] = LOCK

    def add(self, rule: Rule, *, reason: str = "") -> Rule:
        """Add a rule, whose id, cost and times are made here. `project_id` None makes it the person's own.

        Raises: UsageError if it is invalid or already there; StoreError.
        """
        return self.add_all([rule], reason=reason)[0]

    def add_all(self, rules: Sequence[Rule], *, reason: str = "", places: Sequence[str] = ()) -> list[Rule]:
        """Add rules in one step: all of them or, if one is refused, none.

        `places` say where each was read, for the message. Raises: as `add`.
        """
        wholes = [self._complete(rule) for rule in rules]
        named = places or [""] * len(wholes)
        return list(self.step(lambda ledger: self._draft_all(ledger, wholes, named, reason)).records)

    def edit_all(
        self, identifiers: Sequence[str], *, reason: str = "", title: str = "", **changes: Any
    ) -> list[Rule]:
        """Change the same fields of several rules in one step, or none. Raises: as `edit`."""
        return self.edit_each(dict.fromkeys(identifiers, changes), reason=reason, title=title)

    def undo(self, step: str = "") -> Walked:
        """Take back the last step, or the one with this id, also in files. Raises: UsageError, StoreError."""
        return self.walk(lambda ledger: draft_undo(ledger, step), back=True)

    def redo(self) -> Walked:
        """Do the last undone step again, also in files. Raises: UsageError, StoreError."""
        return self.walk(draft_redo, back=False)

    def walk(self, make: Callable[[RuleLedger], StepDraft[Rule]], *, back: bool) -> Walked:
        """Undo a step or do it again, with what it wrote into files."""
        from workbench.rules.files.undo import Walked, walk_step

        if self.rule_files is None:
            return Walked(self.step(make).title)
        return walk_step(self.store, self.rule_files(), make, by=self.by, back=back)

    def check(self, ledger: RuleLedger, drafts: StepDraft[Rule], known: Container[str]) -> None:
        """Raise UsageError for words that a file of their rule cannot hold."""
        from workbench.rules.files.drift import refuse_unwritable

        if self.rule_files is not None:
            refuse_unwritable(self.store, self.rule_files, ledger, drafts, known)

    def _complete(self, new: Rule) -> Rule:
        """Return a rule with its name, what it says to do, and its cost."""
        rule = redact_values(new)
        action = rule.action_text or plain(rule.rule)
        cost = self.store.count_tokens(rule.rule)
        return replace(rule, action_text=action, name=rule.name or short_name(action), token_cost=cost)

    def prepared_changes(self, before: Rule, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes, without secrets that the rule did not have, and what follows from new words."""
        mine = CurationService.prepared_changes(self, before, changes)
        if "rule" not in mine:
            return mine
        text = mine["rule"]
        action = mine.get("action_text", plain(text))
        follows = {"action_text": action, "token_cost": self.store.count_tokens(text)}
        if before.name == short_name(before.action_text):
            follows["name"] = short_name(action)
        return {**follows, **mine}

    def _draft_new(
        self, ledger: RuleLedger, rule: Rule, known: Mapping[Said, str], reason: str
    ) -> StepDraft[Rule]:
        there = known.get(statement_key(rule))
        if there is not None:
            raise UsageError(
                f"that rule is already there: {there}", hint=f"workbench rules show {there[:13]}"
            )
        return draft_addition(ledger, rule, reason=redact_values(reason), now=self.store.moment())

    def _draft_all(
        self, ledger: RuleLedger, rules: Sequence[Rule], places: Sequence[str], reason: str
    ) -> StepDraft[Rule]:
        parts, known = [], known_statements(ledger, rules)
        for rule, place in zip(rules, places, strict=True):
            try:
                part = self._draft_new(ledger, rule, known, reason)
            except UsageError as error:
                raise UsageError(
                    f"{place}: {error.message}" if place else error.message, hint=error.hint
                ) from error
            preview(self.store, part.entries, by=self.by, ledger=ledger)  # the next one may say the same
            known[statement_key(rule)] = part.records[0].id
            parts.append(part)
        title = parts[0].title if len(parts) == 1 else f"add {plural(len(parts), 'rule')}"
        return combine(parts, title=title, reason=redact_values(reason))


_WORD: Final = re.compile("[a-z0-9]+")

Said = tuple[str, tuple[str, ...], str | None]


def statement_key(rule: Rule) -> Said:
    """Return what two rules have in common that say the same in the same place."""
    return " ".join(rule.rule.split()).casefold(), rule.scope, rule.project_id


def known_statements(ledger: RuleLedger, new: Sequence[Rule]) -> dict[Said, str]:
    """Return the id of a rule in force for what is said, of everything that one of the new ones may say."""
    word = max(_WORD.findall(statement_key(new[0])[0]), key=len, default="") if len(new) == 1 else ""
    there = ledger.live.with_word(word) if word else ledger.live.values()
    return {statement_key(rule): rule.id for rule in there}


def lineage(ledger: RuleLedger, identifier: str) -> tuple[str, ...]:
    """Return the ids of all versions of a rule, oldest first. Raises UsageError for an unknown id."""
    known = ledger.versions.get(identifier)
    if known is None:
        raise UsageError(
            f"{identifier} is not known", hint="`workbench rules list` shows the rules in force."
        )
    now = ledger.current(identifier)
    newest = known if now is None or identifier not in past_ids(now) else now
    return (*past_ids(newest), newest.id)


@dataclass(frozen=True, slots=True)
class StepPreview(Curator):
    """Drafts steps as a curator does and records none; `written` is what they would write into rule files."""

    written: list[Written] = field(default_factory=list)

    def step(self, make: Callable[[RuleLedger], StepDraft[Rule]]) -> StepDraft[Rule]:
        """Draft a step. Raises: what `make` does."""
        from workbench.rules.files.undo import preview_step

        def checked(ledger: RuleLedger) -> StepDraft[Rule]:
            known = frozenset(ledger.versions)
            drafts = make(ledger)
            self.check(ledger, drafts, known)
            return drafts

        drafts, written = preview_step(self.store, self.rule_files, checked, by=self.by)
        self.written.extend(written)
        return drafts


@dataclass(frozen=True, slots=True)
class StepWriter(Curator):
    """Records steps as a curator does and writes them into `files`, both or neither; `written` says how."""

    files: tuple[str, ...] = ()
    written: list[Written] = field(default_factory=list)

    def step(self, make: Callable[[RuleLedger], StepDraft[Rule]]) -> StepDraft[Rule]:
        """Record a step and write it. Raises: what `make` does; StoreError, and then it is undone."""
        from workbench.rules.files.drift import write_pending

        drafts = Curator.step(self, make)
        if self.files and self.rule_files is not None:
            try:
                outcome = write_pending(self.store, self.rule_files(), files=self.files)
            except StoreError as error:
                self.undo(drafts.entries[0].body[CURATION]["step"])
                raise StoreError(f"{error.message}. Nothing was saved", hint=error.hint) from error
            self.written.extend(outcome.written)
        return drafts


def standing_in(file: str, form: str, *, home: bool = False) -> Provenance:
    """Return the place of a rule that is to be written into a file."""
    return Provenance(file, 0, 0, form, home)
