"""Whether a project's state is sound: its journals, indexes, rules, tables, locks; for `workbench doctor`.

Rule files are compared with the store as they are now; nothing is synced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from workbench.entry.project import OpenedProject, resolve
from workbench.entry.services.index import history_findings, meaning_findings
from workbench.entry.services.retention import retention_findings
from workbench.entry.services.transcripts import archive_findings
from workbench.errors import WorkbenchError
from workbench.records.answers.project import DoctorFinding, State
from workbench.rules.curation.ledger import RuleLedger
from workbench.rules.curation.versions import is_held_back, replacement_cycles
from workbench.rules.descriptions import origin
from workbench.rules.files.drift import SyncOutcome, find_drift
from workbench.text.counts import plural
from workbench.text.sanitize import shorten, visible_line

if TYPE_CHECKING:
    from workbench.entry.project import IndexState, JournalDamage

LOW_DISK = 500_000_000  # bytes
NO_DISK = 20_000_000
_SHOWN = 5
_LINE = 200
_RECORDS: Mapping[str, str] = {"tasks": "past tasks", "rules": "texts of rules", "learnings": "learnings"}


def ok(name: str, text: str) -> DoctorFinding:
    """Return that a thing is sound, with what is known of it."""
    return DoctorFinding(name, State.OK, text)


def note(name: str, text: str, step: str) -> DoctorFinding:
    """Return that something is missing and the rest works without it, and what to do about it."""
    return DoctorFinding(name, State.NOTE, text, step)


def broken_finding(name: str, text: str, step: str) -> DoctorFinding:
    """Return that a thing is broken, and what to do about it."""
    return DoctorFinding(name, State.BROKEN, text, step)


def failed_finding(name: str, error: WorkbenchError) -> DoctorFinding:
    """Return an error as a finding."""
    return broken_finding(name, error.message, error.hint)


def _project(project: OpenedProject) -> Iterator[DoctorFinding]:
    place = project.location
    yield _repository(project)
    if place.fallback_reason:
        text = f"kept in {place.root}, because {place.fallback_reason}"
        yield note("state", text, "Make the project directory writable to keep it there.")
    else:
        yield ok("state", str(place.root))
    if not os.access(place.root, os.W_OK | os.X_OK):
        step = "Make it writable, or set WORKBENCH_HOME to a directory you can write."
        yield broken_finding("state", f"{place.root} cannot be written: nothing is kept", step)
    for text in project.workspace.look().notes:
        yield note("state", text, "The next plan mends it.")


def _repository(project: OpenedProject) -> DoctorFinding:
    """Say whether history counts: git may refuse a repository of another user."""
    if project.repository is None:
        text = f"{project.root} (not a git repository)"
        return note("project", text, "Run `git init` to let history count.")
    try:
        resolve(project.repository, "HEAD")
    except WorkbenchError as error:
        return note("project", f"{project.root} has no history here: {error.message}", error.hint)
    return ok("project", f"{project.root} (git repository)")


def _disk(project: OpenedProject) -> Iterator[DoctorFinding]:
    free = shutil.disk_usage(project.location.root).free
    text = f"{free / 1e9:,.1f} GB free"
    if free < NO_DISK:
        yield broken_finding("disk", text, "Free some space: nothing can be recorded.")
    elif free < LOW_DISK:
        yield note("disk", text, "Free some space before it runs out.")
    else:
        yield ok("disk", text)


def _journals(project: OpenedProject) -> Iterator[DoctorFinding]:
    for name, (root, faults) in zip(
        ("journals", "user's journals"), project.journal_faults().items(), strict=False
    ):
        for fault in faults[:_SHOWN]:
            place = root / "journal" / f"{fault.stream}.jsonl"
            if fault.is_later:
                step = "Update this program, which leaves it alone: nothing of it is lost."
                yield note(name, f"{fault.stream}, line {fault.line}: {fault.reason}", step)
            elif fault.line:
                step = f"Nothing reads line {fault.line} of {place}: mend it or delete it."
                yield broken_finding(name, f"{fault.stream}, line {fault.line}: {fault.reason}", step)
            else:
                step = "The next writer ends it; a writer was killed there."
                yield note(name, f"{fault.stream}: {fault.reason}", step)
        if len(faults) > _SHOWN:
            yield broken_finding(name, f"and {plural(len(faults) - _SHOWN, 'more line')}", "See `--json`.")
        if not faults:
            count = len(list((root / "journal").glob("**/*.jsonl")))
            yield ok(name, f"every line can be read ({plural(count, 'stream')})")


def _journal_copies(project: OpenedProject) -> Iterator[DoctorFinding]:
    found = project.journal_damages()
    for one in found:
        step = "`workbench doctor --repair` brings it back; `--accept` if you changed it yourself."
        yield broken_finding("journals", visible_line(_damage_sentence(one)), step)
    if not found:
        yield ok("journals", "every line is as it was written")


def _damage_sentence(found: JournalDamage) -> str:
    lost = (
        (found.missing, "entry is missing", "entries are missing"),
        (found.altered, "entry was altered", "entries were altered"),
        (found.unreadable, "line cannot be read", "lines cannot be read"),
    )
    said = ", ".join(plural(*one) for one in lost if one[0]) or "it was put together otherwise"
    journal = found.root / "journal" / f"{found.stream}.jsonl"
    return f"{journal} differs from its copy from byte {found.offset:,} on: {said}"


def settle_journals(project: OpenedProject, *, accepted: bool) -> Iterator[DoctorFinding]:
    """Repair the journals that differ from their copies, or accept them; what is made of them is made again.

    Raises: StoreError, StoreBusy.
    """
    settled = project.settle_journals(accepted=accepted)
    for found, aside in settled:
        done = "accepted as it is" if accepted else "repaired"
        text = f"{_damage_sentence(found)}: {done}; both files as they were are in {aside}"
        yield ok("journals", visible_line(text))
    if settled:
        from workbench.entry.services.index import rebuild_tables
        from workbench.entry.services.rules import rule_fetcher

        rebuild_tables(project)
        project.workspace.sync(rebuild=True)
        rule_fetcher(project.workspace, project.config, project.clock).invalidate()
        yield ok("journals", "tables and index are rebuilt")


def retire_indexes(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Take damaged indexes out of use and say which. Raises: StoreError, StoreBusy."""
    for state in project.retire_damaged():
        done = "the next command that needs it builds it again"
        yield ok("indexes", visible_line(f"{state.kind}-{state.number}: {state.faults[0]}; {done}"))


