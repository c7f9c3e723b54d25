"""Shell words: quoting, expansions and substitutions, and the words they give.

The lower half of the reader of shell lines; `lines` adds commands. A value that cannot be known before the
line runs is the character UNKNOWN.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from workbench.records.dataclass import dataclass

UNKNOWN = "\x00"
MAX_READ = 1_000_000  # characters, scripts inside of scripts counted again
MAX_DEPTH = 12

_ORDINARY = re.compile(r"[^ \t\n;&|()<>\\'\"$`{},]+")
_QUOTED_RUN = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(?:\[[@*]\])?(?:(:?[-=+?])(.*))?", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)

SPLIT, OPEN, COMMA, CLOSE = "\x01", "\x02", "\x03", "\x04"
MAX_WORDS = 64
_PLAIN = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}", SPLIT: " "})


@dataclass(frozen=True, slots=True)
class Simple:
    """One program that a line starts, and with what.

    `words` are the program and its arguments, unquoted. `directory` is where `cd` led before, relative to
    where the line starts or absolute. `reads` and `writes` are targets of redirections, `given` the text on
    its standard input where the line holds it literally.
    """

    words: tuple[str, ...]
    directory: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    given: str | None = None


class ShellState:
    """What the readers of a line and of the scripts in it share."""

    __slots__ = ("commands", "fault", "room", "variables")

    def __init__(self) -> None:
        self.commands: list[Simple] = []
        self.variables: dict[str, tuple[str, ...]] = {"HOME": ("~",), "PWD": (".",), "IFS": (" ",)}
        self.fault = ""
        self.room = MAX_READ

    def fail(self, fault: str) -> None:
        """Record what cannot be read; the first fault counts."""
        self.fault = self.fault or fault


class WordReader(ABC):
    """Reads words of one script. `at` is the position of the next character."""

    __slots__ = ("at", "depth", "directory", "resume", "state", "text")

    def __init__(self, text: str, state: ShellState, depth: int) -> None:
        self.text, self.state, self.depth = text, state, depth
        self.at, self.resume, self.directory = 0, 0, ""
        state.room -= len(text)
        if depth > MAX_DEPTH or state.room < 0:
            state.fail("it is nested too deeply")
            self.text = ""

    @abstractmethod
    def script(self, until: str, directory: str) -> str | None:
        """Read commands up to `until`; return what they print where that is one echo of known words."""

    def inside(self, text: str) -> WordReader:
        """Return a reader of a text inside this one."""
        return type(self)(text, self.state, self.depth + 1)

    def word(self) -> tuple[list[str], bool]:
        """Read a word; return what it expands to, and whether nothing in it was quoted or expanded."""
        text, size, parts = self.text, len(self.text), list[str]()
        plain, quoted = True, False
        while self.at < size:
            char = text[self.at]
            if ordinary := _ORDINARY.match(text, self.at):
                self.at = ordinary.end()
                parts.append(ordinary[0])
                continue
            if char in "{},":
                self.at += 1
                parts.append({"{": OPEN, ",": COMMA, "}": CLOSE}[char])
                continue
            if char in "<>" and text.startswith("(", self.at + 1):
                self.at += 2
                self.read_nested(self.directory)
                parts.append(UNKNOWN)
                plain = False
                continue
            if char == "(" and parts and parts[-1][-1:] in tuple("?*+@!"):
                self.at += 1
                parts.append("{" + ",".join(self.read_words(")")) + "}")
                continue
            if char in " \t\n;&|()<>":
                break
            ahead = text[self.at + (char == "$") : self.at + 2][:1]
            plain, quoted = False, quoted or ahead in ("'", '"')
            parts.append(self._special(char))
        found = fields("".join(parts))
        return (found or ([""] if quoted else [])), plain

    def _special(self, char: str) -> str:
        """Read what a quote, a backslash, a dollar or a backtick begins outside of quotes."""
        self.at += 1
        if char == "\\":
            escaped = self.text[self.at : self.at + 1]
            self.at += 1
            return "" if escaped == "\n" else escaped
        if char == "'":
            return self._upto("'")
        if char == '"':
            return self.read_quoted('"')
        if char == "$" and self.text.startswith(("'", '"'), self.at):
            return self._dollar(quoted=False)
        value = self._backticks() if char == "`" else self._dollar(quoted=False)
        return value if value == "" else SPLIT.join(value.split()) if value.strip() else SPLIT

    def _upto(self, quote: str) -> str:
        end = self.text.find(quote, self.at)
        if end < 0:
            self.state.fail(f"a {quote} is not closed")
            end = len(self.text)
        found, self.at = self.text[self.at : end], end + 1
        return found

    def read_quoted(self, end: str) -> str:
        """Read up to a double quote, or all with `end` empty, expanding what is expanded between quotes."""
        text, parts = self.text, list[str]()
        while self.at < len(text):
            char = text[self.at]
            if run := _QUOTED_RUN.match(text, self.at):
                self.at = run.end()
                parts.append(run[0])
            elif char == end:
                self.at += 1
                return "".join(parts)
            elif char == "\\":
                escaped = text[self.at + 1 : self.at + 2]
                self.at += 2
                parts.append("" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped)
            else:
                self.at += 1
                value = (
                    '"' if char == '"' else self._backticks() if char == "`" else self._dollar(quoted=True)
                )
                parts.append(value)
        if end:
            self.state.fail('a " is not closed')
        return "".join(parts)

    def _backticks(self) -> str:
        at, parts = self.at, list[str]()
        while at < len(self.text) and self.text[at] != "`":
            escape = self.text[at] == "\\" and self.text[at + 1 : at + 2] in ("\\", "`", "$")
            parts.append(self.text[at + 1 : at + 2] if escape else self.text[at])
            at += 1 + escape
        if at >= len(self.text):
            self.state.fail("a ` is not closed")
        self.at = at + 1
        printed = self.inside("".join(parts)).script("", self.directory)
        return UNKNOWN if printed is None else printed

    def _dollar(self, *, quoted: bool) -> str:
        """Read what follows a dollar sign and return its value, UNKNOWN where it cannot be known."""
        text = self.text
        char = text[self.at : self.at + 1]
        if char == "(":
            if text.startswith("((", self.at) and self.arithmetic(self.at + 2):
                return UNKNOWN
            self.at += 1
            printed = self.read_nested(self.directory)
            return UNKNOWN if printed is None else printed
        if char == "{":
            return self._parameter()
        if char == "'" and not quoted:
            return self._ansi()
        if char == '"' and not quoted:
            self.at += 1
            return self.read_quoted('"')
        if name := _NAME.match(text, self.at):
            self.at = name.end()
            return self._value(name[0])
        if char and char in "@*#?$!-0123456789":
            self.at += 1
            return UNKNOWN
        return "$"

    def _value(self, name: str) -> str:
        values = self.state.variables.get(name)
        if not values:
            return UNKNOWN if values is None else ""
        return values[0] if len(values) == 1 else OPEN + COMMA.join(values) + CLOSE

    def _parameter(self) -> str:
        depth, at = 0, self.at
        while at < len(self.text):
            char = self.text[at]
            at += 1 + (char == "\\")
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0:
                break
        else:
            self.state.fail("a ${ is not closed")
        inside, self.at = self.text[self.at + 1 : at - 1], at
        match = _PARAMETER.fullmatch(inside)
        other = self.inside(match[3] if match and match[2] else inside).read_quoted("")
        if match is None:
            return UNKNOWN
        value = self._value(match[1])
        if not match[2]:
            return value
        use_other = match[2][-1] == "+" or (value == UNKNOWN and match[2][-1] in "-=")
        return other if use_other else value

    def _ansi(self) -> str:
        at = self.at + 1
        while at < len(self.text) and self.text[at] != "'":
            at += 1 + (self.text[at] == "\\")
        if at >= len(self.text):
            self.state.fail("a $' is not closed")
        raw, self.at = self.text[self.at + 1 : at], at + 1
        return _ANSI.sub(_ansi_escape, raw)

    def read_nested(self, directory: str) -> str | None:
        """Read what follows an opening parenthesis, up to its closing one."""
        before, self.depth = self.directory, self.depth + 1
        if self.depth > MAX_DEPTH:
            self.state.fail("it is nested too deeply")
            self.at = len(self.text)
        printed = self.script(")", directory)
        self.directory, self.depth = before, self.depth - 1
        return printed

    def arithmetic(self, start: int) -> bool:
        """Skip an arithmetic expression from `start`, reading commands inside; False if there is none."""
        depth, at = 2, start
        while at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[at], 0)
            at += 1
            if depth == 1 and not self.text.startswith(")", at):
                return False
            if depth == 0:
                self.inside(self.text[start : at - 2]).read_quoted("")
                self.at = at
                return True
        return False

    def read_words(self, until: str) -> tuple[str, ...]:
        """Read words up to one of the characters given, which is left unread unless it is a parenthesis."""
        found: list[str] = []
        while self.at < len(self.text):
            self.skip_lines() if until == ")" else self.blanks()
            if self.text[self.at : self.at + 1] in tuple(until) or self.at >= len(self.text):
                break
            before = self.at
            found.extend(self.word()[0])
            self.at += self.at == before
        self.at += until == ")"
        return tuple(found)

    def blanks(self) -> None:
        """Skip blanks and continued lines."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            else:
                return

    def skip_lines(self) -> None:
        """Skip blanks and line feeds."""
        while self.at < len(self.text) and self.text[self.at] in " \t\n":
            self.at += 1


