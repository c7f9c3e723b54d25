"""Whether an expression may take more than linear time on a text, proved on its automaton.

The work of a search is the number of ways in which some beginning of the expression reads some passage of a
text, as far as they are tried. It is linear if only a constant number of ways pass each place of every text.
It is not where a text can be repeated so that the ways multiply, and there are two kinds of that (Weideman et
al., "Analyzing matching time behavior of backtracking regular expression matchers", 2016):

- *restarts*: a text that leads from the beginning into a loop and once around it. The search that
  failed begins again at each repetition, and each time reads all that is left. `_+x` on underscores.
- *splits*: a text that leads once around a loop, from it into another one, and once around that, or twice
  differently around the same. `\\s*,?\\s*x` on spaces.

Neither counts where a match is *certain*, for a search ends with it and goes on behind it: `\\s+` alone is
linear. Where the answer is None the expression is linear for every text; otherwise it is a text to repeat,
which may be harmless still, for what looks further than one character is mostly not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from bench.expressions.automaton import Automaton, build, is_endless
from bench.expressions.graphs import components, find_way, search

START: Final = -1


class Growth(NamedTuple):
    """A text whose repetition behind another makes the work grow, and why."""

    kind: str
    before: str
    text: str


class Place(NamedTuple):
    """A state, and the *sight* it has of what it read last: letters that no edge tells apart are the same."""

    state: int
    sight: int


class Step(NamedTuple):
    """Where a place leads, by which of its edges, and on which letter."""

    rank: int
    to: Place
    letter: int
    again: bool
    """Whether an endless repetition begins once more."""
    leaves: frozenset[int]
    """The groups that it leaves of those that give nothing back."""
    certain: bool
    """Whether a match is certain by then: there, or already before the letter."""


def find_growth(pattern: re.Pattern[Any], use: str = "search") -> Growth | None:
    """Return what makes an expression slow, None if it is linear. `use`: search, or match, or fullmatch."""
    if not is_endless(pattern):
        return None
    proof = _Proof(build(pattern, whole=use == "fullmatch"))
    return (proof.find_restart() if use == "search" else None) or proof.find_turn() or proof.find_split()


def find_passages(pattern: re.Pattern[Any]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a character of each letter, and by endless loop what leads into it and what leads around it."""
    proof = _Proof(build(pattern))
    return proof.letters, list(proof.find_passages())


