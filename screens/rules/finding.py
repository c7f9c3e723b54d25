"""Rules found by a search and matched with a message, asked in jobs and kept warm between keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from screens.engine import Engine
from screens.headless import run_command
from screens.jobs import Job
from workbench.records.rules import Rule
from workbench.rules.rulebook import Rulebook

if TYPE_CHECKING:
    from workbench.plan.matching import RuleMatcher
    from workbench.rules.matching.match import MatchParams
    from workbench.rules.matching.searching import RuleSearch

MOST: Final = 300
"""Rules a search lists."""

NEAR: Final = 12
"""Rules that nearly answered to a message and are listed with why they did not."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A rule and how it stands to a message: `final` is the sum of its weighted `parts`, by name.

    `reason` says why it does not answer, '' if it does; `why` says in sentences what is behind the score.
    """

    rule: Rule
    final: float
    parts: tuple[tuple[str, float, str], ...]
    why: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """What answers to a message, best first, then what is about the same and does not answer, with why."""

    message: str
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()

    @property
    def matched(self) -> int:
        """How many rules answer."""
        return sum(not answer.reason for answer in self.answers)


class Finder:
    """Keeps the index of the rules it searched last. One job at a time: the engine's lock sees to that."""

    def __init__(self) -> None:
        self._matcher: RuleMatcher | None = None

    def search(self, engine: Engine, book: Rulebook, text: str, job: Job) -> RuleSearch:
        """Return the rules a text finds by meaning and words. Raises: WorkbenchError."""
        from workbench.entry.services.rule_search import ready_to_search
        from workbench.plan.matching import RuleMatcher
        from workbench.rules.matching.searching import search_all

        with engine.workspace(job.progress) as opened:
            if self._matcher is None:
                self._matcher = RuleMatcher()
            config = engine.config
            ready = ready_to_search(
                self._matcher, book.rules, book.words, text, "hybrid", config, opened.location.home
            )
        job.check()
        weights = (config.rules.vector_weight, config.rules.lexical_weight)
        found = search_all(ready.index, text, ready.vector, limit=MOST, least=0.0, weights=weights)
        return replace(found, notes=tuple(dict.fromkeys((*ready.notes, *found.notes))))


def answers(engine: Engine, message: str, job: Job) -> Answers:
    """Match the rules with a message and the files it is about, as a plan does. Raises: WorkbenchError.

    A project without an index is indexed first, in a process of its own.
    """
    from workbench.plan.pipeline import match_task, rank
    from workbench.records.plan import PlanRequest
    from workbench.rules.matching.searching import search_all

    with engine.planning("rules", job.progress) as work:
        opened = work.opened
        if not opened.workspace.indexed:
            run_command(job, engine.root, ["index"])
        ranking = rank(opened.workspace, opened.planner, message, progress=job.progress)
        request = PlanRequest(str(opened.root), message, tool=opened.config.rules.tool)
        _, report = match_task(opened.workspace, opened.planner, request, ranking)
        planner, book = opened.planner, opened.workspace.rulebook
        vector = ranking.vector.get() if book.rules else None
        index = planner.matcher.index(book.rules, book.words, None if vector is None else planner.embedder)
    params = planner.matching
    matched = {match.rule.id for match in report.matches}
    about = search_all(index, message, vector, limit=NEAR + len(matched), least=0.0).found
    near = [one for one in about if one.rule.id not in matched][:NEAR]
    reasons = dict(report.rejected) if near else {}
    found = [
        _answer(match.rule, match.relevance, match.vector, match.bm25, params, match.why)
        for match in report.matches
    ]
    others = [
        _answer(one.rule, one.score, one.vector, one.words, params, "", reasons.get(one.rule.id, "left out"))
        for one in near
    ]
    found += sorted(others, key=lambda one: (-one.final, -one.rule.priority, one.rule.id))
    return Answers(message, tuple(found), tuple(report.notes))


def _answer(
    rule: Rule,
    relevance: float,
    vector: float | None,
    words: float | None,
    params: MatchParams,
    why: str,
    reason: str = "",
) -> Answer:
    """Return a rule with the weighted parts of its score, as a match scores it [adr2]."""
    told = [
        f"meaning {vector:.2f}" if vector is not None else "",
        f"words {words:.2f}" if words is not None else "",
    ]
    parts = (
        ("relevance", params.hybrid_weight * relevance, " ".join(filter(None, told))),
        ("priority", params.priority_weight * min(max(rule.priority, 0), 100) / 100, str(rule.priority)),
        ("level", params.scope_weight * params.level_weights.get(rule.level, 1.0), str(rule.level)),
    )
    return Answer(rule, sum(value for _, value, _ in parts), parts, why, reason)


def read_place(engine: Engine, rule: Rule, job: Job) -> tuple[Path, bytes] | None:
    """Return the file a rule stands in, None if there is none. Raises: OSError if it cannot be read."""
    path = place_of(engine, rule, job.progress)
    return None if path is None else (path, path.read_bytes())


def place_of(engine: Engine, rule: Rule, progress: Callable[[str, int, int], None]) -> Path | None:
    """Return the path of the file a rule stands in, None if it stands in none or that is gone."""
    if rule.provenance is None:
        return None
    with engine.workspace(progress) as opened:
        store = opened.workspace.rule_store()
    file = rule.provenance.file
    if file.startswith("~/"):
        path = None if store.home is None else store.home / file[2:]
    else:
        path = store.root / file
    return path if path is not None and path.is_file() else None
