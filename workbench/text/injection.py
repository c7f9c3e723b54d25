"""Whether a text carries an instruction to the assistant that reads it, what speaks for it, and where.

Two judges: phrases that only attacks have (`injection.toml`), and a linear model over what separates a
spliced sentence from its surroundings (`injection_features`), with weights that `python -m bench.injection
--fit` writes. Rules are imperative by nature: a text that instructs throughout is no carrier with a splice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp
from typing import Any, Final

from workbench.places import data_file
from workbench.text.expressions import read_sources
from workbench.text.injection_features import (
    ALONE,
    NAMES,
    OWN,
    Sentence,
    speaks_to_assistant,
    split_sentences,
    table,
)
from workbench.text.redact import redact
from workbench.text.sanitize import QUOTED_ORDER, defuse

_SURE = 0.95  # the score of a phrase; a sentence that resembles a splice has the model's

MAX_LEARNING: Final = 500  # characters
_ROUNDS: Final = 3  # what is cut out may leave another order behind
_LEAST_WORDS: Final = 4  # of a rest that says something
_WORD: Final = re.compile(r"\w{2,}")
_CLAUSE: Final = re.compile(r"[;.!?:]\s+|\s[—–-]\s|\(")

_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_NEAR: Final = 16  # characters before a phrase in which a negation is
_FORBIDDEN: Final = re.compile(
    r"\b(?:never|don['’]?t|not|mustn['’]t|shouldn['’]t|can['’]t|cannot|avoid)(?: ever)?:?\W{0,4}$",
    re.IGNORECASE,
)

_ZERO_WIDTH: Final = re.compile("[\u200b\u200c\u2060\ufeff]")
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{4,}")
_HIDDEN: Final = re.compile(
    r"<!--((?:(?!-->|<!--).){1,4000})-->|<[a-z]{1,10}\b[^>\n]{0,200}(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|opacity:\s*0|color:\s*(?:white|#fff))[^>\n]{0,200}>([^<]{1,4000})</"
    r"|^\[(?://|comment)\]:\s*#\s*[(\"']([^\n]{1,2000})[)\"']$",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class InjectionFinding:
    """Characters `[start, end)` that read like an instruction: the pattern, and a score in [0, 1]."""

    start: int
    end: int
    pattern: str
    score: float


@dataclass(frozen=True, slots=True)
class InjectionScan:
    """What a text carries. `score` is the highest of the findings and near misses, in [0, 1]."""

    flagged: bool
    score: float
    findings: tuple[InjectionFinding, ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns found, each once, in alphabetical order."""
        return tuple(sorted({finding.pattern for finding in self.findings}))


@dataclass(frozen=True, slots=True)
class InjectionModel:
    """A weight for each of NAMES, and the probability from which a sentence counts as spliced."""

    weights: tuple[float, ...]
    threshold: float


def scan(text: str) -> InjectionScan:
    """Return what of a text reads like an instruction to an assistant, in time linear in its length."""
    model = load_model()
    found = [*find_phrases(text), *find_hidden(text)]
    best = 0.0
    for segment, score in score_sentences(text, model):
        best = max(best, score)
        if score >= model.threshold:
            found.append(InjectionFinding(segment.start, segment.end, "splice", round(score, 3)))
    ordered = tuple(sorted(found, key=lambda one: (one.start, one.end, one.pattern)))
    top = max([best, *(one.score for one in ordered)])
    return InjectionScan(bool(ordered), round(top, 3), ordered)


def score_sentences(text: str, model: InjectionModel) -> list[tuple[Sentence, float]]:
    """Return the sentences of a text, each with the probability that it was spliced in."""
    cut = split_sentences(text)
    return [
        (segment, probability(row, model.weights))
        for segment, row in zip(cut, table(cut), strict=True)
        if not segment.is_code
    ]


def probability(row: tuple[float, ...], weights: tuple[float, ...]) -> float:
    """Return the logistic of features times weights; 0 for a request by itself: no splice."""
    if row[ALONE] and not any(row[index] for index in OWN):
        return 0.0
    return 1 / (1 + exp(-max(-60.0, min(60.0, sum(a * b for a, b in zip(row, weights, strict=True))))))


@cache
def load_model() -> InjectionModel:
    """Return the committed model. Raises: KeyError if it is not of these features."""
    held = json.loads(data_file(__package__, "injection.json").read_text(encoding="utf-8"))
    return InjectionModel(tuple(held["weights"][name] for name in NAMES), held["threshold"])


def find_phrases(text: str) -> list[InjectionFinding]:
    """Return the phrases of attacks, by kind."""
    if not has_phrase(text):
        return []
    return [
        InjectionFinding(match.start(), match.end(), kind, _SURE)
        for kind, expression in _strong().items()
        for match in expression.finditer(text)
    ]


