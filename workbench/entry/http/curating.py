"""What the requests about rules, learnings and the stash do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from msgspec import structs

from workbench.entry.http import answers, messages
from workbench.entry.http.calls import known_settings, values_of
from workbench.entry.services.learnings import curate_learnings
from workbench.entry.services.opening import ProjectHost
from workbench.entry.services.rules import RuleReads, curate_rules
from workbench.entry.services.stash import curate_stash
from workbench.records.answers.rules import CheckResponse, MatchResponse
from workbench.records.answers.stash import MergeResponse, RetrieveResponse
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.records.segments import ContextSegment

if TYPE_CHECKING:
    from workbench.records.requests import FilterFields

Hold = Callable[[ProjectHost, str], AbstractContextManager[Any]]


def list_rules(host: ProjectHost, given: messages.ListRequest) -> answers.RuleRows:
    """List the rules in force, by file and line."""
    from workbench.entry.services.rules import rule_page

    page = rule_page(host, given.filter, given.sort, limit=given.limit, cursor=given.cursor or None)
    return answers.RuleRows(page.rows, page.total, page.cursor)


def show_rule(host: ProjectHost, given: messages.RecordRequest) -> Rule:
    """Show a rule in force."""
    with curate_rules(host, "rules") as curator:
        return curator.store.ledger().require(given.id)


def match_rules(host: ProjectHost, given: messages.MatchRequest) -> MatchResponse:
    """Match the rules in force with a task, best first; their use is recorded."""
    from workbench.entry.services.plan import match_for, match_response
    from workbench.entry.services.requests import plan_request

    with host.operation("rules") as work:
        request = plan_request(work.project, given.task, session=given.session_id, **known_settings(given))
        report = match_for(work.project, work.measurement, request, progress=host.progress, by=host.by)
        return match_response(report)


def check_call(host: ProjectHost, given: messages.CheckRequest) -> CheckResponse:
    """Say whether the call of a tool may run, and by which rule; nothing is run."""
    from workbench.entry.services.requests import work_context
    from workbench.entry.services.rule_checks import check_response, check_tool_call, current_rules

    with host.turn() as project:
        rules, notes = current_rules(project.root, project.config)
        work = work_context(project, given.cwd or str(project.root), **known_settings(given))
        response = check_response(check_tool_call(project.root, rules, given.tool, dict(given.input), work))
        return structs.replace(response, notes=(*notes, *response.notes))


def fetch_rules(host: ProjectHost, given: messages.RuleFetchRequest) -> answers.RuleRows:
    """Fetch the rules that hold in a context, the most binding first, through the caches."""
    page = host.keep(RuleReads).page(given.limit, given.cursor or None, given.bypass_cache, _filters(given))
    return answers.RuleRows(page.rows, page.total, page.cursor)


def _filters(given: messages.RuleFilters) -> FilterFields:
    names = messages.RuleFilters.__struct_fields__
    asked = {name: value for name, value in values_of(given).items() if name in names}
    return cast("FilterFields", {name: one for name, one in asked.items() if one not in ("", (), None)})


def search_rules(host: ProjectHost, given: messages.RuleSearchRequest) -> answers.RuleAnswer:
    """Return every absolute rule that filters let through, and the best default ones for a query."""
    found = host.keep(RuleReads).context(given.query, given.k, given.threshold, _filters(given))
    return answers.RuleAnswer(
        found.absolute, tuple(answers.ScoredRule(rule, score) for rule, score in found.default)
    )


def add_rule(host: ProjectHost, given: messages.AddRuleRequest) -> Rule:
    """Add a rule: by default for this project, everywhere, of default authority."""
    from workbench.entry.services import rule_edits

    fields = values_of(given, "home", "file")
    return rule_edits.add_rule(host, fields, home=given.home, file=given.file, reason=given.reason)


def edit_rule(host: ProjectHost, given: messages.EditRuleRequest) -> Rule:
    """Change fields of a rule and return it as it is now."""
    from workbench.entry.services import rule_edits

    return rule_edits.edit_rule(host, given.id, values_of(given, "id"), reason=given.reason)


def remove_rule(host: ProjectHost, given: messages.ChangeRequest) -> answers.RemovalReceipt:
    """Remove a rule; it stays in the history."""
    with curate_rules(host, "rules-edit") as curator:
        curator.remove((given.id,), reason=given.reason)
    return answers.RemovalReceipt(given.id)


def list_learnings(host: ProjectHost, given: messages.ListRequest) -> answers.LearningRows:
    """List learnings, live or not, the newest first."""
    from workbench.lists.learnings import LEARNINGS
    from workbench.lists.tables import read_page

    query = LEARNINGS.query(given.filter, given.sort)
    with host.operation("memory") as work:
        page = read_page(work.project.learning_list, query, given.cursor or None, given.limit)
    return answers.LearningRows(page.rows, page.total, page.cursor)


def show_learning(host: ProjectHost, given: messages.RecordRequest) -> FeatureLearning:
    """Show a learning, whether it holds or not."""
    with curate_learnings(host, "memory") as service:
        return service.find(given.id)


def add_learning(host: ProjectHost, given: messages.AddLearningRequest) -> FeatureLearning:
    """Add a learning that a person or an agent words."""
    from workbench.records.learnings import LearningSource

    with curate_learnings(host, "memory-edit") as service:
        return service.add(
            given.text,
            feature=given.feature,
            reason=given.reason,
            source=LearningSource.AGENT if given.agent else LearningSource.HUMAN,
            task_id=given.task_id,
            files=given.files,
            personal=given.home,
        )


def recall(host: ProjectHost, given: messages.RecallRequest) -> answers.RecallAnswer:
    """Find what was learned in earlier work; that it was given back is noted."""
    from workbench.entry.services.learnings import note_recalled, recall_learnings
    from workbench.memory.learnings.prompt import escape_frame

    with host.operation("memory") as work:
        ranked = [learning.learning for learning in recall_learnings(work.project, given.query)]
        found = ranked[: given.limit]
        note_recalled(work.project, found)
    return answers.RecallAnswer(
        tuple(
            answers.RecalledLearning(
                one.id, escape_frame(one), one.feature, one.reviewed, round(one.confidence, 3)
            )
            for one in found
        ),
        len(ranked),
    )


def judge_learning(verb: str, host: ProjectHost, given: messages.ChangeRequest) -> FeatureLearning:
    """Accept, reject, retire or restore a learning."""
    with curate_learnings(host, "memory-edit") as service:
        [found] = getattr(service, verb)((given.id,), reason=given.reason)
    learning: FeatureLearning = found
    return learning


def list_segments(host: ProjectHost, given: messages.ListRequest) -> answers.SegmentRows:
    """List the segments of the stash, the newest first, their texts cut."""
    from workbench.lists.segments import SEGMENTS
    from workbench.lists.tables import read_page

    query = SEGMENTS.query(given.filter, given.sort)
    with host.operation("stash") as work:
        page = read_page(work.project.segment_list, query, given.cursor or None, given.limit)
    return answers.SegmentRows(page.rows, page.total, page.cursor)


def show_segment(host: ProjectHost, given: messages.RecordRequest) -> ContextSegment:
    """Show a segment with its whole text."""
    with curate_stash(host, "stash") as service:
        return service.find(given.id)


def stash(host: ProjectHost, given: messages.StashRequest) -> answers.StashReceipt:
    """Put segments aside as one step, secrets masked."""
    from workbench.entry.services.stash import put_aside

    with host.operation("stash-edit") as work:
        segments = [ContextSegment(**structs.asdict(segment)) for segment in given.segments]
        added = put_aside(work.project, host.by, segments, given.reason)
    return answers.StashReceipt(
        len(added), tuple(one.segment_id for one in added), sum(one.tokens for one in added)
    )


def search_stash(host: ProjectHost, given: messages.StashSearchRequest) -> RetrieveResponse:
    """Find segments by meaning, words and context, best first; that they were shown is noted."""
    from workbench.entry.services.stash_queries import answer_query

    given_values = values_of(given).items()
    return answer_query(
        host, {name: [*value] if isinstance(value, tuple) else value for name, value in given_values}
    )


def merge_segments(host: ProjectHost, given: messages.MergeRequest) -> MergeResponse:
    """Return segments as one framed text to be taken back into a context."""
    from workbench.entry.services.stash_context import merge_for

    with curate_stash(host, "stash-edit" if given.remove else "stash") as service:
        return merge_for(
            service,
            given.segment_ids,
            hops=given.hops,
            neighbours=given.neighbours,
            remove=given.remove,
            session_id=given.session_id,
        )


def edit_segment(host: ProjectHost, given: messages.EditSegmentRequest) -> ContextSegment:
    """Change what is known of a segment; its text never changes."""
    with curate_stash(host, "stash-edit") as service:
        edited = service.edit(given.id, reason=given.reason, **values_of(given, "id"))
        return service.find(edited.segment_id)


def remove_segment(host: ProjectHost, given: messages.ChangeRequest) -> answers.RemovalReceipt:
    """Remove a segment that is not protected."""
    with curate_stash(host, "stash-edit") as service:
        service.remove((given.id,), reason=given.reason)
    return answers.RemovalReceipt(given.id)


def list_conflicts(host: ProjectHost, given: messages.ListRequest) -> answers.ConflictRows:
    """List what repeats or contradicts each other and versions written apart, of every type, surest first."""
    from workbench.entry.services.conflicts import conflict_page

    page = conflict_page(host, given.filter, given.sort, limit=given.limit, cursor=given.cursor or None)
    return answers.ConflictRows(page.rows, page.total, page.cursor)


def settle_conflict(host: ProjectHost, given: messages.SettleRequest) -> answers.ConflictReceipt:
    """Settle a conflict of rules, learnings or segments as one step, which undo of that type takes back."""
    from workbench.entry.services import conflicts

    asked = values_of(given, "id", "action")
    done = conflicts.settle_conflict(host, given.id, given.action, **asked, reason=given.reason)
    held = tuple(record.id for record in done.records)
    return answers.ConflictReceipt(done.conflict.id, done.conflict.of, done.action, held)


def undo(hold: Hold, operation: str, host: ProjectHost, given: messages.UndoRequest) -> answers.StepReceipt:
    """Undo the last step, or the one with an id."""
    with hold(host, operation) as service:
        return answers.StepReceipt(service.undo(given.step).title)


def redo(hold: Hold, operation: str, host: ProjectHost, given: messages.Request) -> answers.StepReceipt:
    """Do the step again that was undone last."""
    with hold(host, operation) as service:
        return answers.StepReceipt(service.redo().title)
