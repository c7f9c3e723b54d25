"""Rules and the files they are in: importing files by name, and drift between files and store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.rules.diff import changed_lines, line_paint, show_written, written_document
from workbench.entry.cli.session import Session, session
from workbench.errors import ParseError, UsageError
from workbench.records.rules import Rule
from workbench.rules.files.drift import FileDrift, SyncOutcome, find_drift, write_pending
from workbench.rules.files.export import ExportedFile
from workbench.rules.files.merge import FileConflict, FromFile, Incoming, Pending
from workbench.rules.files.named import import_named, named_files
from workbench.rules.files.placement import TARGETS
from workbench.rules.files.publication import Published, publish
from workbench.rules.files.settling import put_back, settle
from workbench.rules.files.sync import SyncResult
from workbench.rules.reading.discovery import read_source
from workbench.rules.reading.imports import import_rules
from workbench.rules.rulestate import find_sources
from workbench.text.counts import plural

_MARKS = {Incoming.ADDED: "+", Incoming.CHANGED: "~", Incoming.MOVED: ">", Incoming.REMOVED: "-"}


@command
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--discover", is_flag=True, help="Find the rule files of the project and your home instead.")
@click.option("--all", "every", is_flag=True, help="Take every Markdown and text file of a directory.")
@click.option("--dry-run", is_flag=True, help="List what would be imported, and change nothing.")
def import_(paths: tuple[str, ...], discover: bool, every: bool, dry_run: bool) -> None:
    """Import rule files by name, whatever they are called; `rules undo` undoes it.

    Known names in the project (CLAUDE.md, AGENTS.md, .cursor/rules …) are imported automatically. A file
    stays synced with its rules from then on. What is not an instruction is not imported; --dry-run lists
    that, with the reason.
    """
    if bool(paths) is discover:
        raise UsageError("name rule files or directories, or --discover", hint="`--help` shows examples.")
    refused: tuple[str, ...] = ()
    left = 0
    with session("import") as work:
        store = work.opened.workspace.rule_store()
        if discover:
            outcome = find_drift(store, work.opened.workspace.rule_files())
            changes = {drift.file: list(drift.incoming) for drift in outcome.drift}
            warnings = outcome.warnings
            sources = find_sources(store, work.opened.workspace.rule_files())
            if not dry_run:
                work.opened.workspace.sync_rules()
        else:
            named = named_files(store.root, paths, every=every, progress=work.progress)
            result = import_named(store, named.sources, by="cli", dry_run=dry_run)
            changes, warnings = _incoming(result), result.warnings
            sources, refused, left = named.sources, named.refused, named.left
        read = import_rules(sources, read_source, project_root=str(store.root))
        others = [context for context in read.contexts if context.why]
    if refused and len(refused) == len(paths):
        hint = "Name Markdown or text files with rules."
        raise ParseError(f"nothing was imported: {'; '.join(refused)}", hint=hint)
    out = work.here.out
    if work.here.flags.json:
        files = [
            {"file": file, "changes": [_change(item) for item in items]} for file, items in changes.items()
        ]
        left_out = [
            {"file": one.provenance.file, "line": one.provenance.line, "text": one.text, "why": one.why}
            for one in others
        ]
        document = {"dry_run": dry_run, "files": files, "left_out": left_out}
        out.json({**document, "warnings": [*warnings, *refused]})
        return
    for file, items in changes.items():
        out.paint(f"{out.style(file, '36')}  {_counts(items)}")
    for one in others if dry_run else ():
        where = out.style(f"{one.provenance.file}:{one.provenance.line}", "36")
        out.paint(f"{where}  no rule: {out.style(shorten(one.text, 90), '0')}")
        out.paint(out.style(f"    {one.why}", "2"))
    for warning in (*warnings, *refused):
        out.warn(warning)
    if others and not dry_run:
        reads = "reads" if len(others) == 1 else "read"
        out.say(f"{plural(len(others), 'other piece')} of text {reads} as no rule: see --dry-run")
    if left:
        out.say(f"{plural(left, 'other text file')} left alone: name them, or take them with --all")
    total = sum(len(items) for items in changes.values())
    done = "would change" if dry_run else "changed"
    out.say(
        f"{plural(total, 'rule')} {done} in {plural(len(changes), 'file')}"
        if total
        else "nothing new to import"
    )


@command
@click.option(
    "--to",
    "targets",
    type=click.Choice(sorted({*TARGETS, "codex"})),
    multiple=True,
    required=True,
    help="The agent whose files are written.",
)
@click.option("--home", is_flag=True, help="Your own rules as well, which go into the project's files then.")
@click.option("--dry-run", is_flag=True, help="Show the lines that would be written, and write nothing.")
def export(targets: tuple[str, ...], home: bool, dry_run: bool) -> None:
    """Write the rules in force into the files of other agents, next to what people wrote there.

    Rules that are in such a file stay where they are. The others go into a part of their own, between two
    comments, or into files named workbench-…; editing them there edits the rule. What several files say is
    written once, limits that a file cannot say are named, and a second export changes nothing.
    """
    results: list[Published] = []
    with session("export") as work:
        workspace = work.opened.workspace
        for target in dict.fromkeys(targets):
            work.progress(f"exporting to {target}", len(results), len(targets))
            results.append(
                publish(
                    workspace.rule_store(),
                    workspace.rule_files(),
                    target,
                    directories=workspace.directories(),
                    include_home=home,
                    dry_run=dry_run,
                )
            )
    out = work.here.out
    files = [file for result in results for file in result.files]
    notes = [note for found in results for note in (*found.notes, *(n for f in found.files for n in f.notes))]
    if work.here.flags.json:
        documents = [
            {
                "file": file.path,
                "rules": len(file.anchors),
                "changed": file.changed,
                "diff": list(_lines_of(file)),
            }
            for file in files
        ]
        out.json({"dry_run": dry_run, "files": documents, "notes": notes})
        return
    for file in files:
        if dry_run:
            for line in _lines_of(file):
                out.paint(out.style(line, line_paint(line)))
        elif file.changed:
            gone = "removed" if file.data is None else plural(len(file.anchors), "rule")
            out.paint(f"{out.style(file.path, '36')}  {gone}")
    for note in notes:
        out.warn(note)
    changed = sum(file.changed for file in files)
    done = "would be written" if dry_run else "written"
    out.say(f"{plural(changed, 'file')} {done}, {len(files) - changed:,} up to date")


@command
@click.option("--merge", is_flag=True, help="Sync both sides; conflicts stay for you to settle.")
@click.option("--dry-run", is_flag=True, help="With --merge: show the lines that would be written.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Write only this file (repeatable).")
@click.option(
    "--resolve",
    metavar="ID",
    help="Settle the conflict of this rule, or with ours put a change of its file back.",
)
@click.option("--take", type=click.Choice(["ours", "theirs"]), help="With --resolve: whose version to keep.")
def drift(merge: bool, dry_run: bool, files: tuple[str, ...], resolve: str | None, take: str | None) -> None:
    """Show what changed in rule files and not in the store, and the other way round.

    The exit code is 1 while something is not synced.
    """
    if (resolve is None) is not (take is None):
        raise UsageError("--resolve and --take go together", hint="--resolve rule-1f0c2a9b --take ours")
    with session("drift") as work:
        store, candidates = work.opened.workspace.rule_store(), work.opened.workspace.rule_files()
        if resolve is not None and take is not None:
            identifier = resolve if resolve.startswith("rule-") else f"rule-{resolve}"
            if take != "ours" or put_back(store, candidates, identifier) is None:
                settle(store, candidates, identifier, take, by="cli")
        outcome = (
            write_pending(store, candidates, files=files, dry_run=dry_run)
            if merge
            else find_drift(store, candidates)
        )
    _show_outcome(work, outcome, merge=merge, dry_run=dry_run)
    left = [found for found in outcome.drift if not dry_run or found.conflicts]
    if left or any(written.refused for written in outcome.written):
        click.get_current_context().exit(1)


def _show_outcome(work: Session, outcome: SyncOutcome, *, merge: bool, dry_run: bool) -> None:
    out = work.here.out
    if work.here.flags.json:
        out.json(
            {
                "dry_run": dry_run,
                "taken": [_document(found) for found in outcome.taken],
                "written": [written_document(item) for item in outcome.written],
                "drift": [_document(found) for found in outcome.drift],
                "warnings": list(outcome.warnings),
            }
        )
        return
    for found in outcome.taken:
        out.paint(f"{out.style(found.file, '36')}  imported: {_counts(found.incoming)}")
    show_written(out, outcome.written)
    if not (merge and dry_run):
        for found in outcome.drift:
            _show_file(out, found)
    for warning in outcome.warnings:
        out.warn(warning)
    out.say(_summary(outcome, merge=merge, dry_run=dry_run))


def _show_file(out: Output, found: FileDrift) -> None:
    out.paint(out.style(found.file, "1;36"))
    for change in found.incoming:
        text = change.after or change.before
        out.paint(f"  file   {_MARKS[change.what]} {change.line:>5}  {_rule_words(out, text)}")
    for pending in found.pending:
        mark = "+" if pending.base is None else "-" if pending.rule is None else "~"
        out.paint(
            f"  store  {mark} {pending.line or '':>5}  {_rule_words(out, pending.rule or pending.base)}"
        )
    for conflict in found.conflicts:
        out.paint(out.style(f"  both   ! {conflict.line or '':>5}  {conflict.base.id[:13]}", "31"))
        sides = (("last", conflict.base), ("ours", conflict.ours), ("theirs", conflict.theirs))
        for name, rule in sides:
            out.paint(f"             {name:<6}  {_rule_words(out, rule)}")


def _summary(outcome: SyncOutcome, *, merge: bool, dry_run: bool) -> str:
    incoming = sum(len(found.incoming) for found in outcome.drift)
    pending = sum(len(found.pending) for found in outcome.drift)
    conflicts = sum(len(found.conflicts) for found in outcome.drift)
    if merge and dry_run:
        files = sum(item.changed for item in outcome.written)
        return f"{plural(files, 'file')} would be written; nothing was changed"
    if not (incoming or pending or conflicts):
        return "files and store are up to date"
    parts = [
        f"{incoming:,} changed in files alone" if incoming else "",
        f"{pending:,} in the store alone" if pending else "",
        f"{conflicts:,} in both: --resolve ID --take ours|theirs" if conflicts else "",
    ]
    step = "" if merge or not (incoming or pending) else "; --merge syncs them"
    return ", ".join(part for part in parts if part) + step


def _incoming(found: SyncResult) -> dict[str, list[FromFile]]:
    changes = {
        merge.state.file: [item for item in merge.incoming if item.what is not Incoming.REFRESHED]
        for merge in found.merges
    }
    return {file: items for file, items in changes.items() if items}


def _counts(items: Sequence[FromFile]) -> str:
    counts = [(what.value, sum(item.what is what for item in items)) for what in Incoming]
    return ", ".join(f"{count:,} {name}" for name, count in counts if count)


def _rule_words(out: Output, rule: Rule | None) -> str:
    if rule is None:
        return out.style("(removed)", "2")
    return out.style(shorten(rule.rule, 90), "0")


def _lines_of(file: ExportedFile) -> Iterator[str]:
    return changed_lines(file.path, file.before or b"", file.data or b"")


def _document(found: FileDrift) -> dict[str, object]:
    return {
        "file": found.file,
        "incoming": [_change(item) for item in found.incoming],
        "pending": [_pending(item) for item in found.pending],
        "conflicts": [_conflict(item) for item in found.conflicts],
    }


def _change(item: FromFile) -> dict[str, object]:
    return {
        "what": item.what.value,
        "line": item.line,
        "before": None if item.before is None else item.before.rule,
        "after": None if item.after is None else item.after.rule,
    }


def _pending(item: Pending) -> dict[str, object]:
    rule = item.rule or item.base
    return {
        "id": "" if rule is None else rule.id,
        "line": item.line,
        "file": None if item.base is None else item.base.rule,
        "store": None if item.rule is None else item.rule.rule,
    }


def _conflict(item: FileConflict) -> dict[str, object]:
    return {
        "id": item.base.id,
        "line": item.line,
        "last": item.base.rule,
        "ours": None if item.ours is None else item.ours.rule,
        "theirs": None if item.theirs is None else item.theirs.rule,
    }
