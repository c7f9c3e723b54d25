"""Which rule files agents load in a project: their settings read, and their order made an answer.

Settings of agents are read with bounds and never written; what cannot be read counts as not set, with a note.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench.entry.services.handovers import loaded_instructions
from workbench.errors import ParseError, UsageError
from workbench.records.answers.rules import EffectiveFile, EffectiveResponse, EffectiveRule, LeftOutFile
from workbench.records.rules import Activation, Rule
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.rules.precedence.cases import CODEX_BYTES, AgentSettings, LoadCase
from workbench.rules.precedence.effective import LoadedFile, LoadReports, count_reports, load_order
from workbench.rules.precedence.tree import RuleTree, rule_tree
from workbench.rules.reading.discovery import RuleSource, discover_outside, read_source
from workbench.rules.reading.imports import import_rules
from workbench.rules.rulestate import find_sources
from workbench.text.sanitize import visible_line

if TYPE_CHECKING:
    from workbench.entry.project import OpenedProject
    from workbench.rules.keptbook import Rulebook

UNASKED: Final = (Activation.ALWAYS, Activation.PATHS)
"""What is loaded without the agent or the user deciding on it."""

_MOVED: Final = {"claude": ("CLAUDE_CONFIG_DIR", "~/.claude"), "codex": ("CODEX_HOME", "~/.codex")}
_CLAUDE_SETTINGS: Final = (
    "/etc/claude-code/managed-settings.json",
    "~/.claude/settings.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
)
_GEMINI_SETTINGS: Final = ("~/.gemini/settings.json", ".gemini/settings.json")


def place_in(root: Path, path: str, what: str) -> str:
    """Return a path relative to the project ('' is its root), as it is from here or from the project.

    Raises: UsageError for one that is outside.
    """
    for base in (Path.cwd(), root):
        place = Path(os.path.normpath(base / path))
        if place.is_relative_to(root) and (place.exists() or base == root):
            found = place.relative_to(root).as_posix()
            return "" if found == "." else found
    raise UsageError(
        f"{what} {visible_line(path)} is not in the project",
        hint=f"Name one below {root}, or give --project.",
    )


def agent_tree(project: OpenedProject, listed: Sequence[str]) -> tuple[RuleTree, tuple[str, ...]]:
    """Return the rule files of a project and its user by name, and the directories over the project.

    `listed` are the project's own rule files.
    """
    store = project.workspace.rule_store()
    user = str(Path(project.environment.get("HOME") or Path.home()))
    above = [str(place) for place in reversed(store.root.parents) if place != place.parent]
    if store.home is None:
        above = [place for place in above if place != user]
    home = "" if store.home is None else str(store.home)
    outside = discover_outside(home or None, (place for place in above if place != home))
    sources = (*find_sources(store, listed), *outside)
    return rule_tree(str(store.root), home, sources, _reader(bool(home))), tuple(above)


def _reader(with_home: bool) -> Callable[[RuleSource], bytes]:
    def read(source: RuleSource) -> bytes:
        if source.path.startswith("~/") and not with_home:
            raise FileNotFoundError(source.path)
        return read_source(source)

    return read


def read_settings(agent: str, tree: RuleTree) -> tuple[AgentSettings, tuple[str, ...]]:
    """Return what an agent's own settings change about what it loads, and notes about what is unreadable."""
    notes: list[str] = []
    if agent == "claude":
        return _claude_settings(tree, notes), tuple(notes)
    if agent == "codex":
        found = _read_toml(tree, "~/.codex/config.toml", notes)
        most = found.get("project_doc_max_bytes")
        return (
            AgentSettings(
                fallbacks=_names(found.get("project_doc_fallback_filenames")),
                most_bytes=most if isinstance(most, int) and most >= 0 else CODEX_BYTES,
            ),
            tuple(notes),
        )
    if agent == "gemini":
        for found in _read_all(tree, reversed(_GEMINI_SETTINGS), notes):
            context = found.get("context")
            given = context.get("fileName") if isinstance(context, dict) else None
            names = _names([given] if isinstance(given, str) else given)
            if names:
                return AgentSettings(names=names), tuple(notes)
    return AgentSettings(), tuple(notes)


