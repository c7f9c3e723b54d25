"""`workbench purge`: what is to be gone is taken out of all that is kept, after a look at what that is."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.arguments import since_time
from workbench.entry.cli.frame import Invocation, command, current
from workbench.entry.cli.inputs import read_input
from workbench.entry.project import open_project
from workbench.errors import UsageError
from workbench.text.counts import plural, shown_bytes
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.entry.services.purge import PurgeReport

_MAX_TEXT = 1 << 20  # bytes


@command
@click.option("--session", metavar="ID", help="A session and what was stashed and learned of it.")
@click.option("--before", metavar="TIME", help="Sessions and events that ended before: 90d, 2026-01-31.")
@click.option("--due", is_flag=True, help="What is older than store.keep_days keeps.")
@click.option("--secret", metavar="TEXT", help="A text wherever it appears; - reads it from stdin.")
@click.option("--project", "everything", is_flag=True, help="All that is kept of this project.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def purge(
    session: str | None,
    before: str | None,
    due: bool,
    secret: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Take a session, what is old, a text or the project out of all that is kept.

    With --due what retention takes by itself, at most once a day: what was recorded of sessions before the
    days of store.keep_days. Of past tasks that plans weigh their words, files and outcome stay, and so does
    what was curated. With --before nothing of such sessions stays but what was curated.

    Journals with their copies and copies of transcripts are written again, kept replays that hold it removed;
    tables and indexes are made again by whoever asks next. There is no undo, so it says first what would go,
    and asks. Afterwards every byte is searched for what had to go; exit 1 if a file still holds it. Files of
    yours and transcripts of agents are named, never touched.
    """
    from workbench.entry.services import purge as service
    from workbench.entry.services.retention import purge_due

    given = [option for option in (session, before, secret) if option is not None]
    if len(given) + everything + due != 1:
        raise UsageError(
            "one of --session, --before, --due, --secret and --project is needed", hint="Give one."
        )
    here = current()
    opened = open_project(here.project, here.settings().config)

    def run(dry: bool) -> PurgeReport:
        if session is not None:
            return service.purge_session(opened, session, dry=dry)
        if before is not None:
            return service.purge_before(opened, since_time(before), dry=dry)
        if due:
            return purge_due(opened, dry=dry)
        return service.purge_project(opened, dry=dry) if secret is None else purge_secret(dry)

    text = "" if secret is None else _text(secret)

    def purge_secret(dry: bool) -> PurgeReport:
        return service.purge_text(opened, text, dry=dry)

    return _purge(here, run, dry=dry_run, yes=yes)


def _purge(here: Invocation, run: Callable[[bool], PurgeReport], *, dry: bool, yes: bool) -> int:
    found = run(True)
    if not here.flags.json:
        _show(here, found, "would go" if not found.empty else "nothing is kept of it")
    done = None
    if not dry and not found.empty:
        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise UsageError("nobody can be asked here: nothing was changed", hint="--yes goes on.")
            click.confirm("Take it out for good?", default=False, err=True, abort=True)
        with here.out.progress("Purging"):
            done = run(False)
    report = done or found
    if here.flags.json:
        here.out.json({**asdict(report), "done": done is not None})
    elif done is not None:
        here.out.data("gone")
        for path in done.remaining:
            here.out.data(visible_line(f"{path} still holds it"))
    for note in report.notes:
        here.note(visible_line(note))
    return 1 if report.remaining else 0


def _show(here: Invocation, found: PurgeReport, verdict: str) -> None:
    counts = [
        *(
            (count, f"line of the journal {name}", f"lines of the journal {name}")
            for name, count in found.journals.items()
        ),
        (found.transcripts, "copy of a transcript", "copies of transcripts"),
        (found.replays, "kept replay", "kept replays"),
        (found.files, "file", "files"),
    ]
    here.out.data(visible_line(f"{found.what}: {verdict}"))
    for one in counts:
        if one[0]:
            here.out.data(visible_line(f"  {plural(*one)}"))
    if found.freed > 0:
        here.out.data(f"  {shown_bytes(found.freed)} fewer")


def _text(secret: str) -> str:
    if secret != "-":
        return secret
    return read_input("-", "the text", _MAX_TEXT).decode("utf-8", "surrogateescape").removesuffix("\n")
