"""Rules shown: which there are or were, where they come from, and which a task calls for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.arguments import PREFIX, find_among, find_any, moment
from workbench.entry.cli.frame import command, current
from workbench.entry.cli.inputs import list_options
from workbench.entry.cli.output import Output, shorten
from workbench.entry.cli.rules.options import (
    AGENT,
    FilterOptions,
    context_fields,
    context_options,
    filter_options,
    read_filters,
)
from workbench.entry.cli.session import RuleSession, Session, past_session, rule_session, session
from workbench.errors import UsageError
from workbench.lists.rules import RULES
from workbench.lists.tables import read_page
from workbench.records.plan import PlanRequest
from workbench.records.rules import Rule
from workbench.rules.curation.ledger import with_use
from workbench.rules.curation.ruletype import to_body
from workbench.rules.descriptions import details, origin, place
from workbench.text.counts import plural
from workbench.text.sanitize import visible, visible_line

if TYPE_CHECKING:
    from workbench.lists.tables import ListQuery
    from workbench.rules.fetching.facets import RuleColumns
    from workbench.rules.fetching.queries import RulePage


@command
@list_options(RULES)
@filter_options
@click.option("--enabled/--disabled", default=None, help="Only rules that are switched on, or off.")
@click.option("--limit", metavar="N", type=int, help="Maximum number shown, the most binding first.")
@click.option("--as-of", "as_of", metavar="DATE", help="The rules as they were then (UTC; a date: its end).")
@click.option("--no-cache", is_flag=True, help="Read the page from the store, and renew what caches have.")
def list_(
    text: Sequence[str],
    sort: str,
    limit: int | None,
    cursor: str | None,
    as_of: str | None,
    no_cache: bool,
    **filters: Any,
) -> None:
    """List the rules in force, by file and line.

    FILTER is that of the app (see docs/rules.md); better matches of its words come first. With it, and with
    --sort, the rules come in pages of 100 unless --limit says otherwise. With --limit or --cursor alone:
    absolute ones first, then by priority, then by id.
    """
    here = current()
    asked = read_filters(**filters, extra_tags=here.settings().config.rules.tags)
    query = RULES.query(" ".join(text), sort) if text or sort else None
    if query is not None and as_of:
        raise UsageError("a FILTER and --sort are of the rules as they are now", hint="Leave --as-of out.")
    with past_session(moment(as_of)) if as_of else rule_session("rules") as work:
        if query is not None:
            found, total, following = _matching(work, query, asked, 100 if limit is None else limit, cursor)
        elif limit is not None or cursor is not None or no_cache:
            through = _through_caches if not as_of and asked.file is None else _through_columns
            most = 100 if limit is None else limit
            page = through(work, asked, limit=most, cursor=cursor, bypass_cache=no_cache)
            found, total, following = page.rules, page.total_count, page.next_cursor
        else:
            found = sorted(_let_through(work, asked), key=place)
            total, following = len(found), None
    warnings = [] if as_of else list(work.book.warnings)
    if here.wrote_json(
        {"rules": found, "total_count": total, "next_cursor": following, "warnings": warnings}
    ):
        return
    for rule in found:
        here.out.paint(rule_line(here.out, rule))
    if not found:
        here.out.say(_none(work, asked, bool(as_of), query is not None))
    elif len(found) < total:
        more = f"; go on with --cursor {following}" if following else ""
        here.out.say(f"{len(found):,} of {plural(total, 'rule')}{more}")
    for warning in warnings:
        here.out.warn(warning)


def _matching(
    work: RuleSession, query: ListQuery, asked: FilterOptions, limit: int, cursor: str | None
) -> tuple[Sequence[Rule], int, str | None]:
    """Return a page of the list that every face shows, of the rules that the options let through.

    Beside the rules: how many there are on all pages, and the cursor of the next one.
    """
    rules, within = work.opened.rule_list, None
    if asked != FilterOptions():
        within = rules.numbers([rule.id for rule in _let_through(work, asked)])
    page = read_page(rules, query, cursor, limit, within=within)
    return page.rows, page.total, page.cursor


def _let_through(work: RuleSession, asked: FilterOptions) -> Iterator[Rule]:
    """Yield all rules that the options let through."""
    from workbench.rules.fetching.queries import every, fetch, rule_filter

    columns = _columns(work, asked)
    return every(lambda request: fetch(columns, request), rule_filter(**_selection(asked)))


def _through_columns(
    work: RuleSession, asked: FilterOptions, *, limit: int, cursor: str | None, bypass_cache: bool
) -> RulePage:
    """Fetch a page of the past or of a file, which no cache has."""
    from workbench.rules.fetching.queries import get_rules

    del bypass_cache
    return get_rules(_columns(work, asked), limit=limit, cursor=cursor, **_selection(asked))


def _columns(work: RuleSession, asked: FilterOptions) -> RuleColumns:
    from workbench.rules.fetching.facets import column_rules

    book = work.book.rules
    return book.columns if asked.file is None else column_rules(asked.of_file(book, work.store.root))


def _through_caches(
    work: RuleSession, asked: FilterOptions, *, limit: int, cursor: str | None, bypass_cache: bool
) -> RulePage:
    """Fetch a page as every long-lived face does, and note which level answered."""
    from workbench.entry.services.rules import measured_fetcher

    with measured_fetcher(work.opened, work.measurement) as fetcher:
        page = fetcher.get_rules(limit=limit, cursor=cursor, bypass_cache=bypass_cache, **_selection(asked))
    for note in fetcher.notes():
        work.here.out.say(note)
    return page


def _selection(asked: FilterOptions) -> dict[str, Any]:
    return {
        "scope": asked.scope,
        "category": asked.category,
        "authority": asked.authority,
        "tool_targets": asked.tools,
        "tags": asked.tags,
        "enabled": asked.enabled,
    }


def _none(work: RuleSession, asked: FilterOptions, past: bool, filtered: bool) -> str:
    if past:
        return "no rule was in force then" if not work.book.rules else "no rule of then is like that"
    if work.book.rules and (filtered or asked != FilterOptions()):
        return f"no rule is like that ({plural(len(work.book.rules), 'rule')} in force)"
    return "no rules: there is no CLAUDE.md, AGENTS.md or other rule file here, and none was added"


def rule_line(out: Output, rule: Rule) -> str:
    """Return a rule as one line: id, authority, place, text."""
    state = str(rule.authority) if rule.enabled else "disabled"
    return (
        f"{out.style(rule.id[:PREFIX], '2')}  {state:<8}  {out.style(visible_line(origin(rule)), '36')}  "
        f"{out.style(shorten(rule.rule), '0')}"
    )


@command
@click.argument("task", nargs=-1)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the task from stdin (also: TASK -).")
@click.option("--all", "rejected", is_flag=True, help="Also say why the others do not match.")
@AGENT
@context_options
def match(task: Sequence[str], from_stdin: bool, rejected: bool, tool: str | None, **limits: Any) -> None:
    """Show which rules match a task, with the parts of their scores, and record their use.

    A plan also takes absolute rules and rules of the files it shows; these here match the words.
    """
    from workbench.entry.cli.project.plan import read_task
    from workbench.entry.services.plan import match_for, match_response

    text = read_task(current(), task, from_stdin)
    with session("rules") as work:
        opened = work.opened
        request = PlanRequest(str(opened.root), text, **context_fields(work.here, tool=tool, **limits))
        report = match_for(opened, work.measurement, request, progress=work.progress, by="cli")
    out = work.here.out
    if work.here.flags.json:
        out.json(match_response(report))
        return
    for found in report.matches:
        out.paint(
            f"{found.final:.3f}  {out.style(visible_line(origin(found.rule)), '36')}  "
            f"{out.style(shorten(found.rule.rule), '0')}\n       {out.style(found.why, '2')}"
        )
    if not report.matches:
        out.say(
            f"no rule matches this task ({plural(len(opened.workspace.rulebook.rules), 'rule')} in force)"
        )
    for note in report.notes:
        out.say(note)
    if rejected:
        by_id = {rule.id: rule for rule in opened.workspace.rulebook.rules}
        for identifier, reason in report.rejected:
            rule = by_id[identifier]
            place = f"{rule.id[:PREFIX]}  {visible_line(origin(rule))}"
            out.data(f"    -  {place}  {shorten(rule.rule)}\n         {visible_line(reason)}")


@command
@click.argument("identifier", metavar="ID")
def show(identifier: str) -> None:
    """Show one rule in full: its text, its place and when it holds. The beginning of its id is enough.

    A rule that is no longer in force is shown as it last was, with the one in its place.
    """
    with rule_session("rules") as work:
        rule, successor, live = _lookup(work, identifier)
    out = work.here.out
    if work.here.flags.json:
        out.json({**to_body(rule), "in_force": live, "successor": successor})
        return
    if not live:
        out.warn(
            f"{rule.id} was superseded by {successor}" if successor else f"{rule.id} is no longer in force"
        )
    for name, text in details(rule):
        out.data(f"{name:<11} {visible_line(text)}")
    out.data(f"\n{visible(rule.rule)}")


def _lookup(work: RuleSession, identifier: str) -> tuple[Rule, str | None, bool]:
    """Return (rule, the id of the one in its place if any, whether it is in force)."""
    known = [rule for rule in work.book.rules if rule.id.startswith((identifier, f"rule-{identifier}"))]
    if len(known) == 1:
        return known[0], None, True
    ledger = work.store.ledger()
    rule = ledger.versions[find_any(ledger, identifier)]
    standing = ledger.current(rule.id)
    successor = None if standing is None or standing.id == rule.id else standing.id
    return with_use(rule, work.store.usage()), successor, rule.id in ledger.live


def find_rule(work: Session | RuleSession, identifier: str) -> Rule:
    """Return the rule in force whose id begins with the text given. Raises UsageError for none or several."""
    return find_among(work.opened.workspace.rulebook.rules, identifier)
