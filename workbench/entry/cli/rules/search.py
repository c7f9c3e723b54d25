"""Rules found by a query: the same search as programs get, without a task's files or an index of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from workbench.entry.cli.frame import command, current
from workbench.entry.cli.rules.filters import filter_options, wanted
from workbench.entry.cli.rules.session import rule_session, short
from workbench.entry.services.rules import ready_to_search
from workbench.rules.describing import origin
from workbench.rules.matching.lexical import index_words
from workbench.text.counts import counted
from workbench.text.sanitize import visible_line

_MODES = ("hybrid", "dense", "sparse")


@command(
    examples=(
        'workbench rules search "database migrations"',
        'workbench rules search "error handling" --scope path:src/app.py --limit 3',
        "workbench rules search --mode sparse --threshold 0 E1042 --json",
    )
)
@click.argument("query", nargs=-1, required=True)
@filter_options
@click.option("--mode", type=click.Choice(_MODES), default=_MODES[0], help="By meaning, words, or both.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=10, help="At most so many (10).")
@click.option(
    "--threshold",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    help="The least relevance, where 0.5 is as likely relevant as not (rules.threshold).",
)
def search(query: Sequence[str], mode: str, limit: int, threshold: float | None, **filters: Any) -> None:
    """Find rules by a query, best first, among those the filters let through.

    `dense` goes by meaning, `sparse` by words, `hybrid` by both. Without an embedding model all go by words.
    """
    here = current()
    asked = wanted(**filters, extra_tags=here.settings().config.rules.tags)
    text = " ".join(query)
    with rule_session("rules") as work:
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.fetching.facets import RuleFilter
        from workbench.rules.matching.searching import search_selected

        config = work.config.rules
        rules = tuple(asked.of_file(work.book.rules, work.store.root))
        words = work.book.words if len(rules) == len(work.book.rules) else index_words(rules)
        with here.out.progress("Embedding rules") as line:
            ready = ready_to_search(
                RuleMatcher(), rules, words, text, mode, work.config, work.opened.location.home, line
            )
        selected = RuleFilter(
            tuple(sorted(set(asked.scope))),
            work.store.project_id,
            asked.category,
            asked.authority,
            tuple(sorted(set(asked.tools))),
            tuple(sorted(set(asked.tags))),
        )
        found = search_selected(
            ready.index,
            text,
            selected,
            ready.vector,
            mode=mode,  # type: ignore[arg-type]
            limit=limit,
            least=config.threshold if threshold is None else threshold,
            weights=(config.vector_weight, config.lexical_weight),
        )
    notes = list(dict.fromkeys((*ready.notes, *found.notes)))
    if here.flags.json:
        rows = [
            {"rule": one.rule, "score": one.score, "vector": one.vector, "words": one.words}
            for one in found.found
        ]
        here.out.json({"rules": rows, "mode": found.mode, "notes": notes})
        return
    for one in found.found:
        place = here.out.style(visible_line(origin(one.rule)), "36")
        here.out.painted(f"{one.score:.3f}  {place}  {here.out.style(short(one.rule.rule), '0')}")
    if not found.found:
        here.out.say(f"no rule is about that ({counted(len(rules), 'rule')} searched)")
    for note in notes:
        here.out.say(note)