class _Proof:
    def __init__(self, automaton: Automaton) -> None:
        self._made = automaton
        befores = sorted({edge.before for leads in (automaton.start, *automaton.edges) for edge in leads})
        sights: dict[tuple[int, ...], int] = {}
        self._sights = [
            sights.setdefault(tuple(mask >> letter & 1 for mask in befores), letter)
            for letter in range(len(automaton.letters) + 1)
        ]
        self._certain = self._find_certain()
        self._steps = cache(self._find_steps)
        places = {
            Place(state, self._sights[letter])
            for state, reads in enumerate(automaton.reads)
            for letter in range(len(automaton.letters))
            if reads >> letter & 1
        }
        self._loops = self._find_loops(places, certain=True)
        self._uncertain_loops = self._find_loops(places, certain=False)

    @property
    def letters(self) -> list[str]:
        return self._made.letters

    def find_passages(self) -> Iterator[tuple[str, str]]:
        """Yield what leads into each endless loop and what leads around it."""
        for places in _by_loop(self._loops):
            for place in places[:1]:
                before = self._before(place)
                around = [
                    one for steps in self._around(place, self._loops, certain=True).values() for one in steps
                ]
                back = find_way(around[0].to, place, self._steps_around)
                if before is not None and back is not None:
                    yield before, self._text([around[0].letter, *back])

    def _steps_around(self, place: Place) -> Iterator[tuple[Place, int]]:
        for letter, steps in self._around(place, self._loops, certain=True).items():
            for step in steps:
                yield step.to, letter

    def _find_certain(self) -> list[int]:
        """Return by state the letters of which it has read one and a match is certain, whatever follows."""
        made = self._made
        every = made.outside * 2 - 1
        certain = [0 if state in made.aside else reads for state, reads in enumerate(made.reads)]
        before: list[set[int]] = [set() for _ in made.edges]
        for state, leads in enumerate(made.edges):
            for edge in leads:
                if edge.state is not None:
                    before[edge.state].add(state)
        queue = {state for state, reads in enumerate(certain) if reads}
        while queue:
            state = queue.pop()
            left = certain[state]
            for sight in set(self._sights[:-1]):
                covered = 0
                for edge in made.edges[state]:
                    if edge.sure and edge.before >> sight & 1:
                        covered |= edge.after & (every if edge.state is None else certain[edge.state])
                if covered != every:
                    left &= ~sum(
                        1 << letter for letter, seen in enumerate(self._sights[:-1]) if seen == sight
                    )
            if left != certain[state]:
                certain[state] = left
                queue |= {one for one in before[state] if certain[one]}
        return certain

    def _find_steps(self, place: Place) -> list[Step]:
        made, (state, sight) = self._made, place
        edges = [
            edge for edge in (made.start if state == START else made.edges[state]) if edge.before >> sight & 1
        ]
        ends = 0
        for edge in edges:
            ends |= edge.after if edge.state is None and edge.sure and state not in made.aside else 0
        return [
            Step(
                rank,
                Place(edge.state, self._sights[letter]),
                letter,
                edge.again,
                edge.leaves,
                bool((ends | self._certain[edge.state]) >> letter & 1),
            )
            for rank, edge in enumerate(edges)
            if edge.state is not None
            for letter in range(len(made.letters))
            if (edge.after & made.reads[edge.state]) >> letter & 1
        ]

    def _find_loops(self, places: set[Place], *, certain: bool) -> dict[Place, int]:
        """Return the endless loop of each place that is in one; if not `certain`, without steps that are."""
        leads = {
            place: [step for step in self._steps(place) if certain or not step.certain]
            for place in sorted(places)
        }
        loops = components({place: [step.to for step in steps] for place, steps in leads.items()})
        endless = {
            loops[place]
            for place, steps in leads.items()
            for step in steps
            if step.again and loops[step.to] == loops[place]
        }
        return {place: loop for place, loop in loops.items() if loop in endless}

    def _around(self, place: Place, loops: Mapping[Place, int], *, certain: bool) -> dict[int, list[Step]]:
        """Return by letter the steps that stay in a place's loop."""
        found: dict[int, list[Step]] = {}
        for step in self._steps(place):
            if loops.get(step.to) == loops[place] and (certain or not step.certain):
                found.setdefault(step.letter, []).append(step)
        return found

    def find_restart(self) -> Growth | None:
        """Return a text that leads from the beginning into a loop and around it, past no certain match."""
        loops = self._uncertain_loops

        def steps(now: tuple[int, Place]) -> Iterator[tuple[Any, int]]:
            way, place = now
            around = self._around(place, loops, certain=False)
            for step in self._steps(Place(way, place.sight)) if around else ():
                for turn in around.get(step.letter, ()):
                    yield (step.to.state, turn.to), step.letter

        for places in _by_loop(loops):
            met = search([(START, place) for place in places], lambda now: now[0] == now[1].state, steps)
            if met is not None:
                (_, begin), (_, end), letters = met
                return Growth("restarts", "", self._text(letters + (self._back(end, begin) or [])))
        return None

    def find_turn(self) -> Growth | None:
        """Return a text that is read around a loop in two ways, the first of them past no certain match."""
        loops = self._uncertain_loops

        def steps(now: tuple[Place, Place, Place | None, frozenset[int]]) -> Iterator[tuple[Any, int]]:
            first, second, parted, inside = now
            around = self._around(first, loops, certain=False)
            for other in self._steps(second) if around else ():
                for step in around.get(other.letter, ()):
                    after = self._parting(step, other, first, parted is not None, inside)
                    if (
                        after is not None
                        and self._loops.get(other.to) == self._loops[first]
                        and after[1] <= 0
                    ):
                        at = parted or (first if after[1] else None)
                        yield (step.to, other.to, at, after[0]), other.letter

        def turns(now: tuple[Place, Place, Place | None, frozenset[int]]) -> bool:
            first, second, parted, inside = now
            return first == second and parted is not None and self._back(first, parted, inside) is not None

        for places in _by_loop(loops):
            met = search([(place, place, None, frozenset[int]()) for place in places], turns, steps)
            if met is not None:
                back = self._back(met[1][0], met[0][0])
                before = self._before(met[0][0])
                if before is not None and back is not None:
                    return Growth("splits", before, self._text(met[2] + back))
        return None

    def _parting(
        self, step: Step, other: Step, place: Place, parted: bool, inside: frozenset[int]
    ) -> tuple[frozenset[int], int] | None:
        """Return the groups in which two ways part and which is first (-1: `step`), None if one must end.

        Of two ways that part in a group that gives nothing back only one ever leaves it.
        """
        order = 0 if parted else (step.rank > other.rank) - (step.rank < other.rank)
        inside = self._made.inside[place.state] if order else inside
        return None if (parted or order) and (step.leaves | other.leaves) & inside else (inside, order)

    def find_split(self) -> Growth | None:
        """Return a text that leads around a loop, from it into another, around that past no certain match.

        What is tried after a certain match is not tried: the first loop passes one only if it is tried later.
        """
        for certain, first in ((True, self._loops), (False, self._uncertain_loops)):
            for origins in _by_loop(first):
                for goals in _by_loop(self._uncertain_loops):
                    if self._loops[origins[0]] != self._loops[goals[0]] and self._leads(origins[0], goals[0]):
                        found = self._split(origins, goals, certain=certain)
                        if found is not None:
                            return found
        return None

    def _leads(self, origin: Place, goal: Place) -> bool:
        return goal.state in self._reached(origin.state)

    @cached_property
    def _reached(self) -> Callable[[int], frozenset[int]]:
        @cache
        def reached(state: int) -> frozenset[int]:
            found, queue = {state}, [state]
            while queue:
                for edge in self._made.edges[queue.pop()]:
                    if edge.state is not None and edge.state not in found:
                        found.add(edge.state)
                        queue.append(edge.state)
            return frozenset(found)

        return reached

    def _split(self, origins: list[Place], goals: list[Place], *, certain: bool) -> Growth | None:
        """Search three readings of one text: around a first loop, from it to a second one, around that."""
        pairs = self._pairs(origins, goals, certain=certain)
        loops = components({pair: [one[0] for one in leads] for pair, leads in pairs.items()})
        begun: dict[int, set[int]] = {}
        for pair, leads in pairs.items():
            for after, _, step, turn in leads:
                if loops[after] == loops[pair]:
                    begun.setdefault(loops[pair], set()).update([1] * step.again, [2] * turn.again)
        turning = {loop for loop, repeated in begun.items() if repeated == {1, 2}}

        def steps(now: Any) -> Iterator[tuple[Any, int]]:
            (place, goal), way, parted, inside, left = now
            ways: dict[int, list[Step]] = {}
            for step in self._steps(way):
                ways.setdefault(step.letter, []).append(step)
            for pair, letter, step, turn in pairs[place, goal]:
                if loops[pair] != loops[place, goal]:
                    continue
                for other in ways.get(letter, ()):
                    after = self._parting(step, other, place, parted, inside)
                    if after is None or after[1] == (-1 if certain else 1):
                        continue
                    yield (pair, other.to, parted or after[1] != 0, after[0], left | turn.leaves), letter

        begin = [
            (pair, pair[0], False, frozenset[int](), frozenset[int]())
            for pair in pairs
            if loops[pair] in turning
        ]
        met = search(begin, lambda now: now[2] and now[1] == now[0][1] and not now[3] & now[4], steps)
        before = None if met is None else self._before(met[0][0][0])
        if met is None or before is None:
            return None
        back = find_way(met[1][0], met[0][0], lambda pair: ((one[0], one[1]) for one in pairs[pair]))
        return Growth("splits", before, self._text(met[2] + (back or [])))

    def _pairs(
        self, origins: list[Place], goals: list[Place], *, certain: bool
    ) -> dict[tuple[Place, Place], list[tuple[tuple[Place, Place], int, Step, Step]]]:
        """Return by two places that see the same where they lead around their loops on the same letter."""
        firsts = self._loops if certain else self._uncertain_loops
        found = {}
        for origin in origins:
            around = self._around(origin, firsts, certain=certain)
            for goal in goals:
                if goal.sight == origin.sight:
                    turns = self._around(goal, self._uncertain_loops, certain=False)
                    found[origin, goal] = [
                        ((step.to, turn.to), letter, step, turn)
                        for letter, steps in around.items()
                        for step in steps
                        for turn in turns.get(letter, ())
                    ]
        return found

    def _back(self, begin: Place, end: Place, inside: frozenset[int] = frozenset()) -> list[int] | None:
        """Return letters that lead from a place to one of its loop inside groups, past no certain match."""
        loops = self._uncertain_loops

        def steps(place: Place) -> Iterator[tuple[Place, int]]:
            for step in self._steps(place):
                if loops.get(step.to) == loops[place] and not step.certain and not step.leaves & inside:
                    yield step.to, step.letter

        return find_way(begin, end, steps)

    def _before(self, place: Place) -> str | None:
        """Return a text that leads from the beginning of a text to a place, None if none does."""
        begin = Place(START, self._sights[-1])
        met = search([begin], place.__eq__, lambda now: ((step.to, step.letter) for step in self._steps(now)))
        return None if met is None else self._text(met[2])

    def _text(self, letters: list[int]) -> str:
        return "".join(self._made.letters[letter] for letter in letters)


def _by_loop(loops: Mapping[Place, int]) -> list[list[Place]]:
    found: dict[int, list[Place]] = {}
    for place, loop in loops.items():
        found.setdefault(loop, []).append(place)
    return list(found.values())
