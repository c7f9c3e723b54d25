"""What brings a rule into a pack: a file of the pack in its scope, or its words in the task.

A task that no file is about may still be one of this project: "plan push" where a rule says "Never push to
main." Of such a task the rules with its words are all there is to say.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from workbench.plan.compose import NAMED_FROM
from workbench.plan.planner import Ranking
from workbench.plan.ranking import needed_chances
from workbench.plan.workspace import Workspace
from workbench.rules.matching.context import AT_HAND
from workbench.rules.matching.selection import DroppedRule, RuleSelection

ABOUT_OVERLAP: Final = 0.3
"""Cosine of the terms of a rule and a task from which the rule alone makes the task one of this project."""
_NO_WORDS: Final = "shares too few words with a task that no file is about"


def rules_about(workspace: Workspace, text: str) -> frozenset[str]:
    """Return the ids of the rules in force that share enough words with a text that no file is about."""
    from workbench.rules.matching.lexical import term_overlap

    book = workspace.rulebook
    overlap, shared = term_overlap(book.words, text)
    rows = ((overlap >= ABOUT_OVERLAP) & (shared > 0)).nonzero()[0].tolist()
    return frozenset(book.rules[row].id for row in rows if book.rules[row].enabled)


def only_about(selection: RuleSelection, wanted: Collection[str]) -> RuleSelection:
    """Return a selection without the rules that a task has no words of, which are dropped with the reason."""
    left_out = tuple(
        DroppedRule(one.rule, _NO_WORDS) for one in selection.selected if one.rule.id not in wanted
    )
    selected = tuple(one for one in selection.selected if one.rule.id in wanted)
    return replace(selection, selected=selected, dropped=(*selection.dropped, *left_out))


def files_at_hand(ranking: Ranking) -> list[str]:
    """Return the first files as far as they are likely enough to be in a pack: their rules come with them."""
    chances = needed_chances(ranking.model, ranking.files, ranking.overrides.pinned)
    return [one.path for one in ranking.files[:AT_HAND] if chances[one.path] >= NAMED_FROM]
