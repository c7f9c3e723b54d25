"""`workbench rules conflicts`: duplicates and contradictions among rules, with evidence, to be settled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

import click

from workbench.curation.concurrency import is_version, version_place, writer
from workbench.curation.conflicts import CONFLICT_SHOWN
from workbench.entry.cli.curation import (
    ACTIONS,
    VERSION_ACTIONS,
    at_text,
    check_asked,
    decide_all,
    settle_conflicts,
    settling_options,
)
from workbench.entry.cli.frame import command
from workbench.entry.cli.inputs import limit_option, list_options
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.session import Session, session
from workbench.entry.services.conflicts import rule_queue
from workbench.entry.services.rules import rule_curator
from workbench.errors import UsageError
from workbench.lists.conflicts import CONFLICTS
from workbench.lists.tables import read_page
from workbench.records.conflicts import Conflict, ConflictKind
from workbench.records.rules import Rule, rule_file
from workbench.rules.conflicts.queue import Queue, conflict_rows, find_in_queue
from workbench.rules.descriptions import origin
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line


@command
@list_options(CONFLICTS)
@click.option("--kind", type=click.Choice([kind.value for kind in ConflictKind]), help="Only this kind.")
@click.option("--file", metavar="PATH", help="Only conflicts with a rule of this file.")
@limit_option()
@click.option("--settled", is_flag=True, help="List settled conflicts instead, newest first.")
@click.option("--meaning", is_flag=True, help="Compare by embeddings, too: slower, finds little more.")
def list_(
    text: Sequence[str],
    sort: str,
    cursor: str | None,
    kind: str | None,
    file: str | None,
    limit: int,
    settled: bool,
    meaning: bool,
) -> None:
    """List conflicts that wait for a decision, surest first, with the suggested resolution.

    FILTER is that of the app (see docs/rules.md); better matches of its words come first.
    """
    query = CONFLICTS.query(" ".join(text), sort)
    with session("conflicts") as work:
        queue, rules = _queue(work, meaning=meaning)
        work.measurement.candidates = len(queue.open)
        found = [
            conflict
            for conflict in queue.open
            if (kind is None or conflict.kind == kind)
            and (file is None or file in (rule_file(rules[conflict.left]), rule_file(rules[conflict.right])))
        ]
        total, following = len(found), None
        if (text or sort or cursor is not None) and not settled:
            work.opened.conflicts.keep("rule", conflict_rows(queue.open, rules))
            listed = work.opened.conflicts.list_waiting()
            within = listed.numbers([one.id for one in found])
            page = read_page(listed, query, cursor, limit, within=within)
            by_id = {one.id: one for one in found}
            found, total, following = [by_id[row.id] for row in page.rows], page.total, page.cursor
    out = work.here.out
    if settled:
        _show_settled(work, queue, limit)
        return
    if work.here.flags.json:
        shown = found[:limit]
        parts = dict.fromkeys(one for conflict in shown for one in (conflict.left, conflict.right))
        out.json(
            {
                "total_count": total,
                "next_cursor": following,
                "rule_count": _count(rules),
                "conflicts": shown,
                "rules": [rules[part] for part in parts],
                "notes": list(queue.notes),
            }
        )
        return
    for conflict in found[:limit]:
        left, right = rules[conflict.left], rules[conflict.right]
        way = conflict.suggestion.action.value.replace("_", "-")
        kind_shown = out.style(f"{conflict.kind.value:<13}", _paint(conflict))
        out.paint(
            f"{out.style(conflict.id[:CONFLICT_SHOWN], '2')}  {kind_shown}"
            f"  {conflict.score:.2f}  {way}\n"
            f"    {out.style(origin(left), '36')}  {out.style(shorten(left.rule, 100), '0')}\n"
            f"    {out.style(origin(right), '36')}  {out.style(shorten(right.rule, 100), '0')}"
        )
        for item in conflict.evidence if conflict.kind is ConflictKind.CONCURRENT else ():
            out.data(f"    {item.test}: {visible_line(item.detail)}")
    if following is None:
        out.say(_summary(found, limit, _count(rules)))
    else:
        out.say(f"{len(found):,} of {plural(total, 'conflict')}; go on with --cursor {following}")
    for note in queue.notes:
        out.say(note)


@command
@click.argument("identifier", metavar="ID")
@click.option("--meaning", is_flag=True, help="Compare by embeddings, too: slower, finds little more.")
def show(identifier: str, meaning: bool) -> None:
    """Show one conflict: both rules, the words that differ, each test's score, a suggested resolution."""
    with session("conflicts") as work:
        queue, rules = _queue(work, meaning=meaning)
    conflict = find_in_queue(queue, identifier)
    left, right = rules[conflict.left], rules[conflict.right]
    out = work.here.out
    if work.here.wrote_json({"conflict": conflict, "left": left, "right": right}):
        return
    out.paint(f"{out.style(conflict.id, '1')}  {conflict.kind.value}, score {conflict.score:.2f}")
    out.data(conflict.why)
    marked = _mark_differences(left.rule, right.rule, out)
    concurrent, versions = conflict.kind is ConflictKind.CONCURRENT, is_version(conflict.right)
    for at, (name, rule) in enumerate((("left", left), ("right", right))):
        head = f"{out.style(name, '1')}  {rule.id[:13]}  {out.style(origin(rule), '36')}  {_state(rule)}"
        out.paint(f"\n{head}")
        if versions:
            out.data(f"  {visible_line(version_place(conflict.evidence[at]))}")
        out.paint(marked[at])
    if not versions:
        out.data("\nevidence")
    for item in conflict.evidence[2:] if versions else conflict.evidence:
        score = "\n" if versions else "  " if concurrent else f"  {item.score:.2f}  "
        out.data(f"{score}{item.test}: {visible_line(item.detail)}")
    suggestion = conflict.suggestion
    out.data(f"\nsuggested: {suggestion.action.value.replace('_', '-')}. {suggestion.why}")
    if suggestion.text:
        out.data(f"  {suggestion.text}")
    ways = VERSION_ACTIONS if versions else ACTIONS
    out.say(f"workbench rules conflicts resolve {conflict.id[:CONFLICT_SHOWN]} --action {'|'.join(ways)}")


