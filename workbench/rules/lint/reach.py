"""Whether rule files reach anybody: globs, keys of front matter, files that nobody loads, secrets, sizes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from workbench.records.rules import Activation
from workbench.rules.curation.versions import ORDERS, is_held_back
from workbench.rules.formats.families import BY_NAME
from workbench.rules.formats.frontmatter import globs_of
from workbench.rules.globs import anchor, compile_globs
from workbench.rules.lint.findings import MOST_SHOWN, LintFinding, LintKind, LintProject
from workbench.rules.precedence.agents import PRECEDENCE
from workbench.rules.precedence.cases import LoadCase
from workbench.rules.precedence.effective import LoadOrder, load_order
from workbench.rules.precedence.tree import RuleText
from workbench.text.counts import plural
from workbench.text.redact import find_secrets
from workbench.text.sanitize import shorten
from workbench.text.secret_values import is_random

MOST_FILE_TOKENS: Final = 10_000
"""Claude Code itself warns of a file of more than 40,000 characters, which are as many tokens."""

MOST_SESSION_TOKENS: Final = 20_000
_MOST_CASES: Final = 400

_KEYS: Final = {
    "claude-rules": ("Claude Code", "paths", ("globs", "applyTo", "alwaysApply", "trigger")),
    "cursor": ("Cursor", "globs", ("paths", "applyTo", "trigger", "inclusion")),
    "copilot-instructions": ("Copilot", "applyTo", ("globs", "paths", "alwaysApply", "trigger")),
}
"""Formats with the agent that reads them, its key of globs, and keys that mean something to others only."""

_LOOKALIKES: Final = (
    (re.compile(r"(?>(?:.+?/)??\.cursor/rules/).+\.md").fullmatch, "Cursor reads only .mdc in there", ".mdc"),
    (
        re.compile(r"(?>(?:.+?/)??\.claude/rules/).+\.(?:mdc|txt)").fullmatch,
        "Claude Code reads only .md in there",
        ".md",
    ),
    (
        re.compile(r"(?>(?:.+?/)??\.github/instructions/).+(?<!\.instructions)\.md").fullmatch,
        "Copilot reads only .instructions.md in there",
        ".instructions.md",
    ),
)
_ANNOUNCED: Final = frozenset({"password", "secret", "token"})  # by a name before them, not by their form
_LEAST_SECRET: Final = 16
_ENDING: Final = re.compile(r"\*\.[\w.{},]+$|^\*\*/(?=\*\.[\w.{},]+$)")
_IDENTIFIER: Final = re.compile(r"\W*+[A-Za-z]+(?:[_-][A-Za-z]*\d*)++\W*")
_README: Final = re.compile(r"(?:^|/)(?:README|CHANGELOG|LICENSE|INDEX)\b", re.IGNORECASE)


def dead_globs(project: LintProject) -> Iterator[LintFinding]:
    """Find globs that match no listed file, nor anything that is there."""
    for name, found in project.texts:
        family = BY_NAME.get(found.source.format)
        if family is None or not family.keys or name.startswith(("~/", "/")):
            continue
        if found.reach.activation not in (Activation.PATHS, Activation.REQUESTED):
            continue
        keys = family.keys if family.name not in _KEYS else _KEYS[family.name][1:2]
        globs = globs_of(found.front, *keys)
        wanted = [glob for glob in globs if not glob.startswith("!")]
        dead = [glob for glob in wanted if not _is_alive(project, found, glob)]
        line = next((found.front.lines[key] for key in keys if key in found.front.lines), 1)
        all_dead = len(dead) == len(wanted)
        for glob in dead:
            stem = _ENDING.sub("", glob)
            if any(_ENDING.sub("", other) == stem for other in wanted if other not in dead):
                continue  # an ending of a language whose other files are there: such a file may come
            if all_dead:
                step = "Correct the glob, or remove the file: nothing brings its rules."
            else:
                step = "Remove the glob, or correct it."
            message = f"the glob {glob} matches no file"
            yield LintFinding(LintKind.DEAD_GLOB, name, line, message, step, glob)


def _is_alive(project: LintProject, found: RuleText, glob: str) -> bool:
    spec = compile_globs((anchor(glob, found.source.directory),))
    if any(spec.match_file(path) for path in project.paths):
        return True
    plain = re.split(r"[*?\[{]", glob.removeprefix("./"), maxsplit=1)[0].strip("/")
    place = posixpath.join(found.source.directory, plain)
    return bool(plain) and (project.ignored(place) or (plain == glob.strip("/") and project.exists(place)))


def foreign_keys(project: LintProject) -> Iterator[LintFinding]:
    """Find front matter whose key of globs is that of another agent, so that it limits nothing."""
    for name, found in project.texts:
        agent, key, others = _KEYS.get(found.source.format, ("", "", ()))
        if not agent or key in found.front.fields:
            continue
        if agent == "Cursor" and found.front.flag("alwaysApply"):
            continue
        for other in others:
            if found.front.text(other):
                yield LintFinding(
                    LintKind.FOREIGN_KEY,
                    name,
                    found.front.lines[other],
                    f"{agent} does not read `{other}`",
                    f"Write `{key}`, with the globs that limit the file.",
                    other,
                )
                break


def front_matter(project: LintProject) -> Iterator[LintFinding]:
    """Find front matter that is read otherwise than it is meant."""
    for name, found in project.texts:
        if found.source.format not in BY_NAME or not BY_NAME[found.source.format].keys:
            continue
        for line, message in found.front.warnings:
            yield LintFinding(LintKind.FRONT_MATTER, name, line, message, "Correct the line.", str(line))


def secrets(project: LintProject) -> Iterator[LintFinding]:
    """Find secrets; their values are in no finding."""
    for name, found in project.texts:
        for secret in find_secrets(found.text):
            value = found.text[secret.start : secret.end]
            if secret.kind in _ANNOUNCED and (
                len(value) < _LEAST_SECRET or _IDENTIFIER.fullmatch(value) or not is_random(value)
            ):
                continue  # password='pass' of an example
            yield LintFinding(
                LintKind.SECRET,
                name,
                secret.line,
                f"a secret is written here ({secret.kind})",
                "Revoke it, and name the variable that holds it instead.",
                f"{secret.kind} {secret.line}",
            )


def orders(project: LintProject) -> Iterator[LintFinding]:
    """Find rules that order the assistant about; those that a person enabled since are meant."""
    for rule in project.rules:
        if is_held_back(rule) and rule.provenance is not None:
            yield LintFinding(
                LintKind.ORDER,
                rule.provenance.file,
                rule.provenance.line,
                f"is out of force, being an order to the assistant ({', '.join(rule.metadata[ORDERS])}): "
                + shorten(rule.rule, MOST_SHOWN),
                f"Take it out of the file, or `workbench rules enable {rule.id[:13]}` if it is meant.",
                rule.id,
            )


def unreadable(project: LintProject) -> Iterator[LintFinding]:
    """Find rule files that cannot be read."""
    for name in sorted(project.files):
        if project.tree.find(name) is None and name in project.tree.refused:
            message = f"it {project.tree.refused[name]}"
            step = "Replace it by a text file of the project."
            yield LintFinding(LintKind.UNREADABLE, name, 0, message, step)


def never_loaded(project: LintProject) -> Iterator[LintFinding]:
    """Find files that are named nearly like rule files, and those that each agent leaves out everywhere."""
    for path in project.paths:
        for matches, why, ending in _LOOKALIKES:
            if matches(path) and not _README.search(path):
                step = f"Rename it so that it ends in {ending}."
                yield LintFinding(LintKind.NEVER_LOADED, path, 0, why, step)
    families = {family for precedence in PRECEDENCE.values() for family in precedence.families}
    for name, found in islice(project.texts, _MOST_CASES):
        if found.source.format not in families or not found.text.strip():
            continue
        sample = sample_path(project, found)
        if sample is None:
            continue
        orders = [order_for(project, agent, sample, _start(found)) for agent in PRECEDENCE]
        if any(one.name == name for order in orders for one in order.loaded):
            continue
        reasons = (one.why for order in orders for one in order.left_out if one.name == name)
        message = f"none of {', '.join(one.title for one in PRECEDENCE.values())} loads it"
        reason = next((f": {why}" for why in reasons), "")
        step = "Move its rules into a file that is loaded, or remove it."
        yield LintFinding(LintKind.NEVER_LOADED, name, 0, f"{message}{reason}", step)


def _start(found: RuleText) -> str:
    return "" if found.source.home else found.source.directory


def sample_path(project: LintProject, found: RuleText) -> str | None:
    """Return a path that a rule file is for, None for one whose globs match nothing."""
    directory = "" if found.source.home else found.source.directory
    if not found.globs:
        return f"{directory}/-" if directory else "-"
    spec = compile_globs(found.globs)
    return next((path for path in project.paths if spec.match_file(path)), None)


def order_for(project: LintProject, agent: str, file: str, cwd: str = "") -> LoadOrder:
    """Return what an agent loads for a file of the project, with the settings that it comes with."""
    return load_order(agent, LoadCase(project.tree, file, cwd, project.above))


def sizes(project: LintProject) -> Iterator[LintFinding]:
    """Find files and sessions with very many tokens, and files that an agent cuts."""
    counts: dict[str, int] = {}

    def tokens(name: str, text: str) -> int:
        if name not in counts:
            counts[name] = project.count_tokens(text)
        return counts[name]

    for name, found in project.texts:
        if found.size > MOST_FILE_TOKENS and tokens(name, found.text) > MOST_FILE_TOKENS:
            message = f"it has {plural(tokens(name, found.text), 'token')}"
            step = "Split it by path, or move what only some tasks need into files that they name."
            yield LintFinding(LintKind.LARGE_FILE, name, 0, message, step)
    for agent, precedence in PRECEDENCE.items():
        order = order_for(project, agent, "-")
        start = [one for one in order.loaded if one.when is Activation.ALWAYS]
        for one in start:
            if one.cut and one.name in project.files:
                message = f"{precedence.title} reads only its first {len(one.text.encode()):,} bytes"
                step = "Shorten the files it loads before this one, or this one."
                yield LintFinding(LintKind.CUT, one.name, 0, message, step, agent)
        total = sum(tokens(one.name, one.text) for one in start)
        mine = [one for one in start if one.name in project.files]
        if total > MOST_SESSION_TOKENS and mine:
            largest = max(mine, key=lambda one: (tokens(one.name, one.text), one.name))
            size = f"{plural(total, 'token')} of {plural(len(start), 'file')}"
            message = f"{precedence.title} begins every session with {size}"
            step = "Limit rules to the paths they are about."
            yield LintFinding(LintKind.LARGE_SESSION, largest.name, 0, message, step, agent)


def shown_agents(agents: Sequence[str]) -> str:
    """Return agents by their names for people."""
    return ", ".join(PRECEDENCE[agent].title for agent in agents)
