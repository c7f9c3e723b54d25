"""What callers of Python may give by name: what is known of the work, options of a plan, fields of a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class WorkContext(TypedDict, total=False):
    """What is known of the work, for rules that hold only there.

    `agent` is the tool it is for (claude, codex; default: the setting rules.tool); `contexts` are names in
    force, `facts` {name: value or values} what conditions ask for; `scenario` and `step` are the active ones
    (default: those of the session).
    """

    agent: str
    contexts: Sequence[str]
    facts: Mapping[str, str | Sequence[str]]
    scenario: str
    step: str


class PlanOptions(WorkContext, total=False):
    """What a plan can be asked for besides a task and a budget.

    `query_type` is the kind of task (default: by its words); with `strict` files that changed since the last
    index are refused. `pinned` and `excluded` name files by their paths from the root, rules, learnings
    and segments by their ids. `feature` and `task_id` limit what was learned to what is about them. Without
    `stash` no segment is in the pack. `ml_mode` is off (words and structure alone), fast (embeddings) or full
    (and a second stage, default: the setting plan.ml_mode); `detail` compact (no file as a whole), normal or
    verbose (none as an outline). Other programs and models are waited for within `latency_budget_ms`.
    """

    query_type: str
    strict: bool
    pinned: Sequence[str]
    excluded: Sequence[str]
    feature: str
    task_id: str
    stash: bool
    ml_mode: str
    detail: str
    latency_budget_ms: int


class RuleFields(TypedDict, total=False):
    """Fields of a rule that people decide.

    `scope` holds names of contexts and `path:GLOB`; `category` is preference, behavior or agent; `authority`
    absolute or default; `priority` 0 to 100; `level` global, scenario or step; `conditions` {fact: value or
    values}; `examples` messages it is relevant to; `cooldown` seconds; `check` what a breach looks like, such
    as {"command": "git push --force"}.
    """

    name: str
    scope: Sequence[str]
    category: str
    authority: str
    priority: int
    tags: Sequence[str]
    tool_targets: Sequence[str]
    level: str
    condition_text: str
    conditions: Mapping[str, Any]
    examples: Sequence[str]
    cooldown: int
    enabled: bool
    check: Mapping[str, Any] | None


class FilterFields(TypedDict, total=False):
    """What a caller may ask of rules; a text where a list is expected counts as its one entry."""

    scope: Sequence[str]
    project_id: str | None
    category: str | None
    authority: str | None
    tool_targets: Sequence[str]
    tags: Sequence[str]
    enabled: bool | None
