"""Understand a task [img 7.1]: what it names, what kind of work it is, and its stable fingerprint.

Everything here is a pure function of the text, so the same task gives the same intent on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from workbench.plan.areas import risk_of, tags_of
from workbench.plan.classifier import classify
from workbench.records.plan import Entities, Intent, QueryType
from workbench.text.tasks import clean_task, split_head
from workbench.text.terms import count_terms, is_identifier

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
BODY_WEIGHT = 0.4  # a body explains; the head line says what is to be done
IDENTIFIER_WEIGHT = 1.6


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


def query_terms(text: str) -> dict[str, float]:
    """Return {term: weight} of a cleaned task: head terms weigh more than body terms, identifiers most."""
    head, body = split_head(text)
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


def parse_intent(task: str, *, project_id: str = "", query_type: QueryType | None = None) -> Intent:
    """Understand a task. An explicit `query_type` overrides the prediction with confidence 1."""
    text = clean_task(task)
    predicted, confidence = classify(text) if query_type is None else (query_type, 1.0)
    terms = query_terms(text)
    tags = tags_of(terms)
    return Intent(
        task=task,
        normalized=" ".join(term for term in terms if not term.startswith("=")),
        predicted=predicted,
        confidence=confidence,
        task_fingerprint=fingerprint(terms, project_id, predicted),
        entities=find_entities(text),
        terms=tuple(terms.items()),
        tags=tags,
        risk=risk_of(predicted, tags),
    )
