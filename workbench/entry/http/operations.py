"""Every request the server knows, in one table: its address, what it takes, what it answers, what it does.

Routes and the published OpenAPI document are both made of this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, get_type_hints

from workbench.entry.http import calls, curating
from workbench.entry.http.messages import Request
from workbench.entry.services.learnings import curate_learnings
from workbench.entry.services.rules import curate_rules
from workbench.entry.services.stash import curate_stash


@dataclass(frozen=True, slots=True)
class HttpOperation:
    """A request about a project. `call` takes the open project and what was sent, and returns the answer.

    Its annotations say what is sent, `takes`, and what is answered, `answers`. Fields of `takes` whose names
    are in the path come from there, those of GET and DELETE from the query, the others from the body. Without
    `turn` it waits for nobody who works in the same project. What `plans` reads files and history, and is
    done by a process of its own.
    """

    method: str
    path: str
    call: Callable[[Any, Any], Any]
    name: str = ""
    summary: str = ""
    status: int = 200
    turn: bool = True
    plans: bool = False

    @property
    def takes(self) -> type[Request]:
        """What is sent."""
        taken: type[Request] = _types(self.call)["given"]
        return taken

    @property
    def answers(self) -> Any:  # noqa: ANN401 - any struct
        """What is answered."""
        return _types(self.call)["return"]

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


@cache
def _types(call: Any) -> dict[str, Any]:  # noqa: ANN401 - a function, or a part of one
    return get_type_hints(getattr(call, "func", call))


def _judging_operation(verb: str, summary: str) -> HttpOperation:
    call = partial(curating.judge_learning, verb)
    return HttpOperation("POST", f"/v1/learnings/{{id}}/{verb}", call, f"{verb}_learning", summary)


def _steps(group: str, hold: Callable[..., Any], operation: str) -> tuple[HttpOperation, ...]:
    undo, redo = partial(curating.undo, hold, operation), partial(curating.redo, hold, operation)
    undoes = f"Undo the last step of {group}, or the one with an id."
    redoes = f"Do the step of {group} again that was undone last."
    return (
        HttpOperation("POST", f"/v1/{group}/undo", undo, f"undo_{group}", undoes),
        HttpOperation("POST", f"/v1/{group}/redo", redo, f"redo_{group}", redoes),
    )


OPERATIONS: Final = (
    HttpOperation("POST", "/v1/plan-context", calls.plan_context, plans=True),
    HttpOperation("POST", "/v1/explain", calls.explain, plans=True),
    HttpOperation("POST", "/v1/expand", calls.expand, plans=True),
    HttpOperation("POST", "/v1/explore", calls.explore, plans=True),
    HttpOperation("POST", "/v1/context", calls.context, plans=True),
    HttpOperation("POST", "/v1/delta", calls.delta),
    HttpOperation("POST", "/v1/refresh", calls.refresh, plans=True),
    HttpOperation("GET", "/v1/status", calls.status),
    HttpOperation("POST", "/v1/episode/start", calls.start_episode, turn=False),
    HttpOperation("POST", "/v1/episode/event", calls.record_event, turn=False),
    HttpOperation("POST", "/v1/episode/end", calls.end_episode, turn=False),
    HttpOperation("POST", "/v1/feedback", calls.give_feedback, turn=False),
    HttpOperation("GET", "/v1/sessions", calls.list_sessions),
    HttpOperation("GET", "/v1/sessions/{id}", calls.show_session, turn=False),
    HttpOperation("GET", "/v1/rules", curating.list_rules),
    HttpOperation("POST", "/v1/rules", curating.add_rule, status=201),
    HttpOperation("POST", "/v1/rules/match", curating.match_rules),
    HttpOperation("POST", "/v1/rules/check", curating.check_call),
    HttpOperation("POST", "/v1/rules/fetch", curating.fetch_rules),
    HttpOperation("POST", "/v1/rules/search", curating.search_rules),
    *_steps("rules", curate_rules, "rules-edit"),
    HttpOperation("GET", "/v1/rules/{id}", curating.show_rule),
    HttpOperation("PATCH", "/v1/rules/{id}", curating.edit_rule),
    HttpOperation("DELETE", "/v1/rules/{id}", curating.remove_rule),
    HttpOperation("GET", "/v1/learnings", curating.list_learnings),
    HttpOperation("POST", "/v1/learnings", curating.add_learning, status=201),
    HttpOperation("POST", "/v1/learnings/recall", curating.recall),
    *_steps("learnings", curate_learnings, "memory-edit"),
    HttpOperation("GET", "/v1/learnings/{id}", curating.show_learning),
    _judging_operation("accept", "Mark a learning as reviewed, not as true."),
    _judging_operation("reject", "Take out what is wrong or worthless; the same is not learned again."),
    _judging_operation("retire", "Take out what was right once."),
    _judging_operation("restore", "Bring back what was taken out, as it was."),
    HttpOperation("GET", "/v1/stash", curating.list_segments),
    HttpOperation("POST", "/v1/stash", curating.stash, status=201),
    HttpOperation("POST", "/v1/stash/search", curating.search_stash),
    HttpOperation("POST", "/v1/stash/merge", curating.merge_segments),
    HttpOperation("GET", "/v1/conflicts", curating.list_conflicts),
    HttpOperation("POST", "/v1/conflicts/{id}/settle", curating.settle_conflict),
    HttpOperation("POST", "/v1/model/train", calls.train_model, status=202),
    HttpOperation("GET", "/v1/model/status", calls.model_status),
    HttpOperation("POST", "/v1/model/activate", calls.activate_model),
    HttpOperation("POST", "/v1/model/rollback", calls.roll_back_model),
    *_steps("stash", curate_stash, "stash-edit"),
    HttpOperation("GET", "/v1/stash/{id}", curating.show_segment),
    HttpOperation("PATCH", "/v1/stash/{id}", curating.edit_segment),
    HttpOperation("DELETE", "/v1/stash/{id}", curating.remove_segment),
)
"""In the order in which addresses are compared: fixed ones before those with an id."""
