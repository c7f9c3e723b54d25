"""The rules that were in force when a task began, as the passages its pack would have held.

Rules are taken from the journals as of that moment. They are matched by their words alone: that is how a plan
matches rules it has just met, and rules change seldom enough for their meaning to make no figure of files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workbench.plan.matching import RuleMatcher
from workbench.plan.render import Passage
from workbench.plan.rule_passages import RULE_SHARE, matched_text, rule_passages
from workbench.records.plan import Intent
from workbench.records.rules import Rule
from workbench.rules.matching.applying import PlanRuleLimits, select_rules
from workbench.rules.matching.context import AT_HAND, make_context
from workbench.rules.matching.lexical import RuleWords, index_words
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.searching import match_message


@dataclass(frozen=True, slots=True)
class RulesThen:
    """The rules in force from each of some seconds on: `since` ascending, `rules` beside it, sorted by id."""

    since: tuple[int, ...] = ()
    rules: tuple[tuple[Rule, ...], ...] = ()

    def at(self, moment: int) -> tuple[Rule, ...]:
        """Return the rules in force at a second."""
        place = bisect_right(self.since, moment)
        return self.rules[place - 1] if place else ()


def rules_then(
    changes: Iterable[str], moments: Iterable[int], in_force: Callable[[str], Sequence[Rule]]
) -> RulesThen:
    """Return the rules in force at some seconds.

    `changes` are the moments (ISO 8601) at which a journal of rules changed; `in_force` gives the rules up to
    and with such a moment, and is asked once for each state that any of the seconds falls into.
    """
    ordered = sorted(changes)
    found: dict[int, tuple[Rule, ...]] = {}
    states: dict[int, tuple[Rule, ...]] = {}
    for moment in sorted(set(moments)):
        until = datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.999Z")
        state = bisect_right(ordered, until)
        if state and state not in states:
            states[state] = tuple(sorted(in_force(ordered[state - 1]), key=lambda rule: rule.id))
        found[moment] = states.get(state, ())
    return RulesThen(tuple(found), tuple(found.values()))


@dataclass(slots=True)
class RulePassages:
    """Gives the passages of rules for tasks. Not thread-safe: the words of the rules met last are kept."""

    then: RulesThen
    project: str
    params: MatchParams
    matcher: RuleMatcher = field(default_factory=RuleMatcher)
    _known: tuple[tuple[Rule, ...], RuleWords] | None = None

    def passages(self, intent: Intent, moment: int, paths: Sequence[str], budget: int) -> list[Passage]:
        """Return the passages for a task: its intent, when it began, its files best first, tokens in all.

        Nobody knows today which branch or agent it was, so that rules limited to one stay out.
        """
        rules = self.then.at(moment)
        if not rules:
            return []
        if self._known is None or self._known[0] is not rules:
            self._known = (rules, index_words(rules))
        index = self.matcher.index(rules, self._known[1], None)
        context = make_context(paths=paths[:AT_HAND], query_type=intent.predicted.value)
        query = RuleQuery(intent.task.raw, self.project, context, float(moment))
        report = match_message(index, query, None, self.params, text=matched_text(intent.task))
        limits = PlanRuleLimits(tokens=int(budget * RULE_SHARE), matched=self.params.limit)
        columns = self.matcher.columns_of(rules)
        return rule_passages(select_rules(rules, report, query, limits, columns))
