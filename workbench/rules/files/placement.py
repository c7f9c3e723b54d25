"""Which file of a target a rule from elsewhere goes to, and how that file says when the rule applies."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.records.rules import Activation, Authority, Level, Rule, context_names, path_globs
from workbench.rules.formats.families import drop_keys, head_for, same_reach
from workbench.rules.formats.frontmatter import Reach, Value
from workbench.rules.formats.managed import (
    ManagedEntry,
    Stated,
    managed_lines,
    managed_text,
    section_of,
    words_for,
)
from workbench.rules.formats.textfile import parse_file
from workbench.rules.globs import narrow, split_globs
from workbench.text.sanitize import visible_line

PREFIX = "workbench-"
_MAX_SLUG = 40
_MAX_DIRECTORY = 200
_DIRECTORY = re.compile(r"(?:[\w@+-][\w.@+ -]*/)+\*\*")
_FOREIGN = frozenset({"node_modules", "vendor", "third_party", "site-packages", "venv"})
_FOLLOWED = re.compile(r"(?<![\w`/.])@(?:~/|\.{0,2}/)?[\w.-]+(?:/[\w.-]+)*\.(?:md|mdc|txt|markdown)\b", re.I)


@dataclass(frozen=True, slots=True)
class Target:
    """An agent's rule files. `main` is its single file, `folder` where it reads one file for each reach.

    `families` are the formats that belong to it, `tools` the names rules are meant for it by. `nested` says
    that a file of the same name in a directory is for that directory.
    """

    families: frozenset[str]
    tools: frozenset[str]
    main: str = ""
    folder: str = ""
    ending: str = ".md"
    family: str = ""
    nested: bool = False


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TARGETS: Mapping[str, Target] = {
    "claude": Target(
        _names("claude claude-rules"),
        _names("claude claude-code"),
        "CLAUDE.md",
        ".claude/rules",
        family="claude-rules",
    ),
    "agents": Target(
        _names("agents"), _names("agents codex opencode amp jules zed aider"), "AGENTS.md", nested=True
    ),
    "gemini": Target(_names("gemini"), _names("gemini gemini-cli"), "GEMINI.md", nested=True),
    "copilot": Target(
        _names("copilot copilot-instructions"),
        _names("copilot github-copilot"),
        ".github/copilot-instructions.md",
        ".github/instructions",
        ".instructions.md",
        "copilot-instructions",
    ),
    "cursor": Target(
        _names("cursor cursorrules"), _names("cursor"), folder=".cursor/rules", ending=".mdc", family="cursor"
    ),
    "windsurf": Target(
        _names("windsurf windsurfrules"), _names("windsurf"), folder=".windsurf/rules", family="windsurf"
    ),
    "cline": Target(_names("cline"), _names("cline"), folder=".clinerules", family="cline"),
    "kiro": Target(_names("kiro"), _names("kiro"), folder=".kiro/steering", family="kiro"),
}


def target_name(given: str) -> str:
    """Return the target of a name: its own, or that of an agent that reads its files, such as `codex`."""
    if given in TARGETS:
        return given
    return next((name for name, target in sorted(TARGETS.items()) if given in target.tools), given)


@dataclass(frozen=True, slots=True)
class ManagedContent:
    """What the managed part of a file should hold. `head` is the front matter of a file that is made for it.

    `entries` are (rule id, entry) in the order they are written.
    """

    head: tuple[str, ...] = ()
    entries: tuple[tuple[str, ManagedEntry], ...] = ()
    notes: tuple[str, ...] = ()


def reach_of(rule: Rule) -> Reach:
    """Return when a rule applies, as far as files can say it."""
    globs = narrow(
        dict.fromkeys(
            portable(glob)
            for entry in path_globs(rule.scope)
            for glob in split_globs(" ".join(visible_line(entry).split()))
        )
    )
    activation = Activation.ALWAYS if rule.provenance is None else rule.provenance.activation
    if activation in (Activation.ALWAYS, Activation.PATHS):
        activation = Activation.PATHS if globs else Activation.ALWAYS
    description = rule.metadata.get("description", "")
    kept = rule.metadata.get("front_matter", {})
    return Reach(
        activation,
        globs,
        " ".join(visible_line(description).split()) if isinstance(description, str) else "",
        {key: _value(value) for key, value in kept.items()} if isinstance(kept, dict) else {},
    )


def portable(glob: str) -> str:
    """Return a glob the way all agents read it: a directory as all that is in it, without a leading slash."""
    negation = "!" if glob.startswith("!") else ""
    body = glob[len(negation) :].removeprefix("./")
    if body.startswith("/") and len(body) > 1:
        if body.endswith("/"):
            body += "**"
        if "/" in body[1:]:
            body = body.lstrip("/")
    body = re.sub(r"/\*\*/\*$", "/**", body)
    return negation + body


def _value(value: object) -> Value:
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)


def place(
    rules: Sequence[Rule],
    target: Target,
    files: Mapping[str, bytes],
    directories: Collection[str] | None = None,
) -> dict[str, ManagedContent]:
    """Return what the managed part of each file should hold, by path. `files` are those there are."""
    groups: dict[str, _Group] = {}
    by_path: dict[str, list[tuple[str, ManagedEntry]]] = defaultdict(list)
    order = sorted(rules, key=lambda rule: (-rule.priority, rule.id))
    heads: dict[str, tuple[str, ...]] = {}
    notes: dict[str, list[str]] = defaultdict(list)
    for rule in order:
        reach = reach_of(rule)
        key = _key(reach)
        if key not in groups:
            groups[key] = _group(reach, target, files, directories)
            heads.setdefault(groups[key].path, groups[key].head)
            notes[groups[key].path] += groups[key].notes
        group = groups[key]
        by_path[group.path].append((rule.id, _entry(rule, group.words)))
        notes[group.path] += _notes(rule, target)
    return {
        path: ManagedContent(
            heads[path], tuple(sorted(entries, key=_order)), tuple(dict.fromkeys(notes[path]))
        )
        for path, entries in sorted(by_path.items())
    }


@dataclass(frozen=True, slots=True)
class _Group:
    """Where rules of one reach go. `words` is their reach where the file itself can't say it."""

    path: str
    head: tuple[str, ...] = ()
    words: Reach | None = None
    notes: tuple[str, ...] = field(default=())


