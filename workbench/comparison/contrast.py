"""Whether two statements about the same subject can both be followed, and in which words they collide.

Precision comes first: a contrast counts only if all else that the two clauses say agrees, conditions and
exceptions included. A second contrast takes the first one back ("use tabs" agrees with "never use spaces").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from workbench.comparison.negation import spell_out
from workbench.comparison.statements import ORDERING, Quantity, Statement, measured_terms, statements
from workbench.comparison.tokens import LIGHT
from workbench.comparison.vocabulary import (
    antonyms,
    canonical,
    choices,
    choices_of,
    implied_terms,
    named_things,
    word_list,
)
from workbench.records.dataclass import dataclass

AGREEMENT: Final = 0.8
"""Share of a subject's words that must agree for a contrast to count. At 0.66 more contradictions between
sentences of any kind are found, but all that come on top among real rules are false alarms."""

_QUALIFIED: Final = frozenset(map(canonical, word_list("excess")))
"""What is avoided is then the excess, not the thing."""

PLACING: Final = frozenset("put place store keep live go belong save locat resid stay".split())
"""Stems of the verbs that say where something is."""

CURT: Final = 6
"""Words up to which a clause's one term must be what it is about: "No semicolons", "Never use `any`"."""

LABEL_FREE: Final = 3
"""Words in common from which a label on one side only ("Style: …") is taken for a heading, not a subject."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A test that found two statements opposed; `left` and `right` are the words that collide."""

    test: str
    score: float
    detail: str
    left: str
    right: str


def contrast(left: Statement, right: Statement) -> Contrast | None:
    """Return how two statements contradict each other, or None. Mirrored arguments mirror the answer."""
    if left.text == right.text:
        return None  # one that turns down what it asks for is odd, and no other statement's opposite
    if left.anaphoric or right.anaphoric or not _conditions_agree(left, right):
        return None
    found = [result for test in _TESTS if (result := test(left, right)) is not None]
    return max(found, key=lambda item: item.score, default=None)


def strongest_contrast(left: Sequence[Statement], right: Sequence[Statement]) -> Contrast | None:
    """Return the strongest contrast between statements of two texts, or None."""
    found = [result for mine in left for theirs in right if (result := contrast(mine, theirs)) is not None]
    return max(found, key=lambda item: item.score, default=None)


def share_statement(left: Iterable[Statement], right: Iterable[Statement]) -> bool:
    """Whether two texts make the same statement: each then draws a contrast between them itself."""
    return not {_key(one) for one in left}.isdisjoint(_key(one) for one in right)


def _key(statement: Statement) -> tuple[object, ...]:
    return (statement.subject, statement.label, *_rest(statement))


def same_gist(left: Statement, right: Statement) -> bool:
    """Whether two statements are the same once light words, placing verbs and reasons are left out."""
    return _gist(left) == _gist(right)


def _gist(statement: Statement) -> tuple[object, ...]:
    light = LIGHT | PLACING
    return (statement.subject - light, statement.label - light, *_rest(statement))


def _rest(statement: Statement) -> tuple[object, ...]:
    return (
        statement.ordered,
        statement.negated,
        statement.choices,
        statement.paths,
        statement.condition,
        statement.exception,
        frozenset(statement.rejected),
        tuple((item.unit, item.value, item.bound) for item in statement.quantities),
    )


def agreement(left: frozenset[str], right: frozenset[str]) -> float:
    """Return how far two subjects are the same, in [0, 1]: light words don't count, two empty ones agree."""
    union = len((left | right) - LIGHT)
    return len((left & right) - LIGHT) / union if union else 1.0


def _conditions_agree(left: Statement, right: Statement) -> bool:
    if not _alike(left.condition, right.condition):
        return False
    if left.exception or right.exception:
        return left.exception == right.exception or left.subject == right.subject
    return True


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    if first == second:
        return True
    return bool(first and second) and len(first & second) / len(first | second) >= 0.75


