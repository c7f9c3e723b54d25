"""The workbench from Python: `workbench.open_project(path)`, and what can be asked of the project it returns.

Everything here is what the command line does, by the same services. Nothing is printed; what no answer holds
(a setting that was ignored, a measurement that could not be written) is a warning of the logger `workbench`.
Errors are `WorkbenchError`, with a hint.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from workbench.api.learnings import ProjectLearnings
from workbench.api.rules import ProjectRules
from workbench.api.sessions import ProjectSessions
from workbench.api.stash import ProjectStash
from workbench.entry.services.opening import ProjectHost, host_project
from workbench.records.requests import PlanOptions

if TYPE_CHECKING:
    from types import TracebackType

    from workbench.records.answers.expansion import ExpandResponse
    from workbench.records.answers.plan import PlanResponse, RankResponse
    from workbench.records.answers.project import DoctorReport, ProjectStatus
    from workbench.records.replay import ReplayRun

BY: Final = "python"
"""What journals name as the face that acted."""

logging.getLogger("workbench").addHandler(logging.NullHandler())


def open_project(
    path: str | os.PathLike[str] = ".",
    *,
    settings: Mapping[str, object] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Project:
    """Open the project that a directory is in: the nearest one upwards with `.git`, else with `.workbench`.

    `settings` {`section.key`: value} come before those of files and the environment. `progress` is called
    with (stage, done, total; 0: unknown) while something takes long. Nothing of the files is read yet.

    Raises: ProjectError for what is not a directory or a bare repository, or where a person should be asked
    before all of it is indexed; ConfigError; StoreError.
    """
    return Project(host_project(Path(path), settings or {}, BY, progress))


class Project:
    """A project that is open: what an agent should read for a task, and what is known and kept for that.

    Threads may share one; their questions wait for each other. Processes work on one project at once. Closing
    it frees its indexes and models; everything is on disk before a call returns.
    """

    def __init__(self, host: ProjectHost) -> None:
        """Take a project that is kept open; `open_project` makes one."""
        self._host: Final = host
        self.root: Final = host.root
        self.rules: Final = ProjectRules(host)
        self.learnings: Final = ProjectLearnings(host)
        self.sessions: Final = ProjectSessions(host)
        self.stash: Final = ProjectStash(host)

    def __enter__(self) -> Project:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<project {str(self.root)!r}>"

    def close(self) -> None:
        """Free what is held; whatever is asked afterwards is refused with UsageError."""
        self._host.close()

    def plan(
        self,
        task: str,
        *,
        budget: int | None = None,
        style: str = "",
        baseline: bool = False,
        session: str = "",
        **options: Unpack[PlanOptions],
    ) -> PlanResponse:
        """Pack what an agent should read for a task into `budget` tokens (default: the setting plan.budget).

        `response.context.text` is what to hand over, as text, markdown or xml by `style`; it never has more
        tokens than the budget. The use of its rules and learnings is recorded, and the pack itself in the
        episode `session`, which is started if it is new. With `baseline` files are ordered by the kind of
        task alone, to compare with. The first plan of a project indexes it.

        Raises: StaleProject under `strict`; UsageError for an empty task or something pinned or excluded that
        is not there; StoreError, GitError, ModelError.
        """
        from workbench.entry.services.episodes import recording_of
        from workbench.entry.services.plan import plan_for, record_pack
        from workbench.entry.services.requests import pack_style, plan_request

        host = self._host
        with host.operation("plan") as work:
            request = plan_request(work.project, task, budget=budget, session=session, **options)
            found = plan_for(
                work.project,
                work.measurement,
                request,
                style=pack_style(work.project, style),
                baseline=baseline,
                progress=host.progress,
                by=host.by,
            )
            if session:
                record_pack(recording_of(host), request, found.response)
            return found.response

    def preview(
        self,
        task: str,
        *,
        budget: int | None = None,
        style: str = "",
        baseline: bool = False,
        **options: Unpack[PlanOptions],
    ) -> PlanResponse:
        """Return the plan that `plan` would make, handed over to nobody and unrecorded. Raises: as `plan`."""
        from workbench.entry.services.plan import preview_for
        from workbench.entry.services.requests import pack_style, plan_request

        host = self._host
        with host.operation("plan") as work:
            found = preview_for(
                work.project,
                work.measurement,
                plan_request(work.project, task, budget=budget, **options),
                style=pack_style(work.project, style),
                baseline=baseline,
                progress=host.progress,
            )
            return found.response

    def expand(
        self,
        *handles: str,
        budget: int | None = None,
        aspect: str = "",
        session: str = "",
        again: bool = False,
    ) -> ExpandResponse:
        """Show what handles stand for, in at most `budget` tokens (default: 1,500).

        A handle is a name (`Terminal.Loop`), a file, or a file and what is wanted of it: `path:120-180`,
        `path:name`, `path:rest`. `aspect` is show, outline, rest, callers, uses, subclasses or links, for
        handles that name none (`Terminal.Loop:callers`). What `session` was given is not given `again`. The
        index is synced with the files first.

        Raises: UsageError where no handle means anything, with the nearest names; StoreError.
        """
        from workbench.entry.services.expansion import expand_for, expand_request

        host = self._host
        with host.operation("show") as work:
            request = expand_request(
                work.project, handles, budget=budget, aspect=aspect, session=session, again=again, by=host.by
            )
            return expand_for(work.project, work.measurement, request, progress=host.progress, by=host.by)

    def rank(
        self,
        task: str,
        *,
        top: int | None = None,
        query_type: str = "",
        strict: bool | None = None,
        ml_mode: str = "",
    ) -> RankResponse:
        """Return the files that matter for a task, where work begins first. Raises: as `plan`."""
        from workbench.entry.services.plan import rank_for, ranked_files
        from workbench.entry.services.requests import plan_request

        host = self._host
        with host.operation("rank") as work:
            request = plan_request(work.project, task, query_type=query_type, strict=strict, ml_mode=ml_mode)
            found, _ = rank_for(work.project, work.measurement, request, progress=host.progress)
            return ranked_files(found, work.project.planner.confident, top)

    def replay(
        self,
        *,
        tasks: int = 150,
        source: str = "all",
        systems: Sequence[str] = (),
        budget: int | None = None,
        packs: int | None = None,
        fresh: bool = False,
        workers: int | None = None,
    ) -> ReplayRun:
        """Measure the program on the project's own past, each task as of its start; keep the run, return it.

        `source` gives the tasks: commits, sessions or all; `systems` are compared (default: baseline, bm25,
        vector, hybrid, and hybrid without embeddings). Packs of `budget` tokens are made for the newest
        `packs` tasks, 0 for none. `fresh` computes every row again; `workers` are processes (default: one a
        processor). Ctrl-C ends it early, and `complete` is then False. Other threads need not wait for it.

        Raises: ProjectError where there is no past; UsageError for an unknown system or source; StoreError,
        GitError, ModelError.
        """
        from workbench.entry.services.runs import run_replay

        host = self._host
        return run_replay(
            host.project,
            source=source,
            tasks=tasks,
            systems=systems,
            budget=budget,
            packs=packs,
            fresh=fresh,
            workers=workers,
            progress=host.progress,
        )

    def status(self) -> ProjectStatus:
        """Return what is indexed, how fresh it is and which models are used; nothing is changed.

        Raises: StoreError, ModelError.
        """
        from workbench.entry.services.status import project_status

        with self._host.turn() as project:
            return project_status(project)

    def doctor(self) -> DoctorReport:
        """Return whether everything the workbench rests on is sound, and what to do where it is not."""
        from workbench.entry.services.doctor import doctor_report, examine

        with self._host.turn() as project:
            return doctor_report(tuple(examine(project.config, project)))
