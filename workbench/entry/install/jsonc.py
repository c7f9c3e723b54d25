"""JSON with comments, edited as text: what is not ours stays byte for byte.

Settings of agents are the user's: with comments, trailing commas, an order and an indentation of their own. A
member or an element is added by inserting one piece of text, so that taking that piece out again restores the
file, whatever was edited elsewhere meanwhile. Such files grow to many megabytes: where a part is plain JSON
the standard library reads it at once, and its members are placed only when somebody asks for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from workbench.errors import ParseError

MAX_DEPTH: Final = 100
_SPACE: Final = re.compile(r"[ \t\r\n\ufeff]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|(\Z))", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\r\n]|\\.)*+"?')
_SCALAR: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_BLANKS: Final = re.compile(r"[ \t]*")
_BREAK: Final = re.compile(r"\r?\n")

Member: TypeAlias = "tuple[str, int, JsonNode]"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_PLAIN: Final = json.JSONDecoder(parse_constant=_refuse_constant)


@dataclass(slots=True)
class JsonNode:
    """A value in a text: from `start` up to `end`. `value` is what it means.

    With `is_plain` all of it is strict JSON.
    """

    text: str
    start: int
    end: int
    value: Any
    is_plain: bool = True
    _members: list[Member] | None = None

    @property
    def members(self) -> list[Member]:
        """Members of an object as (key, start of the key, node); elements of an array have the key ''."""
        if self._members is None:
            is_container = isinstance(self.value, dict | list)
            self._members = _container(self.text, self.start, 0)._members or [] if is_container else []
        return self._members

    def member(self, key: str) -> tuple[int, JsonNode] | None:
        """Return where the key is, and the value, of an object's member. Raises: ParseError for two of it."""
        found = [(start, node) for name, start, node in self.members if name == key]
        if len(found) > 1:
            raise ParseError(f"the key {key!r} is there twice")
        return found[0] if found and isinstance(self.value, dict) else None


