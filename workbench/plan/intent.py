"""Understand a task [img 7.1]: what it names, what kind of work it is, what is at stake, its fingerprint.

Everything here is a pure function of the text, so the same task gives the same intent on every machine. Risk
is about the consequences of a mistake: who may do what, money, secrets, and what is down right now are high;
documents, tests and builds alone are low.

The kind comes from a linear model over the words and the shape of the sentence. A kind that the head declares
(`fix: …`, `[Feature] …`) is believed. Otherwise the words of the head, those of the body at a quarter, and
shapes that mark a report of a fault ("is not", "raises", `X instead of Y`, an exception, a stack frame) are
weighed; `python -m bench.intent` fits and measures the weights. Incidents have cues of their own, because
nobody types commits so: what is down, in production, to be rolled back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import exp

from workbench.parsed import read_parsed
from workbench.records.dataclass import dataclass
from workbench.records.plan import Entities, Intent, QueryType, Risk, TaskText
from workbench.text.templates import OwnWords, own_words
from workbench.text.terms import (
    count_terms,
    is_identifier,
    parse_task,
    split_head,
    stem,
    word_terms,
    words_of,
)

_PATH = re.compile(
    r"(?<![\w/.@+-])(?:\.{0,2}/)?(?:[\w@.+-]+/)+[\w@.+-]+|(?<![\w/.@+-])[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])"
)
_QUOTED = re.compile(r"`([^`\n]{2,120})`")
_DOTTED = re.compile(r"(?<![\w/.])[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)+(?:\(\))?")
_WORD = re.compile(r"(?<![\w/.-])[A-Za-z_]\w*(?:\(\))?")
_ERROR = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Warning|Fault|Panic)|E[A-Z]{3,}|[EW]\d{3,4}|SIG[A-Z]{3,})\b"
)
_FRAMES = (
    re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[\w<>.]+))?'),
    re.compile(
        r"at (?:(?P<function>[\w$.<>\[\] ]{1,200}) )?\(?(?:file://)?(?P<path>[^\s():]{1,400}\.\w+):(?P<line>\d+)(?::\d+)?\)?"
    ),
    re.compile(r"at (?P<function>[\w$.<>]+)\((?P<path>\w+\.(?:java|kt|scala)):(?P<line>\d+)\)"),
    re.compile(r"(?:^|\s|panicked at )(?P<path>[\w./@+-]+\.\w{1,5}):(?P<line>\d+)(?::\d+)?(?P<function>)"),
)
_ISSUE = re.compile(
    r"(?<![\w&])#(\d{1,7})\b|\b(?:GH|gh)-(\d{1,7})\b|\b([A-Z][A-Z0-9]{1,9}-\d{1,7})\b|/(?:issues|pull)/(\d{1,7})\b"
    r"|\b(?:[Ii]ssue|[Tt]icket|[Bb]ug|[Pp]ull request|[Mm]erge request|PR|pr|MR) (?:no\.? |number )?"
    r"(\d{1,7})\b(?![.:]\d)"
)
_NOT_A_TICKET = frozenset(
    {"UTF", "SHA", "ISO", "RFC", "HTTP", "TLS", "SSL", "AES", "MD", "CVE", "COVID", "GPT", "X"}
)

HEAD_WEIGHT = 1.0
BODY_WEIGHT = 0.4  # a body explains; the head line states what is to be done
IDENTIFIER_WEIGHT = 1.6

CRITICAL = frozenset({"authentication", "payment", "security"})
HARMLESS = frozenset({"build", "documentation", "testing"})

BODY = 0.25  # bodies discuss, heads announce
MAX_HEAD = 1_000  # characters
MAX_BODY = 4_000
_CLASSIFIED_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|(?<!\d)\d{3}(?!\d)")
_CODE = re.compile(r"`[^`\n]*`|\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,80}'(?!\w)")
_DECLARED = re.compile(
    r"^\s*(?:\[([a-z][a-z /-]{1,20})\]\s*:?|([a-z][a-z -]{1,20})(?:\([^()]{1,60}\))?!?:(?=\s))", re.I
)
_SHAPES = {
    "error": re.compile(r"\b[A-Z]\w*(?:Error|Exception|Fault|Panic)\b|\bSIG[A-Z]{3,}\b|\bE[A-Z]{4,}\b"),
    "frame": re.compile(
        r'File "[^"\n]+", line \d+|\bat \S{1,200} ?\(\S{1,200}:\d+\)|\bpanicked at\b|\w\.\w{1,4}:\d+'
    ),
    "negated": re.compile(
        r"\b(?:is|are|was|were|does|do|did|has|have|can|could|will|would)(?:n['’]?t| not)\b"
        r"|\bcannot\b|\bno longer\b",
        re.I,
    ),
    "ought": re.compile(r"\b(?:should|must|ought)\b(?! be (?:able|possible))", re.I),
    "contrast": re.compile(r"!=|\binstead of\b|\brather than\b|\bbut (?:got|was|is|it)\b|\bexpected\b", re.I),
    "when": re.compile(r"\b(?:when|if|after|while|on)\b", re.I),
    "wish": re.compile(
        r"\b(?:would be (?:nice|great|good|useful)|please|ability to|able to|feature request)\b", re.I
    ),
    "states": re.compile(
        r"^\W{0,5}(?:\S{1,60}\s+){1,3}(?!(?:as|is|this|its|was|has)\b)[a-z]{3,}(?<![sui])s\s", re.I
    ),
}  # fmt: skip
_DOCUMENT = re.compile(
    r"(\A\W*(?:please )?|\b(?:to|and|should|must|please|also) )document(?:ing)? "
    r"(?=(?:how|what|why|when|where|which|that|the|an?|this|these|all|new|more|some|our|its|missing|usage)\b|[`\"'-])",
    re.I,
)
BIAS = "bias"
DECLARED = 0.95  # what an author says of a task is nearly always so
ALARM = 2.0  # the sum of cues from which a task is an incident


def find_entities(text: str) -> Entities:
    """Find the paths, symbols, error names, stack frames and issue references a text names."""
    frames: dict[tuple[str, int, str], None] = {}
    for pattern in _FRAMES:
        for match in pattern.finditer(text):
            function = (match.groupdict().get("function") or "").strip()
            frames[(match["path"], int(match["line"][:9]), function)] = None
    paths = {path: None for match in _PATH.finditer(text) if (path := _clean_path(match.group()))}
    symbols: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        inner = match.group(1).strip()
        if not _PATH.fullmatch(inner):
            for word in _WORD.findall(inner):
                symbols[word.removesuffix("()")] = None
    for match in _DOTTED.finditer(text):
        if match.group() not in paths:
            symbols[match.group().removesuffix("()")] = None
    for word in _WORD.findall(text):
        if word.endswith("()") or is_identifier(word):
            symbols[word.removesuffix("()")] = None
    for _, _, function in frames:
        if function:
            symbols[function.rsplit(".", 1)[-1]] = None
    issues = {
        ticket or f"#{hash_ref or gh or url or named}": None
        for hash_ref, gh, ticket, url, named in _ISSUE.findall(text)
        if not ticket or ticket.split("-")[0] not in _NOT_A_TICKET
    }
    errors = dict.fromkeys(_ERROR.findall(text))
    return Entities(
        paths=tuple(paths),
        symbols=tuple(symbols),
        errors=tuple(errors),
        frames=tuple(frames),
        issue_refs=tuple(issues),
    )


def _clean_path(path: str) -> str:
    path = path.strip().rstrip(".,:;").removeprefix("./")
    return (
        path
        if re.search(r"[A-Za-z]", path) and not re.fullmatch(r"[\d.]+|v?\d[\w.]*|e\.g|i\.e", path)
        else ""
    )


def parse_intent(task: str, *, project_id: str = "", query_type: QueryType | None = None) -> Intent:
    """Understand a task. An explicit `query_type` overrides the prediction with confidence 1."""
    return understand_task(parse_task(task), project_id=project_id, query_type=query_type)


def understand_prompt(
    task: TaskText,
    templates: Mapping[int, int],
    *,
    project_id: str,
    query_type: QueryType | None,
    name: str = "",
) -> tuple[Intent, OwnWords | None]:
    """Return the intent of a task by its own words, and what of it is a template's, None if nothing is.

    `templates` are what earlier prompts share, `name` that of the project, which says nothing in it. The
    fingerprint is of the whole task, as it is recorded.
    """
    intent = understand_task(task, project_id=project_id, query_type=query_type)
    own = own_words(task.text, templates) if templates else None
    text = task if own is None else TaskText(task.raw, own.text, *split_head(own.text))
    text = without_name(text, name) if name else text
    if text is task:
        return intent, None
    found = understand_task(text, project_id=project_id, query_type=query_type)
    return replace(found, task_fingerprint=intent.task_fingerprint), own


def without_name(task: TaskText, name: str) -> TaskText:
    """Return a task without the name of its project, which says nothing there; `raw` stays as given.

    In a path, in code or in a longer name it stays, and so does a task that is nothing else.
    """
    found = re.compile(rf"(?<![\w./@`-]){re.escape(name)}(?![\w/(`-]|\.\w)", re.IGNORECASE)
    head = " ".join(found.sub(" ", task.head).split())
    if head == task.head or not any(map(word_terms, words_of(head))):
        return task
    return TaskText(task.raw, found.sub(" ", task.text), head, found.sub(" ", task.body))


def understand_task(task: TaskText, *, project_id: str, query_type: QueryType | None) -> Intent:
    """Return the intent of a task that is parsed already."""
    predicted, confidence = (query_type, 1.0) if query_type else classify_task(task.head, task.body)
    terms = query_terms(subject_of(task.head), task.body)
    tags = tags_of(terms)
    return Intent(
        task=task,
        predicted=predicted,
        confidence=confidence,
        task_fingerprint=fingerprint(terms, project_id, predicted),
        entities=find_entities(task.text),
        terms=tuple(terms.items()),
        tags=tags,
        risk=risk_of(predicted, tags),
    )


def subject_of(head: str) -> str:
    """Return a head without "document" as a verb, which says what is to be written and not of what."""
    return _DOCUMENT.sub(r"\1", head).strip() or head


def query_terms(head: str, body: str = "") -> dict[str, float]:
    """Return {term: weight} of a cleaned task: head terms weigh more than body terms, identifiers most."""
    weights: Counter[str] = Counter()
    for part, weight in ((head, HEAD_WEIGHT), (body, BODY_WEIGHT)):
        for term, count in count_terms(part).items():
            factor = IDENTIFIER_WEIGHT if term.startswith("=") else 1.0
            weights[term] += weight * factor * min(count, 3) ** 0.5
    return dict(weights)


def fingerprint(terms: dict[str, float], project_id: str, kind: QueryType) -> str:
    """Return 16 hex digits, the same for any order or repetition of the same terms [img 7.1]."""
    canonical = "\x00".join([project_id, kind.value, *sorted(terms)])
    return hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@lru_cache(maxsize=1)
def _areas_by_stem() -> dict[str, str]:
    areas = read_parsed(__package__, "areas.json", json.loads)
    return {stem(word): area for area, words in areas.items() for word in words.split()}


def tags_of(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the areas that the terms of a task name, sorted."""
    known = _areas_by_stem()
    return tuple(sorted({known[term] for term in terms if term in known}))


