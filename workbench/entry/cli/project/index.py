"""`workbench index`, `refresh`, `import` and `rebuild`: bringing the index up to date with the project."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.session import Session, session
from workbench.entry.project import OpenedProject, give_consent
from workbench.entry.services.index import (
    embed_texts,
    follow_index,
    index_report,
    keep_token_table,
    keep_vectors,
    project_tables,
    rebuild_tables,
    refresh_index,
)
from workbench.entry.services.rules import measured_fetcher
from workbench.errors import ModelError, ProjectError, StoreError, UsageError
from workbench.plan.workspace import Synced
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

_SHOWN = 10


@command
@click.option("--full", is_flag=True, help="Read every file again, whether it changed or not.")
def index(full: bool) -> None:
    """Index the project: its files, its history and its rules.

    A plan does this automatically, but for one thing: past tasks, rules and learnings are embedded here and
    by `refresh`, so that plans compare them by meaning (index.embed = false leaves it to `workbench model
    prepare`). A plan that indexes answers at once, by words alone, and says so. Damaged vector indexes are
    rebuilt. `workbench status` lists all indexes.

    Outside of a repository this is how all of a directory is indexed that is your home or holds more than
    5,000 files; other commands ask first, or refuse where nobody can be asked.
    """
    give_consent(current().project)
    with session("index") as work:
        started = time.perf_counter()
        synced = work.opened.workspace.sync(progress=work.progress, rebuild=full, settle=True)
        keep_token_table()
        work.measurement.note_sync(synced)
        synced = replace(synced, notes=(*synced.notes, *project_tables(work.opened), *_embed(work)))
    _report(work, synced, time.perf_counter() - started)


@command
def refresh() -> None:
    """Update the index with the files that changed, and list them."""
    with session("refresh") as work:
        synced, seconds = refresh_index(work.opened, work.measurement, work.progress)
        synced = replace(synced, notes=(*synced.notes, *_embed(work)))
    _report(work, synced, seconds)


def _embed(work: Session) -> tuple[str, ...]:
    """Embed what is new, and bring vector indexes up to date; return what was done and found amiss."""
    try:
        notes = embed_texts(work.opened, work.progress)
    except (ModelError, StoreError) as error:
        notes = (f"texts are not embedded: {error.message}",)
    return (*notes, *_vectors(work.opened))


def _vectors(opened: OpenedProject, *, renew: bool = False) -> tuple[str, ...]:
    """Write the vector indexes that are behind, or all; return which, and what was found amiss with them."""
    vectors, _ = opened.text_vectors
    try:
        written = keep_vectors(opened, renew=renew)
    except (ModelError, StoreError) as error:
        return (f"vectors are not stored: {error.message}",)
    notes = () if vectors is None else tuple(vectors.notes)
    return (*notes, *([f"vector indexes written: {', '.join(written)}"] if written else []))


def _report(work: Session, synced: Synced, seconds: float) -> None:
    workspace, out = work.opened.workspace, work.here.out
    files = int(workspace.index.alive.sum())
    if work.here.flags.json:
        out.json(index_report(workspace, synced, seconds))
        return
    how = {"hit": "nothing had changed", "partial": synced.reason, "miss": synced.reason or "built"}
    counts = ((files, "file"), (workspace.history.size, "past task"), (len(workspace.rulebook.rules), "rule"))
    out.data(", ".join(plural(*count) for count in counts))
    out.data(f"index: {how[synced.cache]} ({seconds:.1f} s)")
    for sign, paths in (("~", synced.changed), ("+", synced.added), ("-", synced.removed)):
        for path in paths[:_SHOWN]:
            out.data(f"  {sign} {visible_line(path)}")
        if len(paths) > _SHOWN:
            out.data(f"  {sign} and {len(paths) - _SHOWN:,} more")
    if synced.episodes or synced.forgotten:
        gone = f", {synced.forgotten:,} forgotten" if synced.forgotten else ""
        out.data(f"history: {plural(synced.episodes, 'commit')} imported{gone}")
    work.show_notes()
    for note in synced.notes:
        out.say(note)


@command
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N commits.")
@click.option("--all", "everything", is_flag=True, help="The whole history, however long.")
def import_git(limit: int | None, everything: bool) -> None:
    """Turn commits into past tasks that plans learn from.

    Without options as many as index.history_commits, which plans import automatically. Commits that are
    already there are skipped, so it can be repeated and interrupted.
    """
    if limit and everything:
        raise UsageError("--limit and --all contradict each other", hint="Give one of them.")
    with session("import") as work:
        opened = work.opened
        if opened.repository is None:
            raise ProjectError(
                f"{opened.root} is not a git repository", hint="There is no history to import."
            )
        started = time.perf_counter()
        depth = None if everything else limit or opened.config.index.history_commits
        sync = opened.workspace.import_commits(limit=depth, progress=work.progress)
        seconds = time.perf_counter() - started
        work.measurement.stages["history"] = round(seconds * 1000, 3)
    out = work.here.out
    if work.here.flags.json:
        out.json(
            {
                "imported": sync.imported,
                "forgotten": sync.forgotten,
                "episodes": sync.past.history.size,
                "notes": list(sync.notes),
                "timing": {"total": round(seconds * 1000, 3)},
            }
        )
        return
    out.data(f"{plural(sync.imported, 'commit')} imported, {sync.forgotten:,} forgotten ({seconds:.1f} s)")
    weighed = plural(sync.past.history.size, "past task")
    out.data(f"plans weigh {weighed}, the newest; index.history_commits says how many at most")
    for note in sync.notes:
        out.say(note)


@command
def rebuild() -> None:
    """Rebuild tables and indexes from the journals and the files.

    Indexes that are damaged and that no plan needs, as those of the stash and of conflicts, are built again
    by the next command that reads them.
    Journals are not touched. Reports for each part whether it equals what was there before; exit 1 if
    tables of equal journals differ.
    """
    with session("rebuild") as work:
        opened, out = work.opened, work.here.out
        before = _index_digest(opened)
        retired = [f"the index {one.kind} was damaged ({one.faults[0]})" for one in opened.retire_damaged()]
        synced = opened.workspace.sync(progress=work.progress, rebuild=True)
        work.measurement.note_sync(synced)
        after = _index_digest(opened)
        tables_before, tables_after, report = rebuild_tables(opened)
        follow_index(opened)
        with measured_fetcher(opened, work.measurement) as fetcher:
            fetcher.invalidate()
        notes = (*synced.notes, *retired, *_vectors(opened, renew=True))
    parts = {
        **{f"table {name}": (tables_before.get(name, ""), digest) for name, digest in tables_after.items()},
        **{f"index {name}": (before.get(name, ""), digest) for name, digest in after.items()},
    }
    # Another process may have written meanwhile; then the tables hold more than before, as they should.
    same = tables_before.get("applied") == tables_after.get("applied")
    differing = [name for name, digest in tables_after.items() if same and tables_before.get(name) != digest]
    if work.here.flags.json:
        out.json(
            {
                "parts": {
                    name: {"before": old, "after": new, "equal": old == new}
                    for name, (old, new) in parts.items()
                },
                "entries": report.entries,
                "quarantined": report.quarantined,
                "rejected": report.rejections,
                "notes": list(notes),
            }
        )
    else:
        for name, (old, new) in parts.items():
            state = "equal" if old == new else "new" if not old else "differs"
            out.data(f"{name:<28} {new[:16]}  {state}")
        out.data(f"{report.entries:,} journal entries read, {report.quarantined:,} unreadable")
        for note in notes:
            out.say(note)
    if differing:
        raise StoreError(
            f"tables differ from what they were: {', '.join(differing)}",
            hint="The new ones follow the journals. Run it again: if it differs again, report it.",
        )


def _index_digest(opened: OpenedProject) -> dict[str, str]:
    """Return content hashes of the stored index, history and rules, empty before the first index."""
    workspace = opened.workspace
    stored = workspace.look()
    found: dict[str, str] = {}
    if stored.report is not None:
        index, snapshot = workspace.index, workspace.snapshot
        living = sorted(index.paths[place] for place in range(index.count) if index.alive[place])
        edges = sorted(
            (kind, index.paths[source], index.paths[target])
            for kind, pairs in (("import", index.edges), ("test", index.tests))
            for source, target in pairs.tolist()
        )
        hashes = sorted(zip(snapshot.paths, snapshot.hashes, strict=True))
        found["project"] = _digest((living, edges, hashes))
    if stored.past is not None:
        history = stored.past.history
        order = (history.paths, history.times.tolist(), history.sizes.tolist(), stored.past.heads)
        found["history"] = _digest((order, history.tasks.tolist(), history.files.tolist()))
    if stored.rules is not None:
        found["rules"] = _digest(stored.rules.rules)
    return found


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()