def find_hidden(text: str) -> list[InjectionFinding]:
    """Return what is written in invisible letters, and what speaks to an assistant where no reader looks."""
    found = [InjectionFinding(match.start(), match.end(), "hidden", _SURE) for match in _TAGS.finditer(text)]
    for match in _HIDDEN.finditer(text):
        inside = match[match.lastindex or 0]
        if speaks_to_assistant(inside) or has_phrase(inside):
            found.append(InjectionFinding(match.start(), match.end(), "hidden", _SURE))
    if _ZERO_WIDTH.search(text) and has_phrase(_ZERO_WIDTH.sub("", text)) and not has_phrase(text):
        found.append(InjectionFinding(0, len(text), "hidden", _SURE))
    return found


def find_orders(text: str) -> tuple[str, ...]:
    """Return by which patterns a rule orders the assistant about, not the work; sorted, mostly empty.

    Rules are imperative and address agents, so little counts (`orders.toml`), and hidden letters. A phrase
    that is all of a quotation ("ignore previous instructions") is spoken of, and one that is forbidden
    ("never reveal your system prompt") is not ordered.
    """
    plain = _ZERO_WIDTH.sub("", text)
    found = {
        kind
        for kind, expression in _orders().items()
        for match in expression.finditer(plain)
        if not (
            _is_quoted(plain, match)
            or _FORBIDDEN.search(plain[max(match.start() - _NEAR, 0) : match.start()])
        )
    }
    return tuple(sorted(found | ({"hidden"} if _TAGS.search(text) else set())))


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    """Whether a phrase is all of what quotation or code marks enclose, a comma or full stop aside."""
    before, after = text[: found.start()], text[found.end() : found.end() + 2].lstrip(",.!")
    return _QUOTES.get(before[-1:], "") == after[:1] != ""


@dataclass(frozen=True, slots=True)
class SanitizedText:
    """A text as it may be stored, and the orders to an assistant that were cut out of it, as they were."""

    text: str
    removed: tuple[str, ...] = ()


def sanitize_learning(text: str) -> SanitizedText:
    """Return a learning [ralph, F20] on one line of at most MAX_LEARNING characters, secret-free.

    Hidden characters become visible. An order to an assistant is cut out with the sentence or clause that it
    is in, and the rest is kept; where too little remains, all of it is kept behind a mark that says so.
    """
    line = " ".join(redact(text).text.split())
    if line.startswith(QUOTED_ORDER):
        return SanitizedText(_shorten(defuse(line)))
    rest = line
    removed: list[str] = []
    for _ in range(_ROUNDS):
        found = scan(rest)
        if not found.flagged:
            kept = _shorten(defuse(rest))
            if removed and (len(_WORD.findall(kept)) < _LEAST_WORDS or scan(kept).flagged):
                break
            return SanitizedText(kept, tuple(defuse(one) for one in removed))
        spans = _order_spans(rest, found)
        removed += [rest[start:end].strip() for start, end in spans]
        rest = _without(rest, spans)
    return SanitizedText(_shorten(QUOTED_ORDER + defuse(line)))


def _order_spans(text: str, found: InjectionScan) -> list[tuple[int, int]]:
    """Return the characters of the clauses with findings, in order and apart."""
    spans: list[tuple[int, int]] = []
    cut = split_sentences(text)
    sure = [finding for finding in found.findings if finding.pattern != "splice"]
    for one in sure or found.findings:  # what surrounds a phrase may be all that makes another a splice
        inside = [part for part in cut if part.start < one.end and one.start < part.end]
        start = min([one.start, *(part.start for part in inside)])
        end = max([one.end, *(part.end for part in inside)])
        clauses = [match.end() for match in _CLAUSE.finditer(text, start, one.start)]
        span = max([start, *clauses]), end
        if spans and span[0] <= spans[-1][1]:
            spans[-1] = min(spans[-1][0], span[0]), max(spans[-1][1], span[1])
        else:
            spans.append(span)
    return spans


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text without some of its characters, in order and apart, and what joined them to the rest."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start].rstrip(" ,;:—–-("))
        at = end
    return " ".join(" ".join([*kept, text[at:].lstrip(" ,;:—–-)")]).split())


def sanitize_learning_text(text: str) -> str:
    """Return a learning as it may be stored, without orders to an assistant: see `sanitize_learning`."""
    return sanitize_learning(text).text


def _shorten(line: str) -> str:
    return line if len(line) <= MAX_LEARNING else line[: MAX_LEARNING - 1].rstrip() + "…"


def has_phrase(text: str) -> bool:
    """Whether a text holds a phrase of attacks: one linear pass, for the many texts that hold none."""
    return _any_phrase().search(text.encode("utf-8", "replace")) is not None


@cache
def _any_phrase() -> Any:  # noqa: ANN401 - re2 has no types
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 256 << 20
    options.log_errors = False
    joined = "|".join(f"(?:{source})" for source in _phrases().values())
    return re2.compile(f"(?im){joined}".encode(), options=options)


@cache
def _strong() -> dict[str, re.Pattern[str]]:
    return {kind: re.compile(source, re.IGNORECASE | re.MULTILINE) for kind, source in _phrases().items()}


@cache
def _orders() -> dict[str, re.Pattern[str]]:
    sources = read_sources(__package__, "orders.toml")
    return {kind: re.compile(source, re.IGNORECASE | re.MULTILINE) for kind, source in sources.items()}


def _phrases() -> Mapping[str, str]:
    return read_sources(__package__, "injection.toml")