def parse_jsonc(text: str) -> JsonNode:
    """Return the value of a text. Raises: ParseError with the line of what is not JSON, comments aside."""
    at = _skip(text, 0)
    if at == len(text):
        raise ParseError("the file is empty", line=1)
    node = _value(text, at, 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise _parse_error(text, end, "something follows the value")
    return node


def _parse_error(text: str, at: int, what: str) -> ParseError:
    return ParseError(what, line=text.count("\n", 0, at) + 1)


def _skip(text: str, at: int) -> int:
    while True:
        found = _SPACE.match(text, at)
        at = found.end() if found else at
        comment = _COMMENT.match(text, at)
        if comment is None or comment[1] is not None:
            return at
        at = comment.end()


def _line_rest(text: str, at: int) -> int:
    """Return where the comments end that follow in the same line."""
    while True:
        blanks = _BLANKS.match(text, at)
        comment = _COMMENT.match(text, blanks.end() if blanks else at)
        if comment is None or comment[1] is not None or _BREAK.search(comment[0]):
            return at
        at = comment.end()


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_DEPTH:
        raise _parse_error(text, at, f"it is nested more than {MAX_DEPTH} deep")
    opening = text[at : at + 1]
    if opening == '"':
        value, end = _string(text, at)
        return JsonNode(text, at, end, value)
    if opening in ("{", "["):
        return _plain_container(text, at, depth) or _container(text, at, depth)
    scalar = _SCALAR.match(text, at)
    if scalar is not None:
        with suppress(ValueError):
            return JsonNode(text, at, scalar.end(), json.loads(scalar[0]))
    raise _parse_error(text, at, "a value is missing, or not one that JSON has")


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is not None:
        with suppress(ValueError):
            return str(json.loads(found[0])), found.end()
    raise _parse_error(text, at, "a text is malformed")


def _plain_container(text: str, start: int, depth: int) -> JsonNode | None:
    """Return a container that is strict JSON and not nested too deep; None for any other."""
    try:
        value, end = _PLAIN.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    level = [value]
    for _ in range(depth, MAX_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for ones in inner for one in ones if isinstance(one, dict | list)]
        if not level:
            break
    return None if any(level) else JsonNode(text, start, end, value)


def _container(text: str, start: int, depth: int) -> JsonNode:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        key, begins = "", at
        if is_object:
            if text[at : at + 1] != '"':
                raise _parse_error(text, at, "a key is missing or is not text")
            key, at = _string(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise _parse_error(text, at, "a colon is missing")
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        members.append((key, begins, node))
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _parse_error(text, at, "a comma or the end is missing")
    value: Any = (
        {key: node.value for key, _, node in members} if is_object else [node.value for *_, node in members]
    )
    return JsonNode(text, start, at + 1, value, False, members)


@dataclass(frozen=True, slots=True)
class Insertion:
    """A text with one piece more, and that piece."""

    text: str
    piece: str


def insert(text: str, path: Sequence[str], value: object) -> Insertion:
    """Add a value at the end of a path of keys; where that is an array, as its first element.

    Objects that are missing on the way are made. Raises: ParseError for malformed JSON, and for
    something on the way that is neither an object nor, at the end, an array.
    """
    node = parse_jsonc(text)
    style = _style_of(text, node)
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise ParseError(
                f"{'.'.join(path[:depth]) or 'the file'} is not an object", line=_line(text, node)
            )
        found = node.member(key)
        if found is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _insert_first(text, node, value, key, style)
        node = found[1]
    if not isinstance(node.value, list):
        raise ParseError(f"{'.'.join(path)} is not a list", line=_line(text, node))
    return _insert_first(text, node, value, None, style)


def _line(text: str, node: JsonNode) -> int:
    return text.count("\n", 0, node.start) + 1


def _insert_first(
    text: str, node: JsonNode, value: object, key: str | None, style: tuple[str, str]
) -> Insertion:
    """Insert a member, or an element without a key, as the first of a container."""
    unit, newline = style
    inside = node.start + 1
    first = node.members[0][1] if node.members else node.end - 1
    after = _line_rest(text, inside)  # comments of the line that the container begins in stay there
    gap = text[after:first]
    broken = _BREAK.search(gap)
    if not node.members and not broken:
        outer = indent_at(text, node.start)
        piece = (
            f"{newline}{outer}{unit}{_format_member(value, key, outer + unit, unit, newline)}{newline}{outer}"
        )
        at = inside
    elif broken:
        own = indent_at(text, first) if node.members else indent_at(text, node.start) + unit
        comma = "," if node.members else ""
        piece = f"{newline}{own}{_format_member(value, key, own, unit, newline)}{comma}"
        at = after
    else:
        space = _SPACE.match(text, inside)
        lead = space[0] if space else ""
        piece = f"{lead}{_format_member(value, key, None, unit, newline)},{'' if lead else ' '}"
        at = inside
    return Insertion(text[:at] + piece + text[at:], piece)


def _format_member(value: object, key: str | None, indent: str | None, unit: str, newline: str) -> str:
    """Return a member or an element as text, over several lines unless `indent` is None."""
    if indent is None:
        body = json.dumps(value, ensure_ascii=False)
    else:
        lines = json.dumps(value, ensure_ascii=False, indent="\0").split("\n")
        body = f"{newline}{indent}".join(line.replace("\0", unit) for line in lines)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _style_of(text: str, node: JsonNode) -> tuple[str, str]:
    """Return what a text, the value `node`, indents by (else two spaces), and how its lines end."""
    unit = "  "
    for _, start, _ in node.members[:1]:
        own = indent_at(text, start)
        unit = own or unit
    broken = _BREAK.search(text)
    return unit, broken[0] if broken else "\n"


def indent_at(text: str, at: int) -> str:
    """Return the white space that the line of a place begins with."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = re.compile(r"\ufeff?([ \t]*)").match(text, begin)
    return found[1] if found else ""


def remove(text: str, path: Sequence[str], mine: Callable[[Any], bool]) -> str:
    """Take out the elements of an array, or the value of a member, that are `mine`; nothing if none is.

    Raises: ParseError for malformed JSON.
    """
    while True:
        holder, node = _find(text, path)
        if holder is None or node is None:
            return text
        if not isinstance(node.value, list):
            return _drop(text, holder, path[-1]) if mine(node.value) else text
        place = next((n for n, (_, _, one) in enumerate(node.members) if mine(one.value)), None)
        if place is None:
            return text
        text = _without(text, node, place)


def drop_empty(text: str, path: Sequence[str]) -> str:
    """Take out the member at the end of a path if it is an empty object or array without comments."""
    holder, node = _find(text, path)
    if holder is None or node is None or node.members or text[node.start + 1 : node.end - 1].strip():
        return text
    return _drop(text, holder, path[-1]) if isinstance(node.value, dict | list) else text


def trailing_commas(text: str) -> int:
    """Return how many containers of a text end with a comma, which strict readers refuse."""
    nodes, count = [parse_jsonc(text)] if text.strip("\ufeff \t\r\n") else [], 0
    while nodes:
        node = nodes.pop()
        if node.is_plain:
            continue
        nodes += [inner for *_, inner in node.members]
        at = _skip(text, node.members[-1][2].end) if node.members else node.start
        count += text[at] == ","
    return count


def _find(text: str, path: Sequence[str]) -> tuple[JsonNode | None, JsonNode | None]:
    """Return what holds the member at the end of a path, and its value; None where there is none."""
    holder: JsonNode | None = None
    node: JsonNode | None = parse_jsonc(text)
    for key in path:
        holder = node
        found = None if node is None else node.member(key)
        node = None if found is None else found[1]
    return holder, node


def _drop(text: str, holder: JsonNode, key: str) -> str:
    return _without(text, holder, next(n for n, (name, *_) in enumerate(holder.members) if name == key))


def _without(text: str, node: JsonNode, place: int) -> str:
    """Take a member or an element out, with the line it begins in and the comma that it does not need."""
    _, start, inner = node.members[place]
    end = inner.end
    lead = start - len(indent_at(text, start))
    if lead > 0 and text[lead - 1] == "\n":
        start = lead - 1 - (text[lead - 2 : lead - 1] == "\r")
    else:
        while start > node.start + 1 and text[start - 1] in " \t":
            start -= 1
    comma = _skip(text, end)
    if text[comma : comma + 1] == ",":
        end = comma + 1
        if start == node.start + 1 and text[end : end + 1] == " ":
            end += 1
    elif place > 0:
        before = node.members[place - 1][2].end
        at = _skip(text, before)
        text, start, end = text[:at] + text[at + 1 :], start - 1, end - 1
    if len(node.members) == 1 and not text[node.start + 1 : start].strip():
        rest = _SPACE.match(text, end)
        if rest and text[rest.end() : rest.end() + 1] in "}]":
            end = rest.end()
    return text[:start] + text[end:]
