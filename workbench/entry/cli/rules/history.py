"""What was done to rules and with them: `workbench rules history`, `usage`, `undo` and `redo`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from workbench.entry.cli.arguments import PREFIX, find_any
from workbench.entry.cli.curation import (
    LISTED,
    SHOWN_STEPS,
    STEP,
    at_text,
    show_stacks,
    show_steps,
    show_walked,
)
from workbench.entry.cli.frame import command
from workbench.entry.cli.output import shorten
from workbench.entry.cli.rules.diff import (
    RULE_CHANGES,
    change_document,
    change_line,
    diff_lines,
    show_written,
    written_document,
)
from workbench.entry.cli.session import RuleSession, report_files, rule_session
from workbench.errors import UsageError
from workbench.rules.curation.curator import lineage
from workbench.rules.curation.differences import story
from workbench.rules.curation.ledger import RuleLedger, Use, read_uses
from workbench.rules.curation.rulestore import record_usage
from workbench.rules.files.undo import Walked
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line


@command
@click.argument("identifier", metavar="[ID]", required=False)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    help=f"Maximum number shown, the newest ({SHOWN_STEPS} steps).",
)
def history(identifier: str | None, limit: int | None) -> None:
    """Show the history of all rules, newest first, or of one rule and its earlier versions, oldest first.

    Removed words are in [-…-], added words in {+…+}. Times are in UTC.
    """
    with rule_session("rules") as work:
        ledger = work.store.ledger()
    if identifier is None:
        show_steps(work.here, ledger, RULE_CHANGES, limit or SHOWN_STEPS, work.store.names())
    else:
        _story(work, ledger, find_any(ledger, identifier), limit)


def _story(work: RuleSession, ledger: RuleLedger, identifier: str, limit: int | None) -> None:
    found, names = story(ledger, identifier), work.store.names()
    out = work.here.out
    shown = found if limit is None else found[-limit:]
    if work.here.flags.json:
        now = ledger.current(identifier)
        out.json(
            {
                "id": identifier,
                "in_force": identifier in ledger.live,
                "standing": None if now is None else now.id,
                "versions": list(lineage(ledger, identifier)),
                "total_count": len(found),
                "changes": [change_document(entry) for entry in shown],
            }
        )
        return
    for entry in shown:
        out.paint(change_line(out, entry, names))
        rule = entry.after or entry.before
        if entry.fields:
            for line in diff_lines(out, entry.fields):
                out.paint(line)
        elif rule is not None:
            out.paint("    " + out.style(visible(rule.rule).replace("\n", "\n    "), "0"))
    if len(shown) < len(found):
        out.say(f"the newest {len(shown):,} of {plural(len(found), 'change')}")


@command
@STEP
@LISTED
def undo(step: str, listed: bool) -> None:
    """Undo the last step, or STEP of --list: an edit, a removal, a settlement, an import by name.

    In a team also one of another member, by its id.
    Lines that were written into rule files because of it are put back where they are still as written.
    Rules that came or changed with their files are not steps: change the files instead.
    `redo` does the step again.
    """
    with rule_session("rules" if listed else "rules-edit") as work:
        _show_walk(work, None if listed else work.service.undo(step))


@command
@LISTED
def redo(listed: bool) -> None:
    """Redo the step that was undone last, also in the files that its undo was written into."""
    with rule_session("rules" if listed else "rules-edit") as work:
        _show_walk(work, None if listed else work.service.redo())


def _show_walk(work: RuleSession, done: Walked | None) -> None:
    if done is None:
        show_stacks(work.here, work.store.ledger(), work.store.names())
        return
    written = [written_document(item) for item in done.written]
    entries = show_walked(work.here, work.store.ledger(), RULE_CHANGES, done.title, written=written)
    if not work.here.flags.json:
        show_written(work.here.out, done.written)
        moved = [one.after or one.before for one in entries if one.what != "changed"]  # others are in no file
        report_files(work, [rule for rule in moved if rule is not None])


@command
@click.argument("identifiers", metavar="[ID...]", nargs=-1)
@click.option("--record", is_flag=True, help="Record that a session was given these rules.")
@click.option("--session", "session_id", metavar="ID", help="The session, with --record.")
@click.option("--tool", metavar="NAME", help="The tool whose session it is, with --record.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), default=50, show_default=True, help="Rules shown."
)
def usage(
    identifiers: Sequence[str], record: bool, session_id: str | None, tool: str | None, limit: int
) -> None:
    """Show how often rules were given to sessions, when last, and by which tool.

    What earlier versions of a rule were used for counts as its own. With --record a use is recorded instead.
    """
    with rule_session("rules-edit" if record else "rules") as work:
        ledger = work.store.ledger()
        ids = [find_any(ledger, identifier) for identifier in identifiers]
        if record:
            count = _record(work, ids, session_id, tool)
        else:
            if session_id is not None or tool is not None:
                raise UsageError("--session and --tool belong to --record", hint="Leave them out, or add it.")
            uses = list(read_uses(work.store.usage_journals))
    out = work.here.out
    if record:
        if not work.here.wrote_json({"recorded": count}):
            out.say(f"noted for {plural(count, 'rule')}")
        return
    _show_usage(work, ledger, _by_version(ledger, ids), uses, limit)


def _record(work: RuleSession, ids: Sequence[str], session_id: str | None, tool: str | None) -> int:
    if not ids or not session_id or not tool:
        raise UsageError(
            "--record needs rules, --session and --tool",
            hint="workbench rules usage --record rule-1f0c2a9b --session 4f1d --tool claude",
        )
    return record_usage(work.store, ids, session_id, tool, by="cli")


def _by_version(ledger: RuleLedger, ids: Sequence[str]) -> dict[str, str]:
    """Return {id of any version: id of the rule it counts for}, of some rules or of all."""
    found: dict[str, str] = {}
    for identifier in ids or (*ledger.live, *ledger.versions):
        versions = lineage(ledger, identifier)
        for version in versions:
            found.setdefault(version, versions[-1])
    return found


def _show_usage(
    work: RuleSession, ledger: RuleLedger, wanted: dict[str, str], uses: Iterable[Use], limit: int
) -> None:
    found: dict[str, list[Use]] = {}
    for use in uses:
        if use.rule_id in wanted:
            found.setdefault(wanted[use.rule_id], []).append(use)
    ordered = sorted(found, key=lambda rule_id: (-len(found[rule_id]), rule_id))
    shown = ordered[:limit]
    out = work.here.out
    if work.here.flags.json:
        documents = [_use_document(ledger, rule_id, found[rule_id]) for rule_id in shown]
        total = sum(map(len, found.values()))
        out.json({"rules": documents, "total_count": len(ordered), "uses": total})
        return
    for rule_id in shown:
        mine = found[rule_id]
        tools = ", ".join(
            f"{visible_line(name) or 'no agent'} {times:,}" for name, times in _by("tool", mine).items()
        )
        sessions = len(_by("session_id", (use for use in mine if use.session_id)))
        held = f" in {plural(sessions, 'session')}" if sessions else ""
        out.paint(
            f"{len(mine):>6,}  {at_text(max(use.at for use in mine))}  {out.style(rule_id[:PREFIX], '2')}  "
            f"{out.style(f'{tools}{held}', '36')}  {out.style(shorten(ledger.versions[rule_id].rule), '0')}"
        )
    if not ordered:
        out.say(
            "no use of it was recorded yet" if len(set(wanted.values())) == 1 else "no use was recorded yet"
        )


def _use_document(ledger: RuleLedger, rule_id: str, uses: Sequence[Use]) -> dict[str, Any]:
    return {
        "id": rule_id,
        "rule": ledger.versions[rule_id].rule,
        "in_force": rule_id in ledger.live,
        "usage_count": len(uses),
        "last_used": max(use.at for use in uses),
        "by_tool": _by("tool", uses),
        "by_session": _by("session_id", uses),
    }


def _by(name: str, uses: Iterable[Use]) -> dict[str, int]:
    """Return the uses of each tool or session, the most first."""
    counts = Counter[str](getattr(use, name) for use in uses)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
