"""The kinds of findings about rule files, and what every check looks at.

A kind has one severity and one sentence that says what it means; a finding says where, what, and the next
thing to do. Checks are functions from a `LintProject` to findings and open nothing themselves. Findings
become a SARIF 2.1.0 log, which code hosts and editors show at their lines.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from workbench import __version__
from workbench.records.conflicts import Conflict
from workbench.records.rules import Rule
from workbench.rules.descriptions import place
from workbench.rules.precedence.tree import RuleText, RuleTree
from workbench.text.sanitize import visible_line


class Severity(StrEnum):
    """How bad a finding is, worst first; the words are those of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class LintKind(StrEnum):
    """What is wrong."""

    SECRET = "secret"
    ORDER = "order"
    MISSING_IMPORT = "missing-import"
    UNREADABLE = "unreadable"
    DEAD_GLOB = "dead-glob"
    FOREIGN_KEY = "foreign-key"
    FRONT_MATTER = "front-matter"
    NEVER_LOADED = "never-loaded"
    CUT = "cut"
    MISSING_FILE = "missing-file"
    MISSING_COMMAND = "missing-command"
    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    LARGE_FILE = "large-file"
    LARGE_SESSION = "large-session"


KINDS: Final[dict[LintKind, tuple[Severity, str]]] = {
    LintKind.SECRET: (Severity.ERROR, "A secret is in a rule file."),
    LintKind.ORDER: (Severity.ERROR, "A rule orders the assistant about, not the work; it is out of force."),
    LintKind.MISSING_IMPORT: (Severity.ERROR, "An `@path` names a text that is not there."),
    LintKind.UNREADABLE: (Severity.WARNING, "A rule file cannot be read."),
    LintKind.DEAD_GLOB: (Severity.WARNING, "A glob of a rule file matches no file of the project."),
    LintKind.FOREIGN_KEY: (Severity.WARNING, "The front matter has the key of another agent."),
    LintKind.FRONT_MATTER: (Severity.WARNING, "The front matter is not read as it is meant."),
    LintKind.NEVER_LOADED: (Severity.WARNING, "No agent loads this file."),
    LintKind.CUT: (Severity.WARNING, "An agent reads only the beginning of its rule files."),
    LintKind.MISSING_FILE: (Severity.WARNING, "A rule names a file of the project that is not there."),
    LintKind.MISSING_COMMAND: (Severity.WARNING, "A rule names a script or target that is not defined."),
    LintKind.CONTRADICTION: (Severity.WARNING, "One agent loads two rules that contradict each other."),
    LintKind.DUPLICATE: (Severity.NOTE, "One agent loads the same rule twice."),
    LintKind.LARGE_FILE: (Severity.NOTE, "A rule file is very large."),
    LintKind.LARGE_SESSION: (Severity.NOTE, "An agent begins every session with very many tokens of rules."),
}
"""The severity of each kind and what it means."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something wrong at a line of a rule file (1-based, 0 for the file as a whole).

    `step` is the next thing to do. `detail` identifies the finding within its line: a glob, a path, a rule's
    id. `conflict` is the id of the pair of rules it is about.
    """

    kind: LintKind
    file: str
    line: int
    message: str
    step: str
    detail: str = ""
    conflict: str = ""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return KINDS[self.kind][0]


