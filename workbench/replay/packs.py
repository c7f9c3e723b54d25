"""Packs of a replay: what would have been shown for a ranking, and how much of the change was in it.

A file counts as shown when the pack holds its lines or its outline, not when it is only named; a changed line
counts when the pack shows it. Packs are made by the code that plans use, from the blobs of the moment and the
rules that were in force then, as the journals have them. Rules are matched by their words alone: so does a
plan with rules it has just met, and rules change too seldom for their meaning to move figures of files.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workbench.plan.compose import Pack, compose
from workbench.plan.file_candidates import file_candidates, likely_text
from workbench.plan.matching import RuleMatcher
from workbench.plan.packing import text_limit
from workbench.plan.passages import RULE_SHARE, matched_text, rule_passages
from workbench.plan.planner import Planner
from workbench.plan.ranking import needed_chances, own_chances
from workbench.plan.render import DEFAULT_STYLE, STYLES, Passage
from workbench.plan.representations import Content, content_of
from workbench.project.admission import content_refusal
from workbench.project.layers import LayerView, render
from workbench.records.plan import Intent, Representation
from workbench.records.project import Skipped, Symbol
from workbench.records.rules import Rule
from workbench.records.worktree import Hunk
from workbench.replay.systems import SystemRanking
from workbench.rules.matching.context import AT_HAND, make_context
from workbench.rules.matching.lexical import RuleWords, index_words
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.search import match_message
from workbench.rules.matching.selection import PlanRuleLimits, select_rules
from workbench.text.tokens import TokenCounter

_KEPT = 600  # files whose chunks and their tokens are kept between tasks


class BlobContents:
    """Contents of blobs for packs; the most recently used are kept. Not thread-safe."""

    def __init__(self, read: Callable[[str], bytes | None], counter: TokenCounter) -> None:
        self._read = read
        self._counter = counter
        self._kept: OrderedDict[tuple[str, str], Content | Skipped] = OrderedDict()
        self.milliseconds = 0.0

    def get(self, path: str, sha: str, symbols: Callable[[], Sequence[Symbol]]) -> Content | Skipped:
        """Return a blob's content under a path, or why it cannot be shown; `milliseconds` adds up."""
        started = time.perf_counter()
        key = (path, sha)
        if key not in self._kept:
            self._kept[key] = self._read_content(path, sha, symbols)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        self.milliseconds += (time.perf_counter() - started) * 1000
        return self._kept[key]

    def _read_content(
        self, path: str, sha: str, symbols: Callable[[], Sequence[Symbol]]
    ) -> Content | Skipped:
        data = self._read(sha) if sha else None
        if data is None:
            return Skipped(path, "its content is not there")
        refused = content_refusal(path, data)
        return Skipped(path, refused) if refused else content_of(path, data, symbols(), self._counter)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a task changed: the relevant files, and their old-side lines where they are known."""

    files: tuple[str, ...]
    lines: Mapping[str, frozenset[int]]


def changed_lines(hunks: Iterable[Hunk], lines: int) -> frozenset[int]:
    """Return the old-side lines that hunks change; a pure insertion changes the lines before and after it."""
    found: set[int] = set()
    for hunk in hunks:
        if hunk.old_lines:
            found.update(range(hunk.old_start, hunk.old_start + hunk.old_lines))
        else:
            found.update(line for line in (hunk.old_start, hunk.old_start + 1) if 1 <= line <= lines)
    return frozenset(found)


def make_pack(
    planner: Planner,
    intent: Intent,
    ranking: SystemRanking,
    read: Callable[[str], Content | Skipped],
    budget: int,
    passages: Sequence[Passage] = (),
) -> Pack:
    """Make the pack of a ranking as plans do."""
    style = STYLES[DEFAULT_STYLE]
    chances = needed_chances(ranking.model, ranking.files)
    offered = file_candidates(planner, intent, ranking.files, chances, read, style)
    return compose(
        list(passages),
        likely_text(offered.files, max(own_chances(ranking.model, ranking.files).values(), default=0.0)),
        budget,
        style,
        planner.counter,
        mandatory_share=RULE_SHARE,
        price=offered.price,
        most=text_limit(offered.price, budget),
    )


def pack_measures(pack: Pack, truth: Truth) -> dict[str, float]:
    """Return the measures of a pack by name; that of lines only where changed lines are known."""
    views = {candidate.path: offer.view for candidate, offer in pack.files}
    shown = [
        path
        for path in truth.files
        if path in views and views[path].representation is not Representation.PATH
    ]
    measures = {
        "packed_recall": len(shown) / len(truth.files),
        "named_recall": len(views.keys() & set(truth.files)) / len(truth.files),
        "first_pass_success": float(len(shown) == len(truth.files)),
        "context_tokens": float(pack.report.estimated_used),
    }
    total = sum(map(len, truth.lines.values()))
    if total:
        covered = sum(
            any(start <= line <= end for start, end in views[path].spans)
            for path, lines in truth.lines.items()
            if path in views
            for line in lines
        )
        measures["line_coverage"] = covered / total
    return measures


def explored_measures(view: LayerView, truth: Truth, counter: TokenCounter) -> dict[str, float]:
    """Return what an exploration of layers is worth; a right file counts where it is named at all."""
    named = set(view.paths)
    return {
        "explored_recall": sum(path in named for path in truth.files) / len(truth.files),
        "explored_tokens": float(counter.count(render(view))),
    }


def packed_files(pack: Pack) -> dict[str, str]:
    """Return how each file is shown in a pack, in the pack's order."""
    return {candidate.path: str(offer.view.representation) for candidate, offer in pack.files}


@dataclass(frozen=True, slots=True)
class RuleHistory:
    """The rules in force from each of some seconds on: `since` ascending, `rules` beside it, sorted by id."""

    since: tuple[int, ...] = ()
    rules: tuple[tuple[Rule, ...], ...] = ()

    def at(self, moment: int) -> tuple[Rule, ...]:
        """Return the rules in force at a second."""
        place = bisect_right(self.since, moment)
        return self.rules[place - 1] if place else ()


def collect_rules(
    changes: Iterable[str], moments: Iterable[int], in_force: Callable[[str], Sequence[Rule]]
) -> RuleHistory:
    """Return the rules in force at some seconds.

    `changes` are the moments (ISO 8601) at which a journal of rules changed; `in_force` gives the rules up to
    and with such a moment, and is called once for each state that any of the seconds falls into.
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
    return RuleHistory(tuple(found), tuple(found.values()))


@dataclass(slots=True)
class RulePassages:
    """Makes the passages of rules for tasks. Not thread-safe: the words of the last rules are cached."""

    then: RuleHistory
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
