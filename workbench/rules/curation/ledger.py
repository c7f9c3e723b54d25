"""The ledger of rules: besides the rules in force and their changes, how rule files were last read.

A change of a rule's content is a new rule that names the old one in `replaces`; everything else changes in
place. How often rules are used is in a stream of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final

from workbench.curation import CURATION
from workbench.curation.lazy import LazyDict, LazyList
from workbench.curation.ledger import Ledger
from workbench.curation.records import CurationStep, EntryDraft, StepMarks
from workbench.ports import Entry, Journal
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ruletype import FORGOTTEN, RULES, STREAM, SYNCED, RuleType
from workbench.rules.curation.versions import past_ids

AUTOMATIC: Final = "import:rule-files"
EXPORT: Final = "export:rule-files"

USAGE_STREAM: Final = "rule-usage"
USED: Final = "rule.used"

SLOT_MARK: Final = "#"
"""What is between a file and a digest of words in the slot of a rule that was read from it."""

MOST_PASSAGE: Final = 4_000
"""Characters of a file that are kept with what was written over them."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a rule is in a file, as of the last look: its lines, and the digest of the text there."""

    rule_id: str
    line: int
    end_line: int
    digest: str


@dataclass(frozen=True, slots=True)
class FileState:
    """A rule file as it was last brought in step. `digest` is of its bytes; `home` says whose journal knows.

    `named` files were imported by name; the others are found by themselves.
    """

    file: str
    format: str
    digest: str
    anchors: tuple[Anchor, ...] = ()
    home: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """Takes an edit of a file back. `digest` is that of the edited bytes; `data` goes in at `offset`."""

    digest: str
    offset: int
    length: int
    data: bytes


FileChange = tuple[str, FileState | None, FileState | None]
"""A step, and a file before and after it."""


