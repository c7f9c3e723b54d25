"""The rules in force for a project, synced with rule files and journals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.curation.following import changed_ids, origin_of
from workbench.curation.store import record
from workbench.errors import JournalError, StoreError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import AUTOMATIC, SLOT_MARK, RuleLedger, read_usage, with_use
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.formats.families import family_of
from workbench.rules.keptbook import Rulebook, is_current, is_ours, keep_book, open_book, read_book
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.ruleset import RuleSet, rule_set
from workbench.rules.rulestate import RuleState, UseCounts, count_uses, find_sources

if TYPE_CHECKING:
    from workbench.rules.files.sync import SyncResult

_UNCOUNTED = 1 << 17  # bytes of uses, some 300 plans
_TAIL = 200  # changes; of so many each new process reads them again


@dataclass(frozen=True, slots=True)
class _FileNews:
    """What rule files say of themselves, as in `Rulebook`; `drafted` if that is news for the journals."""

    warnings: tuple[str, ...]
    files: tuple[str, ...]
    pending: int
    conflicts: int
    changed: int = 0
    drafted: bool = False


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
    sources, state = find_sources(store, candidates), RuleState(store)
    if not rebuild:
        if previous is not None and not previous.notes and is_current(state, sources, previous):
            return _with_usage(state, previous)
        if previous is not None and previous.origin.reader is store.reader and not previous.notes:
            book = _go_on(store, state, sources, previous)
            if book is not None:
                return book
        elif (saved := open_book(store, state, sources)) is not None:
            return _kept_short(store, _with_usage(state, saved), saved.used_until)
    from workbench.rules.files import sync  # only when rule files or journals changed, and before others wait

    _ = sync
    with store.lock(LOCK):
        state = RuleState(store)
        # Another process may have imported the same changes while this one waited.
        saved = None if rebuild else open_book(store, state, sources)
        if saved is not None:
            return _with_usage(state, saved)
        if rebuild:
            store.reader.forget()
        book = _import(store, state, sources, None if rebuild else previous or read_book(store, is_ours))
    store.reader.save()
    return book


def follow_rulebook(store: RuleStore, candidates: Sequence[str], known: Rulebook) -> Rulebook | None:
    """Return the rules in force where neither rule files nor what is known of them changed, else None.

    `candidates` are names that were listed a while ago: whether there are others by now is not asked. None
    where that decides something, or where journals are others than were counted.
    """
    sources, state = find_sources(store, candidates), RuleState(store)
    if known.notes or known.origin.reader is not store.reader:
        return None
    if is_current(state, sources, known):
        return _with_usage(state, known)
    try:
        return _go_on(store, state, sources, known, listed=False)
    except JournalError:
        return None


def _go_on(
    store: RuleStore, state: RuleState, sources: Sequence[RuleSource], known: Rulebook, *, listed: bool = True
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
    if len(ledger.changes) - book.kept_changes > _TAIL or book.rules.is_far:
        try:
            book = keep_book(store, book)
        except StoreError:
            return None  # which is noted
    store.reader.save()
    return book


def _unchanged_files(
    store: RuleStore, state: RuleState, ledger: RuleLedger, sources: Sequence[RuleSource], known: Rulebook
) -> _FileNews | None:
    """Return what is known of rule files unless they or rules of theirs changed.

    An entry that arrives late has what came after it folded again: most of that is what it was.
    """
    progress, ids = known.origin.progress, changed_ids(store.reader, ledger, state.about, known.origin)
    if ids is None or progress is None or known.stamps != state.stamps(sources):
        return None
    versions = (ledger.versions[identifier] for identifier in ids if identifier in ledger.versions)
    of_files = {
        rule.id for rule in versions if rule.provenance is not None or SLOT_MARK in ledger.slot(rule.id)
    }
    now = ledger.with_places(of_files)
    if progress[1:] != ledger.progress[1:] or not all(
        _is_same(now.get(file), known.rules.plain(file)) for file in of_files
    ):
        return None
    return _FileNews(known.warnings, known.files, known.pending, known.conflicts)


def _is_same(now: Rule | None, before: Rule | None) -> bool:
    """Whether two states of a rule are the same but for the uses that are counted in."""
    if now is None or before is None:
        return now is before
    return replace(now, usage_count=before.usage_count, last_used=before.last_used) == before


def _news(found: SyncResult) -> _FileNews:
    facts = (found.warnings, found.files, found.pending, found.conflicts, found.changed)
    return _FileNews(*facts, drafted=bool(found.drafts))


def _import(
    store: RuleStore, state: RuleState, sources: Sequence[RuleSource], previous: Rulebook | None
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
        book = keep_book(store, book)
    except StoreError as error:
        notes.append(f"rules are not kept for the next run: {error.message}")
    return replace(book, notes=tuple(notes), renewed=True)


def _book(
    store: RuleStore,
    state: RuleState,
    ledger: RuleLedger,
    found: _FileNews,
    sources: Sequence[RuleSource],
    previous: Rulebook | None,
) -> Rulebook:
    until = state.used_until
    changed = None if previous is None else _changed_rules(store, state, ledger, previous)
    if changed is None:
        counts = read_usage(state.origins, ends=until)
        whole = visible_rules(ledger.with_places().values(), store.project_id, home=store.home is not None)
        whole = [with_use(rule, counts) for rule in whole] if counts else whole
        rules = rule_set(whole, None if previous is None else previous.rules, until)
        changed = rules, (UseCounts({}, until, counts), UseCounts(until, until))
    made_here = previous is not None and previous.origin.progress is not None
    return Rulebook(
        changed[0],
        state.signature(sources),
        found.warnings,
        found.files,
        pending=found.pending,
        conflicts=found.conflicts,
        settled=_settled_ids(ledger),
        used_until=until,
        # What was drafted the reader has not folded yet.
        origin=origin_of(store.reader, ledger, state.about, is_whole=not found.drafted),
        changed=found.changed,
        kept_changes=previous.kept_changes if previous and made_here else len(ledger.changes),
        stamps=state.stamps(sources),
        uses=changed[1],
    )


def _changed_rules(
    store: RuleStore, state: RuleState, ledger: RuleLedger, before: Rulebook
) -> tuple[RuleSet, tuple[UseCounts, UseCounts]] | None:
    """Return the rules of a ledger that goes on from that of a rulebook; None if it is another one."""
    ids = changed_ids(store.reader, ledger, state.about, before.origin)
    if ids is None:
        return None
    now = (ledger.current(identifier) for identifier in sorted(ids))
    ids |= {rule.id for rule in now if rule is not None}
    before = _with_usage(state, before)
    base, rules, uses = before.rules.base, before.rules, before.uses
    put = {
        rule.id: rule
        for rule in visible_rules(
            ledger.with_places(sorted(ids)).values(), store.project_id, home=store.home is not None
        )
    }
    if put and before.used_until:
        whole = count_uses(state, uses[0], {}, base.used_until)
        later = count_uses(state, uses[1], base.used_until, before.used_until)
        put, uses = {key: with_use(rule, whole.counts) for key, rule in put.items()}, (whole, later)
    gone = ids - put.keys()
    put = {key: rule for key, rule in put.items() if rule != rules.plain(key)}
    rules = rules.with_changes(put, gone)
    since = uses[1].counts if put and before.used_until else {}
    return (
        rules.with_counts({key: with_use(rule, since) for key, rule in put.items()}) if since else rules
    ), uses


def _settled_ids(ledger: RuleLedger) -> tuple[str, ...]:
    live = ledger.live
    return tuple(sorted(one.id for one in ledger.settled.values() if one.left in live and one.right in live))


def visible_rules(rules: Iterable[Rule], project_id: str, *, home: bool) -> list[Rule]:
    """Return the rules that hold in a project, by id; those of files in the user's home only with `home`.

    Those of the project are its own wherever its directory was when they were written.
    """
    kept = [
        rule if rule.project_id in (None, project_id) else replace(rule, project_id=project_id)
        for rule in rules
        if home or rule.provenance is None or not rule.provenance.home
    ]
    return sorted(kept, key=lambda rule: rule.id)


def _with_usage(state: RuleState, book: Rulebook) -> Rulebook:
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
            return keep_book(store, book, whole=True)
    return book