def _ansi_escape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if 4 < number < 0x110000 else UNKNOWN
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF) if int(code, 8) > 4 else UNKNOWN
    return _ANSI_LETTERS.get(code, code)


def fields(word: str) -> list[str]:
    """Return the words that a marked word expands to: `a{b,c}` gives two, an empty one none.

    Braces that would give more than MAX_WORDS words stay as they are written.
    """
    if OPEN not in word and SPLIT not in word:
        return [word.translate(_PLAIN)] if word else []
    found = [part for choice in _choices(word) for part in choice.split(SPLIT)]
    return [part.translate(_PLAIN) for part in found if part]


def _choices(word: str) -> list[str]:
    done: list[str] = []
    todo = [word]
    while todo:
        current = todo.pop()
        group = _innermost(current)
        if group is None:
            done.append(current)
        else:
            start, end, choices = group
            todo.extend(current[:start] + choice + current[end:] for choice in reversed(choices))
        if len(done) + len(todo) > MAX_WORDS:
            return [word]
    return done


def _innermost(word: str) -> tuple[int, int, list[str]] | None:
    """Return (start, end, choices) of a group with choices and none such inside, None without one."""
    opened: list[int] = []
    commas: list[bool] = []
    for position, char in enumerate(word):
        if char == OPEN:
            opened.append(position)
            commas.append(False)
        elif char == COMMA and opened:
            commas[-1] = True
        elif char == CLOSE and opened:
            start = opened.pop()
            if commas.pop():
                return start, position + 1, word[start + 1 : position].split(COMMA)
    return None
