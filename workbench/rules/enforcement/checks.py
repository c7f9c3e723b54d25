"""Whether a tool call breaks a rule: checks are put on rules here, and calls are judged by them.

For hooks that ask before a tool runs, for `workbench rules check` and for counting breaches in transcripts.
Only absolute rules decide; what a default rule's check finds is reported. What cannot be searched is never
allowed silently: it asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Authority, Check, Decision, Rule, context_names, path_globs
from workbench.rules.enforcement.calls import Facts, ToolCall
from workbench.rules.enforcement.commands import find_commands, like, parse_commands
from workbench.rules.enforcement.files import FileUse, files_of, find_use
from workbench.rules.matching.context import (
    RuleContext,
    agent_name,
    conditions_hold,
    left_out,
    make_context,
    scope_holds,
    tools_hold,
)
from workbench.shell.words import Simple
from workbench.shell.wrappers import program_name
from workbench.suggest import did_you_mean

MAX_PATTERN = 2_000  # characters
_MEMORY = 8 << 20  # bytes a compiled expression may take


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:  # noqa: ANN401 - re2 has no types
    """Return a compiled expression that searches UTF-8 bytes. Raises: UsageError if it is not valid."""
    import re2

    if len(pattern) > MAX_PATTERN:
        raise UsageError(f"the pattern is longer than {MAX_PATTERN:,} characters", hint="Shorten it.")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options=options)
    except re2.error as error:
        detail = error.args[0] if error.args else "invalid"
        message = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise UsageError(
            f"the pattern is not a regular expression this can run: {message}",
            hint="RE2 syntax: no look-ahead, no backreferences; escape ( [ { . * + ? with a backslash.",
        ) from error


def search(pattern: str, text: str) -> str | None:
    """Return the first text that the expression finds, None if there is none."""
    found = compile_pattern(pattern).search(text.encode("utf-8", "surrogatepass"))
    return None if found is None else found.group(0).decode("utf-8", "replace")


MAX_ITEMS = 200  # tools or globs of one check
_EXCERPT = 160
_SHOWN = 4_000  # characters of a text that are looked at for secrets before an excerpt is cut
_STRENGTH = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}
_KEYS = tuple(field.name for field in fields(Check))
_EXAMPLE = 'Such as: {"command": "git push --force", "decision": "deny"}'


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a call breaks: what its check decides, what in the call breaks it, and doubts about it.

    `decides` is false for a default rule: its check is reported and changes nothing.
    """

    rule: Rule
    decision: Decision
    found: str
    decides: bool = True
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a call: the strongest decision, the rule that makes it, why, and everything found.

    `notes` say what could not be read whole.
    """

    decision: Decision
    rule: Rule | None = None
    why: str = ""
    breaches: tuple[Breach, ...] = ()
    notes: tuple[str, ...] = ()


def check_call(
    rules: Iterable[Rule], call: ToolCall, *, context: RuleContext | None = None, disk: bool = True
) -> Verdict:
    """Return the verdict of all enabled rules with a check on a tool call.

    Rules are asked that hold in the `context` of the call, which its programs, files and their languages are
    in as well. A rule for some agents is asked where nobody says which one calls. With `disk` links and
    wildcards in paths are followed. Deny beats ask beats allow; equal decisions go by priority, then id. A
    breach of a rule that does not hold is among the notes.
    """
    found = Facts(call, disk)
    enforced = [rule for rule in rules if rule.check is not None and rule.enabled]
    context = context or RuleContext(tool=agent_name(call.agent))
    if any(rule.conditions or context_names(rule.scope) for rule in enforced):
        context = _of_call(context, found)
    breaches: list[Breach] = []
    aside: list[Breach] = []
    for rule in enforced:
        assert rule.check is not None
        holds = _applies(rule, found, context)
        if (holds or not path_globs(rule.scope)) and (breach := _breach(rule, rule.check, found)) is not None:
            (breaches if holds else aside).append(breach)
    breaches.sort(key=_order)
    notes = (
        *(f"the command could not be read whole, its words were compared: {f}" for f in _faults(found)),
        *(_aside(breach, context) for breach in sorted(aside, key=_order)),
    )
    first = next((breach for breach in breaches if breach.decides), None)
    if first is None or first.decision is Decision.ALLOW:
        return Verdict(Decision.ALLOW, None, "no rule forbids it", tuple(breaches), notes)
    return Verdict(first.decision, first.rule, _why(first), tuple(breaches), notes)


def _faults(found: Facts) -> tuple[str, ...]:
    """Return what could not be read, if any check asked for it."""
    return tuple(dict.fromkeys(found.faults)) if "lines" in vars(found) else ()


def _order(breach: Breach) -> tuple[Any, ...]:
    return (not breach.decides, -_STRENGTH[breach.decision], -breach.rule.priority, breach.rule.id)


def _why(breach: Breach) -> str:
    check = breach.rule.check
    text = (check.reason if check else "") or breach.rule.rule
    doubt = f" ({breach.doubt})" if breach.doubt else ""
    return f"{' '.join(text.split())} — {breach.found}{doubt}"


def _applies(rule: Rule, found: Facts, context: RuleContext) -> bool:
    def touches(globs: tuple[str, ...]) -> bool:
        return _find(globs, (*found.named, *found.ran, *_places(found)), found) is not None

    return (
        (not context.tool or tools_hold(rule.tool_targets, context))
        and conditions_hold(rule.conditions, context)
        and scope_holds(rule.level, rule.scope, context, touches)
    )


def _of_call(context: RuleContext, found: Facts) -> RuleContext:
    """Return a context with what a call adds to it: its programs, and its files with their languages."""
    commands = [command for line in found.lines for command in line.commands if command.words]
    programs = [program_name(command.words[0]) for command in commands]
    root = f"{found.call.root}/"
    inside = [use.path.removeprefix(root) for use in (*found.named, *found.ran)]
    own = make_context(paths=[path for path in inside if not path.startswith("/")], contexts=programs)
    return replace(context, names=context.names | own.names, facts={**own.facts, **context.facts})


def _aside(breach: Breach, context: RuleContext) -> str:
    """Say of a breach why its rule is not asked."""
    rule = breach.rule if context.tool else replace(breach.rule, tool_targets=())
    return f"{rule.id} would {breach.decision}, but {left_out(rule, context)}"


def _places(found: Facts) -> list[FileUse]:
    """Return a file in each directory where commands run, for rules of one part of a project."""
    directories = {command.directory for line in found.lines for command in line.commands}
    return [FileUse("_", False, directory) for directory in sorted(directories)]


def _find(globs: tuple[str, ...], uses: Iterable[FileUse], found: Facts) -> FileUse | None:
    return find_use(globs, uses, found.forms, found.call.home)


def _breach(rule: Rule, check: Check, found: Facts) -> Breach | None:
    """Return the breach of a rule if every given field of its check holds."""
    if check.tools and not any(like(name.casefold(), found.call.tool.casefold()) for name in check.tools):
        return None
    reasons, doubts, decision = [], [], check.decision
    commands: tuple[Simple, ...] | None = None
    if check.command:
        patterns = parse_commands(check.command)
        commands = tuple(hit for pattern in patterns for hit in find_commands(pattern, found.commands))
        if not commands:
            return None
        if not commands[0].words:
            decision = min(decision, Decision.ASK, key=_STRENGTH.__getitem__)
            reasons.append(f"it may run `{_short(check.command)}`, and is too long to be searched")
        else:
            reasons.append(f"it runs `{_short(' '.join(commands[0].words))}`")
        if found.faults:
            doubts.append(f"the command could not be read whole: {found.faults[0]}")
    if check.paths:
        uses = _counted_uses(check, commands, found)
        use = _find(check.paths, uses, found)
        if use is None:
            return None
        reasons.append(f"it {'changes' if use.writes else 'uses'} {_short(use.path)}")
    if check.pattern:
        if found.too_long:
            decision = min(decision, Decision.ASK, key=_STRENGTH.__getitem__)
            doubts.append("its texts are too long to be searched")
        else:
            text = next(
                (hit for text in found.written if (hit := search(check.pattern, text)) is not None), None
            )
            if text is None:
                return None
            reasons.append(f"its input has `{_short(text)}`")
    reasons = reasons or [f"it is a call of {_short(found.call.tool)}"]
    decides = rule.authority is Authority.ABSOLUTE
    return Breach(rule, decision, " and ".join(reasons), decides, "; ".join(doubts))


def _counted_uses(check: Check, commands: tuple[Simple, ...] | None, found: Facts) -> list[FileUse]:
    """Return the paths that count: of the commands that the check is about, or of the whole input."""
    uses = (
        [*found.named, *found.ran]
        if commands is None
        else [use for command in commands for use in files_of(command)]
    )
    return [use for use in uses if use.writes or not check.writes]


def _short(text: str) -> str:
    """Return a text as one line of an excerpt's length, without secrets."""
    from workbench.text.redact import redact  # most calls break no rule

    line = redact(" ".join(text[:_SHOWN].replace("\0", "…").split())).text
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def parse_check(value: str | Mapping[str, Any]) -> Check:
    """Return the check of a JSON text or of a mapping of its fields; a list may be one text.

    `command` takes a list, too: several commands, one of which is run.

    Raises: UsageError that names what is wrong and what was meant.
    """
    given = _decode(value) if isinstance(value, str) else dict(value)
    for key in given:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS, f"A check has {', '.join(_KEYS)}.")
            raise UsageError(f"a check has no {key!r}", hint=hint)
    check = Check(
        tools=_list(given, "tools"),
        paths=_list(given, "paths"),
        command="\n".join(_list(given, "command")).strip(),
        pattern=_text(given, "pattern"),
        decision=_decision(given.get("decision", Decision.ASK)),
        reason=_text(given, "reason"),
        writes=_flag(given, "writes"),
    )
    for problem, hint in _faulty(check):
        raise UsageError(problem, hint=hint)
    return check


