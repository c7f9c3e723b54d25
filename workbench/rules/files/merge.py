"""A rule file against the store, three ways: what the file said last, what it says now, what the store says.

What only the file changed comes into the store; what only the store changed waits to be written to the
file; what both changed differently is a conflict, and neither side is overwritten. Pure: nothing is read or
written.
"""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum

from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule, rule_file
from workbench.rules.curation.ledger import Anchor, FileState, RuleLedger
from workbench.rules.curation.lineage import align, text_digest
from workbench.rules.curation.versions import (
    HISTORY,
    MANAGED,
    ORDERS,
    as_decided,
    carried_over,
    free_id,
    next_version,
    past_ids,
    with_words,
)


class Incoming(StrEnum):
    """What a file did to a rule."""

    ADDED = "added"
    CHANGED = "changed"
    MOVED = "moved"  # here from another file
    REMOVED = "removed"
    REFRESHED = "refreshed"  # the same words, read differently: another section, other globs


@dataclass(frozen=True, slots=True)
class FromFile:
    """A change that a file brings. `before` and `after` are None where there is none."""

    what: Incoming
    line: int
    before: Rule | None
    after: Rule | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A change of the store that a file does not have yet.

    `rule` is what should be in the lines, None for nothing; `base` is what is there, None for a rule
    that is to be added: below the line `after`, or at the end of its section.
    """

    file: str
    line: int
    end_line: int
    base: Rule | None
    rule: Rule | None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A rule that file and store changed differently since they last agreed; None where it was removed.

    `theirs` carries no id of the store: it is what the lines would be imported as.
    """

    file: str
    line: int
    end_line: int
    base: Rule
    ours: Rule | None
    theirs: Rule | None


@dataclass(slots=True)
class FileMerge:
    """What syncing a file comes to. `state` is what is known of the file afterwards."""

    state: FileState
    incoming: list[FromFile] = field(default_factory=list)
    revived: list[tuple[str, str]] = field(default_factory=list)  # (rule, earlier version that supersedes it)
    pending: list[Pending] = field(default_factory=list)
    conflicts: list[FileConflict] = field(default_factory=list)
    unknown: int = 0  # rules of a part that the workbench wrote whose originals are not there (yet)


def merge_file(
    ledger: RuleLedger,
    state: FileState,
    rules: Sequence[Rule],
    *,
    now: str,
    moved: Mapping[str, Rule] | None = None,
    complete: bool = True,
) -> FileMerge:
    """Compare a file's rules, in order of their lines, with what it had last time and with the store.

    `state` has the file's present digest and its anchors of last time, none for a new file. `moved` are
    rules, by the digest of their text, that leave one file while another one gets them. Rules that the
    workbench wrote into the file are copies of rules in force; those that are of none are rules of the file
    if `complete`, and only counted if not.
    """
    merge = _Merge(ledger, state, now, {} if moved is None else moved, complete)
    bases = [ledger.versions.get(anchor.rule_id) for anchor in state.anchors]
    texts = ["" if base is None else base.rule for base in bases]
    digests = [anchor.digest for anchor in state.anchors]
    ours = [ledger.current(anchor.rule_id) for anchor in state.anchors]
    current = ["" if rule is None else text_digest(rule.rule) for rule in ours]
    later: list[Rule] = []
    for old, new in align(texts, [rule.rule for rule in rules], digests, current):
        if old is None and new is not None:
            later.append(rules[new])
        elif old is not None and new is not None:
            merge.match(state.anchors[old], bases[old], rules[new])
        elif old is not None:
            merge.remove(state.anchors[old], bases[old])
    for rule in later:
        merge.add(rule)
    merge.find_waiting()
    anchors = tuple(sorted(merge.anchors, key=lambda anchor: (anchor.line, anchor.rule_id)))
    merge.result.state = replace(state, anchors=anchors)
    return merge.result