@command
@click.argument("identifiers", metavar="[ID]...", nargs=-1)
@click.option("--kind", type=click.Choice([kind.value for kind in ConflictKind]), help="All of this kind.")
@settling_options("The wording of a merge (default: the suggested one).", "What the other is narrowed to.")
@click.option("--meaning", is_flag=True, help="Compare by embeddings, too: slower, finds little more.")
def resolve(
    identifiers: tuple[str, ...],
    action: str | None,
    suggested: bool,
    kind: str | None,
    text: str,
    keep: str | None,
    scopes: tuple[str, ...],
    reason: str,
    meaning: bool,
) -> None:
    """Settle conflicts, as one step. `rules undo` undoes it; `rules drift --merge` writes it to files."""
    check_asked(action, suggested)
    if bool(identifiers) is (kind is not None):
        raise UsageError(
            "name conflicts, or give a --kind", hint="`workbench rules conflicts list` has them."
        )
    with session("conflicts") as work:
        queue, rules = _queue(work, meaning=meaning)
        chosen = [find_in_queue(queue, identifier) for identifier in identifiers] or [
            conflict for conflict in queue.open if conflict.kind == kind
        ]
        decisions = decide_all(conflict_rows(chosen, rules), action, text, keep, scopes, reason)
        count = settle_conflicts(work.here, rule_curator(work.opened, "cli"), decisions)
    if not work.here.flags.json:
        work.here.out.say(f"{count:,} settled, {len(queue.open) - count:,} wait")


def _queue(work: Session, *, meaning: bool) -> tuple[Queue, dict[str, Rule]]:
    """Sync the rules and find their conflicts."""
    from workbench.entry.services.rules import text_meaning as meaning_of

    book, notes = work.opened.workspace.sync_rules()
    for note in notes:
        work.here.out.say(note)
    how = meaning_of(work.opened, work.progress) if meaning else None
    if meaning and how is None:
        work.here.out.warn("there is no embedding model ready: run `workbench model prepare`")
    return rule_queue(work.opened, book, how, work.progress)


def _show_settled(work: Session, queue: Queue, limit: int) -> None:
    out = work.here.out
    if work.here.wrote_json({"total_count": len(queue.settled), "settled": queue.settled[:limit]}):
        return
    names = work.opened.workspace.rule_store().names() if any(one.machine for one in queue.settled) else {}
    for item in queue.settled[:limit]:
        by = visible_line(writer(item.by, item.machine, names))
        out.paint(
            f"{out.style(item.id[:CONFLICT_SHOWN], '2')}  {at_text(item.at)}  {by:<5}"
            f"  {item.action.replace('_', '-'):<12}  {out.style(item.reason, '0')}"
        )
    out.say(f"{plural(len(queue.settled), 'conflict')} settled")


def _count(rules: Mapping[str, Rule]) -> int:
    """Return how many rules there are, without versions that do not hold."""
    return sum("@" not in key for key in rules)


def _summary(found: list[Conflict], limit: int, rules: int) -> str:
    if not found:
        return f"no conflicts among {plural(rules, 'rule')}"
    counts = [(kind.value, sum(item.kind is kind for item in found)) for kind in ConflictKind]
    kinds = ", ".join(f"{count:,} {name}" for name, count in counts if count)
    more = f"; the first {limit:,} are shown, --limit shows more" if len(found) > limit else ""
    return f"{plural(len(found), 'conflict')} among {plural(rules, 'rule')} ({kinds}){more}"


def _state(rule: Rule) -> str:
    scope = f", scope {', '.join(rule.scope)}" if rule.scope else ""
    return f"{rule.authority.value}, priority {rule.priority}{scope}"


def _paint(conflict: Conflict) -> str:
    return "31" if conflict.kind in (ConflictKind.CONTRADICTORY, ConflictKind.CONCURRENT) else "33"


def _mark_differences(left: str, right: str, out: Output) -> tuple[str, str]:
    """Return both texts with the words that only one of them has in bold."""
    mine, theirs = left.split(), right.split()
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    blocks = matcher.get_matching_blocks()
    common_mine = {at for block in blocks for at in range(block.a, block.a + block.size)}
    common_theirs = {at for block in blocks for at in range(block.b, block.b + block.size)}
    return (
        "  " + " ".join(_words(mine, common_mine, out)),
        "  " + " ".join(_words(theirs, common_theirs, out)),
    )


def _words(words: list[str], common: set[int], out: Output) -> Iterator[str]:
    for at, word in enumerate(words):
        yield out.style(word, "0" if at in common else "1;33")
