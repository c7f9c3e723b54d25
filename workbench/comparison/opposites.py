"""Words of instructions to programmers that exclude each other, and words that mean the same.

Curated, small and by hand: an entry belongs here only if a reader who follows one side cannot follow the
other where both speak of the same subject. Whether they do is for the caller to find out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from workbench.text.terms import stem

_ANTONYMS = """
before after|include exclude|enable disable|first last|ascending descending|with without|above below|
inside outside|internal external|manual automatic|manually automatically|uppercase lowercase|upper lower|
required optional|mandatory optional|require optional|blocking nonblocking|synchronous asynchronous|
sync async|relative absolute|global local|static dynamic|explicit implicit|strict loose|eager lazy|
eagerly lazily|mutable immutable|public private|singular plural|prefix suffix|named default|single double|
single multiple|functional class|client server|light dark|top bottom|short long|present past|
inline external|early late|same different|minimum maximum|opt-in opt-out|
whitelist blacklist|allowlist denylist|encrypted plaintext|online offline|append prepend|
together separately|stateful stateless|verbose terse|verbose concise|detailed brief|trailing leading|
inheritance composition|monorepo polyrepo|monolith microservices|merge rebase|merge squash|rebase squash|
throw return|throw swallow|
"""


def _pairs() -> frozenset[tuple[str, str]]:
    found = set()
    for line in _ANTONYMS.replace("\n", "").split("|"):
        if line:
            first, second = (canonical(word) for word in line.split())
            found.update({(first, second), (second, first)})
    return frozenset(found)


@lru_cache(maxsize=1)
def antonym_pairs() -> frozenset[tuple[str, str]]:
    """Return the pairs of stems that oppose each other, each in both orders."""
    return _pairs()


def antonyms(first: str, second: str) -> bool:
    """Whether two stems oppose each other."""
    return (first, second) in antonym_pairs()


@lru_cache(maxsize=1)
def antonym_groups() -> dict[str, str]:
    """Return {stem: name of its group}, groups being words connected by opposition."""
    groups: dict[str, str] = {}
    linked: dict[str, set[str]] = {}
    for first, second in sorted(antonym_pairs()):
        linked.setdefault(first, set()).add(second)
    for word in sorted(linked):
        if word in groups:
            continue
        todo = [word]
        while todo:
            current = todo.pop()
            if current not in groups:
                groups[current] = word
                todo.extend(linked[current])
    return groups


@dataclass(frozen=True, slots=True)
class Choice:
    """A job that one of several things does. `implied` are words that name the job and tell no two apart."""

    name: str
    members: tuple[str, ...]
    implied: tuple[str, ...] = ()


CHOICES: Final = (
    Choice("indentation", ("tabs", "spaces"), ("indent", "indentation", "code", "character", "file")),
    Choice(
        "naming case",
        ("camelCase", "snake_case", "PascalCase", "kebab-case", "UPPER_CASE", "SCREAMING_SNAKE_CASE"),
        ("name", "naming", "case", "convention"),
    ),
    Choice(
        "JavaScript package manager",
        ("npm", "yarn", "pnpm", "bun"),
        ("package", "manager", "install", "dependency", "dependencies", "manage", "management", "project"),
    ),
    Choice(
        "JavaScript test runner",
        ("jest", "vitest", "mocha", "jasmine"),
        ("test", "testing", "tests", "runner", "framework", "run", "write", "unit"),
    ),
    Choice(
        "Python test runner",
        ("pytest", "unittest", "nose"),
        ("test", "testing", "tests", "runner", "framework", "run", "write", "python", "unit"),
    ),
    Choice(
        "Python formatter",
        ("black", "yapf", "autopep8", "ruff"),
        ("format", "formatting", "formatter", "code", "python", "style", "run"),
    ),
    Choice(
        "Python linter",
        ("flake8", "pylint", "ruff"),
        ("lint", "linting", "linter", "code", "python", "run", "check"),
    ),
    Choice(
        "Python package manager",
        ("pip", "poetry", "uv", "pipenv", "conda", "pdm"),
        ("package", "manager", "install", "dependency", "dependencies", "manage", "management", "python"),
    ),
    Choice("Python type checker", ("mypy", "pyright", "pytype"), ("type", "check", "checking", "checker")),
    Choice(
        "JavaScript formatter",
        ("prettier", "biome", "dprint"),
        ("format", "formatting", "formatter", "code", "style", "consistent", "run"),
    ),
    Choice(
        "JavaScript linter", ("eslint", "tslint", "biome", "oxlint"), ("lint", "linting", "linter", "code")
    ),
    Choice(
        "browser tests",
        ("cypress", "playwright", "selenium", "puppeteer", "testcafe"),
        ("test", "testing", "tests", "e2e", "end-to-end", "browser", "write", "run", "end"),
    ),
    Choice(
        "bundler",
        ("webpack", "vite", "rollup", "parcel", "esbuild", "turbopack"),
        ("bundle", "bundler", "build"),
    ),
    Choice(
        "state management",
        ("redux", "zustand", "mobx", "recoil", "jotai", "pinia", "vuex"),
        ("state", "management", "manage", "global", "store", "application", "app"),
    ),
    Choice(
        "styling",
        ("tailwind", "bootstrap", "styled-components", "css-modules"),
        ("style", "styling", "css", "component", "ui"),
    ),
    Choice(
        "HTTP client",
        ("axios", "fetch", "superagent", "ky"),
        ("http", "request", "api", "call", "client", "make"),
    ),
    Choice("Python HTTP client", ("requests", "httpx", "aiohttp"), ("http", "api", "call", "client", "make")),
    Choice(
        "data fetching", ("swr", "react-query", "apollo"), ("data", "fetch", "fetching", "server", "state")
    ),
    Choice(
        "JavaScript ORM",
        ("prisma", "drizzle", "typeorm", "sequelize"),
        ("orm", "database", "access", "query", "data"),
    ),
    Choice("Python ORM", ("sqlalchemy", "peewee", "tortoise"), ("orm", "database", "access", "query")),
    Choice(
        "database",
        ("postgresql", "mysql", "sqlite", "mongodb", "mariadb"),
        ("database", "db", "data", "storage", "store"),
    ),
    Choice(
        "dates", ("moment", "dayjs", "date-fns", "luxon"), ("date", "time", "format", "handle", "library")
    ),
    Choice(
        "validation", ("zod", "yup", "joi", "valibot"), ("validation", "validate", "schema", "form", "input")
    ),
    Choice("Java build", ("maven", "gradle"), ("build", "project", "tool", "java", "dependency")),
    Choice("CI", ("github-actions", "gitlab-ci", "circleci", "jenkins"), ("ci", "cd", "pipeline", "build")),
    Choice(
        "language",
        ("typescript", "javascript"),
        ("code", "file", "new", "write", "project", "language", "component"),
    ),
    Choice("JVM language", ("kotlin", "java"), ("code", "file", "new", "write", "language")),
    Choice("line endings", ("lf", "crlf"), ("line", "ending", "file", "end")),
    Choice("API style", ("rest", "graphql", "grpc"), ("api", "endpoint", "design", "service", "expose")),
    Choice(
        "asynchrony",
        ("callbacks", "promises", "async-await"),
        ("asynchronous", "async", "code", "operation", "handle"),
    ),
    Choice("components", ("functional-components", "class-components"), ("react", "write", "component")),
    Choice("exports", ("named-exports", "default-exports"), ("module", "component", "file")),
    Choice("quotes", ("single-quotes", "double-quotes"), ("string", "literal", "code", "quote")),
    Choice("branch update", ("merge-commits", "rebasing"), ("branch", "feature", "update", "main")),
    Choice("imports", ("relative-imports", "absolute-imports"), ("module", "import", "file")),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that a project fixes once: its unit, the words that name it, and words that add nothing."""

    name: str
    unit: str
    named: tuple[str, ...]
    implied: tuple[str, ...]


