"""What becomes of a finished replay on the command line: text or JSON, plots, gates, a report, rows.

Shared by `workbench --replay`, which has just made a run, and `workbench runs show`, which has kept one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from workbench.config import Config
from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, with_options
from workbench.entry.os.terminal import terminal_columns
from workbench.entry.services.runs import load_run, write_parquet
from workbench.errors import UsageError
from workbench.records.replay import Gap, ReplayRun, run_to_json
from workbench.replay.gates import Gate, GateEvidence, evaluate, gates_sentence, gates_text, stopping_gates


@dataclass(frozen=True, slots=True)
class RunOutputs:
    """What a command was asked to make of a run; None for files that were not asked for."""

    gate: bool = False
    report: Path | None = None
    rows: Path | None = None


run_options = with_options(
    click.option(
        "--gate",
        is_flag=True,
        help="Judge the gates (settings `gates`); exit 4 if one fails.",
    ),
    click.option(
        "--report", metavar="FILE", type=click.Path(), help="Write an HTML page to look into each task."
    ),
    click.option(
        "--rows",
        metavar="FILE",
        type=click.Path(),
        help="Write one Parquet row per task and system.",
    ),
)
"""The options of `RunOutputs`."""


def run_outputs(gate: bool, report: str | None, rows: str | None) -> RunOutputs:
    """Return what was asked for. Raises: UsageError for a file that could not be written in the end."""
    return RunOutputs(gate, _file("--report", report), _file("--rows", rows))


def _file(option: str, given: str | None) -> Path | None:
    if given is None:
        return None
    path = Path(given).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a directory" if path.is_dir() else f"{path.parent} is not a directory"
        raise UsageError(f"{option} {given}: {reason}", hint="Name a file in a directory that exists.")
    return path


def reference_gap(run: ReplayRun, config: Config, state: Path) -> Gap | None:
    """Return how far a run ranks above the reference the settings name, None without one to compare with.

    A system without a feature is compared with the reference's hybrid, as is one the reference lacks. Ask
    before the run is kept, so that `last` is the one before it.
    Raises: StoreError if the reference cannot be read.
    """
    if not config.gates.reference:
        return None
    from workbench.replay.run_comparison import compare_runs
    from workbench.replay.run_report import HYBRID, isolate_system

    try:
        reference = load_run(state, config.gates.reference)
    except UsageError:
        return None
    system = config.gates.system
    known = any(score.system == system for score in reference.systems)
    name = system if known and not system.startswith(f"{HYBRID}-") else HYBRID
    found = compare_runs(
        isolate_system(reference, name, name), isolate_system(run, system, name), system=name
    )
    change = found.change(name, found.measure)
    return None if change is None else change.gap


def deliver(
    here: Invocation,
    run: ReplayRun,
    config: Config,
    asked: RunOutputs,
    *,
    project: Path | None,
    regression: Gap | None = None,
) -> int:
    """Print a run, write the files asked for, judge it if asked to, and return the exit code.

    `project` is where the evidence of gates is gathered, None if that is not here.
    Raises: StoreError, OSError.
    """
    gates = _judge(here, run, config, project, regression) if asked.gate else ()
    if here.flags.json:
        here.out.json({**run_to_json(run), **({"gates": gates} if asked.gate else {})})
    else:
        _print(here, run, gates)
    if asked.report is not None:
        from workbench.replay.html import report_html

        asked.report.write_bytes(report_html(run, gates))
        here.out.say(f"report written to {asked.report}")
    if asked.rows is not None:
        write_parquet(asked.rows, run)
        here.out.say(f"rows written to {asked.rows}")
    stopping = stopping_gates(gates, allow_missing=config.gates.allow_missing)
    if stopping:
        here.out.fail(gates_sentence(stopping), "`workbench config show` lists what gates demand (gates.…).")
        return exits.GATE
    return exits.OK


def _judge(
    here: Invocation, run: ReplayRun, config: Config, project: Path | None, regression: Gap | None
) -> tuple[Gate, ...]:
    if project is None:
        found = GateEvidence(reason="the state of another project is not looked at from here")
    else:
        from workbench.entry.services.gates import gather

        heads = [row.head for row in run.rows]
        with here.out.progress("Looking at the state") as line:
            found = gather(
                project, config, heads, lambda stage, done, total: line(done, total, stage.capitalize())
            )
    return evaluate(run, found, config.gates, regression=regression)


def _print(here: Invocation, run: ReplayRun, gates: Sequence[Gate]) -> None:
    from workbench.replay.run_report import run_text

    here.out.data(run_text(run))
    drawn = _plots(here, run)
    if drawn:
        here.out.paint(f"\n{drawn}")
    if gates:
        here.out.data(f"\n{gates_text(gates)}")


def _plots(here: Invocation, run: ReplayRun) -> str:
    """Return plots where stdout is a terminal that has room for them."""
    columns = terminal_columns()
    if columns is None:
        return ""
    from workbench.replay.run_report import plot_run

    try:
        return plot_run(run, columns, color=here.out.color)
    except (ImportError, OSError) as error:  # its compiled part may not load here
        here.out.say(f"no plots: {error}")
        return ""
