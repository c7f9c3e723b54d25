"""The published schemas of the answers, written from their structs:
`python -m workbench.entry.schemas docs/schema`.

A file for each answer; whoever adds one adds it to `ANSWERS`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.records.answers.base import Answer
from workbench.records.answers.expansion import ExpandResponse
from workbench.records.answers.explanation import ExplainResponse
from workbench.records.answers.models import ModelStatus
from workbench.records.answers.plan import PlanResponse, RankResponse
from workbench.records.answers.project import (
    Delta,
    DoctorReport,
    ExploreResponse,
    IndexReport,
    ProjectStatus,
    StatsReport,
    StorageReport,
)
from workbench.records.answers.rules import CheckResponse, EffectiveResponse, LintReport, MatchResponse
from workbench.records.answers.stash import ImportResponse, MergeResponse, PruneResponse, RetrieveResponse
from workbench.records.answers.team import (
    TeamExchange,
    TeamLeaving,
    TeamMembers,
    TeamStatus,
    TeamVerification,
)
from workbench.records.answers.usage import RunningSessionsResponse, UsageResponse
from workbench.records.answers.vectors import VectorStatus

ANSWERS: Final[tuple[type[Answer], ...]] = (
    CheckResponse,
    Delta,
    DoctorReport,
    EffectiveResponse,
    ExpandResponse,
    ExplainResponse,
    ExploreResponse,
    ImportResponse,
    IndexReport,
    LintReport,
    MatchResponse,
    MergeResponse,
    ModelStatus,
    PlanResponse,
    ProjectStatus,
    PruneResponse,
    RankResponse,
    RetrieveResponse,
    RunningSessionsResponse,
    StatsReport,
    StorageReport,
    TeamExchange,
    TeamLeaving,
    TeamMembers,
    TeamStatus,
    TeamVerification,
    UsageResponse,
    VectorStatus,
)
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")
_SPECIFICATION: Final = re.compile(r" \[\w+ [\d.]+\]")  # chapters that readers of a schema do not have


def file_name(answer: type[Answer]) -> str:
    """Return the name of an answer's file: `plan-response.schema.json`."""
    return f"{_WORD.sub('-', answer.__name__).lower()}.schema.json"


def schema_of(answer: type[Answer]) -> dict[str, Any]:
    """Return the JSON schema of an answer, its own fields first and those of its parts under `$defs`."""
    found = json.loads(_SPECIFICATION.sub("", json.dumps(msgspec.json.schema(answer))))
    parts: dict[str, Any] = found["$defs"]
    whole = parts.pop(answer.__name__)
    name = file_name(answer).partition(".")[0]
    return {
        "$schema": _DIALECT,
        "$id": f"urn:context-workbench:{name}:1",
        **whole,
        "title": name.capitalize().replace("-", " "),
        "$defs": dict(sorted(parts.items())),
    }


def schema_text(answer: type[Answer]) -> str:
    """Return the text of an answer's file."""
    return json.dumps(schema_of(answer), ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    for one in ANSWERS:
        (Path(sys.argv[1]) / file_name(one)).write_text(schema_text(one), encoding="utf-8")