def risk_of(kind: QueryType, tags: Iterable[str]) -> Risk:
    """Return what is at stake in a task of a kind with these tags."""
    touched = frozenset(tags)
    if kind is QueryType.INCIDENT or touched & CRITICAL:
        return Risk.HIGH
    if kind is QueryType.GENERAL or (touched and touched <= HARMLESS):
        return Risk.LOW
    return Risk.MEDIUM


@dataclass(frozen=True, slots=True)
class KindModel:
    """Weights by feature, one for each of `kinds`; `declared` has what a head may declare, `incident` cues.

    Where the best kind's probability is below `least` the kind is unknown.
    """

    kinds: tuple[QueryType, ...]
    weights: Mapping[str, tuple[float, ...]]
    declared: Mapping[str, QueryType]
    incident: Mapping[str, float]
    least: float


@lru_cache(maxsize=1)
def load_kinds() -> KindModel:
    """Return the model that comes with the program."""
    data = read_parsed("workbench.models", "intent-v2.json", json.loads)
    return KindModel(
        tuple(QueryType(kind) for kind in data["kinds"]),
        {name: tuple(values) for name, values in data["weights"].items()},
        {word: QueryType(kind) for word, kind in data["declared"].items()},
        data["incident"],
        data["least"],
    )


def classify(text: str) -> tuple[QueryType, float]:
    """Classify a cleaned task; see `classify_task`."""
    return classify_task(*split_head(text))


