"""The learnings that may be given, kept beside the journals: a plan does not fold them again each time.

They are a set of rules, each the one that a learning would make, with the learning in its metadata: kept,
opened, changed and matched as a rulebook is. Beside it are columns of what decides whether a learning may be
given. What is kept serves while the journals have the revisions that it was made from; of what came since,
only the learnings are read that it is about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec

from workbench import __version__
from workbench.curation.following import LedgerMark, LedgerOrigin, changed_ids, origin_of
from workbench.errors import StoreError
from workbench.memory.learnings.columns import (
    LearningColumns,
    column_learnings,
    columns_arrays,
    columns_from,
    move_columns,
)
from workbench.memory.learnings.prompt import Known, as_rule
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.rules.ruleset import RuleSet, rule_set
from workbench.rules.rulestorage import DAMAGED, MANY, Head, Shelf, keep_rules, open_arrays_of, open_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.memory.learnings.learningstore import LearningStore
    from workbench.memory.learnings.ledger import LearningLedger
    from workbench.rules.matching.lexical import RuleWords

GENERATION: Final = "learnings"
CHANGES: Final = "learning_changes"
_FORMAT: Final = 5
_LEARNING: Final = "learning"

_DEFAULTS: Final = {one.name: one.default for one in fields(FeatureLearning) if one.default is not MISSING}

Doubts = Mapping[str, Sequence[str]]
"""The live learnings that contradicted others when they came, with these."""


class LiveLearnings(Sequence[FeatureLearning]):
    """The learnings behind the rules of a set, each read when it is asked for."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> FeatureLearning: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[FeatureLearning, ...]: ...

    def __getitem__(self, index: int | slice) -> FeatureLearning | tuple[FeatureLearning, ...]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(*index.indices(len(self))))
        return learning_of(self._rules[index])


@dataclass(frozen=True, slots=True)
class Kept:
    """Learnings that may be given, as the rules that matching compares with a task.

    `base_columns` are those of the base of `rules`; `origin` says which ledger they are of.
    """

    rules: RuleSet
    waiting: frozenset[str]
    revision: str
    doubts: Doubts
    base_columns: LearningColumns
    origin: LedgerOrigin = field(default_factory=LedgerOrigin, compare=False)
    _known: list[Known] = field(default_factory=list, compare=False)

    @property
    def words(self) -> RuleWords:
        """The words of the learnings."""
        return self.rules.words

    @property
    def known(self) -> Known:
        """The live learnings, those that wait, and columns of all."""
        if not self._known:
            columns = _columns_of(self.rules, self.base_columns)
            self._known.append(Known(LiveLearnings(self.rules), self.waiting, columns))
        return self._known[0]


def learning_rule(learning: FeatureLearning) -> Rule:
    """Return a learning as a rule of the same id, for matching, with the learning itself."""
    body = {
        name: [*value] if isinstance(value, tuple) else msgspec.to_builtins(value)  # as it is read back
        for name in FeatureLearning.__slots__
        if name != "text" and (value := getattr(learning, name)) != _DEFAULTS.get(name, field)
    }
    return as_rule(learning, {"id": learning.id, "metadata": {_LEARNING: body}})


def learning_of(rule: Rule) -> FeatureLearning:
    """Return the learning that `learning_rule` made a rule of."""
    return convert({**rule.metadata[_LEARNING], "text": rule.rule}, FeatureLearning)


def load_kept(store: LearningStore, previous: Kept | None = None) -> Kept:
    """Return the learnings as the journals have them now. Raises: StoreError if those cannot be read."""
    facts = f"{__version__}\0{_FORMAT}\0{store.revision()}"
    revision = hashlib.sha256(facts.encode()).hexdigest()[:32]
    shelf = learning_shelf(store)
    before = previous or _open(shelf)
    if before is not None and before.revision == revision:
        return before
    made = store.reader.read(lambda ledger: _make(store, ledger, revision, before))
    store.reader.save()
    try:
        return _keep(shelf, made)
    except StoreError:
        return made  # where nothing can be kept, each plan makes it again


