"""The rules in force for a project with what is known of them, and how they are kept for the next run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from workbench import __version__
from workbench.curation.following import LedgerMark, LedgerOrigin
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import read_usage, with_use
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.ruleset import RuleSet
from workbench.rules.rulestate import FORMAT, RuleState, UseCounts, find_sources
from workbench.rules.rulestorage import DAMAGED, Head, Shelf, keep_rules, open_arrays_of, open_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.rules.matching.lexical import RuleWords

_VERSION = f"{__version__} {FORMAT}"


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules sorted by id. `signature` changes with rule files and journals.

    `warnings` are about rule files; `notes` say what could not be kept for the next run. `pending` counts
    changes of the store that rule files do not have yet, `conflicts` what store and file changed differently;
    `settled` are ids of pairs in force that somebody settled.
    `used_until` says up to where the journals of use are counted in; `named` are files imported by name.
    `origin` says which ledger the rules are of; `stamps` tell the rule files and `uses` what was used as far
    as the process that made it knows, `kept_changes` how many changes it had when the rules were last kept.
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
    origin: LedgerOrigin = field(default_factory=LedgerOrigin, compare=False)
    changed: int = field(default=0, compare=False)
    kept_changes: int = field(default=0, compare=False)
    stamps: str = field(default="", compare=False)
    uses: tuple[UseCounts, UseCounts] = field(default=(UseCounts(), UseCounts()), compare=False)
    renewed: bool = field(default=False, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def words(self) -> RuleWords:
        """The words of the rules."""
        return self.rules.words


def is_current(state: RuleState, sources: Sequence[RuleSource], book: Rulebook) -> bool:
    """Whether rule files and journals are as they were when a rulebook was made."""
    return book.signature == state.signature([*sources, *book.named])


def rule_shelf(store: RuleStore) -> Shelf:
    """Return where a project's rulebook is kept."""
    return Shelf(store.latest, store.publish, "rules", "rule_changes", partial(_heal, store), _columns)


def _heal(store: RuleStore, until: Mapping[str, int]) -> Callable[[str], Rule | None]:
    ledger, counts = store.ledger(), read_usage(store.usage_origins, ends=until)

    def read(identifier: str) -> Rule | None:
        found = ledger.with_places([identifier]).get(identifier)
        return None if found is None else with_use(found, counts)

    return read


def _columns(rules: RuleSet) -> Mapping[str, NDArray[Any] | bytes]:
    from workbench.rules.fetching.facets import columns_arrays

    return columns_arrays(rules.columns)


def stored_rulebook(store: RuleStore) -> Rulebook | None:
    """Return the rules as of the last plan, without looking at rule files or journals."""
    return read_book(store, lambda head: True)


def unchanged_rules(store: RuleStore) -> RuleSet | None:
    """Return the stored rules if the journals and the rule files they were read from are as they were.

    None if not, or if nothing is stored. The project is not listed and no word is indexed: this is for asking
    rules that curation made, such as those with a check, which no new rule file can bring.
    """

    state = RuleState(store)

    def is_current(head: Head) -> bool:
        files, named = convert(head["files"], tuple[str, ...]), convert(head["named"], tuple[RuleSource, ...])
        sources = find_sources(store, [file for file in files if not file.startswith("~/")])
        return bool(head["signature"] == state.signature([*sources, *named]))

    kept = open_rules(rule_shelf(store), is_current)
    return None if kept is None else kept[1]


def is_ours(head: Head) -> bool:
    """Whether this version of the program read the words that are kept."""
    return bool(head.get("version") == _VERSION)


def open_book(store: RuleStore, state: RuleState, sources: Sequence[RuleSource]) -> Rulebook | None:
    """Return the stored rules if they are what files and journals say."""

    def is_current(head: Head) -> bool:
        named = convert(head["named"], tuple[RuleSource, ...])
        return bool(head["signature"] == state.signature([*sources, *named]))

    return read_book(store, is_current)


def read_book(store: RuleStore, is_wanted: Callable[[Head], bool]) -> Rulebook | None:
    """Return the stored rules if they are wanted by their head and not damaged."""
    from workbench.rules.fetching.facets import columns_from

    shelf = rule_shelf(store)
    kept = open_rules(shelf, is_wanted)
    try:
        if kept is None:
            return None
        head, rules = kept
        rules.base.columns = columns_from(open_arrays_of(shelf, rules), RuleSet(rules.base))
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
            origin=LedgerOrigin(convert(head["mark"], LedgerMark)),
        )
    except (OSError, *DAMAGED):
        return None  # read from the rule files and journals instead


def keep_book(store: RuleStore, book: Rulebook, *, whole: bool = False) -> Rulebook:
    """Keep a rulebook, what changed or the `whole`; return the one to go on with. Raises: StoreError."""
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
        "mark": msgspec.to_builtins(book.origin.mark),
    }
    rules = keep_rules(rule_shelf(store), head, book.rules, whole=whole)
    return replace(book, rules=rules, kept_changes=(book.origin.progress or (book.kept_changes,))[0])
