"""Tool output about excluded paths: taken out of transcripts before anything of it is kept.

A call that names such a path, as a file it reads or writes or in a shell line, keeps its path and loses what
it wrote and what it was answered. Of searches and diffs only the lines about such paths go. Settings name the
paths (`privacy.exclude`), as gitignore patterns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from workbench.records.iterations import RawIterationOutput, ToolUseEvent
from workbench.sessions.importers.touches import touches
from workbench.sessions.importers.transcripts import ToolUse, mapping, text

WITHHELD: Final = "[withheld: an excluded path]"

Excluded = Callable[[str], bool]

_COMMANDS: Final = ("command", "cmd", "script")
_PATHS: Final = frozenset(
    "file_path notebook_path path absolute_path filename filePath file target_file directory".split()
)
_SOURCED: Final = re.compile(r"(?:(?:^|[\s;&|(])(?:source|\.)\s+|--env-file[=\s]+)[^\s;&|)]+")
_TOKEN: Final = re.compile(r"[^\s'\"`=;|&<>(){},:$]+")
_SEARCHES: Final = re.compile(r"\b(?:grep|rg|ag|ack|git|search|diff)\b", re.IGNORECASE)
_LED: Final = re.compile(r"(?:\x1b\[[\d;]*[mK])*([^\s:\x1b]+)(?:\x1b\[[\d;]*[mK])*[:-]")
_SECTION: Final = re.compile(r"diff --git a/(\S+) b/(\S+)")
_PATCHED: Final = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): ")
_MOST: Final = 400  # words of a shell line that are looked at


def path_filter(patterns: Sequence[str], roots: Iterable[str] = ()) -> Excluded:
    """Return a function: whether a path, absolute or from one of the roots, matches gitignore patterns."""
    import pathspec

    spec = pathspec.GitIgnoreSpec.from_lines(patterns, backend="simple")
    bases = tuple(
        sorted({root.replace("\\", "/").rstrip("/") for root in roots}, key=lambda one: (-len(one), one))
    )

    @lru_cache(maxsize=16_384)
    def excluded(path: str) -> bool:
        whole = path.replace("\\", "/")
        inner = next(
            (whole[len(base) + 1 :] for base in bases if base and whole.startswith(f"{base}/")), whole
        )
        forms = {form for one in (inner, inner.rstrip("*")) if (form := one.removeprefix("./").lstrip("/~"))}
        return any(spec.match_file(form) for form in forms)

    return excluded


def withhold(raw: RawIterationOutput, excluded: Excluded) -> tuple[RawIterationOutput, int]:
    """Return an iteration without tool output about excluded paths, and how many calls had some."""
    kept, count = [], 0
    for use in raw.tool_uses:
        safe = _use_without(use, raw.cwd, excluded)
        count += safe is not use
        kept.append(safe)
    return (replace(raw, tool_uses=tuple(kept)), count) if count else (raw, 0)


def is_about(tool: str, given: Mapping[str, Any], cwd: str, excluded: Excluded) -> bool:
    """Whether a call of a tool names an excluded path."""
    return any(excluded(path) for path in _named_paths(tool, given, cwd))


class Withholder:
    """Takes tool output about excluded paths out of a transcript's lines, as they are copied."""

    def __init__(self, excluded: Excluded) -> None:
        self.excluded = excluded
        self.count = 0
        self._calls: set[str] = set()
        self._searches: set[str] = set()

    def line(self, line: bytes) -> bytes:
        """Return a line of JSON without it; other lines as they are."""
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line
        before = self.count
        try:
            made = self._clean(value)
        except RecursionError:
            return line
        if self.count == before:
            return line
        return json.dumps(made, ensure_ascii=True).encode("ascii") + (b"\n" if line.endswith(b"\n") else b"")

    def _clean(self, value: object) -> object:
        if isinstance(value, list):
            return [self._clean(one) for one in value]
        if not isinstance(value, dict):
            return value
        kind, identifier = value.get("type"), text(value.get("call_id") or value.get("id"))
        if kind == "tool_use":
            return self._call(value, identifier, mapping(value.get("input")), "input")
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            place = next((one for one in ("arguments", "input", "action") if one in value), "arguments")
            return self._call(value, identifier, _arguments(value.get(place)), place)
        answered = text(value.get("tool_use_id")) or text(value.get("call_id"))
        if answered and (kind == "tool_result" or text(kind).endswith("_output")):
            return self._answer(value, answered)
        if "content" in value and any(self._is_out(value.get(name)) for name in _PATHS):
            self.count += 1
            return {**value, "content": WITHHELD}
        before = self.count
        made = {key: self._clean(one) for key, one in value.items() if key != "toolUseResult"}
        if "toolUseResult" in value:  # the same answer again, in another form
            made["toolUseResult"] = WITHHELD if self.count > before else self._clean(value["toolUseResult"])
        return made

    def _is_out(self, path: object) -> bool:
        return isinstance(path, str) and self.excluded(path)

    def _call(
        self, value: dict[str, Any], identifier: str, given: Mapping[str, Any], name: str
    ) -> dict[str, Any]:
        tool = text(value.get("name")) or "shell"
        if is_about(tool, given, "", self.excluded):
            self.count += 1
            self._calls.add(identifier)
            bare = _bare(given)
            return {**value, name: json.dumps(bare) if isinstance(value.get(name), str) else bare}
        if _is_search(tool, given):
            self._searches.add(identifier)
        return value

    def _answer(self, value: dict[str, Any], identifier: str) -> dict[str, Any]:
        name = "output" if "output" in value else "content"
        if identifier in self._calls:
            self.count += 1
            return {**value, name: WITHHELD}
        if identifier not in self._searches:
            return value
        made = {
            **value,
            name: _each_text(value.get(name), lambda output: lines_without(output, self.excluded)),
        }
        self.count += made != value
        return made


