"""The formats of rule files: how each is called, where it lives, how its head is read and how it is written.

A head is the front matter that says when the rules of a file apply. Reading and writing of a format are side
by side here: what is written is read back before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from workbench.records.dataclass import dataclass
from workbench.records.rules import Activation
from workbench.rules.formats.frontmatter import (
    FrontMatter,
    Reach,
    Value,
    field_lines,
    globs_of,
    quote_text,
    reach,
    read_front_matter,
    scalar,
)
from workbench.text.sanitize import visible_line

Reader = Callable[[FrontMatter], Reach]
Writer = Callable[[Reach], list[str] | None]
"""Gives the lines of a head, None where the format cannot say such a reach."""

_WINDSURF = {
    Activation.ALWAYS: "always_on",
    Activation.PATHS: "glob",
    Activation.REQUESTED: "model_decision",
    Activation.MANUAL: "manual",
}
_KIRO = {
    Activation.ALWAYS: "always",
    Activation.PATHS: "fileMatch",
    Activation.REQUESTED: "auto",
    Activation.MANUAL: "manual",
}


def _read_plain(front: FrontMatter) -> Reach:
    """Files without a head of their own always apply; any front matter is kept and means nothing."""
    return reach(front, Activation.ALWAYS, (), ())


def _by_globs(*keys: str) -> Reader:
    """Claude Code and Cline: a list of globs; without it the rules always apply."""
    return lambda front: reach(front, Activation.PATHS, globs_of(front, *keys), keys)


def _by_word(key: str, words: Mapping[Activation, str], default: Activation, glob_key: str) -> Reader:
    """Windsurf and Kiro: a word says how the rules are activated; `default` is for an unknown one."""
    known = {word.lower(): activation for activation, word in words.items()}

    def read(front: FrontMatter) -> Reach:
        activation = known.get(front.text(key).strip().lower(), default)
        globs = globs_of(front, glob_key) if activation is not Activation.ALWAYS else ()
        return reach(front, activation, globs, (key, glob_key))

    return read


def _read_copilot(front: FrontMatter) -> Reach:
    """Without `applyTo` an instruction file is used when its description fits."""
    globs = globs_of(front, "applyTo")
    return reach(front, Activation.PATHS if globs else Activation.REQUESTED, globs, ("applyTo",))


def _read_cursor(front: FrontMatter) -> Reach:
    """A Cursor rule is always on, attached by globs, asked for, or only by name."""
    globs = globs_of(front, "globs")
    if front.flag("alwaysApply"):
        activation, globs = Activation.ALWAYS, ()
    elif globs:
        activation = Activation.PATHS
    elif front.text("description") or not front.fields:
        activation = Activation.REQUESTED
    else:
        activation = Activation.MANUAL
    return reach(front, activation, globs, ("globs", "alwaysApply"))


def _description(reach: Reach) -> list[str]:
    return [f"description: {scalar(visible_line(reach.description))}"] if reach.description else []


def _write_paths(reach: Reach) -> list[str] | None:
    if reach.activation in (Activation.REQUESTED, Activation.MANUAL):
        return None
    listed = ["paths:", *(f"  - {quote_text(glob)}" for glob in reach.globs)] if reach.globs else []
    return [*_description(reach), *listed]


def _write_cursor(reach: Reach) -> list[str]:
    described = "" if reach.activation is Activation.MANUAL else scalar(visible_line(reach.description))
    return [
        f"description: {described}".rstrip(),
        f"globs: {','.join(reach.globs)}".rstrip(),
        f"alwaysApply: {'true' if reach.activation is Activation.ALWAYS else 'false'}",
    ]


def _write_copilot(reach: Reach) -> list[str] | None:
    if reach.activation is Activation.MANUAL or (reach.activation is Activation.REQUESTED and reach.globs):
        return None
    if reach.activation is Activation.REQUESTED:
        return _description(reach)
    listed = quote_text(",".join(reach.globs) or "**", "'")
    return [*_description(reach), f"applyTo: {listed}"]


def _write_windsurf(reach: Reach) -> list[str]:
    globs = [f"globs: {','.join(reach.globs)}"] if reach.globs else []
    return [f"trigger: {_WINDSURF[reach.activation]}", *_description(reach), *globs]


def _write_kiro(reach: Reach) -> list[str]:
    lines = [f"inclusion: {_KIRO[reach.activation]}", *_description(reach)]
    globs = ", ".join(quote_text(glob) for glob in reach.globs)
    if globs:
        lines.append(f"fileMatchPattern: {globs if len(reach.globs) == 1 else f'[{globs}]'}")
    return lines


@dataclass(frozen=True, slots=True)
class Family:
    """A format. `matches` says whether a project-relative path is of it; `dir` is what the rules are for.

    `keys` are those that its front matter defines, the one of its globs first; others are carried along. A
    format without a head has none and no `write`.
    """

    name: str
    matches: Callable[[str], re.Match[str] | None]
    read: Reader = _read_plain
    write: Writer | None = None
    keys: tuple[str, ...] = ()


def _family(
    name: str,
    path: str,
    read: Reader = _read_plain,
    write: Writer | None = None,
    keys: str = "",
    *,
    rest: str = "",
) -> Family:
    """`rest` is what follows the first folder of the name `path`."""
    whole = rf"(?:(?P<dir>.+?)/)??{path}"
    pattern = re.compile(f"(?>{whole}){rest}" if rest else whole)
    return Family(name, pattern.fullmatch, read, write, tuple(keys.split()))


FAMILIES = (
    _family("claude", r"(?:\.claude/)?CLAUDE(?:\.local)?\.md"),
    _family("agents", r"AGENTS?(?:\.override)?\.md"),
    _family("gemini", r"GEMINI\.md"),
    _family("cursorrules", r"\.cursorrules"),
    _family("windsurfrules", r"\.windsurfrules"),
    _family("copilot", r"\.github/copilot-instructions\.md"),
    _family(
        "claude-rules",
        r"\.claude/rules/",
        _by_globs("paths", "globs"),
        _write_paths,
        "paths globs",
        rest=r".+\.md",
    ),
    _family("cursor", r"\.cursor/rules/", _read_cursor, _write_cursor, "globs alwaysApply", rest=r".+\.mdc"),
    _family(
        "copilot-instructions",
        r"\.github/instructions/",
        _read_copilot,
        _write_copilot,
        "applyTo",
        rest=r".+\.instructions\.md",
    ),
    _family(
        "windsurf",
        r"\.windsurf/rules/",
        _by_word("trigger", _WINDSURF, Activation.PATHS, "globs"),
        _write_windsurf,
        "globs trigger",
        rest=r".+\.md",
    ),
    _family(
        "cline",
        r"\.clinerules(?![^/])",
        _by_globs("paths"),
        _write_paths,
        "paths",
        rest=r"(?:/.+\.(?:md|txt))?",
    ),
    _family(
        "kiro",
        r"\.kiro/steering/",
        _by_word("inclusion", _KIRO, Activation.ALWAYS, "fileMatchPattern"),
        _write_kiro,
        "fileMatchPattern inclusion",
        rest=r".+\.md",
    ),
)
# Every pattern needs one of these; most paths of a project hold none.
_HINT = re.compile(r"CLAUDE|AGENT|GEMINI|\.(?:claude|clinerules|cursor|github|kiro|windsurf)")
BY_NAME = {family.name: family for family in FAMILIES}
IMPORTING = frozenset({"claude", "gemini"})  # formats in which `@path` pulls in another file


def family_of(path: str) -> tuple[Family, str] | None:
    """Return the format of a project-relative path and the directory its rules are for, or None."""
    if not _HINT.search(path):
        return None
    for family in FAMILIES:
        match = family.matches(path)
        if match:
            return family, match.group("dir") or ""
    return None


def reader_of(name: str, path: str) -> Reader:
    """Return how the head of a file is read: by its format's name, else by its ending, else as plain text."""
    if name in BY_NAME:
        return BY_NAME[name].read
    if path.endswith(".mdc"):
        return _read_cursor
    if path.endswith(".instructions.md"):
        return _read_copilot
    return _read_plain


