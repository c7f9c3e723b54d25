"""Understand a task [img 7.1]: what it names, what kind of work it is, and a fingerprint that survives rewording.

Everything here is a pure function of the text; rules decide the kind, so the same task always gives the same
intent on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from workbench.records.plan import Entities, Intent, QueryType
from workbench.text.terms import count_terms, is_identifier, stem

_PATH = re.compile(
    r"(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w@.+-]+/)+[\w@.+-]+|(?<![\w/.@-])[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])"
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
        r"at (?:(?P<function>[\w$.<>\[\] ]+) )?\(?(?:file://)?(?P<path>[^\s():]+\.\w+):(?P<line>\d+)(?::\d+)?\)?"
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
_SCOPE = re.compile(r"^\s*(?:\[([\w ./+-]{1,40})\]|(\w+)\(([\w ,./@*+-]{1,60})\)!?:|([\w./+*{},-]{2,60}):)\s")
_TRAILER = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id|cherry picked from|git-svn-id|"
    r"entire-[\w-]+|reviewed-on|tested-by|helped-by|generated with|🤖)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_URL = re.compile(r"https?://\S+")

# Weighted cues for each kind of task; weights are odds-like, the highest sum wins.
_CUES: dict[QueryType, dict[str, float]] = {
    QueryType.BUGFIX: {
        "fix": 3.0, "bug": 3.0, "bugfix": 3.5, "hotfix": 2.5, "broken": 2.0, "wrong": 1.5, "incorrect": 1.8, "fail": 1.5, "error": 1.2,
        "crash": 1.8, "regress": 2.0, "issu": 0.8, "not work": 2.0, "doesn": 1.0, "exception": 1.2, "panic": 1.5,
        "traceback": 2.0, "unexpect": 1.5, "correct": 1.0, "avoid": 0.8, "prevent": 0.8, "leak": 1.5, "race": 1.2, "flaki": 1.5,
        "handl": 0.5, "mismatch": 1.2, "missing": 0.8, "miss": 0.8, "invalid": 0.8, "deadlock": 1.6, "typo": 1.5, "resolv": 0.7,
    },
    QueryType.FEATURE: {
        "add": 2.0, "feat": 3.5, "featur": 2.5, "implement": 2.5, "support": 1.6, "introduc": 1.8, "allow": 1.3, "enabl": 1.2,
        "new": 1.2, "creat": 1.5, "provid": 0.8, "option": 0.8, "expos": 1.0, "extend": 1.0, "build": 0.6, "integr": 1.0,
    },
    QueryType.REFACTOR: {
        "refactor": 4.0, "cleanup": 2.5, "clean": 1.8, "renam": 2.2, "simplifi": 2.2, "move": 1.6, "extract": 1.6, "split": 1.5,
        "dedupl": 1.8, "reorgan": 2.2, "restructur": 2.2, "remov": 1.2, "style": 1.5, "reformat": 2.0, "unus": 1.5,
        "modern": 1.2, "replac": 0.9, "migrat": 1.2, "convert": 1.0, "tidi": 2.0, "inlin": 1.2, "drop": 0.8, "reus": 1.0,
    },
    QueryType.INCIDENT: {
        "incid": 3.5, "outag": 3.5, "product": 0.9, "prod": 1.2, "urgent": 2.0, "sev1": 3.0, "rollback": 2.2, "revert": 1.8,
        "secur": 1.5, "vulner": 2.2, "cve": 3.0, "500": 0.8, "502": 1.5, "503": 1.5, "timeout": 0.8, "down": 1.0, "page": 0.3, "oncal": 2.5,
        "latenc": 0.8, "memori leak": 1.0, "data loss": 2.0, "postmortem": 3.0, "spike": 1.5, "mitig": 1.2,
    },
}  # fmt: skip
_ROOT_CUES = {kind: {stem(word): weight for word, weight in cues.items()} for kind, cues in _CUES.items()}

HEAD_WEIGHT = 1.0
BODY_WEIGHT = 0.4  # a body explains; the head line says what is to be done
IDENTIFIER_WEIGHT = 1.6


def clean_task(task: str) -> str:
    """Return the task without trailers, URLs and control characters; line structure is kept."""
    text = task.replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(char for char in text if char in "\n\t" or ord(char) >= 32)
    return _URL.sub(" ", _TRAILER.sub("", text)).strip()


def split_head(text: str) -> tuple[str, str]:
    """Split a task into its head (first line) and the rest."""
    head, _, body = text.partition("\n")
    return head.strip(), body.strip()


def scope_of(head: str) -> str:
    """Return the scope a head line declares: `auth` of `fix(auth): …`, `net/http` of `net/http: …`."""
    match = _SCOPE.match(head)
    if match is None:
        return ""
    bracket, _, conventional, prefix = match.groups()
    return bracket or conventional or prefix or ""


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


def classify(text: str) -> tuple[QueryType, float]:
    """Return the kind of task and a confidence in [0, 1]: the share of the winning kind's cues.

    The head line counts fully, the rest a quarter: bodies discuss, heads announce.
    """
    head, body = split_head(text)
    scores = dict.fromkeys(_ROOT_CUES, 0.0)
    for part, weight in ((head, 1.0), (body, 0.25)):
        words = [stem(word) for word in re.findall(r"[a-z0-9]+", part.lower())]
        seen = set(words) | {f"{first} {second}" for first, second in zip(words, words[1:], strict=False)}
        first_word = words[0] if words else ""
        for kind, cues in _ROOT_CUES.items():
            scores[kind] += weight * sum(value for cue, value in cues.items() if cue in seen)
            if part is head and first_word in cues:
                scores[kind] += cues[first_word]  # the leading verb decides most heads
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0].value))
    (best, top), total = ranked[0], sum(scores.values())
    if top < 1.0:
        return QueryType.UNKNOWN, 0.0
    return best, round(top / (total + 0.5), 4)


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
    return Intent(
        task=task,
        normalized=" ".join(term for term in terms if not term.startswith("=")),
        predicted=predicted,
        confidence=confidence,
        task_fingerprint=fingerprint(terms, project_id, predicted),
        entities=find_entities(text),
        terms=tuple(terms.items()),
    )
