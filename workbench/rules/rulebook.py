"""The rules in force for a project, synced with rule files and journals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from workbench import __version__
from workbench.curation.store import record
from workbench.errors import ParseError, StoreError
from workbench.records.conversion import convert, decode_json
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import AUTOMATIC, USAGE_STREAM, RuleLedger, read_usage, used
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.curation.ruletype import STREAM, to_body
from workbench.rules.formats.families import family_of
from workbench.rules.reading.discovery import RuleSource, discover, read_source

if TYPE_CHECKING:
    from workbench.rules.files.sync import SyncResult
    from workbench.rules.matching.lexical import RuleWords

GENERATION = "rules"
_FILE = "rules.jsonl"
_WORDS = "words.bin"
_FORMAT = 6
_VERSION = f"{__version__} {_FORMAT}"
_IN_A_LINE = 256
_UNCOUNTED = 1 << 17  # bytes of uses, some 300 plans


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules sorted by id with their words indexed. `signature` changes with rule files and journals.

    `warnings` are about rule files; `notes` say what could not be kept for the next run. `pending` counts
    changes of the store that rule files do not have yet, `conflicts` what store and file changed differently;
    `settled` are ids of pairs in force that somebody settled.
    `used_until` says up to where the journals of use are counted in; `named` are files imported by name.
    `renewed` is set where rule files or journals were read to make it.
    """

    rules: tuple[Rule, ...]
    words: RuleWords
    signature: str
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pending: int = 0
    conflicts: int = 0
    settled: tuple[str, ...] = ()
    used_until: tuple[int, int] = (0, 0)
    named: tuple[RuleSource, ...] = ()
    changed: int = field(default=0, compare=False)
    renewed: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


def rule_candidates(paths: Iterable[str]) -> tuple[str, ...]:
    """Return which of a project's paths are rule files of a known format, sorted."""
    return tuple(sorted(path for path in paths if family_of(path)))


def load_rulebook(
    store: RuleStore, candidates: Sequence[str], previous: Rulebook | None = None, *, rebuild: bool = False
) -> Rulebook:
    """Return the rules in force, importing rule files that changed since the last time.

    Files that cannot be read keep the rules known of them and are named in `warnings`. With `rebuild`
    what was kept of earlier runs is rebuilt.
    """
    sources = find_sources(store, candidates)
    if not rebuild:
        if previous is not None and not previous.notes and _is_current(store, sources, previous):
            return _with_usage(store, previous)
        saved = _open(store, sources)
        if saved is not None:
            return _kept_short(store, _with_usage(store, saved), saved.used_until)
    with store.lock(LOCK):
        # Another process may have imported the same changes while this one waited.
        saved = None if rebuild else _open(store, sources)
        if saved is not None:
            return _with_usage(store, saved)
        if rebuild:
            store.reader.forget()
        book = _import(store, sources, None if rebuild else previous or _read(store, _is_ours))
    store.reader.save()
    return book


def find_sources(store: RuleStore, candidates: Sequence[str]) -> tuple[RuleSource, ...]:
    """Return the rule files of a project and its user that are found by themselves."""
    return discover(str(store.root), None if store.home is None else str(store.home), candidates)


def _is_current(store: RuleStore, sources: Sequence[RuleSource], book: Rulebook) -> bool:
    return book.signature == _signature(store, [*sources, *book.named])


def stored_rulebook(store: RuleStore) -> Rulebook | None:
    """Return the rules as of the last plan, without looking at rule files or journals."""
    return _read(store, lambda head: True)


def unchanged_rules(store: RuleStore) -> tuple[Rule, ...] | None:
    """Return the stored rules if the journals and the rule files they were read from are as they were.

    None if not, or if nothing is stored. The project is not listed and no word is indexed: this is for asking
    rules that curation made, such as those with a check, which no new rule file can bring.
    """

    def is_current(head: Mapping[str, Any]) -> bool:
        files, named = convert(head["files"], tuple[str, ...]), convert(head["named"], tuple[RuleSource, ...])
        sources = find_sources(store, [file for file in files if not file.startswith("~/")])
        return bool(head["signature"] == _signature(store, [*sources, *named]))

    try:
        kept = _kept(store, is_current)
        return None if kept is None else decode_rules(kept[1])
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError):
        return None  # damaged, as in `_open`


