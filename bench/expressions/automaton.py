"""A regular expression as an automaton over its characters, with what Python's `re` tries first in front.

A state is a place of the expression that has just read a character: the construction of Glushkov. Characters
that no part of the expression tells apart are one *letter*. An edge leads from a state to the next one and
says which letters may be before it and after it, so `^`, `$`, `\\b` and what looks at one character are
exact, and so is `(?!text)`. What else looks further is not decided by the automaton: such an edge is not
*sure*. It is followed where the question is how much is tried, and not where it is whether a match is
certain.
"""

from __future__ import annotations

import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bench.expressions.letters import LOOKS, REPEATS, Alphabet, walk

COUNTED: Final = 256
"""Repetitions up to so many are a constant factor; one with a higher limit counts as endless."""
UNROLLED: Final = 12
"""Repetitions up to so many of something endless are written out, and of anything up to so `FEW`."""
FEW: Final = 3

Never = frozenset[tuple[int, ...]]
"""Texts, each a sequence of sets of letters, of which none may follow."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A step to a state (None: the end of the match) after one of the letters `before`, on one of `after`."""

    state: int | None
    before: int
    after: int
    sure: bool = True
    again: bool = False
    """Whether it begins an endless repetition once more."""
    leaves: frozenset[int] = frozenset()
    """The groups it leaves of those that give nothing back: then it is sure only if it ends the match."""
    never: Never = frozenset()


@dataclass(slots=True)
class Automaton:
    """States by number; a set of letters is an integer of bits, one bit more is the text's begin or end."""

    letters: list[str]
    """By letter: a character for it."""
    reads: list[int] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)
    start: list[Edge] = field(default_factory=list)
    aside: set[int] = field(default_factory=set)
    """States of what looks ahead or repeats an earlier group: no match is certain there."""
    inside: list[frozenset[int]] = field(default_factory=list)
    """By state: the groups around it that give nothing back."""

    @property
    def outside(self) -> int:
        """The bit of the text's beginning and of its end."""
        return 1 << len(self.letters)


@dataclass(slots=True, eq=False)
class Node:
    """A step before it becomes a state (if it reads letters) or is passed over on the way to one."""

    reads: int | None = None
    leads: list[tuple[Node, Edge]] = field(default_factory=list)
    end: bool = False
    aside: bool = False
    inside: frozenset[int] = frozenset()


def build(pattern: re.Pattern[Any], *, whole: bool = False) -> Automaton:
    """Return the automaton of a compiled expression; of its matches of whole texts if `whole`."""
    tree = _parse(pattern)
    builder = _Builder(tree, pattern.flags, isinstance(pattern.pattern, bytes))
    return builder.number(builder.sequence(tree, pattern.flags, builder.end(whole)))


def is_endless(pattern: re.Pattern[Any]) -> bool:
    """Return whether anything in a compiled expression repeats without an end that is near."""
    return _has_endless(_parse(pattern))


def _parse(pattern: re.Pattern[Any]) -> Any:
    return parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)