@dataclass(frozen=True, slots=True)
class Head:
    """The lines of a file's front matter, none if it needs none. `lost` are the keys it can't carry."""

    lines: tuple[str, ...]
    lost: tuple[str, ...] = ()


def head_for(family: str, reach: Reach) -> Head | None:
    """Return the front matter by which files of a format say when their rules apply.

    None if the format can't say it, so that it has to be said in words. Whatever comes back is read by the
    format's own reader as the same activation and globs.
    """
    write = BY_NAME[family].write
    lines = None if write is None else write(reach)
    if lines is None:
        return None
    kept = _carried_keys(family, reach.kept)
    head = _head(lines, kept)
    read = _read(family, head)
    if (read.activation, read.globs) != (reach.activation, reach.globs):
        return None
    lost = [key for key in reach.kept if read.kept.get(key) != reach.kept[key]]
    if lost:
        head = _head(lines, {key: value for key, value in kept.items() if key not in lost})
    if read.description != reach.description:
        lost.append("description")
    return Head(head, tuple(lost))


def same_reach(family: str, lines: list[str], reach: Reach) -> bool:
    """Whether a file's head says that its rules apply when `reach` says, descriptions included."""
    head = head_for(family, reach)
    if head is None:
        return False
    wanted = _read(family, head.lines)
    return BY_NAME[family].read(read_front_matter(lines)) == wanted


def drop_keys(reach: Reach, lost: Collection[str]) -> Reach:
    """Return a reach without the keys that a format has no place for."""
    kept = {key: value for key, value in reach.kept.items() if key not in lost}
    return replace(reach, kept=kept, description="" if "description" in lost else reach.description)


def _read(family: str, head: tuple[str, ...]) -> Reach:
    return BY_NAME[family].read(read_front_matter(list(head)))


def _head(own: list[str], kept: Mapping[str, Value]) -> tuple[str, ...]:
    lines = [*own]
    for key, value in kept.items():
        lines += field_lines(key, value if isinstance(value, str) else tuple(map(visible_line, value)))
    return ("---", *lines, "---") if lines else ()


def _carried_keys(family: str, kept: Mapping[str, Value]) -> dict[str, Value]:
    return {
        key: value
        for key, value in kept.items()
        if key not in BY_NAME[family].keys and key != "description" and key.replace("-", "_").isidentifier()
    }