def problems(check: Check) -> tuple[str, ...]:
    """Return what is wrong with a check, one sentence each; empty for a good one."""
    return tuple(problem for problem, _ in _faulty(check))


def _faulty(check: Check) -> list[tuple[str, str]]:
    found = []
    if not (check.tools or check.paths or check.command or check.pattern):
        found.append(
            ("the check is empty: it would hold for every call", f"Give a tool, a path, … {_EXAMPLE}")
        )
    for name, items in (("tools", check.tools), ("paths", check.paths)):
        if any(not item.strip() for item in items):
            found.append((f"{name} of the check has an empty entry", "Leave it out."))
        if len(items) > MAX_ITEMS:
            found.append((f"{name} of the check has more than {MAX_ITEMS} entries", "FileUse wildcards."))
    if check.paths and all(path.startswith("!") for path in check.paths):
        found.append(
            ("paths of the check only takes paths out", "Name what it is about first, such as `**`.")
        )
    if check.writes and not check.paths:
        found.append(("writes of the check needs paths", "Say which files must not be changed."))
    for text, parse in ((check.command, parse_commands), (check.pattern, compile_pattern)):
        if text:
            try:
                parse(text)
            except WorkbenchError as error:
                found.append((error.message, error.hint))
    return found


def _decode(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the check is not JSON: {error}", hint=_EXAMPLE) from error
    if not isinstance(value, dict):
        raise UsageError("the check is not a JSON object", hint=_EXAMPLE)
    return value


def _list(given: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = given.get(key) or ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{key} of a check is a list of texts", hint=f'Such as: {{"{key}": ["…"]}}')
    return tuple(dict.fromkeys(items))


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key) or ""
    if not isinstance(value, str):
        raise UsageError(f"{key} of a check is a text", hint=f'Such as: {{"{key}": "…"}}')
    return value.strip() if key != "pattern" else value


def _flag(given: Mapping[str, Any], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{key} of a check is true or false", hint=f'Such as: {{"{key}": true}}')
    return value


def _decision(value: object) -> Decision:
    try:
        return Decision(str(value).casefold())
    except ValueError:
        choices = [decision.value for decision in Decision]
        hint = did_you_mean(str(value), choices, f"It is one of {', '.join(choices)}.")
        raise UsageError(f"a check decides {', '.join(choices)}, not {value!r}", hint=hint) from None
