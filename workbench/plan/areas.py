"""What a task touches and how much is at stake [img 5.1, 7.1]: tags by its words, and a class of risk.

Risk is about the consequences of a mistake: who may do what, money, secrets, and what is down right now are
high; documents, tests and builds alone are low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from workbench.records.plan import QueryType, Risk
from workbench.text.terms import stem

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