@dataclass(slots=True)
class RuleLedger(Ledger[Rule]):
    """The fold of the rule journals.

    `files` are rule files as they were last read, and `file_changes` what changed of them, as (step, before,
    after); `by_file` has the ids of the rules in force that are of each. `undos` take files back to what they
    were before the workbench wrote them, while they are as it left them.
    """

    type: RuleType = RULES
    files: dict[str, FileState] = field(default_factory=dict)
    undos: dict[str, Undo] = field(default_factory=dict)
    file_changes: LazyList[FileChange] = field(default_factory=LazyList)
    by_file: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def live(self) -> LazyDict[Rule]:
        """The rules in force, by id."""
        return self.records

    @property
    def progress(self) -> tuple[int, ...]:
        """How many changes of records and of files there are."""
        return len(self.changes), len(self.file_changes)

    @property
    def begun(self) -> tuple[int, ...]:
        """How many of these were saved by an earlier fold."""
        return self.changes.begun, self.file_changes.begun

    def ids_since(self, progress: tuple[int, ...]) -> set[str]:
        """Return the ids of rules that changes after the first so many, of rules and of files, are about."""
        found = Ledger.ids_since(self, progress)
        for _, *states in self.file_changes[progress[1] :]:
            found |= {anchor.rule_id for state in states if state is not None for anchor in state.anchors}
        return found

    def newest(self, progress: tuple[int, ...]) -> tuple[str, ...]:
        """Return what tells the last of the first so many changes of rules and of files."""
        files = progress[1]
        file = self.file_changes[files - 1] if 0 < files <= len(self.file_changes) else None
        return (*Ledger.newest(self, progress), "" if file is None else file[0])

    def with_places(self, wanted: Iterable[str] | None = None) -> dict[str, Rule]:
        """Return the rules in force, or those `wanted`, with the lines where their files have them now."""
        rules = {key: self.live[key] for key in (self.live if wanted is None else wanted) if key in self.live}
        files = {rule.provenance.file for rule in rules.values() if rule.provenance is not None}
        for state in (state for state in self.files.values() if state.file in files):
            for anchor in state.anchors:
                rule = self.current(anchor.rule_id)
                where = None if rule is None else rule.provenance
                if rule is None or rule.id not in rules or where is None or where.file != state.file:
                    continue
                if (where.line, where.end_line) != (anchor.line, anchor.end_line):
                    moved = replace(where, line=anchor.line, end_line=anchor.end_line)
                    rules[rule.id] = replace(rule, provenance=moved)
        return rules

    def slot(self, identifier: str) -> str:
        """Return what the versions of a rule have in common: of one read from a file, its file and words.

        Each machine of a team reads files for itself, and gives what it reads ids of its own.
        """
        found, rule = Ledger.slot(self, identifier), self.versions.get(identifier)
        if rule is None or rule.provenance is None or found != RULES.root(rule):
            return found
        last = self.last_change(identifier)
        return file_slot(rule) if last is not None and last.by == AUTOMATIC else found

    def fork(self) -> RuleLedger:
        """Return a ledger that says the same; what is brought into either changes nothing in the other."""
        copied = Ledger.fork(self)
        copied.by_file = {file: ids.copy() for file, ids in self.by_file.items()}
        return copied

    def take_fact(self, entry: Entry, home: bool) -> None:
        """Bring in how a file was read, or that nothing is known of it any more."""
        body = entry.body
        if entry.kind == FORGOTTEN:
            gone = self.files.pop(str(body.get("file", "")), None)
            self._file_changed(entry, gone, None)
            return
        state = _file_state(body, home)
        if state is not None:
            self._file_changed(entry, self.files.get(state.file), state)
            self.files[state.file] = state
            self._keep_undo(state, body.get("undo"))

    def _file_changed(self, entry: Entry, before: FileState | None, after: FileState | None) -> None:
        self.file_changes.append((self.step_of(entry).id, before, after))

    def _keep_undo(self, state: FileState, undo: object) -> None:
        """Keep what takes a file back to what was written over; another digest has none."""
        if isinstance(undo, Mapping):
            offset, length, passage = undo.get("offset"), undo.get("length"), undo.get("passage")
            if isinstance(offset, int) and isinstance(length, int) and isinstance(passage, str):
                data = passage.encode("utf-8", "surrogatepass")
                self.undos[state.file] = Undo(state.digest, offset, length, data)
        elif state.file in self.undos and self.undos[state.file].digest != state.digest:
            del self.undos[state.file]

    def _record(
        self,
        entry: Entry,
        step: CurationStep[Rule],
        identifier: str,
        before: Rule | None,
        after: Rule | None,
        successor: str = "",
    ) -> None:
        Ledger._record(self, entry, step, identifier, before, after, successor)
        for rule in (before, after):
            if rule is not None and rule.provenance is not None:
                ids = self.by_file.setdefault(rule.provenance.file, {})
                if rule is before:
                    ids.pop(identifier, None)
                else:
                    ids[identifier] = None

    def undo_facts(
        self, step: CurationStep[Rule], restored: Collection[str], marks: StepMarks
    ) -> list[EntryDraft]:
        """Draft that files are known as before a step, and whose their lines are."""
        changes = reversed(self._changes_of(step))
        return [
            *self._give_back(step, restored, marks),
            *(_file_draft(before, after, marks) for _, before, after in changes),
        ]

    def redo_facts(self, step: CurationStep[Rule], marks: StepMarks) -> list[EntryDraft]:
        """Draft that files are known as after a step."""
        return [_file_draft(after, before, marks) for _, before, after in self._changes_of(step)]

    def _changes_of(self, step: CurationStep[Rule]) -> list[FileChange]:
        return [change for change in self.file_changes if change[0] == step.id]

    def _give_back(
        self, step: CurationStep[Rule], restored: Collection[str], marks: StepMarks
    ) -> list[EntryDraft]:
        """Draft that lines of files are a restored rule's again, not those of the rule that took its place.

        What they say by now stays known, so that the old words wait to be written.
        """
        heirs: dict[str, list[str]] = {}
        for change in step.changes:
            if change.after is not None:
                heirs.setdefault(change.record_id, []).extend(change.after.replaces)
            elif change.successor:
                heirs.setdefault(change.successor, []).append(change.record_id)
        drafts = []
        for state in self.files.values():
            anchors = list(state.anchors)
            for heir, olds in heirs.items():
                mine = frozenset(old for old in olds if old in restored)
                there = [at for at, anchor in enumerate(anchors) if anchor.rule_id == heir and anchor.line]
                for at, old in zip(there, self._owners(state.file, mine, heir, len(there)), strict=False):
                    anchors[at] = replace(anchors[at], rule_id=old)
            if tuple(anchors) != state.anchors:
                drafts.append(synced_draft(replace(state, anchors=tuple(anchors)), marks))
        return drafts

    def _owners(self, file: str, olds: Collection[str], heir: str, count: int) -> list[str]:
        """Return whose the lines of a rule in a file were before it took the place of others, in order."""
        for state in self.past_states(file) if olds and count else ():
            owners = [one.rule_id for one in state.anchors if one.rule_id in olds or one.rule_id == heir]
            if any(owner in olds for owner in owners):
                lines_of_heir = owners.count(heir)
                return owners if len(owners) == count or not lines_of_heir else []
        return []

    def past_states(self, file: str) -> Iterator[FileState]:
        """Yield how a file was read before, newest first."""
        for _, before, after in reversed(self.file_changes):
            yield from (state for state in (after, before) if state is not None and state.file == file)


