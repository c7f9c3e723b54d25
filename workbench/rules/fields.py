"""What people say about a rule, on a command line, in a form or in a line of JSON, as checked fields."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workbench.errors import ParseError, UsageError
from workbench.records.rules import PATH_SCOPE, Authority, Category, Level, Rule, path_globs
from workbench.rules.matching.examples import add_examples
from workbench.rules.taxonomy import choose, validate_tags
from workbench.suggest import did_you_mean
from workbench.text.sanitize import visible_line

MAX_TEXT: Final = 8000  # characters; an import takes no longer unit for a rule either

ALIASES: Final = {
    "text": "rule",
    "tool": "tool_targets",
    "tools": "tool_targets",
    "tag": "tags",
    "example": "examples",
    "condition": "condition_text",
    "when": "conditions",
}
"""Short names of fields, as the options are called."""


@dataclass(frozen=True, slots=True)
class Line:
    """A rule as a line of JSON says it. `place` is `file:line`; `file` and `home` say where it belongs."""

    place: str
    fields: dict[str, Any]
    home: bool = False
    file: str = ""


def check_fields(
    given: Mapping[str, Any], extra_tags: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return fields of a rule with their values, and what is odd about them without being wrong.

    `given` maps names of fields, or their short names, to texts, lists of texts, numbers or mappings.
    Raises: UsageError that names the field, with what was probably meant.
    """
    found: dict[str, Any] = {}
    notes: list[str] = []
    for key, value in given.items():
        name = ALIASES.get(key, key)
        if name not in _FIELDS:
            names = (*_FIELDS, *ALIASES)
            hint = did_you_mean(key, names, f"Fields: {', '.join(_FIELDS)}.")
            raise UsageError(f"a rule has no field {visible_line(key)!r} that can be given", hint=hint)
        if name in found:
            raise UsageError(f"{name} is given twice", hint="Leave one of them out.")
        found[name] = _tags(value, extra_tags, notes) if name == "tags" else _FIELDS[name](name, value)
    return found, notes


def read_lines(name: str, data: bytes, extra_tags: Sequence[str] = ()) -> tuple[list[Line], list[ParseError]]:
    """Return the rules of JSON lines, and what is wrong with the others, each with its line."""
    lines: list[Line] = []
    faults: list[ParseError] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            lines.append(_line(f"{name}:{number}", raw, extra_tags))
        except UsageError as error:
            faults.append(ParseError(error.message, path=name, line=number, hint=error.hint))
    return lines, faults


def _line(place: str, raw: bytes, extra_tags: Sequence[str]) -> Line:
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", hint='One object a line: {"rule": "Use tabs."}') from error
    if not isinstance(value, dict):
        raise UsageError("not a JSON object", hint='One object a line: {"rule": "Use tabs."}')
    home, file = value.pop("home", False), value.pop("file", "")
    if not isinstance(home, bool) or not isinstance(file, str):
        raise UsageError("home is true or false, and file a text", hint='Such as: {"file": "CLAUDE.md"}')
    fields, _ = check_fields(value, extra_tags)
    if "rule" not in fields:
        raise UsageError("it has no rule", hint='One object a line: {"rule": "Use tabs."}')
    return Line(place, fields, home, file)


def new_rule(fields: Mapping[str, Any], project_id: str | None) -> Rule:
    """Return a rule of checked fields that is not recorded yet: its id, name and cost are made then.

    A rule for some paths is one of a scenario, unless its level is given.
    """
    level = Level.SCENARIO if path_globs(tuple(fields.get("scope", ()))) else Level.GLOBAL
    return Rule(**{"id": "", "name": "", "level": level, "project_id": project_id, **fields})


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} is a text, not {_format_value(value)}", hint=f'Such as: "{name}": "…"')
    text = value.replace("\r\n", "\n").strip()
    if len(text) > MAX_TEXT:
        raise UsageError(
            f"{name} has {len(text):,} characters; {MAX_TEXT:,} are the most", hint="Split it into rules."
        )
    return text


def _require_text(name: str, value: object) -> str:
    text = _text(name, value)
    if not text:
        raise UsageError(f"{name} is empty", hint='Say it: workbench rules add "Use tabs."')
    return text


def _texts(name: str, value: object) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise UsageError(
            f"{name} is a list of texts, not {_format_value(value)}", hint=f'Such as: "{name}": ["…"]'
        )
    found = tuple(dict.fromkeys(item.strip() for item in items))
    if "" in found:
        raise UsageError(f"{name} has an empty entry", hint="Leave it out.")
    return found