@dataclass(frozen=True)
class LintProject:
    """What checks look at.

    `files` are the names of the rule files, `paths` the project's listed paths, sorted. `rules` are those in
    force and `conflicts` the open pairs among them. `text` returns a listed file's text, None for one that
    cannot be read; `exists` says whether anything is at a path of the project, `ignored` whether git does not
    keep it. `above` are directories over the project.
    """

    tree: RuleTree
    files: Sequence[str]
    paths: Sequence[str]
    rules: Sequence[Rule]
    conflicts: Sequence[Conflict]
    text: Callable[[str], str | None]
    exists: Callable[[str], bool]
    count_tokens: Callable[[str], int]
    above: tuple[str, ...] = ()
    ignored: Callable[[str], bool] = field(default=lambda path: False)

    @cached_property
    def texts(self) -> tuple[tuple[str, RuleText], ...]:
        """The rule files that could be read, by name."""
        found = ((name, self.tree.find(name)) for name in sorted(self.files))
        return tuple((name, text) for name, text in found if text is not None)

    def new_place(self, path: str) -> str:
        """Return where the only file of a path's name is now, empty if there is none or several."""
        found = self.by_name.get(path.rstrip("/").rpartition("/")[2], [])
        return found[0] if len(found) == 1 else ""

    def has(self, path: str) -> bool:
        """Whether listed files are at a path or below it, or where some directory's path is continued so."""
        return f"/{path}/" in self._lines

    def has_directory(self, path: str) -> bool:
        """Whether listed files are below a directory."""
        return f"\n/{path}/" in self._lines

    @cached_property
    def _lines(self) -> str:
        return "".join(f"\n/{path}/" for path in self.paths)

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """The listed paths by their last part."""
        names: dict[str, list[str]] = {}
        for path in self.paths:
            names.setdefault(path.rpartition("/")[2], []).append(path)
        return names


MOST_ALIKE: Final = 100
"""Findings of a kind that are listed of one file."""

MOST_SHOWN: Final = 80
"""Characters of a rule in a message."""

OF_FILE: Final = frozenset(
    {LintKind.DEAD_GLOB, LintKind.FOREIGN_KEY, LintKind.FRONT_MATTER, LintKind.NEVER_LOADED, LintKind.CUT}
)
"""Kinds that concern every rule of a file."""


def findings_by_rule(
    rules: Iterable[Rule], findings: Iterable[LintFinding]
) -> dict[str, tuple[LintFinding, ...]]:
    """Return the findings of each rule that has any, by file and line: in its lines, or of its whole file."""
    by_file: dict[str, list[LintFinding]] = {}
    for finding in findings:
        by_file.setdefault(finding.file, []).append(finding)
    found: dict[str, tuple[LintFinding, ...]] = {}
    for rule in sorted(rules, key=place):
        where = rule.provenance
        mine = tuple(
            one
            for one in by_file.get("" if where is None else where.file, ())
            if where is not None and (one.kind in OF_FILE or where.line <= one.line <= where.end_line)
        )
        if mine:
            found[rule.id] = mine
    return found


_IGNORE: Final = re.compile(r"workbench-lint:\s*ignore(?:\s+([a-z-]+(?:[,\s]+[a-z-]+)*))?")


def without_ignored(project: LintProject, findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Return the findings but those that a `workbench-lint: ignore [KIND…]` in or above their line is for."""
    lines = {name: found.text.split("\n") for name, found in project.texts}

    def is_ignored(one: LintFinding) -> bool:
        near = lines.get(one.file, [])[max(one.line - 2, 0) : max(one.line, 1)]
        for line in near:
            match = _IGNORE.search(line)
            if match and (match[1] is None or one.kind in re.split(r"[,\s]+", match[1])):
                return True
        return False

    return [finding for finding in findings if not is_ignored(finding)]


SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(findings: Sequence[LintFinding]) -> Mapping[str, Any]:
    """Return a log with one run. The same finding has the same fingerprint wherever its line is."""
    order = list(LintKind)
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "workbench rules lint",
                        "version": __version__,
                        "rules": [_rule(kind) for kind in order],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, order.index(finding.kind)) for finding in findings],
            }
        ],
    }


def _rule(kind: LintKind) -> Mapping[str, Any]:
    severity, meaning = KINDS[kind]
    return {
        "id": str(kind),
        "shortDescription": {"text": meaning},
        "defaultConfiguration": {"level": str(severity)},
    }


def _result(one: LintFinding, rule: int) -> Mapping[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _address(one.file)}}
    if one.line:
        place["region"] = {"startLine": one.line}
    key = "\0".join((one.kind, one.file, one.detail or one.message))
    return {
        "ruleId": str(one.kind),
        "ruleIndex": rule,
        "level": str(one.severity),
        "message": {"text": f"{visible_line(one.message)}. {visible_line(one.step)}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {
            "finding/v1": hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        },
    }


def _address(file: str) -> str:
    """Return a file as a relative reference; the user's own files have no place in a repository."""
    return quote(file.encode("utf-8", "surrogateescape"), safe="/~")