def _same_values(left: Statement, right: Statement) -> bool:
    return {(item.unit, item.value) for item in left.quantities} == {
        (item.unit, item.value) for item in right.quantities
    } and left.paths == right.paths


def _denial(left: Statement, right: Statement) -> Contrast | None:
    """The same thing asked for and ruled out."""
    if left.negated == right.negated or not _same_values(left, right) or left.choices != right.choices:
        return None
    if left.rejected and right.rejected and set(left.rejected) != set(right.rejected):
        return None
    named = len((left.subject & right.subject) - LIGHT) + len(left.choices) + len(left.paths)
    if not named or (named == 1 and not (_curt(left) and _curt(right))):
        return None
    implied = _implied_words(left.choices)
    score = _subject_agreement(left, right, left.subject - implied, right.subject - implied)
    if (left.subject ^ right.subject) & _QUALIFIED:
        return None
    if score < AGREEMENT:
        return _case_of_never(left, right)
    verbs = "asks for", "rules out"
    order = verbs if right.negated else verbs[::-1]
    what = _phrase(left if not left.negated else right)
    return Contrast("negation", score, f"one {order[0]}, the other {order[1]}: {what}", *_sides(left, right))


def _case_of_never(left: Statement, right: Statement) -> Contrast | None:
    """What is never to be done is asked for in a case: "commit to main for small fixes"."""
    never, asked = (left, right) if left.negated else (right, left)
    if never.condition or never.exception or not _NEVER.match(spell_out(never.text)):
        return None
    wider = without_case(asked)
    if wider is None or (wider.subject ^ never.subject) - LIGHT:
        return None
    found = _denial(*((never, wider) if never is left else (wider, never)))
    case = asked.text[len(wider.text) :].strip()
    detail = f"one rules it out always, the other asks for it in a case: {case}"
    return None if found is None else replace(found, score=AGREEMENT, detail=detail)


def without_case(statement: Statement) -> Statement | None:
    """Return what a statement asks for without the case that it asks it for ("for small fixes"), if any."""
    case = None if statement.negated else _CASE.search(statement.text)
    wider = () if case is None else statements(statement.text[: case.start()])
    return wider[0] if len(wider) == 1 else None


_NEVER: Final = re.compile(r"\W*never\b")
_CASE: Final = re.compile(r"\sfor\s\S.*", re.IGNORECASE | re.DOTALL)


def _curt(statement: Statement) -> bool:
    """Whether a clause is so short that its one term must be what it is about ("No semicolons").

    What it turns down ("instead of spaces") has room beside that.
    """
    return len(statement.text.split()) <= (CURT + 3 if statement.rejected else CURT)


def _implied_words(choices: frozenset[str]) -> frozenset[str]:
    known = choices_of()
    return frozenset[str]().union(*(implied_terms()[at] for name in choices for at in known[name]))


def _sides(left: Statement, right: Statement) -> tuple[str, str]:
    return ("not" if left.negated else "", "not" if right.negated else "")


def _turned_down(left: Statement, right: Statement) -> Contrast | None:
    """One asks for what the other turns down ("X instead of Y")."""
    if left.negated or right.negated or not (left.rejected or right.rejected):
        return None
    for first, second in ((left, right), (right, left)):
        wanted = {*second.terms, *second.choices} - LIGHT
        refused = set(first.rejected) - LIGHT
        if not refused or not refused <= wanted or not _same_values(left, right):
            continue
        asked = {*first.terms, *first.choices} - LIGHT
        rest_second = wanted - refused - asked
        mutual = bool(second.rejected) and set(second.rejected) - LIGHT <= asked
        if mutual or not rest_second:
            if not mutual and refused <= asked:
                continue
            score = 1.0 if mutual else 0.9
            detail = f"{' '.join(sorted(refused))} is turned down on one side and asked for on the other"
            words = " ".join(sorted(refused))
            return Contrast(
                "alternative",
                score,
                detail,
                *((f"not {words}", words) if first is left else (words, f"not {words}")),
            )
    return None


