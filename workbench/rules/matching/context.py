"""The context of a request: what the scopes, conditions, tools and levels of rules are compared with.

Every face makes it with `make_context`, so that a rule holds in a plan where it holds in a match, in a check
and in a replay. What nobody knows (a branch outside of git, an agent nobody named) is in no context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from workbench.records.dataclass import dataclass
from workbench.records.rules import Level, Rule, context_names, path_globs
from workbench.rules.globs import first_match

if TYPE_CHECKING:
    from workbench.records.worktree import HeadState

AT_HAND: Final = 10
"""Files of a pack, best first, that bring the rules of their paths."""

CHANGED: Final = 50
"""Uncommitted files that do, by name."""

_AGENTS: Final = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini"}
_SHOWN: Final = 4  # entries of a long scope in a sentence


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What is known of the work at hand.

    `paths` are the files at hand, best first: those of the pack, then uncommitted ones. `names` are the
    context names in force, in lower case. `facts` maps the names of facts to their values. `tool` is the
    agent, `scenario` and `step` are those that are active; '' where nothing is known.
    """

    paths: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tool: str = ""
    scenario: str = ""
    step: str = ""


def make_context(  # noqa: PLR0913 - all that is known of a request
    *,
    paths: Sequence[str] = (),
    changed: Sequence[str] | None = None,
    head: HeadState | None = None,
    query_type: str = "",
    tool: str = "",
    scenario: str = "",
    step: str = "",
    contexts: Iterable[str] = (),
    facts: Mapping[str, Sequence[str]] | None = None,
) -> RuleContext:
    """Return the context of a request.

    `paths` are the files at hand, best first; `changed` are uncommitted ones and `head` what is checked
    out, None where nothing is known of it. In force as names are `contexts`, the agent, the scenario, the
    step, the branch, the kind of task, and the directories and languages of the files at hand. `facts` are
    added to what these say, and win over it.
    """
    at_hand = tuple(dict.fromkeys((*paths, *sorted(changed or ())[:CHANGED])))
    languages = _languages(at_hand)
    agent = agent_name(tool)
    branch = "" if head is None else head.branch or ""
    known: dict[str, tuple[str, ...]] = {
        "language": tuple(languages),
        "query_type": (query_type,),
        "tool": (agent,),
        "scenario": (scenario,),
        "step": (step,),
        "branch": (branch,),
        "detached": ("" if head is None else _flag(head.branch is None),),
        "dirty": ("" if changed is None else _flag(bool(changed)),),
    }
    known |= {
        name: (given,) if isinstance(given, str) else tuple(given) for name, given in (facts or {}).items()
    }
    directories = {part for path in at_hand for part in path.split("/")[:-1]}
    names = (*contexts, agent, scenario, step, branch, query_type, *languages, *directories)
    return RuleContext(
        paths=at_hand,
        names=frozenset(name.casefold() for name in names if name),
        facts={name: values for name, values in known.items() if any(values)},
        tool=agent,
        scenario=scenario,
        step=step,
    )


