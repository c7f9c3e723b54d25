"""The rules of a project opened for a command: no model, no index and no history are needed for them.

Here as well: how a rule is named on the command line, and how it is shown in a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.config import Config
from workbench.entry.cli.frame import Invocation, current
from workbench.entry.project import Project, open_workspace
from workbench.entry.services.metrics import Measured, measured
from workbench.errors import UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.ledger import RuleLedger, used
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.matching.lexical import index_words
from workbench.rules.rulebook import Rulebook, visible
from workbench.suggest import did_you_mean
from workbench.text.sanitize import visible_line

PREFIX = 13
"""Characters of an id that are shown: `rule-` and eight digits tell the rules of a project apart."""

_WIDTH = 72


@dataclass(frozen=True, slots=True)
class RuleSession:
    """What a command about rules works with: the rules in force and where they come from and go to."""

    here: Invocation
    config: Config
    opened: Project
    told: Measured
    store: RuleStore
    book: Rulebook

    @property
    def curator(self) -> Curator:
        """Return the desk where rules are changed."""
        return Curator(self.store, "cli", self.opened.workspace.rule_files)


@contextmanager
def rule_session(operation: str, **flags: object) -> Iterator[RuleSession]:
    """Open the rules of the project, in step with its rule files, without indexing anything.

    What is odd about them is told on stderr afterwards. `flags` as for `session`. Raises: WorkbenchError.
    """
    here = current()
    config = here.settings(**flags).config
    opened = open_workspace(here.project, config)
    with measured(opened, operation) as told:
        book, notes = opened.workspace.sync_rules()
        told.candidates = len(book.rules)
        yield RuleSession(here, config, opened, told, opened.workspace.rule_store(), book)
    for note in notes:
        here.out.warn(note)
    if told.note:
        here.out.warn(told.note)


@contextmanager
def past_session(until: str) -> Iterator[RuleSession]:
    """Open the rules as they were at a moment (ISO 8601 in UTC), with their use until then.

    The journals alone say so: rule files are not looked at. Raises: WorkbenchError.
    """
    here = current()
    config = here.settings().config
    opened = open_workspace(here.project, config)
    with measured(opened, "rules") as told:
        store = opened.workspace.rule_store()
        counts = store.usage(until)
        found = visible(store, store.ledger(until).placed().values())
        rules = tuple(used(rule, counts) for rule in found)
        told.candidates = len(rules)
        yield RuleSession(here, config, opened, told, store, Rulebook(rules, index_words(()), until))
    if told.note:
        here.out.warn(told.note)


def find_live(work: RuleSession, identifier: str) -> Rule:
    """Return the rule in force whose id begins with the text given.

    Raises: UsageError for none or several; for one that gave way it names the rule in its place.
    """
    forms = _forms(identifier)
    found = [rule for rule in work.book.rules if rule.id.startswith(forms)]
    if len(found) == 1:
        return found[0]
    exact = [rule for rule in found if rule.id in forms]
    if exact:
        return exact[0]
    ledger = work.store.ledger()
    return ledger.require(find_any(ledger, identifier))


def find_among(rules: Sequence[Rule], identifier: str) -> Rule:
    """Return the rule whose id begins with the text given. Raises UsageError for none or several."""
    found = _beginning({rule.id for rule in rules}, identifier)
    return next(rule for rule in rules if rule.id == found)


def find_any(ledger: RuleLedger, identifier: str) -> str:
    """Return the id of a rule that is or was in force, by its beginning; one in force comes first.

    Raises: UsageError for none or several.
    """
    live = [known for known in ledger.live if known.startswith(_forms(identifier))]
    if len(live) == 1:
        return live[0]
    return _beginning(set(ledger.versions), identifier)


def _forms(identifier: str) -> tuple[str, ...]:
    return (identifier, f"rule-{identifier}")


def _beginning(known: set[str], identifier: str) -> str:
    forms = _forms(identifier)
    found = [one for one in known if one in forms] or [one for one in known if one.startswith(forms)]
    if len(found) == 1:
        return found[0]
    shown = visible_line(identifier)[:40]
    if found:
        some = ", ".join(sorted(found)[:3])
        raise UsageError(f"{len(found)} rules begin with {shown!r}", hint=f"Give more of the id: {some}, …")
    ids = sorted(one[:PREFIX] for one in known)
    hint = did_you_mean(forms[-1] if not identifier.startswith("rule-") else identifier, ids)
    raise UsageError(f"there is no rule {shown}", hint=hint or "`workbench rules list` shows all of them.")


def tell_files(work: RuleSession, rules: Iterable[Rule]) -> None:
    """Say which of the rules' files do not have what was just decided. Raises: StoreError."""
    from workbench.rules.files.drift import files_behind

    for file in files_behind(work.store, work.opened.workspace.rule_files, rules):
        work.here.out.say(f"{file} does not say so yet: `workbench rules drift` shows what is to be written")


def short(text: str, width: int = _WIDTH) -> str:
    """Return a text as one line of at most `width` characters, safe to show."""
    line = visible_line(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"