class _Builder:
    """Makes nodes from the last part to the first: each gets what follows it and returns where it begins."""

    def __init__(self, tree: Any, flags: int, binary: bool) -> None:
        self._alphabet = Alphabet(tree, flags, binary)
        self._free = Edge(None, self._alphabet.anything, self._alphabet.anything)
        self._groups = {
            value[0]: (value[3], (inner | value[1]) & ~value[2])
            for code, value, inner in walk(tree, flags)
            if code is codes.SUBPATTERN
        }
        self._aside = 0
        self._inside: frozenset[int] = frozenset()
        self._kept_groups = 0

    def end(self, whole: bool) -> Node:
        end = Node(end=True)
        return Node(leads=[(end, self._edge(after=self._alphabet.outside))]) if whole else end

    def number(self, begin: Node) -> Automaton:
        found = Automaton(self._alphabet.examples)
        numbers: dict[tuple[Node, Never], int] = {}
        queue: list[tuple[Node, Never]] = []

        def edges(node: Node, never: Never) -> list[Edge]:
            steps = []
            for target, edge in self._steps(node):
                if target.reads is None:
                    steps.append(edge)
                    continue
                for left, letters in self._follow(never | edge.never, edge.after & target.reads).items():
                    if (target, left) not in numbers:
                        numbers[target, left] = len(numbers)
                        found.reads.append(target.reads)
                        found.inside.append(target.inside)
                        queue.append((target, left))
                    steps.append(replace(edge, state=numbers[target, left], after=letters))
            return steps

        found.start = edges(Node(leads=[(begin, self._free)]), frozenset())
        for node, never in queue:
            found.edges.append(edges(node, never))
            if node.aside:
                found.aside.add(numbers[node, never])
        return found

    def _follow(self, never: Never, letters: int) -> dict[Never, int]:
        """Return what may not follow after each of some letters, without those that are not to be read."""
        if not never:
            return {never: letters}
        found: dict[Never, int] = {}
        for letter in range(len(self._alphabet.examples)):
            begun = [text[1:] for text in never if text[0] >> letter & 1]
            if letters >> letter & 1 and () not in begun:
                left = frozenset(begun)
                found[left] = found.get(left, 0) | 1 << letter
        return found

    def _steps(self, node: Node) -> list[tuple[Node, Edge]]:
        """Return where a node leads, passing over what reads nothing; what is there twice stays so."""
        found: dict[tuple[Node, Edge], int] = {}

        def follow(node: Node, so_far: Edge, passed: tuple[Node, ...]) -> None:
            for target, edge in node.leads:
                leaves = so_far.leaves | edge.leaves
                step = Edge(
                    None,
                    so_far.before & edge.before,
                    so_far.after & edge.after,
                    so_far.sure and edge.sure and not (leaves and target.reads is not None),
                    so_far.again or edge.again,
                    leaves,
                    so_far.never | edge.never,
                )
                if not step.before or not step.after or target in passed:
                    continue
                if target.reads is None and not target.end:
                    follow(target, step, (*passed, target))
                elif not (target.end and target.aside) and (target.end or step.after & (target.reads or 0)):
                    found[target, step] = min(found.get((target, step), 0) + 1, 2)

        follow(node, self._free, ())
        return [step for step, count in found.items() for _ in range(1 if step[0].end else count)]

    def _edge(self, **changes: Any) -> Edge:
        return replace(self._free, **changes)

    def sequence(self, tree: Any, flags: int, then: Node) -> Node:
        for code, value in reversed(list(tree)):
            then = self._part(code, value, flags, then)
        return then

    def _part(self, code: Any, value: Any, flags: int, then: Node) -> Node:
        letters = self._alphabet.read(code, value, flags)
        if letters is not None:
            return Node(letters, [(then, self._free)], aside=self._aside > 0, inside=self._inside)
        if code in REPEATS:
            return self._repeat(code, value, flags, then)
        if code is codes.SUBPATTERN:
            return self.sequence(value[3], (flags | value[1]) & ~value[2], then)
        if code is codes.ATOMIC_GROUP:
            return self._kept(lambda leave: self.sequence(value, flags, Node(leads=[(then, leave)])))
        if code is codes.BRANCH:
            return Node(leads=[(self.sequence(part, flags, then), self._free) for part in value[1]])
        if code is codes.AT:
            return Node(leads=[(then, edge) for edge in self._at(value, flags)])
        if code in LOOKS:
            return self._look(code is codes.ASSERT, value, flags, then)
        if code is codes.GROUPREF:
            self._aside += 1
            begin = self.sequence(*self._groups[value], Node(leads=[(then, self._edge(sure=False))]))
            self._aside -= 1
            return begin
        raise NotImplementedError(str(code))

    def _kept(self, make: Callable[[Edge], Node]) -> Node:
        """Return the first node of a group that gives nothing back; `make` gets the edge that leaves it."""
        held = self._inside
        self._kept_groups += 1
        self._inside = held | {self._kept_groups}
        begin = make(self._edge(leaves=frozenset({self._kept_groups})))
        self._inside = held
        return begin

    def _repeat(self, code: Any, value: Any, flags: int, then: Node) -> Node:
        if code is not codes.POSSESSIVE_REPEAT:
            return self._repeated(code, value, flags, then, self._free)
        least, most, body = value
        single = self._alphabet.read(body[0][0], body[0][1], flags) if len(body) == 1 else None
        if single is not None and most is codes.MAXREPEAT:
            without = self._edge(after=self._alphabet.anything & ~single)
            return self._repeated(code, value, flags, then, without)
        if single is not None and (least, most) == (0, 1):
            without = self._edge(after=self._alphabet.anything & ~single)
            return Node(leads=[(self.sequence(body, flags, then), self._free), (then, without)])
        return self._kept(lambda leave: self._repeated(code, value, flags, then, leave))

    def _repeated(self, code: Any, value: Any, flags: int, then: Node, leave: Edge) -> Node:
        least, most, body = value
        if most is not codes.MAXREPEAT and 1 < most <= (UNROLLED if _has_endless(body) else FEW):
            return self._unrolled(code, value, flags, then, leave)
        again = self._edge(again=_is_endless(most))
        loop = Node()
        first = self.sequence(body, flags, loop)
        loop.leads = [(first, again)] * (most > 1) + [(then, leave)]
        enter = [(first, self._free)] * (most > 0) + [(then, leave)]
        if code is codes.MIN_REPEAT:
            loop.leads.reverse()
            enter.reverse()
        return first if least else Node(leads=enter)

    def _unrolled(self, code: Any, value: Any, flags: int, then: Node, leave: Edge) -> Node:
        """Return the first of so many bodies in a row: what repeats inside of one is not to repeat them."""
        least, most, body = value
        begin = then
        for number in range(most, 0, -1):
            leads = [(self.sequence(body, flags, begin), self._free)]
            if number > least:
                leads.append((then, leave))
            begin = Node(leads=leads[::-1] if code is codes.MIN_REPEAT else leads)
        return begin

    def _at(self, value: Any, flags: int) -> list[Edge]:
        outside, line = self._alphabet.outside, self._alphabet.outside | self._alphabet.newline
        words, others = self._alphabet.words, self._alphabet.anything & ~self._alphabet.words
        if value in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
            lines = flags & re.MULTILINE and value is codes.AT_BEGINNING
            return [self._edge(before=line if lines else outside)]
        if value is codes.AT_END and flags & re.MULTILINE:
            return [self._edge(after=line)]
        if value is codes.AT_END:
            return [self._edge(after=outside), self._edge(after=self._alphabet.newline, sure=False)]
        if value is codes.AT_END_STRING:
            return [self._edge(after=outside)]
        if value is codes.AT_BOUNDARY:
            return [self._edge(before=words, after=others), self._edge(before=others, after=words)]
        return [self._edge(before=words, after=words), self._edge(before=others, after=others)]

    def _look(self, wanted: bool, value: tuple[int, Any], flags: int, then: Node) -> Node:
        direction, body = value
        ahead = direction > 0
        self._aside += 1
        begin = self.sequence(body, flags, Node(end=True, aside=True))
        self._aside -= 1
        exact, possible = self._ahead(body, flags) if ahead else self._behind(body, flags)
        surely = exact if wanted else self._alphabet.anything & ~possible
        perhaps = possible & ~exact
        side = "after" if ahead else "before"
        never = self._spellings(body, flags) if ahead and not wanted else frozenset()
        leads = [
            (then, self._edge(**{side: surely})),
            (then, self._edge(**{side: perhaps}, sure=False, never=never)),
        ]
        searches = ahead and _has_endless(body)
        return Node(leads=[(begin, self._free)] * searches + leads)

    def _spellings(self, body: Any, flags: int) -> Never:
        """Return the texts that a body spells, none if it is not a choice of plain texts."""
        parts = list(body)
        if len(parts) == 1 and parts[0][0] is codes.BRANCH:
            return frozenset().union(*(self._spellings(part, flags) for part in parts[0][1][1]))
        if len(parts) == 1 and parts[0][0] is codes.SUBPATTERN:
            return self._spellings(parts[0][1][3], flags)
        letters = [self._alphabet.read(code, value, flags) for code, value in parts]
        plain = tuple(letter for letter in letters if letter is not None)
        return frozenset({plain}) if plain and len(plain) == len(letters) else frozenset()

    def _ahead(self, body: Any, flags: int) -> tuple[int, int]:
        """Return the letters before which a body surely holds, and those before which it may."""
        end = Node(end=True)
        exact = possible = 0
        for target, edge in self._steps(Node(leads=[(self.sequence(body, flags, end), self._free)])):
            letters = edge.after if target.reads is None else edge.after & target.reads
            possible |= letters
            whole = target is end or self._steps(target) == [(end, self._free)]
            if whole and edge.sure and edge.before == self._alphabet.anything:
                exact |= letters
        return exact, possible

    def _behind(self, body: Any, flags: int) -> tuple[int, int]:
        """Return the letters after which a body surely holds, and those after which it may."""
        parts = list(body)
        if not parts:
            return self._alphabet.anything, self._alphabet.anything
        code, value = parts[-1]
        letters = self._alphabet.read(code, value, flags)
        if code is codes.SUBPATTERN:
            exact, possible = self._behind(value[3], (flags | value[1]) & ~value[2])
        elif code is codes.BRANCH:
            pairs = [self._behind(part, flags) for part in value[1]]
            exact, possible = (_union(masks) for masks in zip(*pairs, strict=True))
        elif letters is not None:
            exact = possible = letters
        else:
            exact, possible = 0, self._alphabet.anything
        return exact if len(parts) == 1 else 0, possible


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _is_endless(most: Any) -> bool:
    return most is codes.MAXREPEAT or most > COUNTED


def _has_endless(tree: Any) -> bool:
    return any(code in REPEATS and _is_endless(value[1]) for code, value, _ in walk(tree, 0))
