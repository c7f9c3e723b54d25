"""The front matter of rule files that the workbench writes: when rules apply, in the words of each format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from workbench.records.rules import Activation
from workbench.rules.formats.families import BY_NAME
from workbench.rules.formats.frontmatter import Value, read_front_matter
from workbench.rules.formats.reach import Reach
from workbench.rules.formats.scalars import quoted, scalar
from workbench.text.sanitize import visible_line

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
# What a format's front matter defines; other keys are carried along as they are.
_DEFINED = {
    "claude-rules": {"paths", "globs"},
    "cursor": {"globs", "alwaysApply"},
    "copilot-instructions": {"applyTo"},
    "windsurf": {"trigger", "globs"},
    "cline": {"paths"},
    "kiro": {"inclusion", "fileMatchPattern"},
}
GLOB_KEYS = {
    "claude-rules": "paths",
    "cursor": "globs",
    "copilot-instructions": "applyTo",
    "windsurf": "globs",
    "cline": "paths",
    "kiro": "fileMatchPattern",
}


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
    write = _WRITERS[family]
    told = write(reach)
    if told is None:
        return None
    kept = _kept(family, reach.kept)
    head = _head(told, kept)
    read = _read(family, head)
    if (read.activation, read.globs) != (reach.activation, reach.globs):
        return None
    lost = [key for key in reach.kept if read.kept.get(key) != reach.kept[key]]
    if lost:
        head = _head(told, {key: value for key, value in kept.items() if key not in lost})
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


def without(reach: Reach, lost: Collection[str]) -> Reach:
    """Return a reach without the keys that a format has no place for."""
    kept = {key: value for key, value in reach.kept.items() if key not in lost}
    return replace(reach, kept=kept, description="" if "description" in lost else reach.description)


def _read(family: str, head: tuple[str, ...]) -> Reach:
    return BY_NAME[family].read(read_front_matter(list(head)))


def _head(told: list[str], kept: Mapping[str, Value]) -> tuple[str, ...]:
    lines = [*told]
    for key, value in kept.items():
        if isinstance(value, str):
            lines.append(f"{key}: {scalar(value)}".rstrip())
        else:
            lines += [f"{key}:", *(f"  - {quoted(visible_line(item))}" for item in value)]
    return ("---", *lines, "---") if lines else ()


def _kept(family: str, kept: Mapping[str, Value]) -> dict[str, Value]:
    return {
        key: value
        for key, value in kept.items()
        if key not in _DEFINED[family] and key != "description" and key.replace("-", "_").isidentifier()
    }


def _described(reach: Reach) -> list[str]:
    return [f"description: {scalar(visible_line(reach.description))}"] if reach.description else []


def _listed(key: str, globs: tuple[str, ...]) -> list[str]:
    return [f"{key}:", *(f"  - {quoted(glob)}" for glob in globs)] if globs else []


def _claude(reach: Reach) -> list[str] | None:
    if reach.activation in (Activation.REQUESTED, Activation.MANUAL):
        return None
    return [*_described(reach), *_listed("paths", reach.globs)]


def _cursor(reach: Reach) -> list[str]:
    described = "" if reach.activation is Activation.MANUAL else scalar(visible_line(reach.description))
    return [
        f"description: {described}".rstrip(),
        f"globs: {','.join(reach.globs)}".rstrip(),
        f"alwaysApply: {'true' if reach.activation is Activation.ALWAYS else 'false'}",
    ]


def _copilot(reach: Reach) -> list[str] | None:
    if reach.activation is Activation.MANUAL or (reach.activation is Activation.REQUESTED and reach.globs):
        return None
    if reach.activation is Activation.REQUESTED:
        return _described(reach)
    globs = ",".join(reach.globs) or "**"
    return [*_described(reach), f"applyTo: {_single(globs)}"]


def _windsurf(reach: Reach) -> list[str]:
    globs = [f"globs: {','.join(reach.globs)}"] if reach.globs else []
    return [f"trigger: {_WINDSURF[reach.activation]}", *_described(reach), *globs]


def _kiro(reach: Reach) -> list[str]:
    lines = [f"inclusion: {_KIRO[reach.activation]}", *_described(reach)]
    if len(reach.globs) == 1:
        lines.append(f"fileMatchPattern: {quoted(reach.globs[0])}")
    elif reach.globs:
        lines.append(f"fileMatchPattern: [{', '.join(quoted(glob) for glob in reach.globs)}]")
    return lines


def _cline(reach: Reach) -> list[str] | None:
    return _claude(reach)


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_WRITERS: dict[str, Callable[[Reach], list[str] | None]] = {
    "claude-rules": _claude,
    "cursor": _cursor,
    "copilot-instructions": _copilot,
    "windsurf": _windsurf,
    "cline": _cline,
    "kiro": _kiro,
}