def file_slot(rule: Rule) -> str:
    """Return the slot of a rule as its file says it: the same on every machine with the same file."""
    from workbench.rules.curation.lineage import text_digest  # for those who write

    file = "" if rule.provenance is None else rule.provenance.file
    return f"{file}{SLOT_MARK}{text_digest(rule.rule)}"


def synced_draft(state: FileState, marks: StepMarks) -> EntryDraft:
    """Draft how a file was read."""
    anchors = [
        {"rule_id": at.rule_id, "line": at.line, "end_line": at.end_line, "digest": at.digest}
        for at in state.anchors
    ]
    body = {
        "file": state.file,
        "format": state.format,
        "digest": state.digest,
        "named": state.named,
        "anchors": anchors,
        CURATION: marks.body(),
    }
    return EntryDraft(SYNCED, body, state.home, STREAM)


def with_undo(draft: EntryDraft, undo: Undo | None) -> EntryDraft:
    """Return the draft of how a file was read with what puts back the bytes that were written over.

    Only short passages without secrets are kept; otherwise lines are put back by their words.
    """
    if undo is None or draft.kind != SYNCED or draft.body["digest"] != undo.digest:
        return draft
    from workbench.text.redact import redact_values  # for those who write

    try:
        passage = undo.data.decode("utf-8")
    except UnicodeDecodeError:
        return draft
    if len(passage) > MOST_PASSAGE or redact_values(passage) != passage:
        return draft
    kept = {"offset": undo.offset, "length": undo.length, "passage": passage}
    return replace(draft, body={**draft.body, "undo": kept})


def forgotten_draft(state: FileState, marks: StepMarks) -> EntryDraft:
    """Draft that nothing more is known of a file."""
    return EntryDraft(FORGOTTEN, {"file": state.file, CURATION: marks.body()}, state.home, STREAM)


def _file_draft(wanted: FileState | None, present: FileState | None, marks: StepMarks) -> EntryDraft:
    """Draft that a file is known as before, or after, a step. One of the two states is there."""
    if wanted is not None:
        return synced_draft(wanted, marks)
    assert present is not None
    return forgotten_draft(present, marks)


def _file_state(body: Mapping[str, Any], home: bool) -> FileState | None:
    import msgspec

    from workbench.records.conversion import convert

    try:
        state = convert(dict(body), FileState)
    except msgspec.ValidationError:
        return None  # what a file said is read from the file again
    return replace(state, home=home)


@dataclass(frozen=True, slots=True)
class Use:
    """One time that a session of a tool was given a rule."""

    at: str
    by: str
    rule_id: str
    session_id: str
    tool: str


def read_uses(journals: Sequence[Journal], until: str = "") -> Iterator[Use]:
    """Yield every use of rules up to and with a moment, journal by journal in the order of their entries."""
    for journal in journals:
        for _, entry in journal.read(USAGE_STREAM):
            identifiers = entry.body.get("rule_ids")
            if entry.kind != USED or not isinstance(identifiers, list) or (until and entry.at > until):
                continue
            session, tool = str(entry.body.get("session_id", "")), str(entry.body.get("tool", ""))
            for identifier in identifiers:
                yield Use(entry.at, entry.by, str(identifier), session, tool)


def read_usage(
    journals: Mapping[str, Journal],
    since: Mapping[str, int] = MappingProxyType({}),
    until: str = "",
    ends: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, str]]:
    """Return (times used, last time) of each rule used between the journals' offsets `since` and `ends`.

    A journal that is not in those has the offset 0. What came after the moment `until` does not count.
    """
    counts: dict[str, tuple[int, str]] = {}
    for origin, journal in journals.items():
        for after, entry in journal.read(USAGE_STREAM, since.get(origin, 0)):
            if ends is not None and after > ends.get(origin, 0):
                break
            if entry.kind == USED and not (until and entry.at > until):
                _count(counts, entry)
    return counts


def _count(counts: dict[str, tuple[int, str]], entry: Entry) -> None:
    identifiers = entry.body.get("rule_ids")
    for identifier in identifiers if isinstance(identifiers, list) else ():
        times, last = counts.get(str(identifier), (0, ""))
        counts[str(identifier)] = (times + 1, max(last, entry.at))


def with_use(rule: Rule, counts: Mapping[str, tuple[int, str]]) -> Rule:
    """Return a rule with its use so far; what earlier versions of it were used for counts as its own."""
    found = [counts[identifier] for identifier in (rule.id, *past_ids(rule)) if identifier in counts]
    if not found:
        return rule
    times = rule.usage_count + sum(count for count, _ in found)
    return replace(rule, usage_count=times, last_used=max(rule.last_used or "", *(at for _, at in found)))
