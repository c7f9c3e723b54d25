"""The desk where rules are curated: each call is one step, recorded before it returns, that can be undone.

Secrets in what is decided are masked before a rule is made of it, so that its id and its words agree.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.records.rules import Provenance, Rule
from workbench.rules.curation.guarding import still, unsettled
from workbench.rules.curation.ledger import Change, Ledger
from workbench.rules.curation.resolving import Decision, resolved
from workbench.rules.curation.rulestore import LOCK, RuleStore, imagine, record
from workbench.rules.curation.steps import (
    Draft,
    Drafts,
    added,
    already_said,
    combined,
    dropped,
    edited,
    in_force,
    marks,
    redone,
    said,
    undone,
)
from workbench.rules.curation.versions import past_ids
from workbench.text.counts import counted
from workbench.text.prose import plain, short_name
from workbench.text.redact import redact_values

if TYPE_CHECKING:
    from workbench.rules.files.undo import Walked


@dataclass(frozen=True, slots=True)
class Curator:
    """Curates the rules of a project and of its user. `by` is the face that acts: cli, tui, http, mcp.

    `rule_files` lists the project's rule files: with it, words that their file cannot hold are refused, and
    what a step wrote into files is undone and done again with it. Without it files are left alone.
    """

    store: RuleStore
    by: str
    rule_files: Callable[[], Sequence[str]] | None = None

    def add(self, rule: Rule, *, reason: str = "") -> Rule:
        """Add a rule, whose id, cost and times are made here. `project_id` None makes it the person's own.

        Raises: UsageError if it is unsound or already there; StoreError.
        """
        reason, whole = redact_values(reason), self._worded(rule)
        now = self.store.moment()
        done = self._step(lambda ledger: added(ledger, whole, already_said(ledger), reason=reason, now=now))
        return done.rules[0]

    def edit(self, identifier: str, *, reason: str = "", seen: Rule | None = None, **changes: Any) -> Rule:
        """Change fields of a rule; new words make a new version, all else changes in place [rules].

        `seen` is the rule as it was when the change was thought of: what others decided since is not
        overwritten. Raises: RuleChanged if they did; UsageError for an unknown rule or field or an unsound
        value; StoreError.
        """
        now, reason = self.store.moment(), redact_values(reason)

        def make(ledger: Ledger) -> Drafts:
            if seen is not None:
                still(ledger, seen)
            return edited(
                ledger, identifier, self._changed(ledger, identifier, changes), reason=reason, now=now
            )

        return self._step(make).rules[0]

    def add_all(self, rules: Sequence[Rule], *, reason: str = "", places: Sequence[str] = ()) -> list[Rule]:
        """Add rules in one step: all of them or, if one is refused, none.

        `places` say where each was read, for the message. Raises: as `add`.
        """
        reason, wholes = redact_values(reason), [self._worded(rule) for rule in rules]
        named = places or [""] * len(wholes)
        done = self._step(lambda ledger: self._all_added(ledger, wholes, named, reason))
        return list(done.rules)

    def edit_all(
        self, identifiers: Sequence[str], *, reason: str = "", title: str = "", **changes: Any
    ) -> list[Rule]:
        """Change the same fields of several rules in one step, or none. Raises: as `edit`."""
        return self.edit_each(dict.fromkeys(identifiers, changes), reason=reason, title=title)

    def edit_each(
        self, changes: Mapping[str, Mapping[str, Any]], *, reason: str = "", title: str = ""
    ) -> list[Rule]:
        """Change several rules, each in its own way by id, in one step, or none. Raises: as `edit`."""
        now = self.store.moment()
        reason, title = redact_values((reason, title))

        def make(ledger: Ledger) -> Drafts:
            parts = [
                edited(ledger, found, self._changed(ledger, found, mine), reason=reason, now=now)
                for found, mine in changes.items()
            ]
            return combined(parts, title=title or f"edit {counted(len(parts), 'rule')}", reason=reason)

        return list(self._step(make).rules)

    def remove(self, identifiers: Sequence[str], *, reason: str = "") -> None:
        """Put rules out of force; they stay in the history. Raises: UsageError, StoreError."""
        why = redact_values(reason)
        self._step(lambda ledger: dropped(ledger, identifiers, reason=why))

    def resolve(self, decision: Decision, *, seen: Iterable[Rule] = ()) -> tuple[Rule, ...]:
        """Settle a conflict; return the rules that hold because of it.

        `seen` are its rules as they were when it was decided. Raises: ConflictSettled, RuleChanged if others
        were faster; UsageError, StoreError.
        """

        def make(ledger: Ledger) -> Drafts:
            _as_seen(ledger, decision, seen)
            return resolved(
                ledger, redact_values(decision), now=self.store.moment(), count=self.store.count_tokens
            )

        return self._step(make).rules

    def resolve_all(
        self, decisions: Sequence[Decision], *, seen: Mapping[str, Rule] | None = None
    ) -> tuple[tuple[Decision, ...], tuple[str, ...]]:
        """Settle conflicts as one step, in order; return those that were settled, and why others were not.

        A rule that an earlier decision took out of force is in no conflict any more; `seen` are rules by id
        as they were when it was decided, and what others changed or settled since is left alone. Raises:
        StoreError.
        """
        done: list[Decision] = []
        skipped: list[str] = []
        entries: list[Draft] = []
        now, count = self.store.moment(), self.store.count_tokens
        step = marks(f"settle {counted(len(decisions), 'conflict')}")
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            sound: list[Decision] = []
            for decision in decisions:
                # All of them before the first: this step's own changes are nobody else's.
                try:
                    _as_seen(ledger, decision, _of(decision, seen or {}))
                    sound.append(decision)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:17]}: {error.message}")
            for decision in sound:
                try:
                    drafts = resolved(ledger, redact_values(decision), now=now, count=count, step=step)
                    self._refuse_unwritable(ledger, drafts, ledger.versions)
                except UsageError as error:
                    skipped.append(f"{decision.conflict[:17]}: {error.message}")
                    continue
                imagine(self.store, drafts.entries, by=self.by, ledger=ledger)
                entries += drafts.entries
                done.append(decision)
            record(self.store, entries, by=self.by)
        return tuple(done), tuple(skipped)

    def undo(self, step: str = "") -> Walked:
        """Take back the last step, or the one with this id. Raises: UsageError, StoreError."""
        from workbench.rules.files.undo import undo_step

        if self.rule_files is None:
            return self._walk(lambda ledger: undone(ledger, step))
        return undo_step(self.store, self.rule_files(), by=self.by, step=step)

    def redo(self) -> Walked:
        """Do the last undone step again. Raises: UsageError, StoreError."""
        from workbench.rules.files.undo import redo_step

        if self.rule_files is None:
            return self._walk(redone)
        return redo_step(self.store, self.rule_files(), by=self.by)

    def _walk(self, make: Callable[[Ledger], Drafts]) -> Walked:
        from workbench.rules.files.undo import Walked

        return Walked(self._step(make).title)

    def _step(self, make: Callable[[Ledger], Drafts]) -> Drafts:
        with self.store.lock(LOCK):
            ledger = self.store.ledger()
            known = frozenset(ledger.versions)
            drafts = make(ledger)
            self._refuse_unwritable(ledger, drafts, known)
            record(self.store, drafts.entries, by=self.by)
        return drafts

    def _refuse_unwritable(self, ledger: Ledger, drafts: Drafts, known: Container[str]) -> None:
        """Raise UsageError for words that a file of their rule cannot hold."""
        from workbench.rules.files.wording import refuse_unwritable

        if self.rule_files is not None:
            refuse_unwritable(self.store, self.rule_files, ledger, drafts, known)

    def _all_added(self, ledger: Ledger, rules: Sequence[Rule], places: Sequence[str], reason: str) -> Drafts:
        now, parts, known = self.store.moment(), [], already_said(ledger)
        for rule, place in zip(rules, places, strict=True):
            try:
                part = added(ledger, rule, known, reason=reason, now=now)
            except UsageError as error:
                raise UsageError(
                    f"{place}: {error.message}" if place else error.message, hint=error.hint
                ) from error
            imagine(self.store, part.entries, by=self.by, ledger=ledger)  # the next one may say the same
            known[said(rule)] = part.rules[0].id
            parts.append(part)
        title = parts[0].title if len(parts) == 1 else f"add {counted(len(parts), 'rule')}"
        return combined(parts, title=title, reason=reason)

    def _changed(self, ledger: Ledger, identifier: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes, without secrets that the rule did not have, and what follows from new words."""
        before = in_force(ledger, identifier)
        changes = {
            name: value if value == getattr(before, name, None) else redact_values(value)
            for name, value in changes.items()
        }
        if "rule" not in changes:
            return changes
        text = changes["rule"]
        action = changes.get("action_text", plain(text))
        follows = {"action_text": action, "token_cost": self.store.count_tokens(text)}
        if before.name == short_name(before.action_text):
            follows["name"] = short_name(action)
        return {**follows, **changes}

    def _worded(self, rule: Rule) -> Rule:
        rule = redact_values(rule)
        action = rule.action_text or plain(rule.rule)
        cost = self.store.count_tokens(rule.rule)
        return replace(rule, action_text=action, name=rule.name or short_name(action), token_cost=cost)