def _key(reach: Reach) -> str:
    return json.dumps([reach.activation.value, reach.globs, reach.description, sorted(reach.kept.items())])


def _group(
    reach: Reach, target: Target, files: Mapping[str, bytes], directories: Collection[str] | None
) -> _Group:
    always = reach.activation is Activation.ALWAYS
    spoken = None if always else replace(reach, kept={})
    single = _single_file(target, files)
    if single and (not target.folder or single == target.folder):
        nested = _directory(reach, directories) if target.nested else ""
        return _Group(f"{nested}/{single}") if nested else _Group(single, words=spoken)
    head = head_for(target.family, reach)
    if head is not None:
        carried = drop_keys(reach, head.lost)
        if single and always and not carried.kept:
            return _Group(single)
        path = _free_path(target, carried, files)
        lost = tuple(f"{path}: its format has no place for {key!r}" for key in head.lost)
        return _Group(path, head.lines, notes=lost)
    if single:
        return _Group(single, words=spoken)
    everywhere = Reach(Activation.ALWAYS)
    basis = head_for(target.family, everywhere)
    return _Group(_free_path(target, everywhere, files), basis.lines if basis else (), spoken)


def _single_file(target: Target, files: Mapping[str, bytes]) -> str:
    if target.folder in files:
        return target.folder  # `.clinerules` is a file here, not a folder
    other = ".claude/CLAUDE.md"
    if target.main == "CLAUDE.md" and target.main not in files and other in files:
        return other
    return target.main


