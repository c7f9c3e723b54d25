"""Every request the server knows, in one table: its address, what it takes, what it answers, what it does.

Routes and the published OpenAPI document are both made of this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from workbench.entry.http import answers, calls, curating, messages
from workbench.entry.services.learnings import curate_learnings
from workbench.entry.services.rules import curate_rules
from workbench.entry.services.stash import curate_stash
from workbench.records.answers.explanation import FileExplanation
from workbench.records.answers.models import ModelStatus, TrainingReport
from workbench.records.answers.plan import PlanResponse
from workbench.records.answers.project import Delta, ExploreResponse, IndexReport, ProjectStatus
from workbench.records.answers.rules import CheckResponse, MatchResponse
from workbench.records.answers.stash import MergeResponse, RetrieveResponse
from workbench.records.episodes import Trace
from workbench.records.learnings import FeatureLearning
from workbench.records.rules import Rule
from workbench.records.segments import ContextSegment


@dataclass(frozen=True, slots=True)
class HttpOperation:
    """A request about a project. `call` takes the open project and what was sent, and returns `answers`.

    Fields of `takes` whose names are in the path come from there, those of GET and DELETE from the query, the
    others from the body. Without `turn` it waits for nobody who works in the same project.
    """

    method: str
    path: str
    takes: type[messages.Request]
    answers: Any
    call: Callable[[Any, Any], Any]
    name: str = ""
    summary: str = ""
    status: int = 200
    turn: bool = True

    @property
    def id(self) -> str:
        """The name by which generated clients know it."""
        return self.name or str(getattr(self.call, "__name__", ""))

    @property
    def title(self) -> str:
        """One sentence about what it does."""
        return self.summary or (self.call.__doc__ or "").partition("\n")[0]

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields that the path has."""
        return ("id",) if "{id}" in self.path else ()

    @property
    def has_body(self) -> bool:
        """Whether what it takes is sent as JSON."""
        return self.method in ("POST", "PATCH")


def _judged(verb: str, summary: str) -> HttpOperation:
    call = partial(curating.judge_learning, verb)
    takes, path = messages.ChangeRequest, f"/v1/learnings/{{id}}/{verb}"
    return HttpOperation("POST", path, takes, FeatureLearning, call, f"{verb}_learning", summary)


def _steps(group: str, hold: Callable[..., Any], operation: str) -> tuple[HttpOperation, ...]:
    undo, redo = partial(curating.undo, hold, operation), partial(curating.redo, hold, operation)
    receipt, what = answers.StepReceipt, f"of {group}"
    return (
        HttpOperation(
            "POST", f"/v1/{group}/undo", messages.UndoRequest, receipt, undo, f"undo_{group}",
            f"Undo the last step {what}, or the one with an id.",
        ),
        HttpOperation(
            "POST", f"/v1/{group}/redo", messages.Request, receipt, redo, f"redo_{group}",
            f"Do the step {what} again that was undone last.",
        ),
    )  # fmt: skip