def _numbers(statement: Statement) -> frozenset[tuple[str, tuple[int, ...]]]:
    """Return a statement's quantities; how many spaces an indent has is part of choosing spaces."""
    return frozenset((item.unit, item.value) for item in statement.quantities if item.unit != "space")


def _choice(left: Statement, right: Statement) -> Contrast | None:
    """Different things for a job that one does."""
    if left.negated or right.negated or left.paths != right.paths:
        return None
    if _numbers(left) != _numbers(right):
        return None
    if not left.choices or not right.choices or left.choices & right.choices:
        return None
    known = choices_of()
    for position in sorted({p for name in left.choices for p in known[name]}):
        mine = {name for name in left.choices if position in known[name]}
        theirs = {name for name in right.choices if position in known[name]}
        if not mine or not theirs or left.choices - mine != right.choices - theirs:
            continue
        implied = implied_terms()[position]
        score = _subject_agreement(left, right, left.subject - implied, right.subject - implied)
        if choices()[position].name == NAMING and len(mine) == len(theirs) == 1:
            score = max(score, _naming(left, right, implied))
        if score < AGREEMENT:
            continue
        if choices()[position].name in _NEEDS_SUBJECT and not (left.subject & right.subject):
            continue
        a, b = " and ".join(sorted(mine)), " and ".join(sorted(theirs))
        return Contrast("choice", score, f"{choices()[position].name}: {a} or {b}", a, b)
    return None


def _naming(left: Statement, right: Statement, implied: frozenset[str]) -> float:
    """Return 0.9 if two conventions name one thing in common and nothing but things to be named."""
    mine = (left.subject | left.label) - implied - LIGHT
    theirs = (right.subject | right.label) - implied - LIGHT
    return 0.9 if mine & theirs and (mine | theirs) <= named_things() else 0.0


NAMING: Final = "naming case"
_NEEDS_SUBJECT: Final = frozenset(
    {NAMING, "database", "language", "JVM language", "API style", "styling", "asynchrony"}
)


def _antonym(left: Statement, right: Statement) -> Contrast | None:
    """The same but for two words that oppose each other."""
    if left.negated != right.negated or not _same_values(left, right) or left.choices != right.choices:
        return None
    pairs = _opposites(left, right)
    if len(pairs) != 1 or not ((left.subject & right.subject) - LIGHT or left.choices):
        return None
    first, second = pairs[0]
    score = _subject_agreement(left, right, left.subject - {first}, right.subject - {second})
    if score < AGREEMENT:
        return None
    a, b = dict(left.words).get(first, first), dict(right.words).get(second, second)
    return Contrast("antonym", score, f"{a} against {b}", a, b)


def _opposites(left: Statement, right: Statement) -> list[tuple[str, str]]:
    """Return the pairs of terms that oppose each other; "with" is no term, but the opposite of "without"."""
    mine, theirs = left.subject - right.subject - LIGHT, right.subject - left.subject - LIGHT
    if not mine and theirs == {"without"} and _WITH.search(left.text):
        return [("with", "without")]
    if not theirs and mine == {"without"} and _WITH.search(right.text):
        return [("without", "with")]
    return [(a, b) for a in sorted(mine) for b in sorted(theirs) if antonyms(a, b)]


_WITH: Final = re.compile(r"\bwith\b", re.IGNORECASE)


