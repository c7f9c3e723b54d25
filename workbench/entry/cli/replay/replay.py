"""`workbench --replay [PATH]`: how well the program does on a project's own past, or on a rules benchmark.

`--replay` is another way to write the command `replay`, whose options follow it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.replay.report import run_options
from workbench.entry.parameters import match_params
from workbench.entry.project import ready_embedder
from workbench.errors import StoreError, UsageError
from workbench.replay.benchmark import rule_systems, run_benchmark
from workbench.replay.benchmark_text import benchmark_json, benchmark_text
from workbench.replay.datasets import DatasetKind, detect_dataset, holds_dataset, read_rules
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.entry.cli.replay.report import RunOutputs
    from workbench.entry.services.past_project import PastProject
    from workbench.entry.services.replay import ReplayOutcome
    from workbench.records.replay import ReplayRun

STASH: Final = "stash"
"""The source of tasks that are no files' but segments'."""

NO_MODEL = "there is no embedding model: `workbench model list` says what can be had"

_TASKS = 150


@command
@click.argument("path", required=False, type=click.Path())
@click.option(
    "--source",
    type=click.Choice(["commits", "sessions", "all", "stash"]),
    default="all",
    help="What gives the tasks: commits, prompts of imported sessions, or both (default); or with `stash` "
    "what conversations used again of what was said before.",
)
@click.option(
    "--tasks", metavar="N", type=click.IntRange(min=1), default=_TASKS, help="At most N tasks (default: 150)."
)
@click.option(
    "--systems",
    metavar="A,B,…",
    help="What is compared: baseline, bm25, vector, hybrid, hybrid+MODEL, hybrid-GROUP, full (hybrid with a "
    "second stage), "
    "each also as hybrid@0.65 for packs of that share of the budget (default: the first four, and "
    "hybrid without embeddings).",
)
@click.option(
    "--without",
    metavar="A,B,…",
    help="Also hybrid without each of these groups of features: lexical, structural, semantic, episodic, "
    "causal, recency, affinity, history.",
)
@click.option(
    "--budget", metavar="N", type=click.IntRange(min=1), help="Tokens of a pack (default: plan.budget)."
)
@click.option(
    "--packs", metavar="N", type=click.IntRange(min=0), help="Make packs for the newest N tasks only."
)
@click.option("--no-packs", is_flag=True, help="Rank only: faster by half.")
@click.option("--fresh", is_flag=True, help="Compute what an earlier replay has computed already.")
@click.option(
    "--workers", metavar="N", type=click.IntRange(min=1), help="Processes (default: one per processor)."
)
@run_options
def replay(path: str | None, **options: Any) -> int:
    """Measure the program on this project's own past, or on a dataset (also `--replay`).

    Every task is replayed as of its start, for several systems side by side. PATH is a repository (also
    a bare one; default: this project), or the folder of a rules benchmark. Tasks are commits and prompts of
    imported sessions; a system sees the files, the history and the sessions of before the task and is
    measured by the files that were then modified. PATH may also be transcripts or exported sessions, a file
    or a directory of them, which are replayed without being imported. Rows are kept: an interrupted replay
    goes on where it was stopped. Finished ones are listed and compared by `workbench runs`.
    With `--source stash` what is found is segments: at each later task of a recorded conversation the stash
    holds what was said before, and what was then used again is what it should have found.
    """
    here = current()
    folder = None if path is None else Path(path).expanduser()
    if options["source"] == STASH:
        return _stash(here, folder, **options)
    if folder is not None and _is_transcripts(folder):
        return _transcripts(here, folder, **options)
    if folder is not None and not _is_history(folder):
        source = click.get_current_context().get_parameter_source
        given = [name for name in options if source(name) is click.core.ParameterSource.COMMANDLINE]
        kind = detect_dataset(folder)
        if given:
            name = given[0].replace("_", "-")
            raise UsageError(
                f"--{name} is about replays of a project's history, and {folder} is a {kind} dataset",
                hint="Leave it out.",
            )
        _REPLAYS[kind](here, folder)
        return exits.OK
    return _history(here, folder, **options)


def _is_history(folder: Path) -> bool:
    """Whether a directory is a project rather than a dataset."""
    from workbench.entry.project import repository_at

    if not folder.is_dir() or holds_dataset(folder):
        return False
    repository = repository_at(folder)[0]
    rooted = repository is not None and repository.root.resolve() == folder.resolve()
    return rooted or folder.resolve() == Path.cwd() or (folder / ".workbench").is_dir()


def _is_transcripts(given: Path) -> bool:
    """Whether a file or directory is to be read as transcripts of sessions."""
    from workbench.sessions.importers.places import find_files

    if given.is_file():
        return given.name.endswith((".jsonl", ".jsonl.gz"))
    if not given.is_dir() or holds_dataset(given) or _is_history(given):
        return False
    return bool(find_files([given]))


def _transcripts(here: Invocation, given: Path, **options: Any) -> int:
    """Replay the prompts of transcripts without importing them."""
    from workbench.entry.services.transcripts import transcript_past

    config = here.settings().config
    with transcript_past(here.project, given, config) as past:
        here.out.say(past.summary)
        return _history(here, past.root, **{**options, "source": "sessions"})


def _history(
    here: Invocation,
    folder: Path | None,
    *,
    source: str,
    tasks: int,
    systems: str | None,
    without: str | None,
    budget: int | None,
    packs: int | None,
    no_packs: bool,
    fresh: bool,
    workers: int | None,
    gate: bool,
    report: str | None,
    rows: str | None,
) -> int:
    from workbench.config_layers import load
    from workbench.entry.cli.replay.report import run_outputs
    from workbench.entry.services.past_project import PACKS, ReplayOptions, open_past
    from workbench.entry.services.replay import replay_past, score_replay
    from workbench.replay.gates import leaner_systems
    from workbench.replay.systems import DEFAULT_SYSTEMS, parse_systems
    from workbench.replay.tasks import TaskSource

    asked = run_outputs(gate, report, rows)
    project = open_past(here.project if folder is None else folder)
    config = here.settings().config if folder is None else load(project=project.root).config
    names = [*(_names(systems) or DEFAULT_SYSTEMS), *(f"hybrid-{group}" for group in _names(without))]
    if asked.gate:  # that less context holds as much is seen in packs of less budget
        names = [
            "baseline",
            *names,
            config.gates.system,
            *(() if no_packs else leaner_systems(config.gates)),
        ]
    wanted = ReplayOptions(
        source=TaskSource(source),
        tasks=tasks,
        systems=parse_systems(names),
        budget=budget or config.plan.budget,
        packs=0 if no_packs else PACKS if packs is None else packs,
        fresh=fresh,
    )
    with here.out.progress("Reading the past") as line:
        past = replay_past(project, config, wanted, workers=workers, progress=line)
    run = score_replay(project, past)
    return _finish(here, project, config, past, run, asked, fresh=fresh)


def _finish(
    here: Invocation,
    project: PastProject,
    config: Config,
    found: ReplayOutcome,
    run: ReplayRun,
    asked: RunOutputs,
    *,
    fresh: bool,
) -> int:
    """Keep a run, and show and judge it; what was interrupted is shown and not judged."""
    from workbench.entry.cli.replay.report import deliver, reference_gap
    from workbench.entry.services.runs import keep_run

    done = found.replayed
    if not done.complete:
        here.out.warn(
            f"interrupted after {len(done.rows)} of {plural(len(found.tasks), 'task')}: "
            f"the same command{' without --fresh' if fresh else ''} goes on from there"
        )
    for note in found.notes:
        here.out.warn(note)
    gap = reference_gap(run, config, project.state) if asked.gate else None
    try:
        run = keep_run(project.state, run, spare=(config.gates.reference,))
    except StoreError as error:
        here.out.warn(f"this run is not kept: {error.message}")
    if not done.complete:
        deliver(here, run, config, replace(asked, gate=False), project=project.root)
        return exits.INTERRUPTED
    return deliver(here, run, config, asked, project=project.root, regression=gap)


def _stash(
    here: Invocation,
    given: Path | None,
    *,
    tasks: int,
    systems: str | None,
    fresh: bool,
    report: str | None,
    rows: str | None,
    **others: Any,
) -> int:
    """Replay recorded conversations against the stash."""
    from workbench.config_layers import load
    from workbench.entry.cli.replay.report import run_outputs
    from workbench.entry.services.stash_replay import (
        StashReplayOptions,
        open_conversations,
        replay_stash,
        score_stash_replay,
        stash_sources,
    )
    from workbench.replay.stash_systems import STASH_SYSTEMS, parse_stash_systems

    source = click.get_current_context().get_parameter_source
    for name in others:
        if name != "source" and source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--{name.replace('_', '-')} is about replays of files, not of the stash",
                hint="Leave it out.",
            )
    asked = run_outputs(False, report, rows)
    is_project = given is not None and _is_history(given)
    project = open_conversations(given if given is not None and is_project else here.project)
    config = load(project=project.root).config if is_project else here.settings().config
    sources = stash_sources(project.place, [] if given is None or is_project else [given])
    wanted = StashReplayOptions(tasks, parse_stash_systems(_names(systems) or STASH_SYSTEMS), fresh)
    with here.out.progress("Reading conversations") as line:
        stash = replay_stash(project, config, sources, wanted, progress=line)
    return _finish(here, project, config, stash, score_stash_replay(project, stash), asked, fresh=fresh)


def _names(given: str | None) -> list[str]:
    return [name for part in (given or "").split(",") if (name := part.strip())]


def _rules(here: Invocation, folder: Path) -> None:
    dataset = read_rules(folder)
    config = here.settings().config
    with here.out.progress("Loading the model") as line:
        line(0)
        embedder, missing = ready_embedder(config)
        note = missing or ("" if embedder is not None else NO_MODEL)
        embed = None if embedder is None else embedder.embed
        model = "" if embedder is None else embedder.model
        systems = rule_systems(dataset.rules, embed, model=model, params=match_params(config.rules))
        benchmark = run_benchmark(
            dataset,
            systems,
            embed,
            time.perf_counter,
            model=model,
            note=note,
            progress=lambda stage, done, total: line(done, total, stage),
        )
    if benchmark.degraded:
        here.out.warn(f"without embeddings, {note}")
    if here.flags.json:
        here.out.json(benchmark_json(benchmark))
    else:
        here.out.data(benchmark_text(benchmark))


_REPLAYS: dict[DatasetKind, Callable[[Invocation, Path], None]] = {DatasetKind.RULES: _rules}