MEASURES: Final = (
    Measure(
        "line length",
        "char",
        ("line",),
        ("length", "limit", "keep", "text", "code", "wrap", "break", "width", "hard", "enforce", "max"),
    ),
    Measure(
        "test coverage",
        "%",
        ("coverage",),
        (
            "test", "code", "unit", "achieve", "ensure", "meet", "maintain", "aim", "keep", "requirement",
            "reach", "target", "threshold", "line", "stay", "overall",
        ),
    ),
    Measure("indentation", "space", ("indent",), ("code", "maintain", "style", "level", "width", "size")),
)  # fmt: skip

# What a naming convention speaks about; a rule often names several of them at once.
NAMED_THINGS: Final = (
    "variable", "function", "method", "class", "file", "folder", "directory", "constant", "component", "hook",
    "interface", "type", "enum", "property", "parameter", "module", "package", "test", "member", "contract",
    "struct", "event", "table", "column", "route", "prop", "field", "attribute", "argument", "service",
    "filename",
)  # fmt: skip

# Members that are English words as well: meant only as code, or as what is used.
ENGLISH: Final = frozenset({"requests", "fetch", "parcel", "moment", "nose", "black", "rest"})

# Several words that name one member.
PHRASES: Final = {
    ("functional", "components"): "functional-components",
    ("functional", "component"): "functional-components",
    ("function", "components"): "functional-components",
    ("class", "components"): "class-components",
    ("class", "component"): "class-components",
    ("class-based", "components"): "class-components",
    ("named", "exports"): "named-exports",
    ("named", "export"): "named-exports",
    ("default", "exports"): "default-exports",
    ("default", "export"): "default-exports",
    ("single", "quotes"): "single-quotes",
    ("double", "quotes"): "double-quotes",
    ("relative", "imports"): "relative-imports",
    ("absolute", "imports"): "absolute-imports",
    ("css", "modules"): "css-modules",
    ("styled", "components"): "styled-components",
    ("tailwind", "css"): "tailwind",
    ("github", "actions"): "github-actions",
    ("gitlab", "ci"): "gitlab-ci",
    ("react", "query"): "react-query",
    ("tanstack", "query"): "react-query",
    ("apollo", "client"): "apollo",
    ("date", "fns"): "date-fns",
    ("day.js",): "dayjs",
    ("moment.js",): "moment",
    ("tailwindcss",): "tailwind",
    ("postgres",): "postgresql",
    ("mongo",): "mongodb",
    ("tab",): "tabs",
    ("space",): "spaces",
    ("camel", "case"): "camelCase",
    ("snake", "case"): "snake_case",
    ("pascal", "case"): "PascalCase",
    ("kebab", "case"): "kebab-case",
    ("upper_snake_case",): "UPPER_CASE",
    ("async", "await"): "async-await",
    ("callback",): "callbacks",
    ("promise",): "promises",
    ("restful",): "rest",
    ("unit", "testing"): "unit-tests",
    ("unit", "tests"): "unit-tests",
    ("unit", "test"): "unit-tests",
}