def _memory(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Ask whether what is remembered of iterations can be read, which a line of sound JSON need not be."""
    from workbench.entry.services.memory import feature_streams, read_stream
    from workbench.memory.journal import SetAside

    iterations = 0
    aside: list[SetAside] = []
    for stream in feature_streams(project):
        found = read_stream(project, stream)
        iterations += len(found.entries)
        aside += found.set_aside
    for one in aside[:_SHOWN]:
        step = f"It is left out: mend or delete the line {one.id} of journal/{one.stream}.jsonl."
        yield broken_finding("memory", visible_line(f"{one.stream}: {one.reason}"), step)
    if len(aside) > _SHOWN:
        yield broken_finding(
            "memory", f"and {plural(len(aside) - _SHOWN, 'more entry', 'more entries')}", "See `--json`."
        )
    if iterations and not aside:
        yield ok("memory", f"{plural(iterations, 'iteration')} can be read")


def _stash(project: OpenedProject) -> Iterator[DoctorFinding]:
    if project.has_stash:
        from workbench.entry.services.stash import stash_findings

        yield from stash_findings(project)


def index_sentence(state: IndexState, now: float) -> str:
    """Return what a stored index holds and is searched by, its size and age, in a line."""
    said = [
        f"{part.count:,} {_RECORDS.get(part.records, part.records)}, {part.method}"
        + (f" by {part.model}" if part.model else "")
        for part in state.parts
    ]
    return visible_line("; ".join([*said, f"{state.bytes / 1e6:,.1f} MB, {_age(now - state.created_at)}"]))


def _age(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{plural(int(seconds // length), unit)} old"
    return "new"


def _indexes(project: OpenedProject) -> Iterator[DoctorFinding]:
    states = project.index_states(deep=True)
    now = project.clock.now()
    for state in states:
        name = f"{state.kind}-{state.number}"
        if state.faults:
            yield broken_finding("indexes", f"{name}: {state.faults[0]}", "Run `workbench rebuild`.")
        else:
            yield ok("indexes", f"{name} is as it was written: {index_sentence(state, now)}")
    if not states:
        yield note("indexes", "none yet", "The first plan makes them; or `workbench index`.")


def _sessions(project: OpenedProject) -> Iterator[DoctorFinding]:
    stories, malformed = project.workspace.session_stories()
    if malformed:
        text = f"{malformed:,} of the sessions journal's lines are not about an episode and are left out"
        step = "`workbench stats` makes tables that name them, in the table `rejected`."
        yield note("sessions", text, step)
    yield ok("sessions", f"{stories.ended:,} ended, {stories.open:,} open")


def _tables(project: OpenedProject) -> Iterator[DoctorFinding]:
    tables = project.open_tables()
    findings = []
    try:
        if tables.file() is None and not tables.degraded:
            return iter([ok("tables", "none yet: `workbench stats` makes them")])
        report = tables.catch_up()
        count, first = tables.rejected_entries()
        found, spans = tables.report(), tables.project_spans()
        file = project.table_file()
    finally:
        tables.close()
    if report.rebuilt:
        aside = f"; the old file is {report.set_aside}" if report.set_aside else ""
        findings.append(DoctorFinding("tables", State.NOTE, f"rebuilt: {report.rebuilt}{aside}"))
    if count:
        where = f"{first.origin} {first.stream}.jsonl, byte {first.offset}, {visible_line(first.kind)}"
        text = f"{count:,} journal entries are left out, the first: {where}: {visible_line(first.reason)}"
        findings.append(note("tables", text, "They are in the table `rejected`."))
    if tables.degraded:
        text = f"they are in a file, as the server of the team does not have them: {tables.degraded}"
        findings.append(note("tables", text, "Lists are as they would be there."))
    size = "" if tables.on_server else f"{(file.bytes if file else 0) / 1e6:,.1f} MB, "
    were = f", {plural(report.entries, 'entry', 'entries')} behind until now" if report.entries else ""
    known = f"{plural(found.entries, 'entry', 'entries')} of {plural(found.streams, 'stream')}"
    findings.append(ok("tables", f"{tables.place}: {size}{known}{were}"))
    if found.unknown:
        text = f"{plural(found.unknown, 'entry', 'entries')} of kinds that this program does not know"
        step = "Update this program, which leaves them alone: a later version recorded them."
        findings.append(note("tables", text, step))
    rows = sorted(((count, name) for name, count in found.rows.items() if count), reverse=True)
    text = ", ".join(f"{name} {count:,}" for count, name in rows)
    findings.append(ok("tables", f"rows: {text}"))
    for span in spans:
        text = f"{plural(span.tasks, 'task')} of {visible_line(span.project_id)}, the last one "
        findings.append(ok("tables", text + _age(project.clock.now() - span.last_at)))
    for model in found.models:
        name = visible_line(f"{model.model_id} {model.version}") + (", active" if model.active else "")
        findings.append(ok("tables", f"registered {model.model_kind} {name}"))
    return iter(findings)


def _locks(project: OpenedProject) -> Iterator[DoctorFinding]:
    held = project.held_locks()
    for name, process, named in held:
        who = (f"process {process}" if process else "a process") + (named and f" ({visible_line(named)})")
        yield note("locks", f"{name} is held by {who}", "Wait for it, or end that process.")
    if not held:
        yield ok("locks", "none is held")


def rule_findings(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Yield what is odd about the rules, or that nothing is. Raises: StoreError."""
    store = project.workspace.rule_store()
    ledger = store.ledger()
    found = [
        *_entries(ledger),
        *_secrets(ledger),
        *_orders(ledger),
        *_files(find_drift(store, project.workspace.rule_files())),
    ]
    if found:
        yield from found
        return
    kept = f"{len(ledger.live):,} in force" if ledger.live else "none yet"
    yield ok("rules", kept)


def _entries(ledger: RuleLedger) -> Iterator[DoctorFinding]:
    for reason in ledger.skipped[:_SHOWN]:
        step = (
            "It is in no list. Put the rule right with `workbench rules add`, or delete the journal's line."
        )
        yield note("rules", f"a recorded rule is left out: {reason}", step)
    if len(ledger.skipped) > _SHOWN:
        yield note("rules", f"and {len(ledger.skipped) - _SHOWN:,} more", "See the first ones.")
    for cycle in replacement_cycles(ledger.versions.values())[:_SHOWN]:
        text = f"rules replace each other in a circle: {' -> '.join((*cycle, cycle[0]))}"
        step = f"`workbench rules history {cycle[0][:13]}` shows how; add the rule again if it is missing."
        yield note("rules", text, step)


def _secrets(ledger: RuleLedger) -> Iterator[DoctorFinding]:
    """Yield the rules that hold secrets. The files are the user's own: they are reported, never rewritten."""
    from workbench.text.redact import redact

    held = [(key, redact(rule.rule).counts) for key, rule in sorted(ledger.live.items())]
    leaking = [(key, counts) for key, counts in held if counts]
    for key, counts in leaking[:_SHOWN]:
        text = f"rule {key[:13]} holds what looks like a secret: {', '.join(counts)}"
        yield note("rules", text, "Take it out of the rule and its file, and renew the secret.")
    if len(leaking) > _SHOWN:
        yield note("rules", f"{len(leaking) - _SHOWN:,} more hold secrets", "See the first ones.")


def _orders(ledger: RuleLedger) -> Iterator[DoctorFinding]:
    """Yield the rules that are out of force because they order the assistant about."""
    held = [rule for _, rule in sorted(ledger.live.items()) if is_held_back(rule)]
    for rule in held[:_SHOWN]:
        words = f"{origin(rule)} is an order to the assistant and out of force: {rule.rule}"
        step = f"Take it out, or `workbench rules enable {rule.id[:13]}` if it is meant."
        yield note("rules", shorten(words, _LINE), step)
    if len(held) > _SHOWN:
        yield note(
            "rules", f"{len(held) - _SHOWN:,} more are orders to the assistant", "`workbench rules lint`"
        )


def _files(outcome: SyncOutcome) -> Iterator[DoctorFinding]:
    for drift in outcome.drift:
        if drift.pending:
            text = f"{drift.file} does not have what changed here: {len(drift.pending):,} of its rules"
            step = "`workbench rules drift` shows what is to be written, `--merge` writes it."
            yield note("rules", text, step)
        if drift.conflicts:
            text = f"{drift.file} and the store changed rules differently: {len(drift.conflicts):,}"
            step = "`workbench rules drift` shows both sides, `--resolve ID --take ours` settles one."
            yield note("rules", text, step)
    for warning in outcome.warnings[:_SHOWN]:
        yield note("rules", warning, "Mend the file; the rest of it was read.")


def _team(project: OpenedProject) -> Iterator[DoctorFinding]:
    """Say how far this machine and its team are apart, as of the last look at the server."""
    if not project.has_team:
        return
    from workbench.entry.services.team import aside_sentence, entries_put_aside, local_status

    status = local_status(project)
    text = f"{status.project} at {status.server}, {plural(status.unsent, 'record')} to send"
    if status.fault:
        yield note("team", f"{text}: {status.fault}", status.hint)
    else:
        yield ok("team", text)
    aside = entries_put_aside(project)
    for one in aside[:_SHOWN]:
        yield note("team", visible_line(aside_sentence(one)), "It counts for nothing here: ask its member.")
    if len(aside) > _SHOWN:
        yield note("team", f"and {len(aside) - _SHOWN:,} more", "`workbench store verify` lists them all.")


def project_questions(project: OpenedProject) -> list[tuple[str, Callable[[], Iterator[DoctorFinding]]]]:
    """Return the questions about a project by name, in the order in which they are asked."""
    return [(name, partial(question, project)) for name, question in _QUESTIONS.items()]


_QUESTIONS: Mapping[str, Callable[[OpenedProject], Iterator[DoctorFinding]]] = {
    "project": _project,
    "disk": _disk,
    "journals": _journals,
    "copies": _journal_copies,
    "memory": _memory,
    "stash": _stash,
    "indexes": _indexes,
    "meaning": meaning_findings,
    "history": history_findings,
    "sessions": _sessions,
    "archive": archive_findings,
    "retention": retention_findings,
    "team": _team,
    "rules": rule_findings,
    "tables": _tables,
    "locks": _locks,
}
