"""The rules in force for a project, kept in step with rule files and journals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench.errors import ParseError, StoreError
from workbench.ports import Journal
from workbench.records.rules import Rule
from workbench.rules.bodies import from_body, to_body
from workbench.rules.discover import RuleSource, discover, read_source
from workbench.rules.formats.families import family_of
from workbench.rules.lexical import RuleWords, index_words

if TYPE_CHECKING:
    from workbench.rules.importing import RuleImport

STREAM = "rules"
PUT = "rule.put"
REMOVED = "rule.removed"
SOURCE = "import:rule-files"
GENERATION = "rules"
_FILE = "rules.json"


@dataclass(frozen=True, slots=True)
class RuleStore:
    """Where rules come from and go to. `home` is None when the user's own rule files are not to be read."""

    root: Path
    project_id: str
    home: Path | None
    journal: Journal
    home_journal: Journal
    latest: Callable[[str], Path | None]
    publish: Callable[[str, Callable[[Path], None]], Path]
    lock: Callable[[str], AbstractContextManager[None]]
    now: Callable[[], float]
    count_tokens: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules sorted by id with their words indexed. `signature` changes with rule files and journals.

    `warnings` are about rule files; `notes` say what could not be kept for the next run.
    """

    rules: tuple[Rule, ...]
    words: RuleWords
    signature: str
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    changed: int = field(default=0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


def rule_candidates(paths: Iterable[str]) -> tuple[str, ...]:
    """Return which of a project's paths are rule files of a known format, sorted."""
    return tuple(sorted(path for path in paths if family_of(path)))


def load_rulebook(
    store: RuleStore, candidates: Sequence[str], previous: Rulebook | None = None, *, rebuild: bool = False
) -> Rulebook:
    """Return the rules in force, importing rule files that changed since the last time.

    Files that cannot be read keep the rules known of them and are named in `warnings`. With `rebuild`
    what was kept of earlier runs is made anew.
    """
    home = None if store.home is None else str(store.home)
    sources = discover(str(store.root), home, candidates)
    signature = _signature(store, sources)
    if not rebuild:
        if previous is not None and previous.signature == signature and not previous.notes:
            return previous
        saved = _open(store, signature)
        if saved is not None:
            return saved
    with store.lock(GENERATION):
        # Another process may have imported the same changes while this one waited.
        return (None if rebuild else _open(store, _signature(store, sources))) or _import(store, sources)


def _import(store: RuleStore, sources: Sequence[RuleSource]) -> Rulebook:
    home = store.home is not None
    before = _signature(store, sources)
    from workbench.rules.importing import diff_rules, import_rules  # only when rule files changed

    imported = import_rules(
        sources,
        read_source,
        project_id=store.project_id,
        project_root=str(store.root),
        count_tokens=store.count_tokens,
        now=datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="seconds"),
    )
    known = _fold(store.journal, store.home_journal)
    put, removed = diff_rules(known.values(), imported, project_id=store.project_id, home=home)
    notes: list[str] = []
    signature = before
    try:
        _journal(store, known, put, removed)
        if put or removed:
            signature = _signature(store, sources)
    except StoreError as error:
        notes.append(f"changed rules are not recorded: {error.message}")
    for rule in put:
        known[rule.id] = rule
    for identifier in removed:
        known.pop(identifier, None)
    book = _book(_visible(known.values(), home), signature, imported, len(put) + len(removed))
    try:
        _save(store, book)
    except StoreError as error:
        notes.append(f"rules are not kept for the next run: {error.message}")
    return replace(book, notes=tuple(notes))


def _visible(rules: Iterable[Rule], home: bool) -> list[Rule]:
    kept = [rule for rule in rules if home or rule.provenance is None or not rule.provenance.home]
    return sorted(kept, key=lambda rule: rule.id)


def _book(rules: Sequence[Rule], signature: str, imported: RuleImport, changed: int) -> Rulebook:
    warnings = tuple(f"{warning.file}:{warning.line}: {warning.message}" for warning in imported.warnings)
    return Rulebook(tuple(rules), index_words(rules), signature, warnings, imported.files, changed)


def _signature(store: RuleStore, sources: Sequence[RuleSource]) -> str:
    digest = hashlib.sha256(f"1\0{store.project_id}\0{store.home}".encode("utf-8", "surrogateescape"))
    for source in sources:
        try:
            # By content: an edit within the clock's granularity leaves size and time as they were.
            stamp = hashlib.blake2b(read_source(source), digest_size=16).hexdigest()
        except (OSError, ParseError) as error:
            stamp = f"unreadable: {error}"
        digest.update(f"{source.path}\0{stamp}\0".encode("utf-8", "surrogateescape"))
    digest.update(f"{store.journal.size(STREAM)}\0{store.home_journal.size(STREAM)}".encode())
    return digest.hexdigest()[:32]


def _fold(*journals: Journal) -> dict[str, Rule]:
    known: dict[str, Rule] = {}
    for journal in journals:
        for _, entry in journal.read(STREAM):
            if entry.kind == PUT:
                _put(known, entry.body)
            elif entry.kind == REMOVED:
                known.pop(str(entry.body.get("id", "")), None)
    return known


def _put(known: dict[str, Rule], body: Mapping[str, object]) -> None:
    try:
        rule = from_body(body)
    except ParseError:
        return  # `workbench doctor` names entries that are no rules; the rest stays usable
    known[rule.id] = rule


def _journal(
    store: RuleStore, known: Mapping[str, Rule], put: Sequence[Rule], removed: Sequence[str]
) -> None:
    for journal, home in ((store.journal, False), (store.home_journal, True)):
        bodies = [to_body(rule) for rule in put if _is_home(rule) is home]
        if bodies:
            journal.append(STREAM, PUT, bodies, by=SOURCE)
        gone = [
            {"id": identifier, "reason": "no longer in its file"}
            for identifier in removed
            if _is_home(known[identifier]) is home
        ]
        if gone:
            journal.append(STREAM, REMOVED, gone, by=SOURCE)


def _is_home(rule: Rule) -> bool:
    return rule.provenance is not None and rule.provenance.home


def stored_rulebook(store: RuleStore) -> Rulebook | None:
    """Return the rules as of the last plan, without looking at rule files or journals."""
    return _open(store, None)


def _open(store: RuleStore, signature: str | None) -> Rulebook | None:
    directory = store.latest(GENERATION)
    if directory is None:
        return None
    try:
        document = json.loads((directory / _FILE).read_bytes())
        if signature is not None and document["signature"] != signature:
            return None
        rules = msgspec.convert(document["rules"], tuple[Rule, ...])
        warnings, files = tuple(document["warnings"]), tuple(document["files"])
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError):
        return None  # damaged: read from the rule files and journals instead
    return Rulebook(rules, index_words(rules), str(document["signature"]), warnings, files)


def _save(store: RuleStore, book: Rulebook) -> None:
    document = {
        "signature": book.signature,
        "rules": [to_body(rule) for rule in book.rules],
        "warnings": list(book.warnings),
        "files": list(book.files),
    }
    # The standard library's JSON, for names that are not UTF-8 are lone surrogates, which it alone can write.
    payload = json.dumps(document).encode("ascii")
    store.publish(GENERATION, lambda directory: _write(directory / _FILE, payload))


def _write(path: Path, payload: bytes) -> None:
    path.write_bytes(payload)
