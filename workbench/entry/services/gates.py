"""What gates ask of the local state [img 14]: is what is served fresh, is all of it whole, is it enough.

The project's own state is looked at as it is. How it holds under eight agents at once is tried on a scratch
project, so that nothing of the user's is touched.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from workbench.config import Config
from workbench.entry.project import OpenedProject, open_project, open_workspace
from workbench.entry.services.metrics import Measured, cold_plans
from workbench.entry.services.plan import preview_for
from workbench.entry.services.requests import pack_style, plan_request
from workbench.errors import WorkbenchError
from workbench.plan.pipeline import plan
from workbench.plan.workspace import Workspace
from workbench.project.scan import read_bytes
from workbench.project.snapshot import content_hash
from workbench.project.workers import spread
from workbench.records.plan import MlMode, PlanRequest
from workbench.replay.gates import GateEvidence

AGENTS = 8
ROUNDS = 6
ASKED = 10
TIMED = 60
LATELY = 30 * 86_400.0  # seconds in which calls in use count

_STREAM = "stress"
_MOST_BYTES = 1 << 20

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Agent:
    """What one agent of the stress test saw: looks at its own file, and those that showed old content."""

    number: int
    looks: int
    stale: tuple[str, ...]
    fault: str = ""


def gather(
    start: Path,
    config: Config,
    tasks: Sequence[str],
    progress: Progress = lambda stage, done, total: None,
) -> GateEvidence:
    """Return what is found out about the project around a directory; `tasks` are asked without any model.

    A project that cannot be opened, such as a bare mirror, gives evidence of nothing, with the reason.
    """
    try:
        opened = open_project(start, config)
        progress("checking freshness", 0, 0)
        stale, looked = stale_files(opened.workspace)
        progress("checking the state", 0, 0)
        damage, sound = state_damage(opened)
        progress(f"trying {AGENTS} agents at once", 0, 0)
        agents, broken = stress()
        answered, asked = without_models(opened, tasks, progress)
        took = request_times(opened, tasks, progress)
        cold = cold_plans(opened, time.time() - LATELY)
    except WorkbenchError as error:
        return GateEvidence(reason=error.message)
    return GateEvidence(
        stale=(*stale, *(path for agent in agents for path in agent.stale)),
        looked=looked + sum(agent.looks for agent in agents),
        damage=(*damage, *broken),
        sound=f"none in {sound}, {AGENTS} agents at once",
        answered=answered,
        asked=asked,
        requests_ms=tuple(took),
        cold=cold,
    )


def stale_files(workspace: Workspace) -> tuple[list[str], int]:
    """Return the files whose indexed content is not what is on disk after a sync, and how many were read.

    What changes while it is read is looked at once more.
    """
    workspace.sync()
    wanted = [path for path, digest in zip(*_indexed_files(workspace), strict=True) if digest]
    found = _differing(workspace, wanted)
    if found:
        workspace.sync()
        found = _differing(workspace, found)
    return found, len(wanted)


def _indexed_files(workspace: Workspace) -> tuple[Sequence[str], Sequence[str]]:
    return workspace.snapshot.paths, workspace.snapshot.hashes


def _differing(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    digests = dict(zip(*_indexed_files(workspace), strict=True))
    found = []
    for path in paths:
        data = read_bytes(workspace.adapters.root, path, max(workspace.limits.max_bytes, _MOST_BYTES))
        now = content_hash(data) if isinstance(data, bytes) else None
        if path in digests and now != digests[path]:
            found.append(path)
    return found


def state_damage(project: OpenedProject) -> tuple[list[str], str]:
    """Return what cannot be read of journals and indexes, and in words what was looked at."""
    faults = project.journal_faults()
    damage = [
        f"{fault.stream}, line {fault.line}: {fault.reason}"
        for found in faults.values()
        for fault in found
        if fault.line  # without one it is a killed writer's unfinished line, which acknowledged nothing
    ]
    states = project.index_states(deep=True)
    damage += [f"{state.kind}-{state.number}: {fault}" for state in states for fault in state.faults]
    streams = sum(len(list((root / "journal").glob("**/*.jsonl"))) for root in faults)
    return damage, f"{streams} journals and {len(states)} indexes"


def without_models(
    project: OpenedProject, tasks: Sequence[str], progress: Progress = lambda stage, done, total: None
) -> tuple[int, int]:
    """Return for how many of the first tasks a plan that asks for everything and gets nothing names files.

    Neither embeddings, nor a language model, nor a second stage, nor another program is there [img §14, G6].
    """
    planner = replace(
        project.planner, embedder=None, embedder_note="", recheck=None, search=None, second_stage=None
    )
    chosen = list(dict.fromkeys(task for task in tasks if task.strip()))[:ASKED]
    answered = 0
    for number, task in enumerate(chosen):
        progress("planning without models", number, len(chosen))
        request = PlanRequest(
            str(project.root), task, token_budget=project.config.plan.budget, ml_mode=MlMode.FULL
        )
        answered += bool(plan(project.workspace, planner, request).response.context.files)
    return answered, len(chosen)


def request_times(
    project: OpenedProject, tasks: Sequence[str], progress: Progress = lambda stage, done, total: None
) -> list[float]:
    """Return the milliseconds of whole requests for tasks as /v1/plan-context answers them [img §14, G2].

    That is checking the files, ranking, packing and the answer as JSON, without a language model and without
    recording that somebody was handed it. The first request, which loads the index, does not count.
    """
    chosen = list(dict.fromkeys(task for task in tasks if task.strip()))[:TIMED]
    found = []
    for number, task in enumerate([*chosen[:1], *chosen]):
        progress("timing requests", number, len(chosen))
        started = time.perf_counter()
        request = plan_request(project, task, ml_mode=str(MlMode.OFF))
        made = preview_for(project, Measured(), request, style=pack_style(project, ""))
        msgspec.json.encode(made.response)
        found.append((time.perf_counter() - started) * 1000)
    return found[1:]


def stress(agents: int = AGENTS, rounds: int = ROUNDS) -> tuple[list[Agent], list[str]]:
    """Let agents edit, index and record in one scratch project at once; return what they saw and what broke.

    Each changes a file of its own without changing its size, and looks whether the next index has it.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-gates-") as directory:
        root = Path(directory).resolve() / "project"
        root.mkdir()
        for number in range(agents):
            _write(root, number, 0)
        work = partial(_agent, root, rounds)
        found: list[Agent] = []
        for several in spread(work, range(agents), workers=agents, batch=1, failed=_without_answer):
            found += several
        scratch = _open(root)
        broken, _ = state_damage(scratch)
        bodies = [entry.body for _, entry in scratch.journal.read(_STREAM)]
        kept = {(body["agent"], body["round"]) for body in bodies}
        lost = agents * rounds - len(kept)
    broken += [f"{lost} of {agents * rounds} acknowledged entries are lost"] if lost else []
    broken += [f"agent {agent.number}: {agent.fault}" for agent in found if agent.fault]
    return found, broken


def _agent(root: Path, rounds: int, number: int) -> Agent:
    project = _open(root)
    stale: list[str] = []
    try:
        for turn in range(1, rounds + 1):
            data = _write(root, number, turn)
            project.workspace.sync()
            digests = dict(zip(*_indexed_files(project.workspace), strict=True))
            if digests.get(_name(number)) != content_hash(data):
                stale.append(f"{_name(number)} in round {turn}")
            project.journal.append(_STREAM, "stress.turn", [{"agent": number, "round": turn}], by="gates")
    except WorkbenchError as error:
        return Agent(number, rounds, tuple(stale), error.message)
    return Agent(number, rounds, tuple(stale))


def _without_answer(number: int) -> Agent:
    return Agent(number, 0, (), "its process ended")


def _open(root: Path) -> OpenedProject:
    home = str(root.parent / "home")
    return open_workspace(root, Config(), {"WORKBENCH_HOME": home, "HOME": home})


def _name(number: int) -> str:
    return f"agent_{number}.py"


def _write(root: Path, number: int, turn: int) -> bytes:
    data = f"def turn_{turn:04d}():\n    return {number}\n".encode()
    (root / _name(number)).write_bytes(data)
    return data
