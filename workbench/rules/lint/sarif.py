"""Findings as a SARIF 2.1.0 log, which code hosts and editors show at their lines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from workbench import __version__
from workbench.rules.lint.findings import KINDS, LintFinding, LintKind
from workbench.text.sanitize import visible_line

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
                "results": [_result(one, order.index(one.kind)) for one in findings],
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
