"""Whether the files of a rule can hold its new words: asked before the words are recorded.

Words that a file would not be read back with could never be written into it: store and file would be out of
step for good. They are refused with what is wrong about them, and nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from workbench.curation.records import StepDraft
from workbench.errors import ParseError, UsageError
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import FileState, RuleLedger
from workbench.rules.curation.lineage import text_digest
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.curation.ruletype import PUT, from_body
from workbench.rules.files.drift import rule_sources
from workbench.rules.files.editing import try_edits
from workbench.rules.files.editing_units import Edit, Insert, Replace
from workbench.rules.reading.discover import read_source
from workbench.rules.reading.importing import content_digest


@dataclass(frozen=True, slots=True)
class _Place:
    """A file that is to say a rule's words, and the edit that makes it. `state` is None for an unread one."""

    file: str
    state: FileState | None
    edit: Edit


def refuse_unwritable(
    store: RuleStore,
    candidates: Callable[[], Sequence[str]],
    ledger: RuleLedger,
    drafts: StepDraft[Rule],
    known: Container[str],
) -> None:
    """Raise UsageError if a file would not be read back with the words of a step that it is to say.

    `known` are the ids of the rules there were before the step. Files that changed since they were last read
    are passed over: what becomes of them is seen when they are merged.
    """
    new = [from_body(draft.body) for draft in drafts.entries if draft.kind == PUT]
    places = [place for rule in new if rule.id not in known for place in _places(ledger, rule)]
    if not places:
        return
    sources = rule_sources(store, candidates())
    for place in places:
        source = sources.get(place.file)
        try:
            data = None if source is None else read_source(source)
        except (OSError, ParseError):
            continue
        if data is None or (place.state is not None and place.state.digest != content_digest(data)):
            continue
        for refused in try_edits(data, [place.edit]).refused:
            where = f"{place.file}:{refused.line}" if refused.line else place.file
            raise UsageError(f"{where} cannot say this: it {refused.reason}", hint=refused.hint)


def _places(ledger: RuleLedger, rule: Rule) -> Iterator[_Place]:
    said = text_digest(rule.rule)
    found = False
    for name in sorted(ledger.files):
        state = ledger.files[name]
        for anchor in state.anchors:
            if not anchor.line or not _is_version_of(ledger, anchor.rule_id, rule):
                continue
            found = True
            if anchor.digest != said:
                yield _Place(name, state, Replace(anchor.line, anchor.end_line, rule.rule))
    where = rule.provenance
    if not found and where is not None:
        yield _Place(where.file, ledger.files.get(where.file), Insert(rule.rule, section=where.section))


def _is_version_of(ledger: RuleLedger, identifier: str, rule: Rule) -> bool:
    current = ledger.current(identifier)
    return current is not None and (current.id == rule.id or current.id in rule.replaces)
