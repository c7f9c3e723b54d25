"""Rules found: by a query, with the same search as programs get, and by the tags that are in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.output import shorten
from workbench.entry.cli.rules.options import filter_options, read_filters
from workbench.entry.cli.session import rule_session
from workbench.entry.services.rules import measured_fetcher, ready_to_search
from workbench.rules.descriptions import origin
from workbench.rules.matching.lexical import index_words
from workbench.rules.taxonomy import CLOSED, CUSTOM, PREDEFINED, TagUse, extra_problem, tag_uses, taxonomy
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.records.rules import Rule
    from workbench.rules.fetching.facets import RuleFilter
    from workbench.rules.matching.relevance import Mode
    from workbench.rules.matching.search import RuleSearch

_MODES = ("hybrid", "dense", "sparse")


@command
@click.argument("query", nargs=-1, required=True)
@filter_options
@click.option("--mode", type=click.Choice(_MODES), default=_MODES[0], help="By meaning, words, or both.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=10, help="Maximum number shown (10)."
)
@click.option(
    "--threshold",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    help="Minimum relevance; 0.5 is as likely relevant as not (rules.threshold).",
)
@click.option("--with-absolute", is_flag=True, help="Every absolute rule first, then the default ones found.")
def search(
    query: Sequence[str],
    mode: Mode,
    limit: int,
    threshold: float | None,
    with_absolute: bool,
    **filters: Any,
) -> None:
    """Find rules by a query, best first, among those the filters let through.

    `dense` goes by meaning, `sparse` by words, `hybrid` by both. Without an embedding model all go by words.
    By words a rule that has all of the query's is always found.
    """
    here = current()
    asked = read_filters(**filters, extra_tags=here.settings().config.rules.tags)
    text = " ".join(query)
    with rule_session("rules") as work:
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.fetching.facets import RuleFilter
        from workbench.rules.matching.search import search_selected

        config = work.config.rules
        whole = asked.file is None
        rules = work.book.rules if whole else tuple(asked.of_file(work.book.rules, work.store.root))
        words = work.book.words if whole else index_words(rules)
        with here.out.progress("Embedding rules") as line:
            ready = ready_to_search(RuleMatcher(), rules, words, text, mode, work.opened, line)
        selected = RuleFilter(
            tuple(sorted(set(asked.scope))),
            work.store.project_id,
            asked.category,
            asked.authority,
            tuple(sorted(set(asked.tools))),
            tuple(sorted(set(asked.tags))),
        )
        weights = (config.vector_weight, config.lexical_weight)
        searches: list[RuleSearch] = []

        def find(text: str, selected: RuleFilter, limit: int, least: float) -> Sequence[tuple[Rule, float]]:
            asked_for = (ready.index, text, selected, ready.vector)
            searches.append(search_selected(*asked_for, mode=mode, limit=limit, least=least, weights=weights))
            return searches[-1].pairs()

        least = config.threshold if threshold is None else threshold
        absolute: tuple[Rule, ...] = ()
        if with_absolute:
            with measured_fetcher(work.opened, work.measurement) as fetcher:
                context = fetcher.get_context_rules(find, text, selected, k=limit, score_threshold=least)
            absolute = tuple(rule for rule in context.absolute if whole or rule in rules)
        else:
            find(text, selected, limit, least)
    found = searches[-1]
    notes = list(dict.fromkeys((*ready.notes, *found.notes)))
    if here.flags.json:
        listed = {"absolute": absolute} if with_absolute else {}
        here.out.json({**listed, "rules": found.found, "mode": found.mode, "notes": notes})
        return
    for rule in absolute:
        place = here.out.style(visible_line(origin(rule)), "36")
        here.out.paint(f"always  {place}  {here.out.style(shorten(rule.rule), '0')}")
    for one in found.found:
        place = here.out.style(visible_line(origin(one.rule)), "36")
        here.out.paint(f"{one.score:.3f}  {place}  {here.out.style(shorten(one.rule.rule), '0')}")
    if not found.found:
        here.out.say(
            f"no {'default ' * with_absolute}rule is about that ({plural(len(rules), 'rule')} searched)"
        )
    for note in notes:
        here.out.say(note)


@command
@click.option("--known", is_flag=True, help="List the tags that are known instead of those in use.")
def tags(known: bool) -> None:
    """List the tags in use with the number of their rules, and what is wrong with any.

    A tag is written category:value. Values beyond the known ones are fine, custom:anything is too, and the
    setting rules.tags makes further ones known.
    """
    with rule_session("rules") as work:
        extra = work.config.rules.tags
    out = work.here.out
    for tag in extra:
        if problem := extra_problem(tag):
            out.warn(f"rules.tags: {visible_line(tag)} is left out: {problem}")
    if known:
        _show_known(work.here.flags.json, extra)
        return
    uses = tag_uses(work.book.rules, extra)
    if work.here.wrote_json({"tags": uses}):
        return
    for use in uses:
        mark = out.style(_problem(use), "33") if use.problem else ""
        out.paint(f"{use.rules:>6}  {out.style(visible_line(use.tag), '36')}{mark}")
    if not uses:
        out.say("no rule has a tag")


def _show_known(as_json: bool, extra: tuple[str, ...]) -> None:
    out = current().out
    found = taxonomy(extra)
    ordered = {
        category: [*PREDEFINED.get(category, ()), *sorted(values.difference(PREDEFINED.get(category, ())))]
        for category, values in found.items()
    }
    if as_json:
        out.json({"categories": ordered, "closed": sorted(CLOSED), "free": CUSTOM})
        return
    for category, values in ordered.items():
        more = "" if category in CLOSED else ", …"
        out.data(f"{category}: {', '.join(values)}{more}")
    out.data(f"{CUSTOM}: anything")


def _problem(use: TagUse) -> str:
    if use.problem is None:
        return ""
    hint = f" Did you mean {visible_line(use.problem.suggestion)}?" if use.problem.suggestion else ""
    return f"  {visible_line(use.problem.message)}.{hint}"