def lines_without(output: str, excluded: Excluded) -> str:
    """Return the output of a search or a diff without the lines about excluded paths."""
    kept, inside, dropped = [], False, False
    for line in output.split("\n"):
        section = _SECTION.match(line)
        if section is not None:
            inside = excluded(section[1]) or excluded(section[2])
        led = None if inside else _LED.match(line)
        if inside or (led is not None and excluded(led[1])):
            dropped = True
            continue
        kept.append(line)
    return "\n".join(kept) if dropped else output


def _use_without(use: ToolUseEvent, cwd: str, excluded: Excluded) -> ToolUseEvent:
    if is_about(use.name, use.input, cwd, excluded):
        return replace(use, input=_bare(use.input), result=None if use.result is None else "")
    if use.result and _is_search(use.name, use.input):
        output = lines_without(use.result, excluded)
        return use if output == use.result else replace(use, result=output)
    return use


def _named_paths(tool: str, given: Mapping[str, Any], cwd: str) -> Iterator[str]:
    for key, value in given.items():
        if key in _PATHS and isinstance(value, str):
            yield value
    for line in _shell_lines(given):
        for token in _TOKEN.findall(_SOURCED.sub(" ", line))[:_MOST]:
            if "." in token or "/" in token or "_" in token:
                yield token
    if "patch" in tool:
        for touch in touches(ToolUse("", tool, given, "", "", cwd, "")):
            yield touch.path


def _shell_lines(given: Mapping[str, Any]) -> Iterator[str]:
    for key in _COMMANDS:
        value = given.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield " ".join(one for one in value if isinstance(one, str))


def _is_search(tool: str, given: Mapping[str, Any]) -> bool:
    return _SEARCHES.search(tool) is not None or any(map(_SEARCHES.search, _shell_lines(given)))


def _bare(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's input with nothing but the paths: a shell line's first line, a patch's headings."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key in _PATHS:
            kept[key] = value
        elif key in _COMMANDS:
            line = next(_shell_lines({key: value}), "")
            kept[key] = line.split("\n")[0].split("<<")[0].strip()
        elif isinstance(value, str):
            kept[key] = "\n".join(line for line in value.split("\n") if _PATCHED.match(line))
    return kept


def _arguments(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            return mapping(json.loads(value)) or {"input": value}
        except (ValueError, RecursionError):
            return {"input": value}
    return mapping(value)


def _each_text(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case list():
            return [_each_text(one, change) for one in value]
        case dict():
            return {
                key: _each_text(one, change) if key in ("text", "content", "output") else one
                for key, one in value.items()
            }
        case _:
            return value
