"""`workbench rules examples`: messages a rule is relevant to, by hand or proposed by a language model."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from workbench.entry.cli.frame import command
from workbench.entry.cli.output import Output
from workbench.entry.cli.rules.show import find_rule
from workbench.entry.cli.session import Session, session
from workbench.errors import ModelError, UsageError
from workbench.records.rules import Rule
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.rules.matching.examples import Proposed

_COUNT = "10"


@command
@click.argument("identifier", metavar="ID")
@click.option("--add", "added", metavar="TEXT", multiple=True, help="Add a message (may be repeated).")
@click.option(
    "--remove", "removed", metavar="N", type=int, multiple=True, help="Remove message N (may be repeated)."
)
@click.option(
    "--generate",
    metavar="[N]",
    type=int,
    is_flag=False,
    flag_value=_COUNT,
    help=f"Let the language model of models.llm propose N messages ({_COUNT} if not said).",
)
@click.option("--yes", is_flag=True, help="Keep what is proposed without asking.")
@click.option("--accept", is_flag=True, help="Keep what was proposed when the rule was added.")
def examples(
    identifier: str,
    added: tuple[str, ...],
    removed: tuple[int, ...],
    generate: int | None,
    yes: bool,
    accept: bool,
) -> None:
    """Show or change the example messages a rule is relevant to. The beginning of its id is enough.

    A task is compared with each of them, and the nearest counts. Proposals are shown first and kept only if
    you agree, and so are those made when the rule was added (`?`); whatever is changed can be undone.
    """
    from workbench.entry.services.rule_patterns import proposed_examples
    from workbench.rules.matching.examples import add_examples, remove_examples

    with session("rules") as work:
        rule = _rule(work, identifier)
        waiting = proposed_examples(rule)
        if accept:
            if not waiting:
                raise UsageError(
                    f"nothing waits to be accepted for {rule.id[:13]}", hint="--generate asks the model."
                )
            added, waiting = (*waiting, *added), ()
        left = remove_examples(rule, removed)
        wanted = add_examples(replace(rule, examples=left), added) if added else left
        proposed = None if generate is None else _proposals(work, replace(rule, examples=wanted), generate)
        agreed = proposed is not None and _ask(work, proposed, yes)
        if agreed or wanted != rule.examples:
            rule = _change(work, rule.id, removed, added, proposed.examples if agreed and proposed else ())
    out = work.here.out
    waiting = () if rule.examples else waiting
    if work.here.flags.json:
        out.json({**_document(rule, proposed, agreed), "waiting": waiting})
        return
    for number, text in enumerate(rule.examples, 1):
        out.data(f"{number:>3}  {visible_line(text)}")
    for text in waiting:
        out.data(f"  ?  {visible_line(text)}")
    if waiting:
        out.say(
            f"proposed when it was added, without effect: `workbench rules examples {rule.id[:13]} --accept`"
        )
    elif not rule.examples:
        out.say(f"{rule.id[:13]} has no examples: its own words alone are compared with a task")


def _rule(work: Session, identifier: str) -> Rule:
    work.opened.workspace.sync_rules()
    return find_rule(work, identifier)


def _proposals(work: Session, rule: Rule, count: int) -> Proposed:
    """Ask the language model. Raises: ModelError where there is none or it fails; UsageError."""
    from workbench.entry.project import language_model
    from workbench.rules.matching.examples import generate_examples

    config, out = work.opened.config, work.here.out
    model = language_model(config)
    if model is None:
        raise ModelError(
            "no language model is set up",
            hint="Set models.llm and models.llm_url (`workbench config set`), or write some with --add TEXT.",
        )
    out.say(f"asking {visible_line(f'{model.model} at {config.models.llm_url}')}")
    found = generate_examples(rule, model, count, count_tokens=work.opened.planner.counter.count)
    if found.cost is not None:
        out.say(visible_line(found.cost.sentence()))
    for text, reason in found.dropped:
        out.say(f"dropped, {reason}: {visible_line(text)[:80]}")
    if found.failed:
        raise ModelError(found.failed, hint="Nothing was changed.")
    return found


def _ask(work: Session, proposed: Proposed, yes: bool) -> bool:
    """Show what is proposed and ask whether to keep it; without a terminal nobody can be asked."""
    out = work.here.out
    if yes:
        return True
    if not work.here.flags.json:
        _show(out, proposed)
    if work.here.flags.json or not sys.stdin.isatty():
        out.say("nothing proposed was kept: add --yes to keep it")
        return False
    return click.confirm(f"Keep these {len(proposed.examples)}?", default=False, err=True)


def _show(out: Output, proposed: Proposed) -> None:
    for text in proposed.examples:
        out.say(f"  + {visible_line(text)}")


def _change(
    work: Session, identifier: str, removed: tuple[int, ...], added: tuple[str, ...], kept: tuple[str, ...]
) -> Rule:
    """Make the change as one step. Somebody may have changed the rule while the model thought or you read."""
    from workbench.rules.curation.curator import Curator
    from workbench.rules.matching.examples import add_examples, remove_examples, sift

    rule = _rule(work, identifier)
    left = replace(rule, examples=remove_examples(rule, removed))
    left = replace(left, examples=add_examples(left, added))
    left = replace(left, examples=(*left.examples, *sift(left, kept, generated=True).examples))
    curator = Curator(work.opened.workspace.rule_store(), "cli", work.opened.workspace.rule_files)
    return curator.edit(rule.id, reason="examples", examples=left.examples)


def _document(rule: Rule, proposed: Proposed | None, kept: bool) -> dict[str, object]:
    document: dict[str, object] = {"id": rule.id, "examples": rule.examples}
    if proposed is not None:
        document |= {
            "proposed": proposed.examples,
            "dropped": [{"text": text, "reason": reason} for text, reason in proposed.dropped],
            "kept": kept,
            "cost": proposed.cost,
        }
    return document
