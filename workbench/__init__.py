"""The context workbench: decides what a coding agent should read for a task, and shows why.

    import workbench

    with workbench.open_project("path/to/repository") as project:
        print(project.plan("fix the login redirect", budget=3000).context.text)

What is in `__all__` is public and imported when it is first named; the packages below are not.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.api.project import Project, open_project
    from workbench.errors import WorkbenchError
    from workbench.records.answers.plan import PlanResponse, RankResponse
    from workbench.records.learnings import FeatureLearning
    from workbench.records.rules import Rule
    from workbench.records.segments import ContextSegment, SegmentType

__version__ = "0.1.0"

__all__ = [
    "ContextSegment",
    "FeatureLearning",
    "PlanResponse",
    "Project",
    "RankResponse",
    "Rule",
    "SegmentType",
    "WorkbenchError",
    "__version__",
    "open_project",
]

_HOMES = {
    "ContextSegment": "workbench.records.segments",
    "FeatureLearning": "workbench.records.learnings",
    "PlanResponse": "workbench.records.answers.plan",
    "Project": "workbench.api.project",
    "RankResponse": "workbench.records.answers.plan",
    "Rule": "workbench.records.rules",
    "SegmentType": "workbench.records.segments",
    "WorkbenchError": "workbench.errors",
    "open_project": "workbench.api.project",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(_import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
