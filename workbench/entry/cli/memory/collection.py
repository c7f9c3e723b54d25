"""`workbench memory collect` and `ingest`: what iterations leave behind, from a pipe or from files."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from workbench.entry.cli import exits
from workbench.entry.cli.frame import Invocation, command, current
from workbench.errors import UsageError
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.services.memory import Summary
    from workbench.entry.services.memory_collection import Collected
    from workbench.entry.services.memory_ingestion import FileReport

_FEATURE = click.option(
    "--feature", default="", metavar="NAME", help="What it was for (default: the branch, else `general`)."
)
_TASK = click.option("--task", "task_id", default="", metavar="ID", help="The task's id, such as 42.")
_TITLE = click.option("--title", default="", metavar="TEXT", help="The task in a line (default: the prompt).")
_DISCIPLINE = click.option("--discipline", default="", metavar="NAME", help="Such as frontend or devops.")


@command
@_FEATURE
@_TASK
@_TITLE
@_DISCIPLINE
def collect(feature: str, task_id: str, title: str, discipline: str) -> int:
    """Pass an agent's stream-json through unchanged, and record the iteration.

    What comes on stdin goes to stdout at once, byte for byte. When it ends, also by Ctrl-C or when the agent
    dies, what was seen is recorded in the feature's journal: outcome, errors, decisions, files, tokens.
    If recording fails, the stream has still passed through, and the exit code is 1. With --json the report
    is a line of JSON on stderr.
    """
    from workbench.entry.services.memory_collection import collect as run_collect
    from workbench.records.iterations import Task

    here = current()
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "there is no stream on stdin",
            hint="Pipe one in: claude -p … --output-format stream-json --verbose | workbench memory collect",
        )
    sys.stdout.flush()
    task = Task(feature, task_id, title, discipline)
    done = run_collect(lambda: here.project, task, sys.stdin.fileno(), sys.stdout.fileno())
    return _report(here, done)


def _report(here: Invocation, done: Collected) -> int:
    """Report on stderr what was recorded, as stdout is the agent's; return the exit code."""
    from workbench.entry.services.memory import Summary

    summary = Summary()
    summary.add(done.kept)
    out = here.out
    if here.flags.json:
        facts = {
            "bytes": done.passed.bytes,
            "lines": done.lines,
            "events": done.events,
            "unknown": done.unknown,
            "records": [msgspec.to_builtins(one.entry.record) for one in done.kept],
            "stagnant": bool(done.kept) and done.kept[-1].stagnant,
            "error": None if done.failure is None else done.failure.message,
            **_numbers(summary),
        }
        sys.stderr.write(json.dumps(facts, ensure_ascii=True) + "\n")
    elif done.failure is not None:
        out.fail(
            f"the stream passed through, but the iteration is not recorded: {done.failure.message}",
            done.failure.hint,
        )
    elif not done.kept:
        _show_nothing(here, done)
    else:
        for one in done.kept:
            record = one.entry.record
            name = f"{visible_line(record.feature)} #{record.iteration_number}"
            state = "" if str(one.novelty) == "added" else f" ({one.novelty})"
            out.say(f"{name} {record.outcome}{state}: {_counts(summary)}")
            if one.stagnant:
                out.warn(f"{name}: the last iterations went the very same way; this loop gets nowhere")
    _show_unlearned(here, summary)
    if done.failure is not None or (done.passed.bytes and not done.kept):
        return exits.ERROR
    return exits.OK if not done.passed.signal else 128 + done.passed.signal


def _show_unlearned(here: Invocation, summary: Summary) -> None:
    for reason, count in sorted(summary.unlearned.items()):
        if count:
            here.out.warn(f"{plural(count, 'iteration')} recorded without learning from them: {reason}")


def _show_nothing(here: Invocation, done: Collected) -> None:
    if done.passed.bytes:
        here.out.fail(
            f"nothing is recorded: {plural(done.lines, 'line')} came, and none is of an iteration",
            "The agent has to be asked for it: claude -p … --output-format stream-json --verbose",
        )
    else:
        here.out.say("nothing came, nothing is recorded")


