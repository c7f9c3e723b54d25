"""`workbench status`, `doctor` and `stats`: what is known, whether it is sound, and how fast it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.arguments import parse_span
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.os.terminal import fold
from workbench.entry.project import OpenedProject, open_project, open_workspace
from workbench.errors import ConfigError, WorkbenchError
from workbench.text.counts import counted

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.entry.project import OperationStats
    from workbench.records.answers.project import ProjectStatus

_TEXT_COLUMN = 19


@command(examples=("workbench status", "workbench status --json"))
def status() -> None:
    """Show what is known of the project, and change nothing.

    Where its state is, what is indexed and what was skipped, how fresh it is, which models are used, and each
    stored index: what it holds, whether it is searched exactly or by hnswlib, its size and age.
    """
    from workbench.entry.services.status import project_status

    here = current()
    found = project_status(open_project(here.project, here.settings().config))
    if here.flags.json:
        here.out.json(found)
        return
    for name, text in _status_lines(found):
        shown = fold(f"{name:<12} {text}", 13)
        here.out.painted(here.out.style(shown[:12], "1") + here.out.style(shown[12:], "0"))


def _status_lines(found: ProjectStatus) -> list[tuple[str, str]]:
    kind = "no git repository" if not found.repository else found.branch or "detached HEAD"
    head = f" at {found.head[:12]}" if found.head else ""
    lines = [("project", f"{found.root} ({kind}{head})"), ("state", found.state_directory)]
    if not found.indexed:
        lines.append(("index", "none yet: the first plan makes it, or `workbench index`"))
    else:
        fresh = f"{found.freshness}: {found.reason}" if found.reason else str(found.freshness)
        lines.append(("index", f"{counted(found.files, 'file')}, {fresh}"))
        if found.capped:
            lines.append(("", f"capped at index.max_files = {found.max_files:,}; there are more files"))
        skipped = sorted(found.skipped.items(), key=lambda pair: (-pair[1], pair[0]))
        if skipped:
            lines.append(("skipped", ", ".join(f"{count:,} {reason}" for reason, count in skipped)))
    lines.append(("history", counted(found.episodes, "past task")))
    if found.sessions.ended or found.sessions.open:
        from workbench.entry.services.sessions import completeness_sentence

        lines.append(("sessions", completeness_sentence(found.sessions)))
    imported = found.imported
    if imported.sessions or imported.archived:
        size = f"{imported.archived_bytes / 1e6:,.1f} MB"
        kept = f", {counted(imported.archived, 'file')} archived ({size})" if imported.archived else ""
        lines.append(("imported", f"{counted(imported.sessions, 'session')}{kept}"))
    if (tables := found.tables) is not None:
        behind = f", behind the journals: {', '.join(tables.behind)}" if tables.behind else ", up to date"
        lines.append(("tables", f"{tables.bytes / 1e6:,.1f} MB{behind}"))
    files = found.rule_files
    lines.append(("rules", f"{found.rules:,}" + (f" from {', '.join(files[:6])}" if files else "")))
    if found.segments:
        lines.append(("stash", counted(found.segments, "segment")))
    embedding = found.embedding_model or "none: by words alone"
    lines.append(("models", f"ranking {found.ranking_model}, embedding {embedding}"))
    lines.append(("tokens", f"counted by {found.tokenizer}"))
    lines.extend(("stored", f"{one.name}: {one.text}") for one in found.indexes)
    if found.degraded:
        lines.append(("without", ", ".join(found.degraded)))
    lines.extend(("note", note) for note in found.notes)
    return lines


@command(examples=("workbench doctor", "workbench doctor --json"))
def doctor() -> int:
    """Check everything the workbench rests on; exit 1 if something is broken.

    Lines marked `!` say what is missing and works without, lines marked `x` what is broken; the next
    step follows both.
    """
    from workbench.config import Config
    from workbench.entry.services.doctor import doctor_report, examine
    from workbench.records.answers.project import DoctorFinding, State

    here = current()
    findings: list[DoctorFinding] = []
    try:
        config: Config = here.settings().config
    except ConfigError as error:
        findings.append(DoctorFinding("settings", State.BROKEN, error.message, error.hint))
        config = Config()
    opened: OpenedProject | WorkbenchError
    try:
        opened = open_project(here.project, config)
    except WorkbenchError as error:
        opened = error
    marks = {State.OK: ("ok", "32"), State.NOTE: (" !", "33"), State.BROKEN: (" x", "31")}

    def show(finding: DoctorFinding) -> None:
        if here.flags.json:
            return
        mark, color = marks[finding.state]
        text = fold(f"{mark} {finding.name:<15} {finding.text}", _TEXT_COLUMN)
        here.out.painted(here.out.style(text[:2], color) + here.out.style(text[2:], "0"))
        if finding.step and finding.state is not State.OK:
            here.out.painted(here.out.style(fold(" " * _TEXT_COLUMN + finding.step, _TEXT_COLUMN), "2"))

    for finding in findings:
        show(finding)
    for finding in examine(config, opened):
        findings.append(finding)
        show(finding)
    broken = sum(finding.state is State.BROKEN for finding in findings)
    if here.flags.json:
        here.out.json(doctor_report(findings))
    elif broken:
        here.out.say(f"{broken} broken")
    return 1 if broken else 0


@command(
    examples=(
        "workbench stats",
        "workbench stats --since 24h",
        "workbench stats --usage",
        "workbench stats --json",
    )
)
@click.option("--since", default="7d", show_default=True, metavar="SPAN", help="How far back: 30m, 24h, 7d.")
@click.option("--usage", is_flag=True, help="What hooks gave to sessions instead, and what became of it.")
def stats(since: str, usage: bool) -> None:
    """Show how long operations took, how often caches answered, and what was missing.

    Times are in milliseconds. Hit ratios are shares of questions that a cache level answered.

    With --usage a line for each hook of an agent: how often it was asked, how often it had nothing relevant
    enough, the tokens it added, how many files it gave and how many of them the session read or edited
    afterwards, how many files those sessions edited and how many of them it had not given.
    """
    from workbench.entry.services.metrics import statistics
    from workbench.entry.services.sessions import (
        completeness_sentence,
        session_completeness,
        session_figures,
    )

    here = current()
    seconds = parse_span(since)
    if usage:
        _show_usage(here, since, time.time() - seconds)
        return
    opened = open_project(here.project, here.settings().config)
    found = statistics(opened, time.time() - seconds)
    stories = session_figures(session_completeness(opened))
    if here.flags.json:
        here.out.json({"since": since, "operations": found, "sessions": stories})
        return
    if stories.ended or stories.open:
        here.out.say(completeness_sentence(stories))
    if not found:
        off = "" if opened.config.store.metrics else " (store.metrics is off)"
        here.out.say(f"nothing was measured in the last {since}{off}")
        return
    for line in stats_lines(found):
        here.out.data(fold(line, 2))


def _show_usage(here: Invocation, since: str, start: float) -> None:
    from workbench.entry.services.handovers import handover_use

    found = handover_use(open_workspace(here.project, here.settings().config), start)
    if here.flags.json:
        here.out.json({"since": since, "hooks": found})
        return
    if not found:
        here.out.say(f"no hook gave anything in the last {since}")
        return
    head = ("agent", "hook", "asked", "silent", "tokens", "files", "opened", "edited", "missed")
    rows = [(one.agent, one.event, *(f"{number:,}" for number in astuple(one)[2:])) for one in found]
    for line in _aligned((head, *rows), 2):
        here.out.data(line)


def stats_lines(found: Sequence[OperationStats]) -> list[str]:
    """Return an aligned table of operations, then their cache levels, stages and missing parts."""
    head = ("operation", "calls", "failed", "p50", "p95", "p99", "tokens", "files", "degraded")
    rows = [
        (
            one.operation,
            f"{one.count:,}",
            f"{one.failed:,}",
            *(f"{value:,.1f}" for value in (one.p50, one.p95, one.p99)),
            "-" if one.tokens_median is None else f"{one.tokens_median:,.0f}",
            "-" if one.candidates_median is None else f"{one.candidates_median:,.0f}",
            f"{one.fallback_rate:.0%}",
        )
        for one in found
    ]
    lines = _aligned((head, *rows), 1)
    for one in found:
        if one.hit_ratio:
            levels = ", ".join(f"{level} {ratio:.0%}" for level, ratio in sorted(one.hit_ratio.items()))
            lines.append(f"{one.operation} cache hits: {levels}")
        if one.stages:
            order = sorted(one.stages.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append(f"{one.operation} stages: " + ", ".join(f"{name} {ms:,.1f}" for name, ms in order))
        if one.missing:
            parts = ", ".join(f"{part} {times:,}×" for part, times in sorted(one.missing.items()))
            lines.append(f"{one.operation} without: {parts}")
    return lines


def _aligned(rows: Sequence[tuple[str, ...]], names: int) -> list[str]:
    """Return rows as lines of aligned columns, the first so many of them to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            f"{cell:<{width}}" if column < names else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
