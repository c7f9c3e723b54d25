"""The rules of a rulebook, sorted by id, with what is computed of all of them: their words, their properties.

Most rules are those of a base, which is stored as lines that are decoded when asked for; a few were changed
since. An edit of one rule makes a new set over the same base and costs what is changed, not what there is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, overload

from workbench.curation.lazy import StoredValues
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule, past_ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workbench.rules.fetching.facets import RuleColumns
    from workbench.rules.matching.filters import MatchColumns
    from workbench.rules.matching.lexical import RuleWords
    from workbench.rules.matching.texts import RuleTexts

FEW: Final = 200
"""Rules that differ from a base, up to which it is cheaper to go on from it than to make another one."""


@dataclass(slots=True, eq=False)
class RuleBase:
    """Rules that many sets share. `rules` are in the order of `ids`, which are sorted.

    `lineage` has the ids of rules by their past ids, `checked` the ids of rules with a check; `used_until`
    says up to where the journals of use are counted in. `digest` is the
    signature under which it is stored, '' if it is not; `words` and `columns` are None until they are made,
    from those of the set `before` if there is one. `kept_words` opens those that are stored,
    `kept_matching` the columns for matches and `kept_texts` the keys of texts that are.
    """

    ids: Sequence[str]
    rules: Sequence[Rule] | StoredValues[Rule]
    lineage: Mapping[str, Sequence[str]]
    checked: Sequence[str]
    used_until: Mapping[str, int] = field(default_factory=dict)
    digest: str = ""
    words: RuleWords | None = None
    columns: RuleColumns | None = None
    before: RuleSet | None = None
    matching: MatchColumns | None = None
    texts: RuleTexts | None = None
    kept_words: Callable[[], RuleWords | None] = lambda: None
    kept_matching: Callable[[], MatchColumns | None] = lambda: None
    kept_texts: Callable[[], RuleTexts | None] = lambda: None

    def place(self, identifier: str) -> int | None:
        """Return where a rule is, None if it is not there."""
        place = bisect_left(self.ids, identifier)
        return place if place < len(self.ids) and self.ids[place] == identifier else None

    def all(self) -> tuple[Rule, ...]:
        """Return all rules, decoded."""
        stored = self.rules
        return stored.all() if isinstance(stored, StoredValues) else tuple(stored)


@dataclass(slots=True, eq=False)
class _Derived:
    """What is computed of a set, also for sets that differ in counts of use only."""

    words: RuleWords | None = None
    texts: RuleTexts | None = None


@dataclass(slots=True, eq=False)
class RuleSet(Sequence[Rule]):
    """Rules by id: those of a base without `gone`, with `put` in the place of theirs or besides.

    `used` are rules with what came to their counts of use since those of the base.
    """

    base: RuleBase
    put: Mapping[str, Rule] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    used: Mapping[str, Rule] = field(default_factory=dict)
    _derived: _Derived = field(default_factory=_Derived)
    _ids: Sequence[str] | None = None
    _all: tuple[Rule, ...] | None = None
    _columns: RuleColumns | None = None

    @property
    def ids(self) -> Sequence[str]:
        """The ids, sorted."""
        if self._ids is None:
            kept = self.base.ids
            if self.put or self.gone:
                without = self.gone | self.put.keys()
                kept = [one for one in kept if one not in without]
                kept = sorted([*kept, *self.put])  # two runs: merged
            self._ids = kept
        return self._ids

    @property
    def words(self) -> RuleWords:
        """The words of the rules."""
        if self._derived.words is None:
            self._derived.words = self._make_words()
        return self._derived.words

    @property
    def columns(self) -> RuleColumns:
        """The properties of the rules: those of the base, and of what is put over it."""
        if self._columns is None:
            self._columns = self._make_columns()
        return self._columns

    @property
    def is_far(self) -> bool:
        """Whether so much differs from the base that another one is cheaper."""
        return len(self.put) + len(self.gone) > FEW

    @property
    def matching(self) -> MatchColumns:
        """What filters of a match look at, by rule."""
        from workbench.rules.matching.filters import match_columns_of, move_match_columns

        base = self.base
        base.matching = base.matching or base.kept_matching()
        if base.matching is None:
            base.matching = match_columns_of(RuleSet(base))
        if not self.put and not self.gone and not self.used:
            return replace(base.matching, rules=self)
        places = (bisect_left(self.ids, one) for one in sorted(self.used) if self._is_base(one))
        return move_match_columns(base.matching, self, self.moved_places(), self.fresh_places(), [*places])

    @property
    def texts(self) -> RuleTexts:
        """The texts that are embedded, with their keys."""
        from workbench.rules.matching.texts import key_texts, move_texts

        if self._derived.texts is None:
            base = self.base
            base.texts = base.texts or base.kept_texts() or key_texts(RuleSet(base))
            same = not self.put and not self.gone
            self._derived.texts = (
                base.texts if same else move_texts(base.texts, self, self.moved_places(), self.fresh_places())
            )
        return self._derived.texts

    def find(self, identifier: str) -> Rule | None:
        """Return the rule of an id, None if there is none."""
        return self.used.get(identifier) or self.plain(identifier)

    def plain(self, identifier: str) -> Rule | None:
        """Return the rule of an id as the base counts its use, None if there is none."""
        found = self.put.get(identifier)
        if found is not None or identifier in self.gone:
            return found
        place = self.base.place(identifier)
        return None if place is None else self.base.rules[place]

    def with_changes(self, put: Mapping[str, Rule], gone: Iterable[str]) -> RuleSet:
        """Return the set with rules put into it and others gone."""
        out = frozenset(gone) - put.keys()
        kept = {key: rule for key, rule in self.put.items() if key not in out}
        left = frozenset(one for one in out if self.base.place(one) is not None)
        used = {key: rule for key, rule in self.used.items() if key not in out and key not in put}
        return RuleSet(self.base, {**kept, **put}, (self.gone - put.keys()) | left, used)

    def with_counts(self, used: Mapping[str, Rule]) -> RuleSet:
        """Return the set with other counts of use; what is computed of it stays."""
        return RuleSet(self.base, self.put, self.gone, {**self.used, **used}, self._derived, self._ids)

    def heirs(self, identifiers: Iterable[str]) -> list[str]:
        """Return the ids of the rules that have one of some ids, or had it in an earlier version."""
        wanted = set(identifiers)
        found = {one for one in wanted if self.find(one) is not None}
        for past in wanted:
            found.update(one for one in self.base.lineage.get(past, ()) if self._is_base(one))
        found.update(key for key, rule in self.put.items() if not wanted.isdisjoint(past_ids(rule)))
        return sorted(found)

    def checked_rules(self) -> list[Rule]:
        """Return the rules with a check, by id."""
        ids = [one for one in self.base.checked if self._is_base(one)]
        ids += [key for key, rule in self.put.items() if rule.check is not None]
        return [rule for rule in map(self.find, sorted(ids)) if rule is not None]

    def rebase(self, digest: str, used_until: Mapping[str, int]) -> RuleSet:
        """Return the same rules as a base of their own, which is stored under a signature."""
        from workbench.rules.matching.texts import texts_with

        made = rule_set(self, used_until=used_until)
        base = made.base
        base.digest, base.words, base.texts = digest, self.words, texts_with(self.texts, RuleSet(base))
        if not self.put and not self.gone:
            base.columns = replace(self.columns, rules=made)
        return made

    def _is_base(self, identifier: str) -> bool:
        return identifier not in self.gone and identifier not in self.put

    def _make_words(self) -> RuleWords:
        from workbench.rules.matching.lexical import index_words, move_words, update_words

        base = self.base
        base.words = base.words or base.kept_words()
        if base.words is None:
            rules, before = base.all(), base.before
            base.words = index_words(rules) if before is None else update_words(before.words, before, rules)
            base.before = None
        if not self.put and not self.gone:
            return base.words
        out = [base.rules[place] for place in self._without()]
        return move_words(
            base.words, self.moved_places(), {at: self[at] for at in self.fresh_places()}, len(self), out
        )

    def _make_columns(self) -> RuleColumns:
        from workbench.rules.fetching.facets import column_rules, with_tail

        base = self.base
        if base.columns is None:
            base.columns = column_rules(base.all())
        if not self.put and not self.gone:
            return replace(base.columns, rules=self)
        columns = replace(base.columns, rules=RuleSet(base, used=self.used))
        put = sorted(self.put)
        rules = [self.used.get(one) or self.put[one] for one in put]
        return with_tail(columns, rules, self._without(), [bisect_left(base.ids, one) for one in put])

    def _without(self) -> list[int]:
        """Return the places in the base of the rules that are not as they are there."""
        places = (self.base.place(one) for one in (*self.gone, *self.put))
        return sorted(place for place in places if place is not None)

    def fresh_places(self) -> list[int]:
        """Return where the rules are that are put over the base, ascending."""
        return [bisect_left(self.ids, one) for one in sorted(self.put)]

    def moved_places(self) -> NDArray[np.int32]:
        """Return where each rule of the base is now, -1 for those that are not as they are there."""
        import numpy as np

        places = np.arange(len(self.base.ids))
        without = np.array(self._without(), np.int64)
        before = np.array([bisect_left(self.base.ids, one) for one in sorted(self.put)], np.int64)
        moved = places - np.searchsorted(without, places) + np.searchsorted(before, places, side="right")
        moved[without] = -1
        return moved.astype(np.int32)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Rule: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...

    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        if self._all is not None:
            return self._all[index]
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        found = self.find(self.ids[index])
        assert found is not None  # ids are those of rules
        return found

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._whole())

    def _whole(self) -> tuple[Rule, ...]:
        if self._all is None:
            base = self.base.all()
            if self.put or self.gone or self.used:
                known = {**dict(zip(self.base.ids, base, strict=True)), **self.put, **self.used}
                base = tuple([known[identifier] for identifier in self.ids])
            self._all = base
        return self._all

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (RuleSet, tuple)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RuleSet({list(self)!r})"


def ids_of(rules: Sequence[Rule]) -> Sequence[str]:
    """Return the ids of rules in their order; of a set none of them is read."""
    return rules.ids if isinstance(rules, RuleSet) else [rule.id for rule in rules]


def rule_set(
    rules: Iterable[Rule], before: RuleSet | None = None, used_until: Mapping[str, int] = MappingProxyType({})
) -> RuleSet:
    """Return the set of rules that are sorted by id; most of them may be those of a set before.

    `used_until` says up to where the journals of use are counted in.
    """
    held = tuple(rules)
    lineage: dict[str, list[str]] = {}
    for rule in held:
        for past in past_ids(rule):
            lineage.setdefault(past, []).append(rule.id)
    checked = [rule.id for rule in held if rule.check is not None]
    return RuleSet(RuleBase([rule.id for rule in held], held, lineage, checked, used_until, before=before))