class _Merge:
    """A merge under way."""

    def __init__(
        self, ledger: RuleLedger, state: FileState, now: str, moved: Mapping[str, Rule], complete: bool
    ) -> None:
        self.ledger, self.file, self.now = ledger, state.file, now
        self.moved, self.complete = moved, complete
        self.result = FileMerge(state)
        self.anchors: list[Anchor] = []
        self.anchored: set[str] = set()  # rules in force that have their lines in the file
        self.fresh: dict[str, Rule] = {}
        self.own = {anchor.rule_id for anchor in state.anchors if anchor.line}
        self.originals: dict[str, list[Rule]] | None = None
        known = (ledger.current(anchor.rule_id) for anchor in state.anchors)
        claimed = {rule.id for rule in known if rule is not None}
        waiting = ledger.by_file.get(self.file, {}).keys() - claimed
        self.unplaced = [ledger.live[identifier] for identifier in ledger.in_order(waiting)]

    def match(self, anchor: Anchor, base: Rule | None, theirs: Rule) -> None:
        """Take a rule that the file had and has."""
        ours = self.ledger.current(anchor.rule_id)
        said = text_digest(theirs.rule)
        changed_here = self._changed_here(anchor, ours)
        if base is None:
            self.add(theirs)
        elif said == anchor.digest:
            if changed_here:
                self._pending(anchor, base, ours, theirs)
            elif ours is not None:
                self._refresh(ours, theirs)
        elif not changed_here and ours is not None:
            self._reword(ours, theirs)
        elif ours is not None and said == text_digest(ours.rule):
            self._refresh(ours, theirs, as_decided)  # our words were written there
        else:
            line, end_line = _lines(theirs)
            self.anchors.append(replace(anchor, line=line, end_line=end_line))
            self.result.conflicts.append(FileConflict(self.file, line, end_line, base, ours, theirs))

    def remove(self, anchor: Anchor, base: Rule | None) -> None:
        """Take a rule that the file had and no longer has."""
        ours = self.ledger.current(anchor.rule_id)
        if ours is None or base is None or rule_file(ours) != self.file:
            return  # gone on both sides, or a copy of a rule that lives elsewhere
        if ours.id != anchor.rule_id and ours.id in self.anchored:
            return  # as wanted: the rule that took its place has a line of its own
        if anchor.digest in self.moved and self.moved[anchor.digest].id == ours.id:
            return
        if self._changed_here(anchor, ours):
            self.anchors.append(replace(anchor, line=0, end_line=0))
            self.result.conflicts.append(FileConflict(self.file, 0, 0, base, ours, None))
            return
        other = self._other_place(ours)
        if other is None:
            self.result.incoming.append(FromFile(Incoming.REMOVED, anchor.line, ours, None))
        else:
            self.result.incoming.append(FromFile(Incoming.REFRESHED, anchor.line, ours, other))

    def add(self, theirs: Rule) -> None:
        """Take a rule that the file did not have."""
        said = text_digest(theirs.rule)
        for known in self.unplaced:
            if known.id not in self.anchored and text_digest(known.rule) == said:
                self._refresh(known, theirs)
                return
        if theirs.metadata.get(MANAGED):
            original = self._original(said, theirs)
            if original is not None:
                self._anchor(original, theirs)
                return
            if not self.complete:
                self.result.unknown += 1
                return
        here = self.moved.get(said)
        if here is not None and rule_file(here) != self.file and here.id not in self.anchored:
            self._incoming(Incoming.MOVED, here, carried_over(here, theirs), theirs)
            return
        before = self.ledger.versions.get(theirs.id)
        taken = theirs.id in self.fresh or theirs.id in self.ledger.live
        if before is None or taken or theirs.id in self.ledger.successors:
            rule = replace(theirs, id=self._free(theirs))
        else:
            rule = carried_over(before, theirs)  # it was in the file before
        self._incoming(Incoming.ADDED, None, rule, theirs)

    def find_waiting(self) -> None:
        """Find the rules that were made for this file and are not in it."""
        for rule in self.unplaced:
            if rule.id not in self.anchored:
                self.result.pending.append(Pending(self.file, 0, 0, None, rule))

    def _original(self, digest: str, theirs: Rule) -> Rule | None:
        """Return the rule in force that a copy with this text is of, best one of the same scope."""
        if self.originals is None:
            self.originals = defaultdict(list)
            for rule in sorted(self.ledger.live.values(), key=lambda rule: rule.id):
                if not rule.metadata.get(MANAGED):
                    self.originals[text_digest(rule.rule)].append(rule)
        found = [rule for rule in self.originals.get(digest, ()) if rule.id not in self.anchored]
        return min(found, key=lambda rule: rule.scope != theirs.scope, default=None)

    def _changed_here(self, anchor: Anchor, ours: Rule | None) -> bool:
        return ours is None or text_digest(ours.rule) != anchor.digest

    def _pending(self, anchor: Anchor, base: Rule, ours: Rule | None, theirs: Rule) -> None:
        line, end_line = _lines(theirs)
        self.anchors.append(replace(anchor, line=line, end_line=end_line))
        elsewhere = ours is not None and anchor.rule_id != ours.id and ours.id in self.own
        wanted = None if ours is None or elsewhere or ours.id in self.anchored else ours
        if wanted is not None:
            self.anchored.add(wanted.id)
        self.result.pending.append(Pending(self.file, line, end_line, base, wanted))

    def _refresh(self, ours: Rule, theirs: Rule, read: Callable[[Rule, Rule], Rule] = carried_over) -> None:
        """The same words: what the file says beside them may be new, and `read` says what becomes of it."""
        if rule_file(ours) != self.file or ours.metadata.get("imported") == theirs.metadata.get("imported"):
            self._anchor(ours, theirs)
        else:
            self._incoming(Incoming.REFRESHED, ours, read(ours, theirs), theirs)

    def _reword(self, ours: Rule, theirs: Rule) -> None:
        """Other words: the next version of the rule, or one that it had before."""
        # A copy keeps what its own file says beside it.
        words = (carried_over if rule_file(ours) == self.file else with_words)(ours, theirs)
        earlier = self._version_with(ours, theirs)
        if earlier is None:
            reason = f"changed in {self.file}"
            rule = next_version(ours, replace(words, id=self._free(theirs)), reason=reason, now=self.now)
        else:
            rule = replace(
                words,
                id=earlier.id,
                enabled=words.enabled or (ORDERS in earlier.metadata and earlier.enabled),
                version=earlier.version,
                replaces=earlier.replaces,
                metadata={**words.metadata, HISTORY: earlier.metadata.get(HISTORY, [])},
            )
            if ours.id not in earlier.replaces:
                self.result.revived.append((ours.id, earlier.id))
        self._incoming(Incoming.CHANGED, ours, rule, theirs)

    def _version_with(self, ours: Rule, theirs: Rule) -> Rule | None:
        """Return the version of a rule that has these words: a branch was switched, or an edit taken back."""
        said = text_digest(theirs.rule)
        for identifier in past_ids(ours):
            known = self.ledger.versions.get(identifier)
            if known is not None and text_digest(known.rule) == said and identifier not in self.ledger.live:
                return known
        known = self.ledger.versions.get(theirs.id)
        if known is not None and ours.id in known.replaces and known.id not in self.ledger.live:
            return known
        return None

    def _other_place(self, rule: Rule) -> Rule | None:
        """Return a rule with its place in another file that has a copy of it."""
        where = rule.provenance
        for name in sorted(self.ledger.files):
            state = self.ledger.files[name]
            for anchor in state.anchors if name != self.file else ():
                if anchor.rule_id == rule.id and where is not None:
                    place = replace(
                        where, file=name, format=state.format, line=anchor.line, end_line=anchor.end_line
                    )
                    return replace(rule, provenance=replace(place, home=state.home, names=()))
        return None

    def _incoming(self, what: Incoming, before: Rule | None, after: Rule, theirs: Rule) -> None:
        self.fresh[after.id] = after
        self.result.incoming.append(FromFile(what, _lines(theirs)[0], before, after))
        self._anchor(after, theirs)

    def _anchor(self, rule: Rule, theirs: Rule) -> None:
        line, end_line = _lines(theirs)
        self.anchored.add(rule.id)
        self.anchors.append(Anchor(rule.id, line, end_line, text_digest(theirs.rule)))

    def _free(self, rule: Rule) -> str:
        """Return the id an import gave a rule, or another one if it is taken."""
        if rule.id not in self.ledger.versions and rule.id not in self.fresh:
            return rule.id
        home = rule.provenance is not None and rule.provenance.home
        owner = "home" if home else rule.project_id or ""
        return free_id(owner, self.file, rule.rule, ChainMap(self.fresh, self.ledger.versions))


def _lines(rule: Rule) -> tuple[int, int]:
    return (0, 0) if rule.provenance is None else (rule.provenance.line, rule.provenance.end_line)