def _claude_settings(tree: RuleTree, notes: list[str]) -> AgentSettings:
    excluded: list[str] = []
    mode = AgentSettings().instructions
    for found in _read_all(tree, _CLAUDE_SETTINGS, notes):
        given = found.get("claudeMdExcludes")
        excluded += [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        value: object = found
        for key in ("pluginConfigs", "agents-md@builtin", "options", "instructionFiles"):
            value = value.get(key) if isinstance(value, dict) else None
        if value in ("claude-md", "claude-md-or-agents-md", "claude-md-and-agents-md", "managed-only"):
            mode = str(value)
    return AgentSettings(excluded=tuple(excluded), instructions=mode)


def _names(given: object) -> tuple[str, ...]:
    """Return the names of files in a list; paths are left out."""
    listed = given if isinstance(given, list) else []
    return tuple(one for one in listed if isinstance(one, str) and one and "/" not in one and one != "..")


def _read_all(tree: RuleTree, names: Iterable[str], notes: list[str]) -> Iterator[Mapping[str, Any]]:
    from workbench.entry.install.jsonc import parse_jsonc

    for name in names:
        text = _setting_text(tree, name)
        if text is None:
            continue
        try:
            value = parse_jsonc(text).value
        except ParseError as error:
            notes.append(f"{name} is not read: {error.message}")
            continue
        if isinstance(value, dict):
            yield value


def _read_toml(tree: RuleTree, name: str, notes: list[str]) -> Mapping[str, Any]:
    import tomllib

    text = _setting_text(tree, name)
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        notes.append(f"{name} is not read: {error}")
        return {}


def _setting_text(tree: RuleTree, name: str) -> str | None:
    found = tree.find(name)
    return None if found is None else found.text


def effective_response(
    project: OpenedProject, book: Rulebook, listed: Sequence[str], agent: str, file: str, cwd: str
) -> EffectiveResponse:
    """Return the rule files that an agent loads for a file when it is started in `cwd`.

    `file` and `cwd` are relative to the project, `listed` are its rule files. Nothing is written.
    Raises: JournalError.
    """
    tree, above = agent_tree(project, listed)
    settings, notes = read_settings(agent, tree)
    order = load_order(agent, LoadCase(tree, file, cwd, above, settings))
    reports = count_reports(loaded_instructions(project, agent))
    rules = _rules_by_file(book)
    files = tuple(_file(project, tree, rules, reports, one) for one in order.loaded)
    moved, place = _MOVED.get(agent, ("", ""))
    if moved and project.environment.get(moved):
        notes = (*notes, f"{moved} is set: what is in there instead of {place} is not looked at")
    return EffectiveResponse(
        agent=agent,
        file=file,
        cwd=cwd,
        order=PRECEDENCE[agent].order,
        loaded=files,
        left_out=tuple(LeftOutFile(one.name, one.why) for one in order.left_out),
        tokens_at_start=sum(file.tokens for file in files if file.when is Activation.ALWAYS),
        tokens=sum(file.tokens for file in files if file.when in UNASKED),
        sessions=reports.sessions,
        unpredicted=reports.unpredicted_files(order),
        notes=(*notes, *PRECEDENCE[agent].notes),
    )


def _rules_by_file(book: Rulebook) -> Mapping[str, list[Rule]]:
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in book.rules:
        if rule.provenance is not None:
            for name in (rule.provenance.file, *rule.provenance.names):
                rules[name].append(rule)
    return rules


def _file(
    project: OpenedProject,
    tree: RuleTree,
    rules: Mapping[str, Sequence[Rule]],
    reports: LoadReports,
    one: LoadedFile,
) -> EffectiveFile:
    found = rules.get(one.name) or _rules_of(tree, one)
    lines = one.text.count("\n") + 1
    kept = [rule for rule in found if rule.provenance is not None and rule.provenance.line <= lines]
    return EffectiveFile(
        file=one.name,
        when=one.when,
        why=one.why,
        via=one.via,
        tokens=project.counter.count(one.text),
        cut=one.cut,
        seen=reports.files.get(one.name, 0) if reports.sessions else None,
        rules=tuple(
            EffectiveRule(rule.id, rule.provenance.line if rule.provenance else 0, rule.rule, rule.enabled)
            for rule in sorted(
                kept, key=lambda rule: (rule.provenance.line if rule.provenance else 0, rule.id)
            )
        ),
    )


def _rules_of(tree: RuleTree, one: LoadedFile) -> tuple[Rule, ...]:
    """Return the rules in a file that is not imported into the store, such as a managed one."""
    if one.name in tree.sources and not one.name.startswith(("/", "~/.copilot")):
        return ()  # known to the store, which has no rule of it
    return import_rules([one.found.source], tree.read).rules