def _languages(paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    from workbench.project.languages import language_of  # a check of a call that names no file does without

    return sorted({found for path in paths if (found := language_of(path))})


def agent_name(text: str) -> str:
    """Return the name of an agent as rules have it: `claude` for Claude Code, whatever the spelling."""
    name = text.strip().casefold().replace("_", "-").replace(" ", "-")
    return _AGENTS.get(name, name)


def tools_hold(targets: Sequence[str], context: RuleContext) -> bool:
    """Whether a rule for some agents is for the one at work; one that nobody named is none of them."""
    return not targets or (bool(context.tool) and context.tool in map(agent_name, targets))


def scope_holds(
    level: Level,
    scope: Sequence[str],
    context: RuleContext,
    touches: Callable[[tuple[str, ...]], bool] | None = None,
) -> bool:
    """Whether a scope takes in the context: empty is everywhere, else one entry is enough [rules].

    Names match by equality, any case, and `path:` globs by the files at hand. A rule of a step or a scenario
    holds only while one is active, which the names of its scope, if it has any, are those of; a scenario
    that is a part of the project, by its globs, is active where a file at hand is in it [adr2]. `touches`
    says whether globs match a file at hand, for callers that know more of files than their paths.
    """
    names, globs = context_names(tuple(scope)), path_globs(tuple(scope))
    touches = touches or (lambda some: first_match(some, context.paths) is not None)
    by_path = bool(globs) and touches(globs)
    active = _active(level, context)
    if level is Level.GLOBAL or (level is Level.SCENARIO and globs):
        return not scope or by_path or any(name.casefold() in context.names for name in names)
    if not active or (names and active.casefold() not in map(str.casefold, names)):
        return False
    return bool(names) or not globs or by_path


def conditions_hold(conditions: Mapping[str, Any], context: RuleContext) -> bool:
    """Whether every condition is met by a fact. A fact that is not known meets none."""
    return all(_is_met(name, wanted, context) for name, wanted in conditions.items())


def left_out(rule: Rule, context: RuleContext) -> str:
    """Return why a rule does not hold in a context, as the rest of a sentence about it; '' if it holds."""
    if not tools_hold(rule.tool_targets, context):
        return _other_tool(rule.tool_targets, context)
    if not scope_holds(rule.level, rule.scope, context):
        return _out_of_scope(rule.level, rule.scope, context)
    for name, wanted in rule.conditions.items():
        if not _is_met(name, wanted, context):
            return _unmet(name, wanted, context)
    return ""


def held_by(rule: Rule, context: RuleContext) -> str:
    """Return what of the context a rule's scope takes in: a file, a context's name, or the active step."""
    path = first_match(globs, context.paths) if (globs := path_globs(rule.scope)) else None
    if path is not None:
        return path
    names = {name.casefold(): name for name in context_names(rule.scope)}
    active = _active(rule.level, context)
    if active and (not names or active.casefold() in names):
        return f"the {rule.level.value} {active}"
    return next((f"the context {name}" for low, name in names.items() if low in context.names), "")


def _active(level: Level, context: RuleContext) -> str:
    return {Level.GLOBAL: "", Level.SCENARIO: context.scenario, Level.STEP: context.step}[level]


def _is_met(name: str, wanted: object, context: RuleContext) -> bool:
    return not set(_choices(wanted)).isdisjoint(context.facts.get(name, ()))


def _choices(wanted: object) -> list[str]:
    values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return [_flag(value) if isinstance(value, bool) else str(value) for value in values]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _other_tool(targets: Sequence[str], context: RuleContext) -> str:
    mine = " and ".join(targets)
    if context.tool:
        return f"is for {mine}, not for {context.tool}"
    return f"is for {mine}, and no agent is named: name the agent {targets[0]}"


def _out_of_scope(level: Level, scope: Sequence[str], context: RuleContext) -> str:
    names, globs = context_names(tuple(scope)), path_globs(tuple(scope))
    if level is Level.STEP or (level is Level.SCENARIO and not globs):
        mine = f"is for the {level.value} {_either(names)}" if names else f"is for a {level.value}"
        active = _active(level, context)
        if not active:
            return f"{mine}, and none is active: name the {level.value} {names[0] if names else 'NAME'}"
        if names:
            return f"{mine}, and {active} is active"
    if not names:
        return f"is for {_either(scope)}, and no file at hand is one of them"
    return f"is for {_either(scope)}, which is not in the context: name the context {names[0]}"


def _unmet(name: str, wanted: object, context: RuleContext) -> str:
    choices = _choices(wanted)
    holds = f"holds where {name} is {_either(choices)}"
    known = context.facts.get(name)
    if known:
        return f"{holds}, and it is {_either(known)}"
    return f"{holds}, and {name} is not known: name the fact {name}={choices[0] if choices else 'VALUE'}"


def _either(entries: Sequence[str]) -> str:
    shown = [*entries[:_SHOWN], *([f"{len(entries) - _SHOWN} more"] if len(entries) > _SHOWN else ())]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
