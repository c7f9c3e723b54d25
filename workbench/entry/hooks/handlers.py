"""What each event of an agent does: what it is answered, and what is recorded after that."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.entry.hooks.payloads import HookCall, HookEvent, read_call
from workbench.entry.services.opening import find_project
from workbench.places import may_have_checks, seems_used
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.config import Config
    from workbench.entry.hooks.context import HookContext
    from workbench.entry.hooks.sessions import SessionState
    from workbench.entry.project import OpenedProject
    from workbench.errors import WorkbenchError

OWN_SECONDS: Final = {HookEvent.SESSION_END: 20.0, HookEvent.COMPACTION: 5.0}
"""The deadlines where nobody waits: a session's end, whose transcript is archived, and a compaction, which
takes longer itself."""
_LOSES: Final = ("compact", "clear")
"""How a session starts that has lost its context."""


def _later() -> None:
    """Do nothing more."""


@dataclass(frozen=True, slots=True)
class HookReply:
    """What goes to stdout, what is recorded after it was written, and what a child does after that."""

    output: bytes = b""
    then: Callable[[], None] = field(default=_later)
    beside: Callable[[], None] | None = None


def records(call: HookCall) -> bool:
    """Whether an event records something of its session, answered or not; that is done however late it is."""
    if call.event is HookEvent.SESSION_START:
        return bool(call.session) and call.source in _LOSES
    return bool(call.session) and call.event is not HookEvent.BEFORE_TOOL


def respond(
    data: bytes,
    name: str,
    agent: str,
    environment: Mapping[str, str] = os.environ,
    *,
    allow: Callable[[float], None] = lambda seconds: None,
    opened: OpenedProject | None = None,
) -> HookReply:
    """Return the reply to a payload. A project that nobody uses the workbench in is left alone.

    `allow` gets the seconds that the hook may take, as soon as they are known. `opened` is the project that
    it is about where that is kept open. Raises: WorkbenchError.
    """
    call = read_call(data, name, agent)
    own_time = OWN_SECONDS.get(call.event)
    if own_time is not None:
        allow(own_time)
    cwd = Path(call.cwd)
    if not cwd.is_absolute() or not cwd.is_dir():
        return HookReply()
    root = find_project(start=cwd)
    if not seems_used(root, environment):
        return HookReply()
    if (
        call.event is HookEvent.BEFORE_TOOL
        and not call.starts_agent
        and not may_have_checks(root, environment)
    ):
        return HookReply()
    if opened is not None and opened.root == root:
        return _EVENTS[call.event](opened, opened.config, call)
    from workbench.config_layers import load
    from workbench.entry.project import find_state

    config = load(project=root, env=environment).config
    if own_time is None:
        allow(config.hooks.deadline)
    project = find_state(root, config, environment)
    project.past_may_lag = hasattr(os, "fork")
    reply = _EVENTS[call.event](project, config, call)
    if call.event in _ENDS and project.is_indexed:
        reply = replace(reply, beside=_memory_of(project))
    if call.event not in _TURNS or not (project.state / "team" / "team.json").is_file():
        return reply

    def then() -> None:
        from workbench.entry.services.team_exchange import exchange_beside

        reply.then()
        exchange_beside(project)

    return replace(reply, then=then)


def _memory_of(project: OpenedProject) -> Callable[[], None] | None:
    """Return what has plans know what just ended, unless another process does it; None where plans do."""

    def remember() -> None:
        from workbench.errors import StoreBusy

        with suppress(StoreBusy), project.lock("past", 0.0):
            project.workspace.sync_past()

    return remember if project.past_may_lag else None


def _on_context(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    """Begin the episode of a prompt, and add context to it or to the start of a session.

    The episode comes first: its session is recorded also where the context takes too long.
    """
    from workbench.entry.hooks.answers import HookAnswer, takes_context, takes_late, write_answer
    from workbench.entry.hooks.context import prompt_context, session_start_context
    from workbench.entry.hooks.sessions import recorder, session_state
    from workbench.entry.services.handovers import record_loss
    from workbench.entry.services.metrics import measure
    from workbench.errors import StoreError

    starts = call.event is HookEvent.SESSION_START
    given: HookContext | None = None
    state = session_state(project, call.session)
    begun, unrecorded = ("", None) if starts else _begin_episode(project, config, call, state)
    if starts and records(call):
        record_loss(project, call.session, call.source)
    if takes_context(call) and project.is_indexed:
        with measure(project, f"hook {call.name}", "hook") as measurement:
            if starts:
                given = session_start_context(project, config, call, measurement)
            else:
                given = prompt_context(project, config, call, state, measurement)

    def then() -> None:
        if begun:
            recorder(project, config).note_disk(begun)
        if given is not None:
            _record_given(project, given)
        elif takes_context(call) and (fault := project.index_fault):
            raise StoreError(f"the index of {project.root} cannot be used: {fault}")
        if unrecorded is not None:
            raise unrecorded

    text = "" if given is None else given.text
    if takes_late(call):
        from workbench.entry.hooks.stopgap import take_late

        text = take_late(project.state, call.session) + text
    beside = _memory_of(project) if begun and state.episode and not state.ended else None
    return HookReply(write_answer(call, HookAnswer(context=text)), then, beside)


def takes_plan(call: HookCall) -> bool:
    """Whether what an event is answered with may need a plan."""
    from workbench.entry.hooks.answers import takes_context, takes_input

    if call.event is HookEvent.BEFORE_TOOL:
        return call.starts_agent and takes_input(call)
    return takes_context(call) and (call.event is HookEvent.PROMPT or call.source == "compact")


def record_prompt(
    project: OpenedProject, call: HookCall, environment: Mapping[str, str] = os.environ
) -> None:
    """Record that a prompt begins an episode, where its plan has to wait; `respond` does it otherwise.

    Raises: WorkbenchError.
    """
    from workbench.entry.hooks.sessions import recorder, session_state, start_prompt

    if call.event is HookEvent.PROMPT and seems_used(project.root, environment):
        begun = start_prompt(project, project.config, call, session_state(project, call.session))
        if begun:
            recorder(project, project.config).note_disk(begun)


def _begin_episode(
    project: OpenedProject, config: Config, call: HookCall, state: SessionState
) -> tuple[str, WorkbenchError | None]:
    """Record that a prompt begins an episode; return its id, and why that failed, which stops no context."""
    from workbench.entry.hooks.sessions import start_prompt
    from workbench.errors import WorkbenchError

    try:
        return start_prompt(project, config, call, state), None
    except WorkbenchError as error:
        return "", error


def _record_given(project: OpenedProject, given: HookContext) -> None:
    """Record what a session was given, and that it was used. Raises: WorkbenchError."""
    from workbench.entry.services.handovers import record_handover

    record_handover(project, given.handover)
    if given.request is not None and given.text:
        from workbench.entry.services.plan import record_given
        from workbench.errors import StoreError

        plan = given.plan
        more = ({}, ()) if plan is None else (plan.learnings, plan.segments)
        note = record_given(project, given.request, given.rules, *more, by="hook")
        if plan is not None and project.has_models:
            from workbench.entry.services.model_canary import record_served  # where a model was registered

            record_served(project, plan.ranking, given.handover.session, by="hook")
        if note:
            raise StoreError(note)


def _on_tool(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    """Check a tool call against the absolute rules, and give a sub-agent its context."""
    from workbench.entry.hooks.answers import HookAnswer, takes_input, write_answer
    from workbench.entry.services.rule_checks import ToolCallContext, check_tool_call, current_rules
    from workbench.records.rules import Decision

    if not call.tool:
        return HookReply()
    rules, _ = current_rules(project.root, config)
    checked = rules.checked_rules()
    if checked:
        verdict = check_tool_call(
            project.root, checked, call.tool, call.given, ToolCallContext(cwd=call.cwd, agent=call.agent)
        )
        if verdict.decision is not Decision.ALLOW:
            answer = HookAnswer(decision=verdict.decision, reason=verdict.why)
            broken = [one.rule.id for one in verdict.breaches if one.decides]

            def then() -> None:
                from workbench.entry.hooks.sessions import record_breach

                record_breach(project, config, call, str(verdict.decision), broken)

            return HookReply(write_answer(call, answer), then)
    if not (call.starts_agent and takes_input(call) and project.is_indexed):
        return HookReply()
    from workbench.entry.hooks.context import subagent_context
    from workbench.entry.services.metrics import measure

    with measure(project, "hook sub-agent", "hook") as measurement:
        given = subagent_context(project, config, call, measurement)
    if not given.text:
        return HookReply(then=lambda: _record_given(project, given))
    updated = {**call.given, "prompt": f"{given.text}\n{call.given['prompt']}"}
    output = write_answer(call, HookAnswer(updated=updated))
    return HookReply(output, lambda: _record_given(project, given))


def _on_instructions(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    """Record which file of instructions the agent loaded."""
    from workbench.entry.hooks.context import loaded_name
    from workbench.entry.services.handovers import record_instructions

    if call.session and call.loaded:
        home = Path(project.environment.get("HOME") or Path.home())
        name = loaded_name(call.loaded, project.root, home)
        record_instructions(project, call.session, call.agent, name, call.source)
    return HookReply()


def _record(
    project: OpenedProject,
    config: Config,
    call: HookCall,
    record: Callable[[OpenedProject, Config, HookCall], None],
) -> HookReply:
    if call.session:
        record(project, config, call)
    return HookReply()


def _on_touch(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    from workbench.entry.hooks.answers import HookAnswer, takes_late, write_answer
    from workbench.entry.hooks.sessions import record_touches

    reply = HookReply() if call.failed else _record(project, config, call, record_touches)
    if not takes_late(call):
        return reply
    from workbench.entry.hooks.stopgap import take_late

    context = take_late(project.state, call.session)
    return HookReply(write_answer(call, HookAnswer(context=context)), reply.then)


def _on_compaction(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    from workbench.entry.hooks.sessions import stash_session

    return _record(project, config, call, stash_session)


def _on_subagent_stop(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    from workbench.entry.hooks.sessions import record_subagent

    return _record(project, config, call, record_subagent)


def _on_stop(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    from workbench.entry.hooks.sessions import record_stop

    return _record(project, config, call, record_stop)


def _on_end(project: OpenedProject, config: Config, call: HookCall) -> HookReply:
    from workbench.entry.hooks.sessions import archive_session, record_stop

    reply = _record(project, config, call, record_stop)
    archive_session(project, config, call)
    if config.store.keep_days:
        from workbench.entry.services.retention import purge_daily

        purge_daily(project)
    return reply


_Handler = Callable[["OpenedProject", "Config", "HookCall"], HookReply]
_EVENTS: Final[Mapping[HookEvent, _Handler]] = {
    HookEvent.SESSION_START: _on_context,
    HookEvent.PROMPT: _on_context,
    HookEvent.BEFORE_TOOL: _on_tool,
    HookEvent.AFTER_TOOL: _on_touch,
    HookEvent.INSTRUCTIONS: _on_instructions,
    HookEvent.COMPACTION: _on_compaction,
    HookEvent.SUBAGENT_STOP: _on_subagent_stop,
    HookEvent.STOP: _on_stop,
    HookEvent.SESSION_END: _on_end,
}

_ENDS: Final = frozenset({HookEvent.STOP, HookEvent.SESSION_END})
_TURNS: Final = frozenset(
    {
        HookEvent.SESSION_START,
        HookEvent.PROMPT,
        HookEvent.COMPACTION,
        HookEvent.STOP,
        HookEvent.SESSION_END,
    }
)
"""Events after which a team's records are exchanged: between the turns of an agent, not at its tools."""