def near_learnings(
    store: LearningStore, ledger: LearningLedger, learning: FeatureLearning
) -> Sequence[FeatureLearning]:
    """Return live learnings of a ledger, by id: all that one could repeat or contradict, few of many.

    A learning of the project is compared with those of its feature and with the person's own.
    """
    if learning.project_id is None or len(ledger.records) < MANY:
        return ledger.live()
    before = _open(learning_shelf(store))
    if before is None or changed_ids(store.reader, ledger, _about(store), before.origin) is None:
        return ledger.live()
    known = _make(store, ledger, "", before).known
    return [known.live[row] for row in known.columns.near(learning.feature).tolist()]


def learning_shelf(store: LearningStore) -> Shelf:
    """Return where the learnings of a project are kept."""
    return Shelf(store.latest, store.publish, GENERATION, CHANGES, partial(_heal, store), _arrays)


def _heal(store: LearningStore, until: Mapping[str, int]) -> Callable[[str], Rule | None]:
    ledger = store.ledger()

    def read(identifier: str) -> Rule | None:
        found = ledger.find(identifier)
        return None if found is None else learning_rule(found)

    return read


def _about(store: LearningStore) -> str:
    """Return what decides besides the journals which entries there are to fold."""
    return " ".join(sorted(store.team))


def _make(store: LearningStore, ledger: LearningLedger, revision: str, before: Kept | None) -> Kept:
    """Return the learnings of a ledger, of which only those are read that may be others than before."""
    about = _about(store)
    origin = origin_of(store.reader, ledger, about)
    ids = None if before is None else changed_ids(store.reader, ledger, about, before.origin)
    if before is None or ids is None:
        live = ledger.live()
        rules = rule_set(map(learning_rule, live), None if before is None else before.rules)
        doubts, columns = _doubts_of(live), column_learnings(live)
    else:
        found = (ledger.find(identifier) for identifier in sorted(ids))
        live = [one for one in found if one is not None and one.live]
        made = {one.id: learning_rule(one) for one in live}
        put = {key: rule for key, rule in made.items() if rule != before.rules.find(key)}
        rules = before.rules.with_changes(put, ids - made.keys())
        left = {key: others for key, others in before.doubts.items() if key not in ids}
        doubts, columns = {**left, **_doubts_of(live)}, before.base_columns
    return Kept(rules, _waiting(ledger, doubts), revision, doubts, columns, origin)


def _doubts_of(live: Sequence[FeatureLearning]) -> Doubts:
    return {one.id: one.conflicts_with for one in live if one.conflicts_with}


def _waiting(ledger: LearningLedger, doubts: Doubts) -> frozenset[str]:
    if not doubts:
        return frozenset()
    from workbench.memory.learnings.review import contested_among  # compares texts, which plans do not

    return contested_among(ledger, doubts)


def _columns_of(rules: RuleSet, base: LearningColumns) -> LearningColumns:
    if not rules.put and not rules.gone:
        return base
    added = [learning_of(rules.put[one]) for one in sorted(rules.put)]
    return move_columns(base, rules.ids, rules.moved_places(), added, rules.fresh_places())


def _arrays(rules: RuleSet) -> Mapping[str, NDArray[Any] | bytes]:
    columns = column_learnings(LiveLearnings(rules))
    return {f"columns.{name}": held for name, held in columns_arrays(columns).items()}


def _open(shelf: Shelf) -> Kept | None:
    kept = open_rules(shelf, lambda head: True)
    if kept is None:
        return None
    head, rules = kept
    try:
        arrays = open_arrays_of(shelf, rules)
        named = {
            name.removeprefix("columns."): held
            for name, held in arrays.items()
            if name.startswith("columns.")
        }
        columns = columns_from(named, rules.base.ids)
        return Kept(
            rules,
            convert(head["waiting"], frozenset[str]),
            str(head["signature"]),
            convert(head["doubts"], dict[str, tuple[str, ...]]),
            columns,
            LedgerOrigin(convert(head["mark"], LedgerMark)),
        )
    except (OSError, *DAMAGED):
        return None  # read from the journals instead


def _keep(shelf: Shelf, kept: Kept) -> Kept:
    head: Head = {
        "signature": kept.revision,
        "used_until": {},
        "waiting": sorted(kept.waiting),
        "doubts": {key: list(others) for key, others in kept.doubts.items()},
        "mark": msgspec.to_builtins(kept.origin.mark),
    }
    rules = keep_rules(shelf, head, kept.rules, whole=False)
    if rules.base is kept.rules.base:
        return kept
    return replace(kept, rules=rules, base_columns=_columns_of(kept.rules, kept.base_columns), _known=[])
