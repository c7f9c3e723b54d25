"""What distinguishes a spliced instruction from the text around it, one sentence at a time.

It is asked of the assistant (its answer, its code), not of the reader; it starts a task that nothing around it
speaks of; the text around it does not give orders. The idea of comparing with the carrier is that of discourse
breaks: a text is about one thing, a splice is about another.
"""

from __future__ import annotations

# ruff: noqa: E501  expressions are not broken
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log1p
from typing import Final

from workbench.text.expressions import read_expressions, read_words

_FORMS: Final = read_expressions(__package__, "splices.toml")
_WORDS: Final = read_words(__package__, "splices.toml")


_MANY: Final = 4000  # sentences of a text that are compared
MOSTLY: Final = 0.6  # of the sentences around, from which on a text is one of instructions
ALONE: Final = 19  # indexes in NAMES
OWN: Final = (4, 7)

NAMES: Final = (
    "bias", "task", "edit", "question", "own answer", "imperative about own answer", "snippet", "snippet for your code",
    "dangerous code", "overlap", "task without overlap", "edit without overlap", "question without overlap", "code in it",
    "points elsewhere", "carrier instructs", "task x carrier instructs", "own answer x carrier instructs",
    "carrier addresses answers", "alone", "task alone", "own answer alone", "last", "first", "item", "long", "task x points elsewhere",
    "question alone", "carrier is long", "task without overlap x code in it", "carrier asks", "says your answer",
    "says your code of a snippet", "begins in lower case", "ends as a sentence", "speaks of me", "names nobody else does",
    "asked without overlap, a whole sentence", "your answer x carrier addresses answers",
    "instructions around",
)  # fmt: skip

_LONGEST: Final = 600  # characters of a sentence that are looked at


def table(found: Sequence[Sentence]) -> list[tuple[float, ...]]:
    """Return the features of each segment, in the order of NAMES.

    Code, and what neither instructs nor asks nor speaks of an answer, has none but the bias.
    """
    prose = [(index, one) for index, one in enumerate(found) if not one.is_code][:_MANY]
    words = {index: _content(one.text) for index, one in enumerate(found[:_MANY])}
    everywhere: Counter[str] = Counter()
    for held in words.values():
        everywhere.update(held)
    instructs = {
        index: bool(_FORMS["task"].match(one.text) or _FORMS["edit"].match(one.text)) for index, one in prose
    }
    own = {index: bool(_FORMS["own"].search(one.text)) for index, one in prose}
    asks = {index: bool(_FORMS["question"].match(one.text)) for index, one in prose}
    either = sum(instructs[index] or asks[index] for index, _ in prose)
    totals = (len(prose), sum(instructs.values()), sum(own.values()), sum(asks.values()), either)
    rows = [(1.0,) + (0.0,) * (len(NAMES) - 1)] * len(found)
    for index, one in prose:
        if not (instructs[index] or asks[index] or own[index] or _FORMS["snippet"].search(one.text)):
            continue
        around = _Around(found, index, totals, instructs[index], own[index], asks[index])
        rows[index] = _row(one, words[index], everywhere, around)
    return rows


class _Around:
    """The carrier of one sentence: all sentences but it."""

    __slots__ = ("alone", "asks", "first", "instructs", "last", "orders", "own", "ruled", "size")

    def __init__(
        self,
        found: Sequence[Sentence],
        index: int,
        totals: tuple[int, int, int, int, int],
        instructs: bool,
        own: bool,
        asks: bool,
    ) -> None:
        others = totals[0] - 1
        self.size = len(found) - 1
        # Without a carrier there is no splice: a list of requests is what somebody asks for, rules are rules.
        requests = totals[4] - (instructs or asks)
        self.ruled = others >= 3 and requests >= MOSTLY * others
        below = index + 1 < len(found) and found[index + 1].is_code
        bare = requests == others and self.size - others == below
        self.alone = float(self.ruled or bare)
        self.instructs = (totals[1] - instructs) / others if others else 0.0
        self.orders = log1p(totals[1] - instructs)
        self.own = min(1.0, (totals[2] - own) / 2)
        self.asks = (totals[3] - asks) / others if others else 0.0
        self.first = float(index == 0)
        self.last = float(all(one.is_code for one in found[index + 1 :]) if index > len(found) - 4 else False)