def _number(left: Statement, right: Statement) -> Contrast | None:
    """The same but for a number."""
    if left.negated != right.negated or left.paths != right.paths or left.choices != right.choices:
        return None
    if not left.quantities or len(left.quantities) != len(right.quantities):
        return None
    differing = [
        (a, b)
        for a, b in zip(left.quantities, right.quantities, strict=True)
        if (a.unit, a.value, a.bound) != (b.unit, b.value, b.bound)
    ]
    if len(differing) != 1:
        return None
    first, second = differing[0]
    if not _collide(first, second):
        return None
    implied = measured_terms(left) & measured_terms(right)
    mine, theirs = left.subject - implied, right.subject - implied
    if implied:
        mine, theirs = mine | (left.label - implied), theirs | (right.label - implied)
        score = agreement(mine, theirs)
    else:
        score = _subject_agreement(left, right, mine | {first.unit}, theirs | {second.unit})
    if score < AGREEMENT or not (mine & theirs or first.unit.startswith("of ") or first.unit == "space"):
        return None
    return Contrast("number", score, f"{first.text} against {second.text}", first.text, second.text)


def _collide(first: Quantity, second: Quantity) -> bool:
    """Whether two quantities of one unit differ; bounds of other directions only if nothing fits both."""
    if first.unit != second.unit or first.value == second.value:
        return False
    width = max(len(first.value), len(second.value))
    a = first.value + (0,) * (width - len(first.value))
    b = second.value + (0,) * (width - len(second.value))
    if first.unit.startswith("of ") and (
        first.value[: len(second.value)] == second.value or second.value[: len(first.value)] == first.value
    ):
        return False  # "Python 3" and "Python 3.12"
    if first.bound == second.bound:
        return True
    low, high = (a, b) if first.bound < second.bound else (b, a)
    return low > high


def _path(left: Statement, right: Statement) -> Contrast | None:
    """The same thing in different places."""
    if left.negated or right.negated or len(left.paths) != 1 or len(right.paths) != 1:
        return None
    if left.paths == right.paths or left.choices != right.choices or left.quantities != right.quantities:
        return None
    verbs = PLACING & left.subject & right.subject
    one_verb = PLACING & left.subject or PLACING & right.subject
    first, second = left.paths[0], right.paths[0]
    if not one_verb or first.startswith(second) or second.startswith(first):
        return None
    subject = (left.subject & right.subject) - verbs - LIGHT
    score = _subject_agreement(left, right, left.subject - PLACING, right.subject - PLACING)
    if score < 1.0 or not subject:
        return None
    return Contrast("path", score, f"{first} against {second}", first, second)


def _order(left: Statement, right: Statement) -> Contrast | None:
    """The same words on the other side of "before" or "after"."""
    if left.negated != right.negated or not _same_values(left, right) or left.choices != right.choices:
        return None
    if left.subject != right.subject:
        return None
    for pivot in sorted(ORDERING & left.subject):
        a, b = left.terms.index(pivot), right.terms.index(pivot)
        early, late = set(left.terms[:a]), set(left.terms[a + 1 :])
        first, last = set(right.terms[:b]), set(right.terms[b + 1 :])
        if first and last and early - first - LIGHT and late - last - LIGHT:
            word = dict(left.words)[pivot]
            return Contrast("order", 1.0, f"what comes {word} what is turned around", word, word)
    return None


def _subject_agreement(
    left: Statement, right: Statement, mine: frozenset[str], theirs: frozenset[str]
) -> float:
    """Return the agreement of two subjects. Labels are part of them, and one side's label may be said by the
    other side in its sentence."""
    mine, theirs = mine | (left.label & theirs), theirs | (right.label & mine)
    if left.label - theirs and right.label - mine:
        mine, theirs = mine | left.label, theirs | right.label
    elif (left.label - theirs - LIGHT or right.label - mine - LIGHT) and len(mine & theirs) < LABEL_FREE:
        return 0.0
    return agreement(mine, theirs)


def _phrase(statement: Statement) -> str:
    words = dict(statement.words)
    return " ".join([*(words[term] for term in statement.terms), *sorted(statement.choices)])


_TESTS: Final[tuple[Callable[[Statement, Statement], Contrast | None], ...]] = (
    _denial,
    _turned_down,
    _choice,
    _antonym,
    _number,
    _path,
    _order,
)