def _directory(reach: Reach, directories: Collection[str] | None) -> str:
    """Return the one directory that a reach is about, '' if it is about anything else."""
    if reach.activation is not Activation.PATHS or len(reach.globs) != 1:
        return ""
    glob = reach.globs[0]
    directory = glob.removesuffix("/**")
    parts = directory.split("/")
    odd = any(part.startswith(".") or part != part.strip() or part in _FOREIGN for part in parts)
    if not _DIRECTORY.fullmatch(glob) or odd or len(directory) > _MAX_DIRECTORY:
        return ""
    return directory if directories is None or directory in directories else ""


def _free_path(target: Target, reach: Reach, files: Mapping[str, bytes]) -> str:
    """Return the file for a reach: ours if it is there, else a name that nobody has."""
    name = PREFIX + _slug(reach)
    number = 1
    while True:
        path = f"{target.folder}/{name}{f'-{number}' if number > 1 else ''}{target.ending}"
        if path not in files:
            return path
        lines = list(parse_file(files[path]).shown)
        if managed_lines(lines) is not None and same_reach(target.family, lines, reach):
            return path
        number += 1


def _slug(reach: Reach) -> str:
    """Return a name for files of a reach: its words, and a digest that identifies it."""
    if _key(reach) == _key(Reach(Activation.ALWAYS)):
        return "always"
    source = " ".join(reach.globs) or reach.description or reach.activation.value
    words = "-".join(re.findall(r"[a-z0-9]+", source.lower().encode("ascii", "ignore").decode()))
    digest = hashlib.sha256(_key(reach).encode()).hexdigest()[:8]
    short = words[:_MAX_SLUG].strip("-")
    return f"{short}-{digest}" if short else f"{reach.activation.value}-{digest}"


def _entry(rule: Rule, words: Reach | None) -> ManagedEntry:
    section = () if rule.provenance is None else rule.provenance.section
    lead = rule.metadata.get("lead", "")
    parts = (*section, lead) if isinstance(lead, str) else section
    return ManagedEntry(managed_text(rule.rule), section_of(parts), Stated(rule.authority, words))


def _order(item: tuple[str, ManagedEntry]) -> tuple[bool, tuple[str, ...], str]:
    return entry_order(item[1])


def entry_order(entry: ManagedEntry) -> tuple[bool, tuple[str, ...], str]:
    """Return what entries of a managed part are sorted by; equal ones keep the order they come in."""
    words = words_for(entry.stated.reach) if entry.stated.reach else ""
    return entry.stated.authority is not Authority.ABSOLUTE, entry.section, words


def limits_of(rule: Rule) -> list[str]:
    """Return what limits a rule and no file can say: names, facts, its level, its cooldown."""
    names = context_names(rule.scope)
    facts = ", ".join(f"{name}={_fact(value)}" for name, value in sorted(rule.conditions.items()))
    narrow_level = rule.level is Level.STEP or (rule.level is Level.SCENARIO and not path_globs(rule.scope))
    found = [
        f"the scope {', '.join(map(visible_line, names))}" if names else "",
        f"the condition {visible_line(facts)}" if facts else "",
        f"the level {rule.level}" if narrow_level else "",
        f"the cooldown of {rule.cooldown} s" if rule.cooldown else "",
    ]
    return [limit for limit in found if limit]


def _fact(value: object) -> str:
    return "|".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _notes(rule: Rule, target: Target) -> list[str]:
    """Return what people should know about a rule in these files."""
    limits = limits_of(rule)
    notes = []
    if limits:
        notes.append(f"rule {rule.id}: the file cannot say {', '.join(limits)}, and it holds there without")
    if rule.rule.strip() and managed_text(rule.rule) != rule.rule:
        notes.append(f"rule {rule.id}: control characters are shown, spaces at line ends left out")
    if target.main in ("CLAUDE.md", "GEMINI.md") and _FOLLOWED.search(rule.rule):
        notes.append(f"rule {rule.id}: the agent follows the @path in it and reads that file")
    return notes