def _as_seen(ledger: Ledger, decision: Decision, seen: Iterable[Rule]) -> None:
    """Raise UsageError if others settled a conflict or changed one of its rules."""
    unsettled(ledger, decision.conflict)
    for rule in seen:
        still(ledger, rule)


def _of(decision: Decision, seen: Mapping[str, Rule]) -> list[Rule]:
    return [seen[one] for one in (decision.left, decision.right) if one in seen]


def lineage(ledger: Ledger, identifier: str) -> tuple[str, ...]:
    """Return the ids of all versions of a rule, oldest first. Raises UsageError for an unknown id."""
    known = ledger.versions.get(identifier)
    if known is None:
        raise UsageError(
            f"{identifier} is not known", hint="`workbench rules list` shows the rules in force."
        )
    now = ledger.standing(identifier)
    newest = known if now is None or identifier not in past_ids(now) else now
    return (*past_ids(newest), newest.id)


def history(ledger: Ledger, identifier: str) -> tuple[Change, ...]:
    """Return every change of a rule and of its earlier versions, oldest first.

    Raises: UsageError for an unknown id.
    """
    versions = set(lineage(ledger, identifier))
    return tuple(change for change in ledger.changes if change.rule_id in versions)


def standing_in(file: str, form: str, *, home: bool = False) -> Provenance:
    """Return the place of a rule that is to be written into a file."""
    return Provenance(file, 0, 0, form, home)