def _is_ours(head: Mapping[str, Any]) -> bool:
    """Whether this version of the program read the words that are kept."""
    return bool(head.get("version") == _VERSION)


def _kept(
    store: RuleStore, is_wanted: Callable[[Mapping[str, Any]], bool]
) -> tuple[dict[str, Any], list[bytes]] | None:
    """Return what is kept besides the rules, and the lines they are in; None if nothing wanted is kept.

    Raises: what `is_wanted` does.
    """
    directory = store.latest(GENERATION)
    if directory is None:
        return None
    try:
        with (directory / _FILE).open("rb") as file:
            head = json.loads(file.readline())
            if not isinstance(head, dict) or not is_wanted(head):
                return None
            # One call for all lines would hold up other threads.
            return head, [line for line in file]  # noqa: C416
    except OSError:
        return None


def _import(store: RuleStore, sources: Sequence[RuleSource], previous: Rulebook | None) -> Rulebook:
    from workbench.rules.files.sync import (
        find_named_sources,
        sync_files,
    )  # only when rule files or journals changed

    ledger = store.ledger()
    named = find_named_sources(store, ledger, {source.path for source in sources})
    signature = _signature(store, [*sources, *named])
    found = sync_files(store, ledger, sources)
    notes: list[str] = []
    try:
        record(store, found.drafts, by=AUTOMATIC)
        if found.drafts:
            signature = _signature(store, [*sources, *named])
    except StoreError as error:
        notes.append(f"changed rules are not recorded: {error.message}")
    book = replace(_book(store, ledger, found, signature, previous), named=tuple(named))
    try:
        _save(store, book)
    except StoreError as error:
        notes.append(f"rules are not kept for the next run: {error.message}")
    return replace(book, notes=tuple(notes), renewed=True)


def _book(
    store: RuleStore, ledger: RuleLedger, found: SyncResult, signature: str, previous: Rulebook | None
) -> Rulebook:
    from workbench.rules.matching.lexical import index_words, update_words

    until = _usage_sizes(store)
    counts = store.usage()
    rules = visible_rules(store, ledger.placed().values())
    rules = [used(rule, counts) for rule in rules] if counts else rules
    return Rulebook(
        tuple(rules),
        index_words(rules) if previous is None else update_words(previous.words, previous.rules, rules),
        signature,
        found.warnings,
        found.files,
        pending=found.pending,
        conflicts=found.conflicts,
        settled=_settled(ledger),
        used_until=until,
        changed=found.changed,
    )


def _settled(ledger: RuleLedger) -> tuple[str, ...]:
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


def _signature(store: RuleStore, sources: Sequence[RuleSource]) -> str:
    digest = hashlib.sha256(f"{_FORMAT}\0{store.project_id}\0{store.home}".encode("utf-8", "surrogateescape"))
    for source in sources:
        try:
            # By content: an edit within the clock's granularity leaves size and time as they were.
            stamp = hashlib.blake2b(read_source(source), digest_size=16).hexdigest()
        except (OSError, ParseError) as error:
            stamp = f"unreadable: {error}"
        digest.update(f"{source.path}\0{stamp}\0".encode("utf-8", "surrogateescape"))
    digest.update(f"{store.journal.size(STREAM)}\0{store.home_journal.size(STREAM)}".encode())
    return digest.hexdigest()[:32]


def _usage_sizes(store: RuleStore) -> tuple[int, int]:
    return store.journal.size(USAGE_STREAM), store.home_journal.size(USAGE_STREAM)


def _with_usage(store: RuleStore, book: Rulebook) -> Rulebook:
    """Return a rulebook with what was used since it was made."""
    until = _usage_sizes(store)
    if until == book.used_until:
        return book
    counts = read_usage((store.journal, store.home_journal), book.used_until)
    return replace(book, rules=tuple(used(rule, counts) for rule in book.rules), used_until=until)