def _scope(name: str, value: object) -> tuple[str, ...]:
    found = _texts(name, value)
    for entry in found:
        if entry.startswith(PATH_SCOPE):
            if not entry[len(PATH_SCOPE) :].strip():
                raise UsageError("path: needs a glob", hint="Such as: path:src/**/*.py")
        elif any(mark in entry for mark in "/*?[\\"):
            raise UsageError(
                f"{visible_line(entry)!r} is not a context name", hint=f"Did you mean path:{entry}?"
            )
    return found


def _number(most: int) -> Callable[[str, Any], int]:
    def parse(name: str, value: object) -> int:
        try:
            found = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
        except ValueError:
            found = None
        if found is None or not 0 <= found <= most:
            raise UsageError(
                f"{name} is a whole number from 0 to {most:,}, not {_format_value(value)}", hint="Correct it."
            )
        return found

    return parse


def _conditions(name: str, value: object) -> dict[str, Any]:
    """Return {fact: value or values} of a mapping, or of texts NAME=VALUE; a name may have several."""
    if isinstance(value, Mapping):
        pairs = [(str(fact), item) for fact, held in value.items() for item in _fact_values(fact, held)]
    else:
        pairs = [_pair(text) for text in _texts(name, value)]
    found: dict[str, list[Any]] = {}
    for fact, item in pairs:
        found.setdefault(fact, []).append(item)
    return {fact: items[0] if len(items) == 1 else items for fact, items in found.items()}


def _fact_values(fact: object, value: object) -> list[Any]:
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, (str, int, bool)) for item in items):
        raise UsageError(
            f"{fact} is a text or a list of texts", hint='Such as: {"language": ["python", "go"]}'
        )
    return items


def _pair(text: str) -> tuple[str, str]:
    fact, equals, item = text.partition("=")
    if not equals or not fact.strip() or not item.strip():
        raise UsageError(
            f"{visible_line(text)!r} is not a condition", hint="Write NAME=VALUE: --when os=linux"
        )
    return fact.strip(), item.strip()


def _examples(name: str, value: object) -> tuple[str, ...]:
    return add_examples(Rule(id="", name="", rule=""), _texts(name, value)) if value else ()


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is true or false, not {_format_value(value)}", hint="Without quotes.")
    return value


def _check(name: str, value: object) -> object:
    from workbench.rules.enforcement.checks import parse_check  # few rules have one

    if value is not None and not isinstance(value, (str, Mapping)):
        raise UsageError(
            f"{name} is an object, not {_format_value(value)}", hint='Such as: {"command": "git push"}'
        )
    return None if value is None else parse_check(value)


def _tags(value: object, extra: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    report = validate_tags(_texts("tags", value), extra)
    for problem in report.problems:
        meant = f"Did you mean {problem.suggestion}?" if problem.suggestion else ""
        shown = visible_line(problem.tag)
        if problem.refused:
            raise UsageError(
                f"tag {shown}: {problem.message}", hint=meant or "See `workbench rules tags --known`."
            )
        notes.append(f"tag {shown}: {problem.message}. {meant}".rstrip())
    return report.valid


def _choice(kind: Any) -> Callable[[str, Any], Any]:  # noqa: ANN401 - any enumeration
    return lambda name, value: choose(kind, _text(name, value))


def _format_value(value: object) -> str:
    return visible_line(repr(value))[:60]


_FIELDS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "rule": _require_text,
    "name": _text,
    "scope": _scope,
    "category": _choice(Category),
    "authority": _choice(Authority),
    "priority": _number(100),
    "tags": _texts,
    "tool_targets": _texts,
    "level": _choice(Level),
    "condition_text": _text,
    "conditions": _conditions,
    "examples": _examples,
    "cooldown": _number(10**9),
    "enabled": _flag,
    "check": _check,
}


def file_of(given: str, root: Path, home: Path | None, *, own: bool) -> str:
    """Return the file that a rule is to be written into, as provenance names it.

    A path is relative to where the command runs; the person's `own` rules go into files of the home.
    Raises: UsageError for a place outside of it.
    """
    base = home if own else root
    if base is None:
        raise UsageError("rule files of the home are not read", hint="workbench config set rules.home true")
    path = Path(given).expanduser()
    places = [path] if path.is_absolute() else [Path.cwd() / path, base / path]
    for place in places:
        try:
            inside = _real(place).relative_to(base.resolve()).as_posix()
        except ValueError:
            continue
        return f"~/{inside}" if own else inside
    where = f"your home, {base}" if own else f"the project, {base}"
    raise UsageError(f"{visible_line(given)} is outside of {where}", hint="Name a file below it.")


def _real(path: Path) -> Path:
    """Return a path without links on the way to it; a rule file may itself be one."""
    normal = Path(os.path.normpath(path))
    return normal.parent.resolve() / normal.name
