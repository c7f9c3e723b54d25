"""Why a file is in a plan or out of it: the plan, made as every face makes it, and others to compare with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from workbench.entry.project import OpenedProject
from workbench.entry.services.metrics import Measured
from workbench.entry.services.plan import preview_for
from workbench.errors import UsageError
from workbench.plan.explanation import explain_file, is_shown
from workbench.plan.overrides import nearest_path
from workbench.plan.pipeline import Plan
from workbench.plan.pipeline import plan as make_plan
from workbench.plan.workspace import Progress
from workbench.project.admission import content_refusal, refusal
from workbench.project.scan import read_bytes
from workbench.records.answers.explanation import FileExplanation
from workbench.records.plan import PlanRequest
from workbench.records.project import Skipped
from workbench.text.sanitize import visible_line

_LARGEST: Final = 64  # times the budget: what needs more than that is not kept out by it
_STEPS: Final = 4
_UNREAD: Final = {
    "vendored": "code of others, in a directory that holds such",
    "tooling": "in a directory of a tool or a cache",
    "output": "the output of a build",
    "lock": "a lock file",
    "secret": "named like a file of secrets",
    "binary": "binary",
    "generated": "generated",
    "minified": "minified",
    "large": "larger than index.max_file_bytes",
    "symlink": "a symbolic link, or behind one",
    "special": "no regular file",
    "unreadable": "unreadable",
    "missing": "gone",
}
_IGNORED: Final = "ignored by git or by index.exclude"


def file_in_project(root: Path, name: str) -> str:
    """Return a file relative to the project, given relative to here or to the project; it may be gone.

    Raises: UsageError for a directory and for what is outside of the project.
    """
    outside = False
    for base in (Path.cwd(), root):
        path = Path(os.path.normpath(base / name))
        inside = path.is_relative_to(root)
        outside = outside or not inside
        if inside and path.is_dir() and not path.is_symlink():
            raise UsageError(
                f"{visible_line(name)} is a directory",
                hint="Name one file; `workbench rank TASK` lists the files that matter.",
            )
        if inside and (path.exists() or (base == root and not Path(name).is_absolute())):
            return path.relative_to(root).as_posix()
    if outside and (Path(name).is_absolute() or ".." in Path(name).parts):
        raise UsageError(
            f"{visible_line(name)} is outside of the project {visible_line(str(root))}",
            hint="Paths are relative to here or to the project.",
        )
    return name


def normal_path(name: str) -> str:
    """Return a path relative to the project's root. Raises: UsageError for one that leads out of it."""
    path = os.path.normpath(name)
    if os.path.isabs(path) or path.split(os.sep)[0] == ".." or "\0" in path:
        raise UsageError(
            f"{visible_line(name)} is outside of the project", hint="Paths are relative to its root."
        )
    return Path(path).as_posix()


def explain_for(
    project: OpenedProject,
    measurement: Measured,
    request: PlanRequest,
    path: str,
    *,
    style: str,
    progress: Progress | None = None,
) -> FileExplanation:
    """Explain what the plan for a request does with a file, and record nothing of it.

    Raises: as `plan`; UsageError for a file that neither the project nor its index has.
    """
    made = preview_for(project, measurement, request, style=style, progress=progress)
    unranked = why_unread(project, path)
    if unranked == _UNREAD["missing"]:
        near = nearest_path(path, project.workspace.index.positions.keys())
        raise UsageError(
            f"there is no file {visible_line(path)}",
            hint=f"Did you mean {visible_line(near)}?"
            if near
            else "Paths are relative to here or to the project; `workbench rank TASK` lists files.",
        )
    file = explain_file(made, path, unranked=unranked)
    if file.remedies and _by_budget(made, path):

        def shows(budget: int) -> bool:
            wider = replace(request, token_budget=budget)
            return is_shown(make_plan(project.workspace, project.planner, wider, style=style), path)

        budget = sufficient_budget(shows, request.token_budget)
        file = explain_file(made, path, unranked=unranked, sufficient=budget)
    return file


def _by_budget(made: Plan, path: str) -> bool:
    """Whether packing left a file out, which a larger budget may change."""
    named = any(candidate.path == path for candidate, _ in made.pack.files)
    return named or any(one.file == path for one in made.pack.dropped)


def sufficient_budget(shows: Callable[[int], bool], budget: int) -> int | None:
    """Return about the smallest budget that shows a file, None if none up to 64 times as large does."""
    low, high = budget, budget * 2
    while not shows(high):
        low, high = high, high * 2
        if high > budget * _LARGEST:
            return None
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def why_unread(project: OpenedProject, path: str) -> str:
    """Return in words why a file is not in the index, '' if it is."""
    workspace = project.workspace
    index = workspace.index
    if path in index.positions and index.alive[index.positions[path]]:
        return ""
    data = read_bytes(project.root, path, workspace.limits.max_bytes)
    if isinstance(data, Skipped):
        return _UNREAD.get(data.reason, data.reason)
    reason = refusal(path, tracked=project.repository is not None) or content_refusal(path, data)
    if reason:
        return f"not indexed: {_UNREAD[reason]}"
    listed = path in workspace.adapters.lister([path]).paths
    return "not indexed: more files than index.max_files" if listed else f"not indexed: {_IGNORED}"