def _kept_short(store: RuleStore, book: Rulebook, since: tuple[int, int]) -> Rulebook:
    """Keep a rulebook whose uses since the kept one take long to count: each plan adds some to them."""
    if sum(book.used_until) - sum(since) > _UNCOUNTED:
        with suppress(StoreError):  # counted again by the next
            _save(store, book)
    return book


def _open(store: RuleStore, sources: Sequence[RuleSource]) -> Rulebook | None:
    """Return the stored rules if they are what files and journals say."""

    def is_current(head: Mapping[str, Any]) -> bool:
        named = convert(head["named"], tuple[RuleSource, ...])
        return bool(head["signature"] == _signature(store, [*sources, *named]))

    return _read(store, is_current)


def _read(store: RuleStore, is_wanted: Callable[[Mapping[str, Any]], bool]) -> Rulebook | None:
    try:
        kept = _kept(store, is_wanted)
        if kept is None:
            return None
        head, lines = kept
        named = convert(head["named"], tuple[RuleSource, ...])
        return replace(_from_kept(head, decode_rules(lines), _words(store)), named=named)
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError):
        return None  # damaged: read from the rule files and journals instead


def _words(store: RuleStore) -> RuleWords:
    """Open the words that were kept with the rules. Raises: ValueError, KeyError if they are damaged."""
    from workbench.project.arrays import open_arrays
    from workbench.rules.matching.lexical import words_from

    directory = store.latest(GENERATION)
    if directory is None:
        raise ValueError("the rules are gone")
    try:
        return words_from(open_arrays(directory / _WORDS))
    except OSError as error:
        raise ValueError(str(error)) from error


def _from_kept(head: Mapping[str, object], rules: tuple[Rule, ...], words: RuleWords) -> Rulebook:
    if words.count != len(rules) or head["count"] != len(rules):
        raise ValueError("the words are of other rules")
    return Rulebook(
        rules,
        words,
        str(head["signature"]),
        convert(head["warnings"], tuple[str, ...]),
        convert(head["files"], tuple[str, ...]),
        pending=convert(head["pending"], int),
        conflicts=convert(head["conflicts"], int),
        settled=convert(head["settled"], tuple[str, ...]),
        used_until=convert(head["used_until"], tuple[int, int]),
    )


def _save(store: RuleStore, book: Rulebook) -> None:
    head = {
        "version": _VERSION,
        "signature": book.signature,
        "count": len(book.rules),
        "warnings": list(book.warnings),
        "files": list(book.files),
        "pending": book.pending,
        "conflicts": book.conflicts,
        "settled": list(book.settled),
        "used_until": list(book.used_until),
        "named": [msgspec.to_builtins(source) for source in book.named],
    }
    # The standard library's JSON, for names that are not UTF-8 are lone surrogates, which it alone can write.
    payload = b"\n".join([json.dumps(head).encode("ascii"), *encode_rules(book.rules)])
    store.publish(GENERATION, lambda directory: _write(directory, payload, book.words))


def encode_rules(rules: Sequence[Rule]) -> Iterator[bytes]:
    """Yield lines of JSON, some hundred rules each: reading one does not hold up other threads."""
    for start in range(0, len(rules), _IN_A_LINE):
        some = rules[start : start + _IN_A_LINE]
        try:
            yield msgspec.json.encode(some)
        except UnicodeEncodeError:
            yield json.dumps([to_body(rule) for rule in some]).encode("ascii")


def decode_rules(lines: Iterable[bytes]) -> tuple[Rule, ...]:
    """Return the rules of lines. Raises: ValueError, RecursionError, MsgspecError if they are damaged."""
    rules: list[Rule] = []
    for line in lines:
        if b"\\ud" in line or b"\\uD" in line:
            # Lone surrogates, which only the standard library reads back.
            rules += convert(json.loads(line), list[Rule])
        else:
            rules += decode_json(line, list[Rule])
    return tuple(rules)


def _write(directory: Path, payload: bytes, words: RuleWords) -> None:
    from workbench.project.arrays import write_arrays
    from workbench.rules.matching.lexical import words_arrays

    (directory / _FILE).write_bytes(payload)
    write_arrays(directory / _WORDS, words_arrays(words))