_SYNONYMS = """
use utilize utilise leverage employ adopt using|prefer favor favour choose opt|
directory folder directories folders|documentation docs doc|
character char chars columns column|maximum max|minimum min|write written writes add create implement|
error exception|repository repo|configuration config|dependency package library|
descriptive meaningful|check verify confirm|guideline convention|
delete remove|large big|begin start|handle manage|authentication auth|application app|development dev|
production prod|environment env|argument arg|parameter param|initialize initialise init|optimize optimise|
organize organise|appropriate proper suitable|follow adhere|
"""


@lru_cache(maxsize=1)
def synonyms() -> dict[str, str]:
    """Return {stem: the stem that stands for it}."""
    found: dict[str, str] = {}
    for line in _SYNONYMS.replace("\n", "").split("|"):
        words = [stem(word) for word in line.split()]
        for word in words[1:]:
            found.setdefault(word, words[0])
    return found


@lru_cache(maxsize=1)
def choices_of() -> dict[str, tuple[int, ...]]:
    """Return {member in lower case: the positions in CHOICES it stands in}."""
    found: dict[str, tuple[int, ...]] = {}
    for position, choice in enumerate(CHOICES):
        for member in choice.members:
            found[member.lower()] = (*found.get(member.lower(), ()), position)
    return found


@lru_cache(maxsize=1)
def implied_terms() -> tuple[frozenset[str], ...]:
    """Return the canonical stems that each of CHOICES implies."""
    return tuple(frozenset(canonical(word) for word in choice.implied) for choice in CHOICES)


@lru_cache(maxsize=1)
def named_things() -> frozenset[str]:
    """Return the canonical stems of what naming conventions are about."""
    return frozenset(canonical(word) for word in NAMED_THINGS)


@lru_cache(maxsize=1)
def measures() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Return (unit, stems that name the measure, stems that it implies) of each of MEASURES."""
    return tuple(
        (
            item.unit,
            frozenset(canonical(word) for word in item.named),
            frozenset(canonical(word) for word in item.implied),
        )
        for item in MEASURES
    )


def canonical(word: str) -> str:
    """Return the stem that stands for a lower-case word and its synonyms."""
    root = stem(word)
    return synonyms().get(root, root)
