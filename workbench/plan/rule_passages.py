"""The rules of a plan: matched with the task in its context, selected within their share, as passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from workbench.errors import GitError
from workbench.plan.compose import FileCandidate
from workbench.plan.overrides import PINNED
from workbench.plan.planner import Planner, Ranking, Recheck
from workbench.plan.render import Passage
from workbench.plan.workspace import Progress, Workspace
from workbench.records.plan import Intent, PlanRequest, TaskText
from workbench.records.rules import Authority
from workbench.rules.matching.context import AT_HAND, RuleContext, make_context
from workbench.rules.matching.match import MatchReport, RuleQuery
from workbench.rules.matching.search import match_message
from workbench.rules.matching.selection import PlanRuleLimits, RuleSelection, select_rules

RULE_SHARE = 0.35
MATCHED_BODY = 500  # characters of a task's body whose words are compared with rules


def choose_rules(
    workspace: Workspace, planner: Planner, request: PlanRequest, ranking: Ranking
) -> tuple[RuleSelection, MatchReport]:
    """Return the rules that may enter a plan, and how all of them matched. Raises: StoreError."""
    query, report = match_task(workspace, planner, request, ranking)
    rules = workspace.rulebook.rules
    limits = PlanRuleLimits(tokens=int(request.token_budget * RULE_SHARE), matched=planner.matching.limit)
    columns = planner.matcher.columns_of(rules)
    overrides = ranking.overrides
    pinned = [(rule, PINNED) for rule in rules if rule.id in overrides.pinned] if overrides.pinned else []
    selection = select_rules(
        rules,
        report,
        query,
        limits,
        columns,
        pinned=pinned,
        excluded=overrides.excluded,
        duplicates=workspace.known_duplicates,
    )
    return selection, report


def match_task(
    workspace: Workspace,
    planner: Planner,
    request: PlanRequest,
    ranking: Ranking,
    *,
    progress: Progress | None = None,
) -> tuple[RuleQuery, MatchReport]:
    """Match the rules in force with a task in its context: its first files, and what else is known of it.

    With `progress` it waits until all rules are embedded, where an embedding model is ready.
    """
    book = workspace.rulebook
    adapters = workspace.adapters
    context = request_context(workspace, request, ranking) if book.rules else None
    query = RuleQuery(request.task, adapters.project_id, context, adapters.now())
    vector = ranking.vector.get() if book.rules else None
    index = planner.matcher.index(
        book.rules,
        book.words,
        None if vector is None else planner.embedder,
        progress=None if progress is None else partial(progress, "embedding rules"),
    )
    text = matched_text(ranking.intent.task)
    report = match_message(index, query, vector, planner.matching, text=text)
    return query, report if planner.recheck is None else _checked_again(report, planner.recheck, text)


def matched_text(task: TaskText) -> str:
    """Return what of a task is compared with rules and learnings."""
    return f"{task.head}\n{task.body[:MATCHED_BODY]}"


def _checked_again(report: MatchReport, recheck: Recheck, text: str) -> MatchReport:
    """Return the report without what a language model took away [adr2, option C]."""
    done = recheck(report.matches, text)
    notes = tuple(note for note in (done.note, "" if done.cost is None else done.cost.sentence()) if note)
    return MatchReport(
        done.matches,
        lambda: (*report.rejected, *done.rejected),
        (*report.notes, *notes),
        (*report.degraded, *done.degraded),
        report.barred,
    )


def request_context(workspace: Workspace, request: PlanRequest, ranking: Ranking) -> RuleContext:
    """Return the context of a request whose files are ranked. What git cannot answer is left out."""
    control = workspace.adapters.control
    head = None
    if control is not None:
        try:
            head = control.head()
        except GitError:
            head = None  # the sync reports it
    return make_context(
        paths=[found.path for found in ranking.files[:AT_HAND]],
        changed=None if control is None else workspace.uncommitted,
        head=head,
        query_type=ranking.intent.predicted.value,
        tool=request.tool,
        scenario=request.scenario,
        step=request.step,
        contexts=request.contexts,
        facts=dict(request.facts),
    )


def rule_passages(selection: RuleSelection) -> list[Passage]:
    """Return selected rules as passages of a pack, in their order."""
    passages = []
    for number, chosen in enumerate(selection.selected):
        rule = chosen.rule
        where = (
            f"{rule.provenance.file}:{rule.provenance.line}" if rule.provenance is not None else rule.source
        )
        passages.append(
            Passage(
                id=rule.id,
                section="Rules",
                text=rule.rule,
                origin=where,
                authority=rule.authority.value,
                why=chosen.why,
                score=1.0 - number / 100.0,
                utility=0.6 / (1.0 + 0.1 * number),
                priority=rule.priority,
                mandatory=rule.authority is Authority.ABSOLUTE,
            )
        )
    return passages


def without_rule_files(
    candidates: Sequence[FileCandidate], selection: RuleSelection, intent: Intent
) -> list[FileCandidate]:
    """Return the candidates with the files excluded whose rules go into the pack by themselves.

    A file that is pinned or that the task names is packed all the same: it may be what is to be changed.
    """
    inside = [chosen.rule for chosen in selection.selected]
    inside += [dropped.rule for dropped in selection.dropped if dropped.repeats]
    held = {rule.provenance.file for rule in inside if rule.provenance}
    held.difference_update(intent.entities.paths)
    return [
        replace(one, excluded="its rules are in the pack") if one.path in held and not one.pinned else one
        for one in candidates
    ]