@command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@_FEATURE
@_TASK
@_TITLE
@_DISCIPLINE
def ingest(files: Sequence[Path], feature: str, task_id: str, title: str, discipline: str) -> int:
    """Record the iterations of files: stream-json, or transcripts of Claude Code and Codex.

    Of a directory all .jsonl files below it are read. A run of `claude -p` is an iteration, in a transcript
    each prompt begins one. A file that was ingested or collected before adds nothing; one that goes on
    further adds what is new. Without --feature an iteration belongs to the branch that its transcript names.
    """
    from workbench.entry.project import find_state
    from workbench.entry.services.memory import Summary
    from workbench.entry.services.memory_ingestion import ingest as run_ingest
    from workbench.records.iterations import Task

    here = current()
    place = find_state(here.project)
    summary = Summary()
    started = time.perf_counter()
    with here.out.progress("Reading iterations, MB") as line:
        reports = list(
            run_ingest(
                place,
                files,
                Task(feature, task_id, title, discipline),
                summary,
                progress=lambda at, total: line(at >> 20, max(total >> 20, 1)),
            )
        )
    seconds = time.perf_counter() - started
    if here.flags.json:
        documents = [msgspec.to_builtins(report) for report in reports]
        here.out.json(
            {"files": documents, **_numbers(summary), "timing": {"total": round(seconds * 1000, 3)}}
        )
    else:
        _show_files(here, reports, summary, seconds)
    return exits.ERROR if any(report.fault or not report.source for report in reports) else exits.OK


def _show_files(here: Invocation, reports: Sequence[FileReport], summary: Summary, seconds: float) -> None:
    novelty = summary.novelty
    size = sum(report.bytes for report in reports) / 1e6
    here.out.data(
        f"{plural(novelty['added'], 'iteration')} added, {novelty['updated']:,} updated, "
        f"{novelty['unchanged']:,} known ({size:,.1f} MB in {seconds:.1f} s)"
    )
    for name, count in sorted(summary.features.items()):
        here.out.data(f"  {visible_line(name)}: {count:,}")
    if summary.features:
        here.out.data(f"  {_counts(summary)}")
    _show_untaught(here, summary)
    _show_unlearned(here, summary)
    for reason, count in sorted(summary.dropped.items()):
        here.out.say(f"left out: {count:,} {reason}")
    for report in reports:
        if report.fault:
            here.out.warn(f"{visible_line(report.path)}: read as far as it goes: {report.fault}")
        elif not report.source:
            here.out.warn(f"{visible_line(report.path)}: no known agent wrote it")
        for reason, count in report.unknown.items():
            what = f"{plural(count, 'line')} not understood: {visible_line(reason)}"
            here.out.say(f"{visible_line(report.path)}: {what}")


def _show_untaught(here: Invocation, summary: Summary) -> None:
    """Say why iterations taught nothing, the most frequent reason first."""
    if summary.untaught:
        here.out.data(f"  {plural(summary.untaught.total(), 'iteration')} taught nothing:")
    for reason, count in sorted(summary.untaught.items(), key=lambda item: (-item[1], item[0])):
        here.out.data(f"    {count:>5,}  {visible_line(reason)}")


def _counts(summary: Summary) -> str:
    parts = [
        plural(summary.errors, "error"),
        plural(summary.decisions, "decision"),
        plural(summary.files, "file"),
    ]
    if summary.learned:
        parts.append(f"{summary.learned:,} learned")
    if summary.confirmed:
        parts.append(f"{summary.confirmed:,} confirmed")
    if summary.redacted:
        parts.append(f"{sum(summary.redacted.values()):,} secrets masked")
    return ", ".join(parts)


def _numbers(summary: Summary) -> dict[str, Any]:
    return {
        "added": summary.novelty["added"],
        "updated": summary.novelty["updated"],
        "unchanged": summary.novelty["unchanged"],
        "outcomes": dict(sorted(summary.outcomes.items())),
        "features": dict(sorted(summary.features.items())),
        "errors": summary.errors,
        "decisions": summary.decisions,
        "files_touched": summary.files,
        "learned": summary.learned,
        "confirmed": summary.confirmed,
        "untaught": dict(sorted(summary.untaught.items())),
        "stagnant_iterations": summary.stagnant,
        "dropped": dict(sorted(summary.dropped.items())),
        "redacted": dict(sorted(summary.redacted.items())),
    }
