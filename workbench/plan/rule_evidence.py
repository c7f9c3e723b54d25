"""What brings a rule into a pack: a file of the pack in its scope, or its words in the task.

A task that no file is about may still be one of this project: "plan push" where a rule says "Never push to
main." Of such a task the rules with its words are all there is to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from workbench.plan.compose import NAMED_FROM
from workbench.plan.planner import Ranking
from workbench.plan.ranking import needed_chances
from workbench.plan.workspace import Workspace
from workbench.records.rules import Rule
from workbench.rules.matching.context import AT_HAND
from workbench.rules.matching.filters import MatchColumns, match_columns_of
from workbench.rules.matching.selection import DroppedRule, RuleSelection

ABOUT_OVERLAP: Final = 0.3
"""Cosine of the terms of a rule and a task from which the rule alone makes the task one of this project."""
MOST_TOKENS: Final = 120
"""Of the rules in a pack for a task that no file is about."""
_TOO_LONG: Final = f"takes more of the {MOST_TOKENS} tokens than others left, and no file is about the task"
_NO_WORDS: Final = "shares too few words with a task that no file is about"


def rules_about(workspace: Workspace, text: str) -> frozenset[str]:
    """Return the ids of the rules in force that share enough words with a text that no file is about."""
    from workbench.rules.matching.lexical import term_overlap

    book = workspace.rulebook
    overlap, shared = term_overlap(book.words, text)
    rows = ((overlap >= ABOUT_OVERLAP) & (shared > 0)).nonzero()[0].tolist()
    return frozenset(book.rules[row].id for row in rows if book.rules[row].enabled)


def only_about(
    selection: RuleSelection, about: Collection[str], pinned: Collection[str] = ()
) -> RuleSelection:
    """Return a selection without the rules that a task has no words of, which are dropped with the reason.

    Of those with its words the first stay, and what is pinned.
    """
    selected = []
    dropped = [*selection.dropped]
    left = MOST_TOKENS
    for one in selection.selected:
        if one.rule.id in pinned:
            selected.append(one)
        elif one.rule.id not in about:
            dropped.append(DroppedRule(one.rule, _NO_WORDS))
        elif one.rule.token_cost > left:
            dropped.append(DroppedRule(one.rule, _TOO_LONG))
        else:
            left -= one.rule.token_cost
            selected.append(one)
    return replace(selection, selected=(*selected,), dropped=(*dropped,))


def count_everywhere(rules: Sequence[Rule], columns: MatchColumns | None) -> int:
    """Return how many absolute rules hold whatever a task is about; `columns` are theirs, if at hand."""
    columns = columns or match_columns_of(rules)
    return sum(
        not rules[row].scope
        for row in (columns.enabled & columns.absolute & columns.claims).nonzero()[0].tolist()
    )


def files_at_hand(ranking: Ranking) -> list[str]:
    """Return the first files as far as they are likely enough to be in a pack: their rules come with them."""
    chances = needed_chances(ranking.model, ranking.files, ranking.overrides.pinned)
    return [one.path for one in ranking.files[:AT_HAND] if chances[one.path] >= NAMED_FROM]
