"""What the section asks of the engine, each a function that runs in a job's thread."""

from __future__ import annotations

import atexit
import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from screens.headless import run_command
from screens.jobs import Job
from screens.replay.charts import plot_curves
from screens.replay.comparison import largest_changes
from screens.replay.figures import RunFigures, compute_figures
from screens.replay.rankings import Weights
from screens.replay.runs import RunLine
from screens.widgets.plot import Chart
from workbench.records.conversion import convert
from workbench.records.replay import RunComparison

if TYPE_CHECKING:
    from workbench.entry.services.runs import KeptRun
    from workbench.records.replay import ReplayRun
    from workbench.replay.gates import Gate

_MANY: Final = 5_000
"""Records from which the collector leaves them alone for good."""


@dataclass(frozen=True, slots=True)
class ListedRuns:
    """The runs there are; where there are none, `no_past` says why nothing can be replayed, if so."""

    state: Path
    runs: tuple[RunLine, ...]
    no_past: str


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run with its figures. `name` loads it, `counterpart` is the system to put beside the baseline."""

    name: str
    run: ReplayRun
    figures: RunFigures
    counterpart: str
    curves: Mapping[str, Chart]


@dataclass(frozen=True, slots=True)
class EndedReplay:
    """How a replay ended: the run it left, '' if none; the gates it judged; text of a rules benchmark."""

    name: str = ""
    gates: tuple[Gate, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the scores of a task's files are made of, computed again; `same`: they still rank alike."""

    task: str
    system: str
    same: bool
    files: Mapping[str, Weights]


def list_runs(root: Path, job: Job) -> ListedRuns:
    """Return the kept runs, the newest first, with the last replay of another place."""
    from workbench.entry.services.runs import elsewhere_file, list_kept_runs, runs_root

    state = runs_root(root)
    runs = []
    for kept in list_kept_runs(state):
        job.check()
        runs.append(line_of(kept))
    other = elsewhere_file(state)
    if other.is_file():
        runs.append(_elsewhere(other, job))
    runs.sort(key=lambda one: one.at, reverse=True)
    return ListedRuns(state, tuple(runs), "" if runs else _no_past(root))


def _no_past(root: Path) -> str:
    """Return why nothing of a project can be replayed, '' if something can."""
    from workbench.entry.services.past_project import open_past
    from workbench.errors import ProjectError

    try:
        open_past(root)
    except ProjectError as error:
        return error.message
    return ""


def line_of(kept: KeptRun) -> RunLine:
    """Return the line of a kept run."""
    summary = kept.summary
    if summary is None:
        return RunLine(kept.id, kept.id, fault=kept.fault)
    return RunLine(
        name=kept.id,
        id=kept.id,
        at=summary.at,
        project=summary.project,
        tasks=summary.tasks,
        faults=summary.faults,
        sources=tuple(summary.sources.items()),
        scores=tuple((name, *figures) for name, figures in summary.scores.items()),
        complete=summary.complete,
        settings=summary.settings,
    )


def _elsewhere(path: Path, job: Job) -> RunLine:
    from workbench.errors import StoreError

    try:
        run = read_document(path.read_bytes(), job)
    except StoreError as error:
        return RunLine(str(path), "elsewhere", fault=error.message)
    return RunLine(
        name=str(path),
        id=run.id,
        at=run.at,
        project=run.project,
        tasks=len(run.rows),
        faults=sum(bool(row.fault) for row in run.rows),
        scores=tuple((one.system, one.precision_at_10, one.ndcg_at_10) for one in run.systems),
        complete=run.complete,
        settings=run.settings,
    )


def open_run(state: Path, name: str, job: Job) -> OpenedRun:
    """Load a run. Raises: UsageError, StoreError."""
    from workbench.entry.services.runs import load_run
    from workbench.replay.run_report import counterpart

    job.progress("Reading the run")
    path = Path(name)
    with _pause_collector():
        run = read_document(path.read_bytes(), job) if path.is_absolute() else load_run(state, name)
    names = [one.system for one in run.systems]
    job.check()
    own = counterpart(run) or run.baseline
    return OpenedRun(name, run, compute_figures(run), own, plot_curves(run, names, own))


