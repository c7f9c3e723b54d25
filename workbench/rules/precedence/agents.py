"""How each coding agent loads rule files, as its documentation says: from where, when, and in which order.

Claude Code: its pages on memory, settings and hooks, and the notes of release 2.1.277 (AGENTS.md). Codex: its
guide to AGENTS.md. Cursor: its page on rules. Copilot: the pages on custom instructions of its command-line
agent and of VS Code. Gemini CLI: its pages on GEMINI.md and on imports. Where a page is silent, files come in
the order of their paths.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from workbench.records.rules import Activation
from workbench.rules.globs import first_match
from workbench.rules.precedence.cases import (
    CLAUDE,
    LoadCase,
    LoadStep,
    Steps,
    directory_chain,
    directory_name,
    name_in,
    shown_globs,
)
from workbench.rules.precedence.tree import RuleText, RuleTree

MANAGED: Final = ("/etc/claude-code/CLAUDE.md", "/Library/Application Support/ClaudeCode/CLAUDE.md")
"""Where an organization puts what Claude Code reads first, on Linux and on macOS."""

IMPORT_DEPTH: Final = 5
_LOCAL: Final = "CLAUDE.local.md"
_COPILOT: Final = (
    ".github/copilot-instructions.md",
    "AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
)


@dataclass(frozen=True, slots=True)
class AgentPrecedence:
    """An agent: its name for people, how it loads, and what holds where its files disagree.

    `families` are the formats it looks for, `imports` says whether `@path` lines pull files in, and of which
    endings: any, or texts only.
    """

    title: str
    load: Callable[[LoadCase], Steps]
    order: str
    families: tuple[str, ...]
    imports: bool = False
    any_import: bool = False
    notes: tuple[str, ...] = ()


def _claude(case: LoadCase) -> Steps:
    tree = case.tree
    if case.settings.instructions != "managed-only":
        steps = [*_claude_user(case), *_claude_project(case)]
    else:
        steps = []
    for name in MANAGED:
        if tree.find(name) is not None:
            yield LoadStep(name, why="managed by the organization")
    for step in steps:
        shut = _exclusion_reason(case, step.name)
        yield LoadStep(step.name, step.when, step.why, shut) if shut else step


def _exclusion_reason(case: LoadCase, name: str) -> str:
    location = name if name.startswith("/") else posixpath.join(case.tree.root, name)
    if name.startswith("~/"):
        location = posixpath.join(case.tree.home, name[2:])
    hit = case.settings.excluded and first_match(case.settings.excluded, [location.lstrip("/")])
    return "claudeMdExcludes in its settings names it" if hit else ""


def _claude_user(case: LoadCase) -> Steps:
    yield LoadStep("~/.claude/CLAUDE.md", why="the user's own")
    for name in case.tree.names("claude-rules", below="~/"):
        if _claude_globs(case.tree.find(name)):
            said = "`paths` in the user's own rules keeps them from being loaded at all"
            yield LoadStep(name, Activation.PATHS, left_out=said)
        else:
            yield LoadStep(name, why="the user's own rules")


def _claude_project(case: LoadCase) -> Steps:
    tree, mode = case.tree, case.settings.instructions
    places = [*case.above, *case.started]
    has_own = any(
        tree.find(name_in(place, name)) for place in places for name in (*case.claude_names(place), _LOCAL)
    )
    with_agents = mode == "claude-md-and-agents-md" or (mode == "claude-md-or-agents-md" and not has_own)
    refusal = {
        "claude-md": "its settings ask for CLAUDE.md alone",
        "claude-md-or-agents-md": "there is a CLAUDE.md, and AGENTS.md is read only where there is none",
    }
    for place in places:
        why = f"in {directory_name(place)}"
        yield from (LoadStep(name_in(place, name), why=why) for name in case.claude_names(place))
        for name in ("AGENTS.md", ".claude/AGENTS.md"):
            yield LoadStep(name_in(place, name), why=why, left_out="" if with_agents else refusal[mode])
        for name in _claude_rules(case, place):
            if not _claude_globs(tree.find(name)):
                yield LoadStep(name, why=why)
        yield LoadStep(name_in(place, _LOCAL), why=why)
    for place in case.nested:
        why = f"when a file in {place} is read"
        yield from (LoadStep(name_in(place, name), Activation.PATHS, why) for name in (*CLAUDE, _LOCAL))
        claimed = mode != "claude-md-and-agents-md" and any(
            tree.find(name_in(place, name)) for name in CLAUDE
        )
        left = "" if with_agents else refusal[mode]
        left = f"there is a CLAUDE.md in {place}" if claimed and not left else left
        yield LoadStep(name_in(place, "AGENTS.md"), Activation.PATHS, why, left)
    for place in (*case.started, *case.nested):
        for name in _claude_rules(case, place):
            found = tree.find(name)
            globs = _claude_globs(found)
            if globs and found is not None:
                left = "" if found.matches(case.file) else f"its paths are {shown_globs(globs)}"
                yield LoadStep(name, Activation.PATHS, "its `paths` match", left)
            elif place in case.nested:
                yield LoadStep(name, Activation.PATHS, f"when a file in {place} is read")


def _claude_rules(case: LoadCase, place: str) -> list[str]:
    if place and place == case.tree.home:
        return []
    return list(case.tree.names("claude-rules", below=name_in(place, ".claude/rules/")))


def _claude_globs(found: RuleText | None) -> tuple[str, ...]:
    """Return the globs that Claude Code reads: those of `paths`, no other key."""
    return found.globs if found is not None and "paths" in found.front.fields else ()


def _codex(case: LoadCase) -> Steps:
    tree = case.tree
    own = ("~/.codex/AGENTS.override.md", "~/.codex/AGENTS.md")
    yield from _first(tree, own, "the user's own")
    left = case.settings.most_bytes
    names = ("AGENTS.override.md", "AGENTS.md", *case.settings.fallbacks)
    for place in case.started:
        for step in _first(tree, [name_in(place, name) for name in names], f"in {directory_name(place)}"):
            found = tree.find(step.name)
            if step.left_out or found is None:
                yield step
            elif not left:
                limit = case.settings.most_bytes
                yield LoadStep(
                    step.name, left_out=f"those before it have all of the {limit:,} bytes it takes"
                )
            else:
                yield LoadStep(step.name, step.when, step.why, most=left)
                left -= min(left, found.size)
    for place in case.nested:
        for name in names[:2]:
            yield LoadStep(
                name_in(place, name), left_out="it is loaded only by a session that starts in there"
            )


def _first(tree: RuleTree, names: list[str] | tuple[str, ...], why: str) -> Steps:
    """Yield the first of several files that says something, the others with who came first."""
    taken = ""
    for name in names:
        found = tree.find(name)
        if found is not None and taken:
            yield LoadStep(name, left_out=f"{taken} is read in its place")
        elif found is not None and found.text.strip():
            taken = name
            yield LoadStep(name, why=why)


def _cursor(case: LoadCase) -> Steps:
    tree = case.tree
    chain = directory_chain(posixpath.dirname(case.file))
    later: list[LoadStep] = []
    for place in chain:
        for name in tree.names("cursor", below=name_in(place, ".cursor/rules/")):
            found = tree.find(name)
            if found is None:
                continue
            always = found.reach.activation is Activation.ALWAYS and not place
            if found.reach.activation is Activation.ALWAYS:
                why = "alwaysApply" if always else f"when a file in {place} is read"
                yield LoadStep(name, Activation.ALWAYS if always else Activation.PATHS, why)
            elif found.reach.activation is Activation.PATHS:
                left = "" if found.matches(case.file) else f"its globs are {shown_globs(found.globs)}"
                later.append(LoadStep(name, Activation.PATHS, "its globs match", left))
            elif found.reach.activation is Activation.REQUESTED:
                later.append(LoadStep(name, Activation.REQUESTED, "if its description fits the task"))
            else:
                later.append(LoadStep(name, Activation.MANUAL, "if the user names it"))
    yield from sorted(later, key=lambda step: list(Activation).index(step.when))
    yield LoadStep("AGENTS.md", why="in the root")
    for place in chain[1:]:
        yield LoadStep(name_in(place, "AGENTS.md"), Activation.PATHS, f"when a file in {place} is read")
    yield LoadStep(".cursorrules", why="in the root, the format before .cursor/rules")


def _copilot(case: LoadCase) -> Steps:
    yield from _once(case, _copilot_files(case))


def _once(case: LoadCase, steps: Steps) -> Steps:
    """Yield steps, those left out whose text was loaded before."""
    known: dict[str, str] = {}
    for step in steps:
        found = case.tree.find(step.name)
        if found is not None and not step.left_out and found.text.strip():
            digest = hashlib.sha256(found.text.encode("utf-8", "surrogatepass")).hexdigest()
            first = known.setdefault(digest, step.name)
            if first != step.name:
                yield LoadStep(step.name, step.when, step.why, f"it says the same as {first}")
                continue
        yield step


def _copilot_files(case: LoadCase) -> Steps:
    yield LoadStep("~/.copilot/copilot-instructions.md", why="the user's own")
    yield from (LoadStep(name, why="in the root") for name in _COPILOT)
    yield from _instructions(case, ".github/instructions/")
    yield from _instructions(case, "~/.copilot/instructions/")
    for place in case.started[1:]:
        yield from (LoadStep(name_in(place, name), why=f"in {place}") for name in _COPILOT)
        yield from _instructions(case, name_in(place, ".github/instructions/"))
    for place in case.nested:
        why = f"when a file in {place} is read"
        yield from (LoadStep(name_in(place, name), Activation.PATHS, why) for name in _COPILOT)
        yield from _instructions(case, name_in(place, ".github/instructions/"))


def _instructions(case: LoadCase, folder: str) -> Steps:
    for name in case.tree.names("copilot-instructions", below=folder):
        found = case.tree.find(name)
        if found is None:
            continue
        if "applyTo" not in found.front.fields:
            yield LoadStep(name, Activation.REQUESTED, "if its description fits the task")
        elif found.matches(case.file):
            yield LoadStep(name, Activation.PATHS, "its applyTo matches")
        else:
            yield LoadStep(name, Activation.PATHS, left_out=f"its applyTo is {shown_globs(found.globs)}")


def _gemini(case: LoadCase) -> Steps:
    names = case.settings.names
    yield from (LoadStep(f"~/.gemini/{name}", why="the user's own") for name in names)
    for place in case.started:
        yield from (LoadStep(name_in(place, name), why=f"in {directory_name(place)}") for name in names)
    for place in case.nested:
        why = f"when a file in {place} is read"
        yield from (LoadStep(name_in(place, name), Activation.PATHS, why) for name in names)


PRECEDENCE: Final[Mapping[str, AgentPrecedence]] = {
    "claude": AgentPrecedence(
        "Claude Code",
        _claude,
        "all are read; what comes later is more specific and meant to win",
        ("claude", "claude-rules", "agents"),
        imports=True,
        any_import=True,
    ),
    "codex": AgentPrecedence("Codex", _codex, "later files override earlier ones", ("agents",)),
    "cursor": AgentPrecedence(
        "Cursor",
        _cursor,
        "team rules come before project rules and those before user rules; of AGENTS.md the nearest wins",
        ("cursor", "cursorrules", "agents"),
        notes=("rules of Cursor's settings and of its dashboard are in no file, and not shown",),
    ),
    "copilot": AgentPrecedence(
        "Copilot",
        _copilot,
        "all are read; which one wins where they disagree is not determined",
        ("copilot", "copilot-instructions", "agents", "claude", "gemini"),
        notes=("instructions of an organization are in no file, and not shown",),
    ),
    "gemini": AgentPrecedence(
        "Gemini CLI", _gemini, "later files are more specific", ("gemini",), imports=True
    ),
}
"""The agents by name, as `--agent` takes them."""
