"""The rules in force for a project, synced with rule files and journals."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

import msgspec

from workbench import __version__
from workbench.curation.store import record
from workbench.errors import JournalError, ParseError, StoreError
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import (
    AUTOMATIC,
    SLOT_MARK,
    USAGE_STREAM,
    RuleLedger,
    read_usage,
    with_use,
)
from workbench.rules.curation.rulestore import LOCK, OWN, RuleStore
from workbench.rules.curation.ruletype import STREAM
from workbench.rules.formats.families import family_of
from workbench.rules.reading.discovery import RuleSource, discover, read_source
from workbench.rules.ruleset import RuleSet, rule_set
from workbench.rules.rulestorage import DAMAGED, Head, keep_rules, open_arrays_of, open_rules

if TYPE_CHECKING:
    from workbench.rules.files.sync import SyncResult
    from workbench.rules.matching.lexical import RuleWords

_FORMAT = 11
_VERSION = f"{__version__} {_FORMAT}"
_UNCOUNTED = 1 << 17  # bytes of uses, some 300 plans
_TAIL = 200  # changes; of so many each new process reads them again


LedgerMark = tuple[int, int, str]
"""How many changes of records and of files a ledger has, and what tells the last of them."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """Which ledger of a reader the rules are of: how often it was folded again, and how many changes it has.

    `kept` is how many changes it had when the rules were last kept, `about` and `stamps` are as in `_State`.
    """

    refolds: int
    changes: int
    files: int
    kept: int
    about: str
    stamps: str


@dataclass(frozen=True, slots=True)
class _Uses:
    """Counts of use between the journals' offsets `since` and `ends`."""

    since: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, tuple[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _FileNews:
    """What rule files say of themselves, as in `Rulebook`; `drafted` if that is news for the journals."""

    warnings: tuple[str, ...]
    files: tuple[str, ...]
    pending: int
    conflicts: int
    changed: int = 0
    drafted: bool = False


class _State:
    """How the journals are at a moment, and each rule file when it is first asked for."""

    def __init__(self, store: RuleStore) -> None:
        self.origins = store.usage_origins
        self.about = f"{store.home is not None} {' '.join(self.origins)}"
        self._sizes = {origin: journal.size(STREAM) for origin, journal in self.origins.items()}
        used = {origin: journal.size(USAGE_STREAM) for origin, journal in self.origins.items()}
        self.used_until = {origin: size for origin, size in used.items() if size}
        self._lead = f"{_FORMAT}\0{store.project_id}\0{store.home}\0"
        self._stamps: dict[str, str] = {}

    def signature(self, sources: Sequence[RuleSource]) -> str:
        """Return a text that differs where rule files or journals do."""
        sizes = "\0".join(f"{origin}\0{size}" for origin, size in self._sizes.items())
        said = (self._lead + self.stamps(sources) + sizes).encode("utf-8", "surrogateescape")
        return hashlib.sha256(said).hexdigest()[:32]

    def stamps(self, sources: Sequence[RuleSource]) -> str:
        """Return a text that differs where rule files do."""
        return "".join(f"{source.path}\0{self._stamp(source)}\0" for source in sources)

    def wrote(self) -> None:
        """Take in that this process wrote: what machines of a team sent meanwhile is not read yet."""
        own = {origin: self.origins[origin].size(STREAM) for origin in OWN}
        self._sizes = {**self._sizes, **own}

    def _stamp(self, source: RuleSource) -> str:
        known = self._stamps.get(source.path)
        if known is None:
            try:
                # By content: an edit within the clock's granularity leaves size and time as they were.
                known = hashlib.blake2b(read_source(source), digest_size=16).hexdigest()
            except (OSError, ParseError) as error:
                known = f"unreadable: {error}"
            self._stamps[source.path] = known
        return known


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules sorted by id. `signature` changes with rule files and journals.

    `warnings` are about rule files; `notes` say what could not be kept for the next run. `pending` counts
    changes of the store that rule files do not have yet, `conflicts` what store and file changed differently;
    `settled` are ids of pairs in force that somebody settled.
    `used_until` says up to where the journals of use are counted in; `named` are files imported by name.
    `mark` says which ledger the rules are of and `reader` what folded it, None for a rulebook that was kept;
    `progress` and `uses` are what that process knows besides to go on from it.
    `renewed` is set where rule files or journals were read to make it.
    """

    rules: RuleSet
    signature: str
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pending: int = 0
    conflicts: int = 0
    settled: tuple[str, ...] = ()
    used_until: Mapping[str, int] = field(default_factory=dict)
    named: tuple[RuleSource, ...] = ()
    mark: LedgerMark = (0, 0, "")
    changed: int = field(default=0, compare=False)
    reader: object = field(default=None, compare=False)
    progress: _Progress | None = field(default=None, compare=False)
    uses: tuple[_Uses, _Uses] = field(default=(_Uses(), _Uses()), compare=False)
    renewed: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def words(self) -> RuleWords:
        """The words of the rules."""
        return self.rules.words


def rule_candidates(paths: Iterable[str]) -> tuple[str, ...]:
    """Return which of a project's paths are rule files of a known format, sorted."""
    return tuple(sorted(path for path in paths if family_of(path)))


def load_rulebook(
    store: RuleStore, candidates: Sequence[str], previous: Rulebook | None = None, *, rebuild: bool = False
) -> Rulebook:
    """Return the rules in force, importing rule files that changed since the last time.

    Files that cannot be read keep the rules known of them and are named in `warnings`. With `rebuild`
    what was kept of earlier runs is rebuilt, as it is where a journal is another one than was counted.
    """
    try:
        return _load(store, candidates, previous, rebuild=rebuild)
    except JournalError:
        if rebuild:
            raise
        return _load(store, candidates, None, rebuild=True)


def _load(
    store: RuleStore, candidates: Sequence[str], previous: Rulebook | None, *, rebuild: bool
) -> Rulebook:
    sources, state = find_sources(store, candidates), _State(store)
    if not rebuild:
        if previous is not None and not previous.notes and _is_current(state, sources, previous):
            return _with_usage(state, previous)
        if previous is not None and previous.reader is store.reader and not previous.notes:
            book = _go_on(store, state, sources, previous)
            if book is not None:
                return book
        elif (saved := _open(store, state, sources)) is not None:
            return _kept_short(store, _with_usage(state, saved), saved.used_until)
    from workbench.rules.files import sync  # only when rule files or journals changed, and before others wait

    _ = sync
    with store.lock(LOCK):
        state = _State(store)
        # Another process may have imported the same changes while this one waited.
        saved = None if rebuild else _open(store, state, sources)
        if saved is not None:
            return _with_usage(state, saved)
        if rebuild:
            store.reader.forget()
        book = _import(store, state, sources, None if rebuild else previous or _read(store, _is_ours))
    store.reader.save()
    return book


def follow_rulebook(store: RuleStore, candidates: Sequence[str], known: Rulebook) -> Rulebook | None:
    """Return the rules in force where neither rule files nor what is known of them changed, else None.

    `candidates` are names that were listed a while ago: whether there are others by now is not asked. None
    where that decides something, or where journals are others than were counted.
    """
    sources, state = find_sources(store, candidates), _State(store)
    if known.notes or known.reader is not store.reader:
        return None
    if _is_current(state, sources, known):
        return _with_usage(state, known)
    try:
        return _go_on(store, state, sources, known, listed=False)
    except JournalError:
        return None


def _go_on(
    store: RuleStore, state: _State, sources: Sequence[RuleSource], known: Rulebook, *, listed: bool = True
) -> Rulebook | None:
    """Return the rules where only journals brought changes to those known; None if files brought some.

    Unless the names of files were `listed` just now files are not read, and None where they would have to be.
    Nobody is waited for, and nothing is kept before there is much of it: a process that stays open knows all
    but what was just appended, and of many each would write what another one writes as well.
    """
    from workbench.rules.files.sync import find_named_sources, sync_files

    ledger = store.ledger()
    named = find_named_sources(store, ledger, {source.path for source in sources})
    news = _unchanged_files(store, state, ledger, [*sources, *named], known)
    if news is None:
        if not listed:
            return None
        news = _news(sync_files(store, ledger, sources))
        if news.drafted:
            return None
    book = _book(store, state, ledger, news, [*sources, *named], known)
    book = replace(book, named=tuple(named), renewed=True)
    assert book.progress is not None  # nothing was drafted
    if book.progress.changes - book.progress.kept > _TAIL or book.rules.is_far:
        try:
            book = _keep(store, book)
        except StoreError:
            return None  # which is noted
    store.reader.save()
    return book


def _unchanged_files(
    store: RuleStore, state: _State, ledger: RuleLedger, sources: Sequence[RuleSource], known: Rulebook
) -> _FileNews | None:
    """Return what is known of rule files unless they or rules of theirs may have changed."""
    progress, ids = known.progress, _changed_ids(store, state, ledger, known)
    if ids is None or progress is None or progress.stamps != state.stamps(sources):
        return None
    versions = [ledger.versions[one] for one in ids if one in ledger.versions]
    if progress.files != len(ledger.file_changes) or any(
        rule.provenance is not None or SLOT_MARK in ledger.slot(rule.id) for rule in versions
    ):
        return None
    return _FileNews(known.warnings, known.files, known.pending, known.conflicts)


def _news(found: SyncResult) -> _FileNews:
    facts = (found.warnings, found.files, found.pending, found.conflicts, found.changed)
    return _FileNews(*facts, drafted=bool(found.drafts))


def find_sources(store: RuleStore, candidates: Sequence[str]) -> tuple[RuleSource, ...]:
    """Return the rule files of a project and its user that are found by themselves."""
    return discover(str(store.root), None if store.home is None else str(store.home), candidates)


def _is_current(state: _State, sources: Sequence[RuleSource], book: Rulebook) -> bool:
    return book.signature == state.signature([*sources, *book.named])


def stored_rulebook(store: RuleStore) -> Rulebook | None:
    """Return the rules as of the last plan, without looking at rule files or journals."""
    return _read(store, lambda head: True)


def unchanged_rules(store: RuleStore) -> RuleSet | None:
    """Return the stored rules if the journals and the rule files they were read from are as they were.

    None if not, or if nothing is stored. The project is not listed and no word is indexed: this is for asking
    rules that curation made, such as those with a check, which no new rule file can bring.
    """

    state = _State(store)

    def is_current(head: Head) -> bool:
        files, named = convert(head["files"], tuple[str, ...]), convert(head["named"], tuple[RuleSource, ...])
        sources = find_sources(store, [file for file in files if not file.startswith("~/")])
        return bool(head["signature"] == state.signature([*sources, *named]))

    kept = open_rules(store, is_current)
    return None if kept is None else kept[1]


def _is_ours(head: Head) -> bool:
    """Whether this version of the program read the words that are kept."""
    return bool(head.get("version") == _VERSION)


def _import(
    store: RuleStore, state: _State, sources: Sequence[RuleSource], previous: Rulebook | None
) -> Rulebook:
    from workbench.rules.files.sync import (
        find_named_sources,
        sync_files,
    )  # only when rule files or journals changed

    ledger = store.ledger()
    named = find_named_sources(store, ledger, {source.path for source in sources})
    found = sync_files(store, ledger, sources)
    notes: list[str] = []
    try:
        record(store, found.drafts, by=AUTOMATIC)
        if found.drafts:
            state.wrote()
    except StoreError as error:
        notes.append(f"changed rules are not recorded: {error.message}")
    book = _book(store, state, ledger, _news(found), [*sources, *named], previous)
    book = replace(book, named=tuple(named))
    try:
        book = _keep(store, book)
    except StoreError as error:
        notes.append(f"rules are not kept for the next run: {error.message}")
    return replace(book, notes=tuple(notes), renewed=True)


def _book(
    store: RuleStore,
    state: _State,
    ledger: RuleLedger,
    found: _FileNews,
    sources: Sequence[RuleSource],
    previous: Rulebook | None,
) -> Rulebook:
    until = state.used_until
    changed = None if previous is None else _changed_rules(store, state, ledger, previous)
    if changed is None:
        counts = read_usage(state.origins, ends=until)
        whole = visible_rules(store, ledger.with_places().values())
        whole = [with_use(rule, counts) for rule in whole] if counts else whole
        rules = rule_set(whole, None if previous is None else previous.rules, until)
        changed = rules, (_Uses({}, until, counts), _Uses(until, until))
    progress = None
    if not found.drafted:  # which the reader has not folded yet
        changes, files = ledger.progress
        kept = changes if previous is None or previous.progress is None else previous.progress.kept
        progress = _Progress(ledger.refolds, changes, files, kept, state.about, state.stamps(sources))
    return Rulebook(
        changed[0],
        state.signature(sources),
        found.warnings,
        found.files,
        pending=found.pending,
        conflicts=found.conflicts,
        settled=_settled_ids(ledger),
        used_until=until,
        mark=_mark(store, state, ledger, _lasting(ledger), len(ledger.file_changes)),
        changed=found.changed,
        reader=store.reader,
        progress=progress,
        uses=changed[1],
    )


def _lasting(ledger: RuleLedger) -> int:
    """Return how many changes come before all that may still arrive."""
    return len(ledger.changes) if ledger.lasting < 0 else ledger.lasting


def _mark(store: RuleStore, state: _State, ledger: RuleLedger, changes: int, files: int) -> LedgerMark:
    last = ledger.changes[changes - 1] if 0 < changes <= len(ledger.changes) else None
    file = ledger.file_changes[files - 1] if 0 < files <= len(ledger.file_changes) else None
    newest = ("" if last is None else f"{last.step} {last.record_id}", "" if file is None else file[0])
    return changes, files, " ".join((store.reader.lineage, state.about, *newest))


def _changed_rules(
    store: RuleStore, state: _State, ledger: RuleLedger, before: Rulebook
) -> tuple[RuleSet, tuple[_Uses, _Uses]] | None:
    """Return the rules of a ledger that goes on from that of a rulebook; None if it is another one."""
    ids = _changed_ids(store, state, ledger, before)
    if ids is None:
        return None
    now = (ledger.current(identifier) for identifier in sorted(ids))
    ids |= {rule.id for rule in now if rule is not None}
    before = _with_usage(state, before)
    base, rules, uses = before.rules.base, before.rules, before.uses
    put = {rule.id: rule for rule in visible_rules(store, ledger.with_places(sorted(ids)).values())}
    if put and before.used_until:
        whole = _count(state, uses[0], {}, base.used_until)
        later = _count(state, uses[1], base.used_until, before.used_until)
        put, uses = {key: with_use(rule, whole.counts) for key, rule in put.items()}, (whole, later)
    gone = ids - put.keys()
    put = {key: rule for key, rule in put.items() if rule != rules.plain(key)}
    rules = rules.with_changes(put, gone)
    since = uses[1].counts if put and before.used_until else {}
    return (
        rules.with_counts({key: with_use(rule, since) for key, rule in put.items()}) if since else rules
    ), uses


def _changed_ids(store: RuleStore, state: _State, ledger: RuleLedger, before: Rulebook) -> set[str] | None:
    """Return the ids of rules that a ledger may have otherwise than that of a rulebook did.

    None if it is another ledger. Of a rulebook that another process kept, what came after the saved fold is
    compared as well: whether that part of the journals is still what it was is not known.
    """
    ids: set[str] = set()
    known = before.progress if before.reader is store.reader else None
    refolds = None if known is None else store.reader.refolds(known.refolds, ledger.refolds)
    if known is not None and refolds is not None and known.about == state.about:
        changes = min(known.changes, *(one.progress[0] for one in refolds), len(ledger.changes))
        files = min(known.files, *(one.progress[1] for one in refolds), len(ledger.file_changes))
        ids.update(*(one.ids for one in refolds))
    else:
        changes, files, _ = before.mark
        if not changes or before.mark != _mark(store, state, ledger, changes, files):
            return None
        if before.reader is not store.reader:
            changes, files = min(changes, ledger.changes.begun), min(files, ledger.file_changes.begun)
            if not changes:
                return None
    for change in ledger.changes[changes:]:
        ids |= {change.record_id, change.successor}
    for _, *states in ledger.file_changes[files:]:
        ids |= {anchor.rule_id for one in states if one is not None for anchor in one.anchors}
    return ids


def _count(state: _State, known: _Uses, since: Mapping[str, int], ends: Mapping[str, int]) -> _Uses:
    """Return the counts between two offsets, read from where those known end if they are their beginning."""
    if known.since != since or any(ends.get(origin, 0) < end for origin, end in known.ends.items()):
        known = _Uses(since, since)
    if known.ends == ends:
        return known
    counts = dict(known.counts)
    for key, (times, last) in read_usage(state.origins, known.ends, ends=ends).items():
        before = counts.get(key, (0, ""))
        counts[key] = before[0] + times, max(before[1], last)
    return _Uses(since, ends, counts)


def _settled_ids(ledger: RuleLedger) -> tuple[str, ...]:
    live = ledger.live
    return tuple(sorted(one.id for one in ledger.settled.values() if one.left in live and one.right in live))


def visible_rules(store: RuleStore, rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules that hold here, by id; those of the home's files only where the home is read."""
    kept = [
        rule
        for rule in rules
        if (rule.project_id in (None, store.project_id))
        and (store.home is not None or rule.provenance is None or not rule.provenance.home)
    ]
    return sorted(kept, key=lambda rule: rule.id)


def _with_usage(state: _State, book: Rulebook) -> Rulebook:
    """Return a rulebook with what was used since it was made, up to the journals' ends."""
    until = state.used_until
    if until == book.used_until:
        return book
    counts = read_usage(state.origins, book.used_until, ends=until)
    rules = ((key, book.rules.find(key)) for key in book.rules.heirs(counts))
    found = {key: with_use(rule, counts) for key, rule in rules if rule is not None}
    return replace(book, rules=book.rules.with_counts(found) if found else book.rules, used_until=until)


def _kept_short(store: RuleStore, book: Rulebook, since: Mapping[str, int]) -> Rulebook:
    """Keep a rulebook whose uses since the kept one take long to count: each plan adds some to them."""
    if sum(book.used_until.values()) - sum(since.values()) > _UNCOUNTED:
        with suppress(StoreError):  # counted again by the next
            return _keep(store, book, whole=True)
    return book


def _open(store: RuleStore, state: _State, sources: Sequence[RuleSource]) -> Rulebook | None:
    """Return the stored rules if they are what files and journals say."""

    def is_current(head: Head) -> bool:
        named = convert(head["named"], tuple[RuleSource, ...])
        return bool(head["signature"] == state.signature([*sources, *named]))

    return _read(store, is_current)


def _read(store: RuleStore, is_wanted: Callable[[Head], bool]) -> Rulebook | None:
    kept = open_rules(store, is_wanted)
    try:
        if kept is None:
            return None
        head, rules = kept
        open_arrays_of(store, rules)
        return Rulebook(
            rules,
            str(head["signature"]),
            convert(head["warnings"], tuple[str, ...]),
            convert(head["files"], tuple[str, ...]),
            pending=convert(head["pending"], int),
            conflicts=convert(head["conflicts"], int),
            settled=convert(head["settled"], tuple[str, ...]),
            used_until=convert(head["used_until"], dict[str, int]),
            named=convert(head["named"], tuple[RuleSource, ...]),
            mark=convert(head["mark"], tuple[int, int, str]),
        )
    except (OSError, *DAMAGED):
        return None  # read from the rule files and journals instead


def _keep(store: RuleStore, book: Rulebook, *, whole: bool = False) -> Rulebook:
    head = {
        "version": _VERSION,
        "signature": book.signature,
        "warnings": list(book.warnings),
        "files": list(book.files),
        "pending": book.pending,
        "conflicts": book.conflicts,
        "settled": list(book.settled),
        "used_until": dict(book.used_until),
        "named": [msgspec.to_builtins(source) for source in book.named],
        "mark": list(book.mark),
    }
    rules = keep_rules(store, head, book.rules, whole=whole)
    progress = None if book.progress is None else replace(book.progress, kept=book.progress.changes)
    return replace(book, rules=rules, progress=progress)