@contextmanager
def _pause_collector() -> Iterator[None]:
    """Keep the collector away from what is made here: many small records, none of them in a cycle.

    Looking through all of them, time and again, would hold up the event loop.
    """
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] >= _MANY:
            gc.freeze()
            atexit.register(gc.unfreeze)  # or libraries find what is left alive and say so
        gc.enable()


def read_document(text: bytes, job: Job) -> ReplayRun:
    """Return the run of what `--json` printed, task by task, so that the interpreter is never held for long.

    Raises: StoreError.
    """
    from workbench.errors import StoreError
    from workbench.records.replay import row_from_json, run_from_json

    def passed(part: dict[str, Any]) -> dict[str, Any]:
        return part  # a call of Python in between lets other threads run while a large document is read

    try:
        document = json.loads(text, object_hook=passed)
        document.pop("gates", None)
        tasks, document["tasks"] = document["tasks"], []
        rows = []
        for task in tasks:
            job.check()
            rows.append(row_from_json(task))
        return replace(run_from_json(document), rows=tuple(rows))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(f"the run cannot be read: {reason}", hint="Replay again.") from error


def start_replay(
    root: Path, arguments: Sequence[str], elsewhere: bool, dataset: bool, job: Job
) -> EndedReplay:
    """Run a replay as the program does, in a process of its own, and return what it left.

    Raises: ProcessError; Cancelled, after which what was done is kept.
    """
    from workbench.entry.cli.exits import GATE, OK
    from workbench.entry.services.runs import keep_elsewhere, runs_root

    if dataset:
        return EndedReplay(text=run_command(job, root, arguments).output)
    result = run_command(job, root, [*arguments, "--json"], accept=(OK, GATE))
    name, gates = read_identity(result.output)
    if elsewhere:
        name = str(keep_elsewhere(runs_root(root), result.output.encode("utf-8")))
    return EndedReplay(name, gates)


def judge_gates(root: Path, name: str, job: Job) -> tuple[Gate, ...]:
    """Judge the gates of a run in a process of its own. Raises: ProcessError, Cancelled."""
    from workbench.entry.cli.exits import GATE, OK

    result = run_command(job, root, ["runs", "show", name, "--gate", "--json"], accept=(OK, GATE))
    return read_identity(result.output)[1]


def read_identity(printed: str) -> tuple[str, tuple[Gate, ...]]:
    """Return the id and the gates of a run as `--json` prints it, without reading what is between."""
    from workbench.replay.gates import Gate

    start = printed.find('"id": "') + len('"id": "')
    name = printed[start : printed.find('"', start)]
    at = printed.rfind('\n  "gates": ')
    if at < 0:
        return name, ()
    value, _ = json.JSONDecoder().raw_decode(printed, at + len('\n  "gates": '))
    return name, convert(tuple(value), tuple[Gate, ...])


def compare_runs(root: Path, before: str, after: str, system: str, measure: str, job: Job) -> RunComparison:
    """Compare two runs in a process of its own, tasks by their change. Raises: ProcessError, Cancelled."""
    arguments = compare_arguments(before, after, system, measure)
    found = convert(run_command(job, root, [*arguments, "--json"]).json(), RunComparison)
    return replace(found, tasks=largest_changes(found))


def compare_arguments(before: str, after: str, system: str, measure: str) -> list[str]:
    """Return the words after `workbench` that compare two runs."""
    chosen = ["--system", system] if system else []
    return ["runs", "compare", before, after, *chosen, *(["--measure", measure] if measure else [])]


def weigh_features(root: Path, name: str, task: str, system: str, job: Job) -> Weighed:
    """Rank the files of a task again in a process of its own. Raises: ProcessError, Cancelled."""
    found = run_command(job, root, [*explain_arguments(name, task, system), "--json"]).json()
    files = {one["path"]: Weights(one["contributions"], (*one["reasons"],)) for one in found["files"]}
    return Weighed(task, system, bool(found["same"]), files)


def explain_arguments(name: str, task: str, system: str) -> list[str]:
    """Return the words after `workbench` that say what each feature adds to the files of a task."""
    return ["runs", "explain", name, task, "--system", system]


def write_file(root: Path, name: str, option: str, file: Path, job: Job) -> Path:
    """Write the report or the rows of a run in a process of its own. Raises: ProcessError, Cancelled."""
    file.parent.mkdir(parents=True, exist_ok=True)
    run_command(job, root, ["runs", "show", name, option, str(file)])
    return file
