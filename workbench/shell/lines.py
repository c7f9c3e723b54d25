"""Shell lines as the simple commands they run, for checks that must not be fooled by how a line is written.

A reader of POSIX shell and of what agents use of bash: quoting, expansions of variables assigned in the line,
braces, command substitution, pipelines, compound commands, heredocs. Whatever cannot be known before it runs
is the character UNKNOWN. It never fails: what it cannot read is named in `fault`, and the caller falls back
to comparing words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from workbench.records.dataclass import dataclass
from workbench.shell.words import MAX_DEPTH, UNKNOWN, ShellState, Simple, WordReader
from workbench.shell.wrappers import inner_commands, inner_scripts, program_name

MAX_CHARS = 200_000
MAX_COMMANDS = 2_000
_MAX_VALUE = 4_096
_SHORT = 1_000  # characters of a line that is remembered for long

_ASSIGNMENT = re.compile(r"(?<!\w)([A-Za-z_]\w*)(?:\[[^\]\n]{0,200}\])?\+?=")
_REDIRECTION = re.compile(r"(?:\d{0,9}|\{\w{1,99}\})(<<<|<<-|<<|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|(&>>?)")
_RESERVED = frozenset("if then elif else fi do done while until ! { } coproc".split())
_DECLARE = frozenset("export declare local readonly typeset".split())


@dataclass(frozen=True, slots=True)
class ShellLine:
    """The commands of a line in the order they are written; `fault` says what could not be read."""

    text: str
    commands: tuple[Simple, ...]
    fault: str = ""


def read_shell(text: str) -> ShellLine:
    """Return the simple commands that a shell line runs, those inside of others included.

    The last lines are remembered, of short ones those of a whole session: what its calls touch, break and
    teach is asked one after another.
    """
    return _read_short(text) if len(text) <= _SHORT else _read_long(text)


def _read(text: str) -> ShellLine:
    state = ShellState()
    if len(text) > MAX_CHARS:
        return ShellLine(text, (), f"it is longer than {MAX_CHARS:,} characters")
    _Reader(_clean(text), state, 0).script("", "")
    return ShellLine(text, tuple(state.commands), state.fault)


_read_short = lru_cache(maxsize=1_024)(_read)
_read_long = lru_cache(maxsize=64)(_read)


def run_words(words: Sequence[str]) -> ShellLine:
    """Return the commands that a program started without a shell runs: `["bash", "-lc", "ls"]`."""
    state = ShellState()
    cleaned = [_clean(word) for word in words]
    _Reader("", state, 0).run(Simple(tuple(cleaned)), 0)
    return ShellLine(" ".join(words), tuple(state.commands), state.fault)


def _clean(text: str) -> str:
    """Return the text without the characters that mean something here and nothing in a shell."""
    return text.replace("\r\n", "\n").translate(dict.fromkeys(range(5)))


class _Pending:
    """A simple command being read."""

    __slots__ = ("before", "given", "reads", "words", "writes")

    def __init__(self, given: str | None = None) -> None:
        self.words: list[str] = []
        self.before: dict[str, tuple[str, ...] | None] = {}  # values of variables that are set for it alone
        self.reads: list[str] = []
        self.writes: list[str] = []
        self.given = given


class _Reader(WordReader):
    """Reads one script."""

    __slots__ = ()

    def script(self, until: str, directory: str) -> str | None:
        """Read commands up to `until`; return what they print where that is one echo of known words."""
        text = self.text
        pending, printed, ended, cases = _Pending(), None, 0, 0
        self.directory = directory
        while True:
            self.blanks()
            char = text[self.at : self.at + 1]
            opened = self._part(char, pending, directory)
            if opened is not None:
                cases += opened
                continue
            directory, output, ran = self._end(pending, directory)
            self.directory = directory
            if ran:
                printed, ended = output, ended + 1
            pending = _Pending()
            if not char:
                if until:
                    self.state.fail(f"{until} is missing")
                return printed if ended == 1 else None
            self.at += 1
            if char == ")":
                if until:
                    return printed if ended == 1 else None
                self.state.fail("a ) closes nothing")
            elif char == "(":
                self.read_nested(directory)
            elif char == "|" and not text.startswith("|", self.at):
                self.at += text.startswith("&", self.at)
                pending.given = printed
            else:
                cases -= self._separator(char, cases)

    def _part(self, char: str, pending: _Pending, directory: str) -> int | None:
        """Read a part of a command; return 1 where a `case` begins, -1 where one ends, None at its end."""
        text = self.text
        if char and char not in "\n;&|()<>#" and not char.isdigit():
            return self._words(pending)
        if char == "#" and (self.at == 0 or text[self.at - 1] in " \t\n;&|()"):
            end = text.find("\n", self.at)
            self.at = len(text) if end < 0 else end
            return 0
        if found := _REDIRECTION.match(text, self.at) if char else None:
            self.at = found.end()
            self._redirect(pending, found[1] or found[2])
            return 0
        if char == "(" and self._open(pending, directory):
            return 0
        return self._words(pending) if char and char not in "\n;&|()" else None

    def _separator(self, char: str, cases: int) -> int:
        """Read the rest of what separates two commands; return how many `case`s end in it."""
        text = self.text
        if char == "\n" and self.resume:
            self.at, self.resume = max(self.at, self.resume), 0
        elif char in "&|":
            self.at += text.startswith(char, self.at)
        elif char == ";" and cases and text.startswith((";", "&"), self.at):
            while text.startswith((";", "&"), self.at):
                self.at += 1
            return self._pattern()
        return 0

    def run(self, command: Simple, level: int) -> None:
        """Record a command, and what it starts in turn."""
        state = self.state
        if len(state.commands) >= MAX_COMMANDS or level + self.depth > MAX_DEPTH:
            state.fail("it runs too many commands")
            return
        state.commands.append(command)
        for words in inner_commands(command.words, command.given):
            self.run(Simple(words, command.directory, given=command.given), level + 1)
        for script in inner_scripts(command.words, command.given):
            _Reader(script, state, self.depth + level + 1).script("", command.directory)

    def _end(self, pending: _Pending, directory: str) -> tuple[str, str | None, bool]:
        """Record a finished command; return (directory after it, what it prints if known, whether it ran)."""
        words = tuple(pending.words)
        if not words and not pending.writes and not pending.reads:
            return directory, None, False
        command = Simple(words, directory, tuple(pending.reads), tuple(pending.writes), pending.given)
        self.run(command, 0)
        self._restore(pending.before)
        name = program_name(words[0]) if words else ""
        if name in _DECLARE:
            for word in words[1:]:
                variable, equals, value = word.partition("=")
                if equals:
                    self._assign(variable, (value,))
        if name in ("cd", "pushd"):
            targets = [word for word in words[1:] if not word.startswith("-")]
            directory = join_path(directory, targets[0] if targets else "~")
        return directory, _output_of(name, words, pending.given), True

    def _restore(self, values: Mapping[str, tuple[str, ...] | None]) -> None:
        for name, value in values.items():
            if value is None:
                self.state.variables.pop(name, None)
            else:
                self.state.variables[name] = value

    def _open(self, pending: _Pending, directory: str) -> bool:
        """Read what a parenthesis before or after words opens, unless it is a subshell."""
        if not pending.words and self.text.startswith("((", self.at):
            return self.arithmetic(self.at + 2)
        if len(pending.words) == 1:
            closing = re.compile(r"\(\s*\)").match(self.text, self.at)
            if closing:  # the head of a function; its body is read as if it ran
                pending.words.clear()
                self.at = closing.end()
                return True
        return False

    def _words(self, pending: _Pending) -> int:
        """Read the next word of a command; return 1 where a `case` begins, -1 where one ends."""
        assigned = None if pending.words else _ASSIGNMENT.match(self.text, self.at)
        if assigned:
            self.at = assigned.end()
            if self.text.startswith("(", self.at):
                self.at += 1
                values = self.read_words(")")
            else:
                values = tuple(self.word()[0])
            pending.before.setdefault(assigned[1], self.state.variables.get(assigned[1]))
            self._assign(assigned[1], values)
            return 0
        before = self.at
        found, plain = self.word()
        if self.at == before:  # a character that begins no word, such as a stray digit's redirection
            self.at += 1
            return 0
        if not pending.words and plain and len(found) == 1:
            return self._keyword(found[0], pending)
        pending.words.extend(found)
        return 0

    def _keyword(self, word: str, pending: _Pending) -> int:
        """Take in the first word of a command, which may be a reserved one; return as `_words`."""
        if word in _RESERVED:
            return 0
        if word in ("for", "select"):
            self._loop()
        elif word == "case":
            self.blanks()
            self.word()
            self.skip_lines()
            self.word()  # in
            return 1 - self._pattern()
        elif word == "esac":
            return -1
        elif word == "function":
            self.blanks()
            self.word()
            self.blanks()
            self.at += 2 * self.text.startswith("()", self.at)
        elif word == "[[":
            self._condition()
        else:
            pending.words.append(word)
        return 0

    def _loop(self) -> None:
        self.blanks()
        if self.text.startswith("((", self.at):
            self.arithmetic(self.at + 2)
            return
        name = "".join(self.word()[0])
        self.skip_lines()
        if re.compile(r"in(?=[\s;])").match(self.text, self.at):
            self.at += 2
            self._assign(name, self.read_words("\n;"))

    def _condition(self) -> None:
        """Read a `[[ … ]]` for the commands inside."""
        while self.at < len(self.text):
            before = self.at
            if "]]" in self.word()[0]:
                return
            self.at += self.at == before
        self.state.fail("]] is missing")

    def _pattern(self) -> int:
        """Read the patterns of a case's next branch; return 1 where the case ends instead."""
        while True:
            self.skip_lines()
            if not self.text.startswith("#", self.at):
                break
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        self.at += self.text.startswith("(", self.at)
        while self.at < len(self.text):
            before = self.at
            found, plain = self.word()
            if plain and found == ["esac"]:
                return 1
            self.skip_lines()
            if self.text.startswith(")", self.at):
                self.at += 1
                return 0
            self.at += self.at == before or self.text.startswith("|", self.at)
        self.state.fail("esac is missing")
        return 0

    def _assign(self, name: str, values: tuple[str, ...]) -> None:
        known = sum(map(len, values)) <= _MAX_VALUE
        self.state.variables[name] = values if known else (UNKNOWN,)

    def _redirect(self, pending: _Pending, operator: str) -> None:
        self.blanks()
        if operator in ("<<", "<<-"):
            pending.given = self._heredoc(strip=operator == "<<-")
            return
        target = " ".join(self.word()[0])
        if operator == "<<<":
            pending.given = target
        elif operator in ("<", "<&"):
            pending.reads.extend([] if target.isdigit() else [target])
        elif not (operator == ">&" and (target.isdigit() or target == "-")):
            pending.writes.append(target)

    def _heredoc(self, *, strip: bool) -> str:
        """Return the text after this line up to the delimiter given here."""
        words, plain = self.word()
        delimiter = " ".join(words)
        start = self.resume or self.text.find("\n", self.at) + 1 or len(self.text)
        at, lines = start, list[str]()
        while at < len(self.text):
            end = self.text.find("\n", at)
            line = self.text[at:] if end < 0 else self.text[at:end]
            at = len(self.text) if end < 0 else end + 1
            line = line.lstrip("\t") if strip else line
            if line == delimiter:
                # The line feed before what follows is already read.
                break
            lines.append(line)
        self.resume = at
        body = "\n".join(lines)
        return self.inside(body).read_quoted("") if plain else body


def _output_of(name: str, words: Sequence[str], given: str | None) -> str | None:
    """Return what a command prints where its words alone decide it."""
    if name == "echo":
        rest = list(words[1:])
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            rest.pop(0)
        return " ".join(rest)
    if name == "printf" and len(words) > 1:
        return " ".join(words[2:]) if len(words) > 2 else words[1].replace("\\n", "\n")
    return given if name == "cat" and len(words) == 1 else None


def join_path(directory: str, target: str) -> str:
    """Return where `cd target` leads from a directory."""
    if not directory or target.startswith(("/", "~")):
        return target
    return f"{directory}/{target}"
