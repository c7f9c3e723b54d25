"""A client of the public face, as somebody would write it: its types are those that mypy --strict sees.

`make check` holds that the sound part has no fault and that each mistake is found: an `ignore` of a fault
that mypy does not find, or of another one, is an error.
"""

from __future__ import annotations

from typing import assert_type

import workbench
from workbench import PlanResponse, Project, RankResponse, Rule, WorkbenchError, open_project


def context_for(path: str, task: str) -> str:
    with open_project(path, settings={"plan.budget": 2000}) as project:
        response = project.plan(
            task, budget=1500, pinned=["README.md"], agent="claude", facts={"os": "linux"}
        )
        assert_type(response, PlanResponse)
        assert_type(response.budget_report.estimated_used, int)
        return response.context.text


def absolute_rules(project: Project) -> list[Rule]:
    project.rules.add("Never force-push.", authority="absolute", check={"command": "git push --force"})
    return list(project.rules.list("authority:absolute").rows)


def names(found: RankResponse) -> tuple[str, ...]:
    return tuple(file.path for file in found.files)


def refused(project: Project) -> str:
    """Return why a plan cannot be made, and what to do."""
    try:
        project.plan("", budget=0)
    except WorkbenchError as error:
        return f"{error.message}: {error.hint}"
    return workbench.__version__


def make_mistakes() -> None:
    """Use the face wrongly, one fault a line."""
    with open_project(1) as project:  # type: ignore[arg-type]
        response = project.plan("a task", bugdet=1000)  # type: ignore[call-arg]
        print(response.context.txt)  # type: ignore[attr-defined]
        response.context.text = ""  # type: ignore[misc]
        project.rules.add("Use pnpm.", priority="high")  # type: ignore[arg-type]
        project.learnings.add("no feature")  # type: ignore[call-arg]
        print(project.rank("a task").files[0].path + 1)  # type: ignore[operator]
