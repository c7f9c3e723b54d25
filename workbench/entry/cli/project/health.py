"""`workbench status` and `doctor`: what is known, and whether it is sound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.os.terminal import fold
from workbench.entry.project import OpenedProject, open_project
from workbench.errors import ConfigError, UsageError, WorkbenchError
from workbench.text.counts import plural

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.records.answers.project import ProjectStatus

_TEXT_COLUMN = 19


@command
def status() -> None:
    """Show what is known of the project, and change nothing.

    Where its state is, what is indexed and what was skipped, how fresh it is, which models are used, and each
    stored index: what it holds, whether it is searched exactly or by sketches, its size and
    age.
    """
    from workbench.entry.services.status import project_status

    here = current()
    found = project_status(open_project(here.project, here.settings().config))
    if here.wrote_json(found):
        return
    for name, text in _status_lines(found):
        shown = fold(f"{name:<12} {text}", 13)
        here.out.paint(here.out.style(shown[:12], "1") + here.out.style(shown[12:], "0"))


def _status_lines(found: ProjectStatus) -> list[tuple[str, str]]:
    kind = "no git repository" if not found.repository else found.branch or "detached HEAD"
    head = f" at {found.head[:12]}" if found.head else ""
    lines = [("project", f"{found.root} ({kind}{head})"), ("state", found.state_directory)]
    if not found.indexed:
        lines.append(("index", "none yet: the first plan makes it, or `workbench index`"))
    else:
        fresh = f"{found.freshness}: {found.reason}" if found.reason else str(found.freshness)
        lines.append(("index", f"{plural(found.files, 'file')}, {fresh}"))
        if found.capped:
            lines.append(("", f"capped at index.max_files = {found.max_files:,}; there are more files"))
        skipped = sorted(found.skipped.items(), key=lambda pair: (-pair[1], pair[0]))
        if skipped:
            lines.append(("skipped", ", ".join(f"{count:,} {reason}" for reason, count in skipped)))
    lines.append(("history", plural(found.episodes, "past task")))
    if found.sessions.ended or found.sessions.open:
        from workbench.entry.services.sessions import completeness_sentence

        lines.append(("sessions", completeness_sentence(found.sessions)))
    imported = found.imported
    if imported.sessions or imported.archived:
        size = f"{imported.archived_bytes / 1e6:,.1f} MB"
        kept = f", {plural(imported.archived, 'file')} archived ({size})" if imported.archived else ""
        lines.append(("imported", f"{plural(imported.sessions, 'session')}{kept}"))
    if (tables := found.tables) is not None:
        behind = f", behind the journals: {', '.join(tables.behind)}" if tables.behind else ", up to date"
        lines.append(("tables", f"{tables.bytes / 1e6:,.1f} MB{behind}"))
    files = found.rule_files
    lines.append(("rules", f"{found.rules:,}" + (f" from {', '.join(files[:6])}" if files else "")))
    if found.segments:
        models = "".join(f", {kind} embedded by {model}" for kind, model in found.segment_models.items())
        lines.append(("stash", plural(found.segments, "segment") + models))
    embedding = found.embedding_model or "none: by words alone"
    lines.append(("models", f"ranking {found.ranking_model}, embedding {embedding}"))
    lines.append(("tokens", f"counted by {found.tokenizer}"))
    lines.extend(("stored", f"{index.name}: {index.text}") for index in found.indexes)
    if found.degraded:
        lines.append(("without", ", ".join(found.degraded)))
    lines.extend(("note", note) for note in found.notes)
    return lines


@command
@click.option(
    "--repair",
    is_flag=True,
    help="Bring back what journals lost, and retire damaged indexes; nothing is deleted.",
)
@click.option("--accept", is_flag=True, help="You changed a journal yourself: let it be as it is.")
def doctor(repair: bool, accept: bool) -> int:
    """Check everything the workbench rests on; exit 1 if something is broken.

    Lines marked `!` say what is missing and works without, lines marked `x` what is broken; the next
    step follows both. Journals are compared with their copies: what was cut off, altered or made unreadable
    is brought back by `--repair`, which keeps what only the journal holds and sets both files aside. It takes
    damaged indexes out of use, too: the next command that needs one builds it again.
    """
    from workbench.config import Config
    from workbench.entry.services.doctor import doctor_report, examine
    from workbench.entry.services.project_health import retire_indexes, settle_journals
    from workbench.records.answers.project import DoctorFinding, State

    if repair and accept:
        raise UsageError("--repair and --accept contradict each other", hint="Give one of them.")
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
        here.out.paint(here.out.style(text[:2], color) + here.out.style(text[2:], "0"))
        if finding.step and finding.state is not State.OK:
            here.out.paint(here.out.style(fold(" " * _TEXT_COLUMN + finding.step, _TEXT_COLUMN), "2"))

    for finding in findings:
        show(finding)
    settled: list[Iterator[DoctorFinding]] = []
    if (repair or accept) and not isinstance(opened, WorkbenchError):
        settled.append(settle_journals(opened, accepted=accept))
        settled += [retire_indexes(opened)] if repair else []
    for finding in chain(*settled, examine(config, opened)):
        findings.append(finding)
        show(finding)
    broken = sum(finding.state is State.BROKEN for finding in findings)
    if here.flags.json:
        here.out.json(doctor_report(findings))
    elif broken:
        here.out.say(f"{broken} broken")
    return 1 if broken else 0