def classify_task(head: str, body: str) -> tuple[QueryType, float]:
    """Return the kind of a task and the probability that it is right; 0 for unknown."""
    model = load_kinds()
    declared = declared_kind(head, model)
    if declared is not None:
        return declared, DECLARED
    found = kind_features(head, body)
    alarm = sum(model.incident.get(name, 0.0) * value for name, value in found.items())
    if alarm >= ALARM:
        return QueryType.INCIDENT, round(1 - exp(-alarm / ALARM), 4)
    if not any(name in model.weights for name in found if name != BIAS):
        return QueryType.UNKNOWN, 0.0
    chances = probabilities(model, found)
    best = max(range(len(chances)), key=lambda place: (chances[place], -place))
    if chances[best] < model.least:
        return QueryType.UNKNOWN, 0.0
    return model.kinds[best], round(chances[best], 4)


def declared_kind(head: str, model: KindModel) -> QueryType | None:
    """Return the kind that a head declares: `fix(auth): …`, `feat!: …`, `[Bug] …`, `Feature request: …`."""
    match = _DECLARED.match(head)
    return None if match is None else model.declared.get((match[1] or match[2]).strip().lower())


def kind_features(head: str, body: str = "") -> dict[str, float]:
    """Return the features of a task: 1 for what is in its head, `BODY` for what only its body has."""
    found = {BIAS: 1.0, **dict.fromkeys(_features(head[:MAX_HEAD]), 1.0)}
    if body:
        for name in _features(body[:MAX_BODY]):
            if not name.startswith("first "):
                found.setdefault(name, BODY)
    return found


def _features(text: str) -> Iterator[str]:
    """Yield shapes, words as they are and by stem, pairs of words, and the first word as such."""
    for name, pattern in _SHAPES.items():
        if pattern.search(text):
            yield f"shape {name}"
    words = _CLASSIFIED_WORD.findall(_CODE.sub(" code ", text).lower().replace("\u2019", "'"))
    if words:
        yield f"first {stem(words[0])}"
    for word in words:
        yield word
        yield f"~{stem(word)}"
    for first, second in pairwise(words):
        yield f"{first} {second}"


def probabilities(model: KindModel, found: Mapping[str, float]) -> list[float]:
    """Return the probability of each of the model's kinds."""
    sums = [0.0] * len(model.kinds)
    for name, value in found.items():
        weights = model.weights.get(name)
        if weights is not None:
            for place, weight in enumerate(weights):
                sums[place] += value * weight
    top = max(sums)
    powers = [exp(value - top) for value in sums]
    whole = sum(powers)
    return [power / whole for power in powers]
