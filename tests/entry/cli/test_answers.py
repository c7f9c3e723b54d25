"""What commands print as JSON is what is published of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import Connections
from tests.teams import Team
from workbench.entry.schemas import ANSWERS, schema_of
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

FORCED = '{"command": "git push --force"}'
EXAMPLE = str(Path(__file__).parents[3] / "sample_data" / "stash_example.jsonl")
TASK = "jwt token is not refreshed on 401"
COMMANDS: dict[type[Answer], tuple[str, ...]] = {
    CheckResponse: ("rules", "check", "--tool", "Bash", "--input", FORCED),
    Delta: ("delta",),
    DoctorReport: ("doctor",),
    EffectiveResponse: ("rules", "effective", "pkg/auth.py", "--agent", "claude"),
    ExpandResponse: ("show", "refresh_token"),
    ExplainResponse: ("explain", TASK, "pkg/auth.py"),
    ExploreResponse: ("explore",),
    ImportResponse: ("stash", "import", EXAMPLE),
    IndexReport: ("refresh",),
    LintReport: ("rules", "lint"),
    MatchResponse: ("rules", "match", TASK),
    MergeResponse: ("stash", "merge", "seg-1"),
    ModelStatus: ("model", "status"),
    PlanResponse: ("plan", TASK),
    ProjectStatus: ("status",),
    PruneResponse: ("stash", "prune", "--budget", "700", EXAMPLE, "--apply"),
    RankResponse: ("rank", TASK),
    RetrieveResponse: ("stash", "search", "tokens"),
    RunningSessionsResponse: ("episode", "running"),
    StatsReport: ("stats",),
    StorageReport: ("stats", "--storage"),
    TeamStatus: ("store", "status"),
    UsageResponse: ("stats", "--usage"),
    VectorStatus: ("vectors", "status"),
}


OF_TEAM: dict[type[Answer], tuple[str, ...]] = {
    TeamStatus: ("store", "status"),
    TeamMembers: ("store", "members", "list"),
    TeamExchange: ("store", "sync"),
    TeamVerification: ("store", "verify"),
    TeamLeaving: ("store", "leave"),
}


def test_every_published_answer_has_a_command() -> None:
    """No answer is published that nobody gets."""
    assert {*COMMANDS, *OF_TEAM} == set(ANSWERS)


@pytest.mark.usefixtures("project")
def test_what_is_printed_of_a_team_follows_the_schema(run: Any, team: Team) -> None:
    """Joined, with something to send, and left."""
    run("stash", "add", "Tokens are refreshed once a day")
    run("store", "use", team.url("anna"), "--name", team.project("anna"))
    for answer, command in OF_TEAM.items():
        found = run(*command, "--json")
        assert found.code == 0
        jsonschema.Draft202012Validator(schema_of(answer)).validate(found.json())


def test_what_is_printed_follows_the_schema(project: Any, run: Any) -> None:
    """A project that is new, and then indexed, changed and with skipped files, is answered as published."""
    schemas = {answer: jsonschema.Draft202012Validator(schema_of(answer)) for answer in COMMANDS}

    def follow() -> None:
        for answer, command in COMMANDS.items():
            schemas[answer].validate(run(*command, "--json").json())

    run("stash", "add", "Tokens are refreshed once a day", "--id", "seg-1")
    follow()
    project.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    run("index", "--full")
    project.write("pkg/store.py", "x = 1\n")
    run(
        "rules",
        "add",
        "Never force-push.",
        "--authority",
        "absolute",
        "--check",
        '{"command": "git push --force"}',
    )
    follow()


def test_no_command_leaves_a_connection(project: Any, run: Any, connections: Connections) -> None:
    """What was read of tables is closed, whatever keeps the process alive."""
    for command in (
        "rules list --sort priority",
        "memory list log",
        "rules conflicts list log",
        "episode list",
        "episode running",
        "stash list",
    ):
        before = connections.made
        assert run(*command.split()).code == 0
        assert connections.made > before
    assert connections.alive == 0
