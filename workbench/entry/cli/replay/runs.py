"""`workbench runs`: replays that were kept, shown again and compared with one another."""

from __future__ import annotations

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import command, current
from workbench.entry.cli.replay.report import deliver, reference_gap, run_options, run_outputs
from workbench.entry.services.runs import KeptRun, list_kept_runs, load_run, runs_root
from workbench.errors import UsageError
from workbench.records.replay import MEASURES, ReplayRun
from workbench.replay.run_report import table
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_NAME = 24  # characters of a project's name


@command
def list_() -> None:
    """List the saved replays, newest first."""
    here = current()
    runs = list_kept_runs(runs_root(here.project))
    if here.flags.json:
        here.out.json({"runs": [_document(one) for one in runs]})
        return
    if not runs:
        here.out.say("no run is saved yet: `workbench --replay` makes one")
        return
    rows = [_row(one) for one in runs]
    head = ["run", "when", "project", "tasks", "systems", "best nDCG@10", ""]
    here.out.data(table(head, rows))
    for one in runs:
        if one.fault:
            here.out.warn(f"{one.id}: {one.fault}")


@command
@click.argument("run", default="last")
@run_options
def show(run: str, gate: bool, report: str | None, rows: str | None) -> int:
    """Show a saved replay as it was shown at its end (default: the newest)."""
    here = current()
    asked = run_outputs(gate, report, rows)
    state = runs_root(here.project)
    found = load_run(state, run)
    config = here.settings().config
    gap = reference_gap(found, config, state) if gate else None
    return deliver(here, found, config, asked, project=here.project, regression=gap)


@command
@click.argument("before", default="last~1")
@click.argument("after", default="last")
@click.option("--system", metavar="NAME", help="Whose sessions and tasks are listed (default: hybrid).")
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default="ndcg_at_10",
    show_default=True,
    metavar="NAME",
    help="By which measure they are listed: ndcg_at_10, recall_at_10, context_tokens …",
)
@click.option("--gate", is_flag=True, help="Exit 4 if that system is shown to be worse by that measure.")
def compare(before: str, after: str, system: str | None, measure: str, gate: bool) -> int:
    """Compare two replays on the tasks both have: what changed, and where it got worse.

    Differences are paired by task and tested over whole sessions; one that the test does not bear out is
    called no difference shown.
    """
    from workbench.replay.run_comparison import compare_runs as compare_runs
    from workbench.replay.run_comparison import comparison_text

    here = current()
    state = runs_root(here.project)
    first, second = load_run(state, before), load_run(state, after)
    name = _system(first, second, system)
    runs = compare_runs(first, second, system=name, measure=measure)
    if not here.wrote_json(runs):
        here.out.data(comparison_text(runs))
    change = runs.change(name, measure)
    if gate and (change is None or change.verdict == "worse"):
        said = "could not be compared" if change is None else f"is worse by {change.gap.value:+.3f}"
        here.out.fail(f"{name} {said} ({measure})", "The sessions and tasks above got worse most.")
        return exits.GATE
    return exits.OK


@command
@click.argument("run")
@click.argument("task")
@click.option("--system", metavar="NAME", help="Whose ranking is explained (default: hybrid).")
def explain(run: str, task: str, system: str | None) -> int:
    """Rank the files of a replayed task again and say why the first and the right ones are where they are.

    TASK is a task's id or its beginning, such as the commit that answers it. It is seen from its own past, as
    in the replay, by the program as it is now: if that ranks otherwise than the run, a warning says so.
    """
    from workbench.entry.services.replay import explain_task
    from workbench.replay.task_rows import explanation_text

    here = current()
    found = load_run(runs_root(here.project), run)
    with here.out.progress("Reading the past") as line:
        explained = explain_task(here.project, here.settings().config, found, task, system, line)
    if not here.wrote_json(explained):
        here.out.data(explanation_text(explained))
    if not explained.same:
        here.out.warn("the program ranks otherwise now than in that run: it, its models or the past changed")
    return exits.OK


def _system(first: ReplayRun, second: ReplayRun, wanted: str | None) -> str:
    """Return the system to list tasks of. Raises: UsageError if the runs do not have it both."""
    from workbench.replay.run_report import counterpart

    known = {score.system for score in first.systems}
    common = [score.system for score in second.systems if score.system in known]
    if wanted is None:
        chosen = counterpart(second)
        return chosen if chosen in common or not common else common[0]
    if wanted not in common:
        raise UsageError(f"{wanted} was not run in both", hint=f"These were: {', '.join(common) or 'none'}.")
    return wanted


def _row(one: KeptRun) -> list[str]:
    if one.summary is None:
        return [one.id, "", "", "", "", "", "cannot be read"]
    said = one.summary
    best = max(said.scores.items(), key=lambda pair: (pair[1][1], pair[0]), default=None)
    return [
        one.id,
        visible_line(said.at),
        visible_line(said.project)[:_NAME],
        f"{said.tasks:,}",
        str(len(said.scores)),
        "-" if best is None else f"{visible_line(best[0])} {best[1][1]:.3f}",
        ", ".join(_remarks(one)),
    ]


def _remarks(one: KeptRun) -> list[str]:
    if one.summary is None:
        return []
    remarks = [] if one.summary.complete else ["interrupted"]
    return remarks + ([f"{plural(one.summary.faults, 'task')} left out"] if one.summary.faults else [])


def _document(one: KeptRun) -> dict[str, object]:
    said = one.summary
    if said is None:
        return {"id": one.id, "bytes": one.bytes, "fault": one.fault}
    return {
        "id": one.id,
        "bytes": one.bytes,
        "at": said.at,
        "project": said.project,
        "version": said.version,
        "tasks": said.tasks,
        "faults": said.faults,
        "complete": said.complete,
        "settings": dict(said.settings),
        "systems": [
            {"system": name, "precision_at_10": precision, "ndcg_at_10": ndcg}
            for name, (precision, ndcg) in said.scores.items()
        ],
    }