OPERATIONS: Final = (
    HttpOperation("POST", "/v1/plan-context", messages.PlanContextRequest, PlanResponse, calls.plan_context),
    HttpOperation("POST", "/v1/explain", messages.ExplainRequest, FileExplanation, calls.explain),
    HttpOperation("POST", "/v1/explore", messages.ExploreRequest, ExploreResponse, calls.explore),
    HttpOperation("POST", "/v1/context", messages.ContextRequest, answers.TextContext, calls.context),
    HttpOperation("POST", "/v1/delta", messages.DeltaRequest, Delta, calls.delta),
    HttpOperation("POST", "/v1/refresh", messages.Request, IndexReport, calls.refresh),
    HttpOperation("GET", "/v1/status", messages.Request, ProjectStatus, calls.status),
    HttpOperation(
        "POST",
        "/v1/episode/start",
        messages.StartRequest,
        answers.SessionReceipt,
        calls.start_episode,
        turn=False,
    ),
    HttpOperation(
        "POST",
        "/v1/episode/event",
        messages.EventRequest,
        answers.EventReceipt,
        calls.record_event,
        turn=False,
    ),
    HttpOperation(
        "POST", "/v1/episode/end", messages.EndRequest, answers.EpisodeState, calls.end_episode, turn=False
    ),
    HttpOperation(
        "POST",
        "/v1/feedback",
        messages.FeedbackRequest,
        answers.EpisodeState,
        calls.give_feedback,
        turn=False,
    ),
    HttpOperation("GET", "/v1/sessions", messages.ListRequest, answers.SessionRows, calls.list_sessions),
    HttpOperation("GET", "/v1/sessions/{id}", messages.RecordRequest, Trace, calls.show_session, turn=False),
    HttpOperation("GET", "/v1/rules", messages.ListRequest, answers.RuleRows, curating.list_rules),
    HttpOperation("POST", "/v1/rules", messages.AddRuleRequest, Rule, curating.add_rule, status=201),
    HttpOperation("POST", "/v1/rules/match", messages.MatchRequest, MatchResponse, curating.match_rules),
    HttpOperation("POST", "/v1/rules/check", messages.CheckRequest, CheckResponse, curating.check_call),
    HttpOperation(
        "POST", "/v1/rules/search", messages.RuleSearchRequest, answers.RuleAnswer, curating.search_rules
    ),
    *_steps("rules", curate_rules, "rules-edit"),
    HttpOperation("GET", "/v1/rules/{id}", messages.RecordRequest, Rule, curating.show_rule),
    HttpOperation("PATCH", "/v1/rules/{id}", messages.EditRuleRequest, Rule, curating.edit_rule),
    HttpOperation(
        "DELETE", "/v1/rules/{id}", messages.ChangeRequest, answers.RemovalReceipt, curating.remove_rule
    ),
    HttpOperation(
        "GET", "/v1/learnings", messages.ListRequest, answers.LearningRows, curating.list_learnings
    ),
    HttpOperation(
        "POST",
        "/v1/learnings",
        messages.AddLearningRequest,
        FeatureLearning,
        curating.add_learning,
        status=201,
    ),
    HttpOperation(
        "POST", "/v1/learnings/recall", messages.RecallRequest, answers.RecallAnswer, curating.recall
    ),
    *_steps("learnings", curate_learnings, "memory-edit"),
    HttpOperation(
        "GET", "/v1/learnings/{id}", messages.RecordRequest, FeatureLearning, curating.show_learning
    ),
    _judged("accept", "Mark a learning as reviewed, not as true."),
    _judged("reject", "Take out what is wrong or worthless; the same is not learned again."),
    _judged("retire", "Take out what was right once."),
    _judged("restore", "Bring back what was taken out, as it was."),
    HttpOperation("GET", "/v1/stash", messages.ListRequest, answers.SegmentRows, curating.list_segments),
    HttpOperation(
        "POST", "/v1/stash", messages.StashRequest, answers.StashReceipt, curating.stash, status=201
    ),
    HttpOperation(
        "POST", "/v1/stash/search", messages.StashSearchRequest, RetrieveResponse, curating.search_stash
    ),
    HttpOperation("POST", "/v1/stash/merge", messages.MergeRequest, MergeResponse, curating.merge_segments),
    HttpOperation(
        "POST", "/v1/model/train", messages.TrainRequest, TrainingReport, calls.train_model, status=202
    ),
    HttpOperation("GET", "/v1/model/status", messages.Request, ModelStatus, calls.model_status),
    HttpOperation("POST", "/v1/model/activate", messages.ActivateRequest, ModelStatus, calls.activate_model),
    HttpOperation("POST", "/v1/model/rollback", messages.RollbackRequest, ModelStatus, calls.roll_back_model),
    *_steps("stash", curate_stash, "stash-edit"),
    HttpOperation("GET", "/v1/stash/{id}", messages.RecordRequest, ContextSegment, curating.show_segment),
    HttpOperation(
        "PATCH", "/v1/stash/{id}", messages.EditSegmentRequest, ContextSegment, curating.edit_segment
    ),
    HttpOperation(
        "DELETE", "/v1/stash/{id}", messages.ChangeRequest, answers.RemovalReceipt, curating.remove_segment
    ),
)
"""In the order in which addresses are compared: fixed ones before those with an id."""
