"""Understand a task [img 7.1]: what it names, what kind of work it is, what is at stake, its fingerprint.

Everything here is a pure function of the text, so the same task gives the same intent on every machine. Risk
is about the consequences of a mistake: who may do what, money, secrets, and what is down right now are high;
documents, tests and builds alone are low.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from workbench.plan.classifier import classify_task
from workbench.records.plan import Entities, Intent, QueryType, Risk, TaskText
from workbench.text.tasks import parse_task
from workbench.text.terms import count_terms, is_identifier, stem

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
)
_NOT_A_TICKET = frozenset(
    {"UTF", "SHA", "ISO", "RFC", "HTTP", "TLS", "SSL", "AES", "MD", "CVE", "COVID", "GPT", "X"}
)

HEAD_WEIGHT = 1.0
BODY_WEIGHT = 0.4  # a body explains; the head line states what is to be done
IDENTIFIER_WEIGHT = 1.6

AREAS: Mapping[str, str] = {
    "authentication": """auth authenticate authentication authorization authorize credential jwt login logout
        oauth password permission session signin signup sso""",
    "build": "bump ci dependency docker lint linter package pipeline release upgrade version workflow",
    "command-line": "argument cli flag option prompt shell stderr stdin stdout terminal",
    "concurrency": "async atomic concurrent concurrency deadlock goroutine lock mutex parallel race thread",
    "configuration": "config configuration env environment setting settings toml",
    "database": "database migration orm query schema sql table transaction",
    "documentation": "changelog comment doc docs docstring documentation guide readme tutorial typo",
    "frontend": "button css dialog dom layout menu modal page render responsive screen theme ui widget",
    "network": """connection cookie dns header http https proxy redirect request response retry socket
        timeout url websocket""",
    "parsing": "decode encode format grammar json lexer parse parser regex serialize syntax xml yaml",
    "payment": "billing charge checkout currency invoice payment price refund subscription",
    "performance": "cache cpu fast latency memory optimize performance slow speed throughput",
    "security": """certificate crypto csrf cve encrypt encryption escape exploit injection sanitize secret
        security tls vulnerability xss""",
    "testing": "coverage fixture flaky mock test testing tests",
}
CRITICAL = frozenset({"authentication", "payment", "security"})
HARMLESS = frozenset({"build", "documentation", "testing"})


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
        "#" + (hash_ref or gh or url) if (hash_ref or gh or url) else ticket: None
        for hash_ref, gh, ticket, url in _ISSUE.findall(text)
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


def understand_task(task: TaskText, *, project_id: str, query_type: QueryType | None) -> Intent:
    """Return the intent of a task that is parsed already."""
    predicted, confidence = (query_type, 1.0) if query_type else classify_task(task.head, task.body)
    terms = query_terms(task.head, task.body)
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
def _by_stem() -> dict[str, str]:
    return {stem(word): area for area, words in AREAS.items() for word in words.split()}


def tags_of(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the areas that the terms of a task name, sorted."""
    known = _by_stem()
    return tuple(sorted({known[term] for term in terms if term in known}))


def risk_of(kind: QueryType, tags: Iterable[str]) -> Risk:
    """Return what is at stake in a task of a kind with these tags."""
    touched = frozenset(tags)
    if kind is QueryType.INCIDENT or touched & CRITICAL:
        return Risk.HIGH
    if kind is QueryType.GENERAL or (touched and touched <= HARMLESS):
        return Risk.LOW
    return Risk.MEDIUM