def _row(
    one: Sentence, words: frozenset[str], everywhere: Counter[str], around: _Around
) -> tuple[float, ...]:
    text = one.text
    task = float(_FORMS["task"].match(text) is not None)
    edit = float(_FORMS["edit"].match(text) is not None)
    question = float(_FORMS["question"].match(text) is not None)
    yours_at_all = _FORMS["your_answer"].search(text) is not None
    answer = float(yours_at_all or (not around.ruled and _FORMS["own"].search(text) is not None))
    yours = float(yours_at_all)
    snippet = float(_FORMS["snippet"].search(text) is not None)
    fitted = float(bool(snippet) and _FORMS["your_code"].search(text) is not None)
    danger = float(bool(one.code) and _FORMS["danger"].search(one.code) is not None)
    overlap = sum(everywhere[word] > 1 for word in words) / max(1, len(words))
    apart = float(overlap < 0.2 and len(words) >= 2 and not around.alone)
    code = float(_FORMS["codeish"].search(text) is not None)
    points = float(_FORMS["anaphora"].search(text) is not None)
    alone = around.alone
    whole = float(_FORMS["whole"].match(text) is not None)
    names = sum(
        word[0].isupper() and everywhere[word.lower()[:6]] <= 1 for word in _FORMS["word"].findall(text)[1:]
    )
    return (
        1.0, task, edit, question, answer, yours * max(task, edit, 0.5), snippet, fitted,
        danger * max(snippet, fitted), overlap, task * apart, edit * apart, question * apart, code,
        points, around.instructs, max(task, edit) * around.instructs, max(answer, fitted) * around.instructs,
        around.own, alone, task * alone, max(answer, fitted) * alone, around.last, around.first, float(one.item),
        min(1.0, len(text) / 300), task * points, question * alone, min(1.0, log1p(around.size) / 6), task * apart * code, around.asks, yours,
        fitted, float(text[:1].islower()), whole, float(_FORMS["me"].search(text) is not None), min(2, names) / 2 * (1 - alone),
        max(task, question) * apart * whole, yours * around.own,
        around.orders,
    )  # fmt: skip


def _content(text: str) -> frozenset[str]:
    return frozenset(
        word.lower()[:6] for word in _FORMS["word"].findall(text) if word.lower() not in _WORDS["stop"]
    )


def speaks_to_assistant(text: str) -> bool:
    """Whether a text speaks of the answer or the code of whoever reads it."""
    return _FORMS["your_answer"].search(text) is not None or (
        _FORMS["snippet"].search(text) is not None and _FORMS["your_code"].search(text) is not None
    )


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a line of code at `[start, end)`; `item` marks list items and headings.

    `code` is the code right below a sentence, for a line of code the line itself; `is_code` is which.
    """

    start: int
    end: int
    text: str
    code: str = ""
    item: bool = False
    is_code: bool = False


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences and lines of code of a text in order."""
    found: list[Sentence] = []
    for start, end, fenced in _blocks(text):
        if fenced:
            _attach(found, start, end, text[start:end])
        else:
            found += _sentences(text, start, end)
    return tuple(found)


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """Return (start, end, whether fenced) of the parts between fences."""
    marks = [match.start() for match in _FORMS["fence"].finditer(text)]
    edges = [0, *marks, len(text)]
    return [(a, b, index % 2 == 1) for index, (a, b) in enumerate(pairwise(edges)) if a < b]


def _attach(found: list[Sentence], start: int, end: int, code: str) -> None:
    """Give code to the sentence above it, and keep it as a segment of its own."""
    if found and not found[-1].is_code:
        last = found[-1]
        found[-1] = Sentence(last.start, last.end, last.text, last.code + code[:4000], last.item)
    found.append(Sentence(start, end, code[:_LONGEST], code[:4000], is_code=True))


def _sentences(text: str, start: int, end: int) -> list[Sentence]:
    found = []
    at = start
    edges = [
        *((match.start(), match.end()) for match in _FORMS["end"].finditer(text, start, end)),
        (end, end),
    ]
    for stop, after in edges:
        raw = text[at:stop]
        item = _FORMS["item"].match(raw)
        body = raw[item.end() :] if item else raw
        plain = body.strip().lstrip("`>|*_~ ")
        if plain and not plain.startswith(("```", "~~~")):
            code = _FORMS["code_line"].match(raw[:_LONGEST]) is not None
            found.append(Sentence(at, stop, plain[:_LONGEST], plain if code else "", item is not None, code))
        at = after
    return found
