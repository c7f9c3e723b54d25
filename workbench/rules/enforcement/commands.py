"""Command patterns: whether a command that a tool would run is the one a rule speaks of.

A pattern is one simple command, `git push --force`, with `*` for any run of characters in a word. A command
matches when

- its program is the pattern's (`/usr/bin/git` is `git`);
- its subcommand, the first word that is neither an option nor an option's value, is the pattern's first such
  word, and the pattern's further ones occur after it in their order;
- every option of the pattern occurs, anywhere and in any order: as written, with a value (`--opt=x` for
  `--opt`), in a cluster (`-uf` for `-f`), as the beginning that git and the core utilities accept
  (`--no-veri`), or by another name the program has for it (`-f` and `--force` of `git push`, and `+main`,
  which forces too). `--force-with-lease` is not `--force`.

What the pattern does not name may be there as well. The program may be unknown (`$GIT push`), then the rest
decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from workbench.errors import UsageError
from workbench.records.dataclass import dataclass
from workbench.shell.lines import ShellLine, read_shell
from workbench.shell.words import UNKNOWN, Simple
from workbench.shell.wrappers import (
    ABBREVIATING,
    LONG_SINGLE_DASH,
    aliases,
    program_name,
    subcommand_name,
    value_options,
)

MAX_PATTERN = 1_000  # characters
MAX_TRIES = 100
MAX_SEARCHED = 500_000  # characters of a line that cannot be read
_WINDOW = 100  # words after a program's name, in a line that cannot be read
_MAX_CLUSTER = 5  # letters; a longer word after one dash is a long option
_LEAST_ABBREVIATED = 5  # characters of a long option with its dashes
_TOKEN = re.compile(r"[^\s;|&()<>`'\"]+")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """A pattern taken apart: program, options, operands in their order."""

    text: str
    program: str
    options: tuple[str, ...]
    operands: tuple[str, ...]


def parse_commands(text: str) -> tuple[CommandPattern, ...]:
    """Return the patterns of a check's command, one a line. Raises: UsageError."""
    lines = text.replace("\\\n", " ").splitlines()
    return tuple(parse_command(line.strip()) for line in lines if line.strip())


@lru_cache(maxsize=4096)
def parse_command(text: str) -> CommandPattern:
    """Return the pattern of a text. Raises: UsageError if it is not one simple command."""
    if len(text) > MAX_PATTERN:
        raise UsageError(f"the command is longer than {MAX_PATTERN:,} characters", hint=_HINT)
    line = read_shell(text)
    if line.fault:
        raise UsageError(f"the command cannot be read: {line.fault}", hint=_HINT)
    first = line.commands[0] if line.commands else Simple(())
    if not first.words or first.reads or first.writes or UNKNOWN in "".join(first.words):
        raise UsageError("the command has to name a program, without redirections or variables", hint=_HINT)
    if len(_lines(text)) > 1 or _runs_apart(text):
        raise UsageError("the command has to be a single one, without pipes, `;` or `&&`", hint=_HINT)
    words = first.words
    options = tuple(word for word in words[1:] if _is_option(word))
    operands = tuple(word for word in words[1:] if not _is_option(word) and word != "--")
    program = program_name(words[0])
    if operands:
        operands = (subcommand_name(program, operands[0]), *operands[1:])
    return CommandPattern(text, program, options, operands)


_HINT = "Write the program and the words that matter, such as: git push --force"


def _lines(text: str) -> list[str]:
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


_QUOTED = re.compile(r"'[^']*'|\"(?:\\(?s:.)?+|[^\"\\])*+(\"?)|\\.")


def _runs_apart(text: str) -> bool:
    unquoted = _QUOTED.sub(lambda found: found[0] if found[1] == "" else "", text)
    return re.search(r"[;&|()`]", unquoted) is not None


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of one tool call by program name, and the words of lines that could not be read whole."""

    by_program: Mapping[str, tuple[Simple, ...]]
    unread: tuple[Unread, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """A line as words, with where each program's name stands; without either where it is too long."""

    text: str
    words: tuple[str, ...]
    places: Mapping[str, tuple[int, ...]]


def index_commands(lines: Iterable[ShellLine]) -> Commands:
    """Return the commands of shell lines, ready to be searched for many patterns."""
    kept = tuple(lines)
    found: dict[str, list[Simple]] = {}
    for line in kept:
        for command in line.commands:
            if command.words:
                name = program_name(command.words[0])
                found.setdefault(UNKNOWN if UNKNOWN in name else name, []).append(command)
    return Commands(
        {name: tuple(same) for name, same in found.items()},
        tuple(_unread(line.text) for line in kept if line.fault),
    )


def _unread(text: str) -> Unread:
    if len(text) > MAX_SEARCHED:
        return Unread(text.casefold(), (), {})
    words = tuple(_TOKEN.findall(text.replace("\\\n", " ")))
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(program_name(word), []).append(place)
    return Unread(text, words, {name: tuple(place[: MAX_TRIES + 1]) for name, place in places.items()})


def find_commands(pattern: CommandPattern, commands: Commands) -> tuple[Simple, ...]:
    """Return the commands that the pattern matches.

    A line that could not be read whole is also searched word by word, from every word that is the program:
    what matches there comes back as a command of those words. Where that is too much, for a long line or a
    program named more than MAX_TRIES times, a command without words comes back: what cannot be searched is
    not let pass.
    """
    found = [
        command
        for name in (*_names(pattern.program, commands.by_program), UNKNOWN)
        for command in commands.by_program.get(name, ())
        if matches(pattern, command.words)
    ]
    if not found:
        found = [command for line in commands.unread for command in _by_words(pattern, line)]
    return tuple(found)


def _names(wanted: str, known: Iterable[str]) -> list[str]:
    return sorted(name for name in known if like(wanted, name)) if "*" in wanted else [wanted]


def _by_words(pattern: CommandPattern, line: Unread) -> Iterator[Simple]:
    if not line.words:
        if all(part in line.text for part in pattern.program.split("*")):
            yield Simple(())
        return
    for name in _names(pattern.program, line.places):
        places = line.places.get(name, ())
        for place in places[:MAX_TRIES]:
            words = line.words[place : place + _WINDOW]
            if matches(pattern, words):
                yield Simple(words)
                return
        if len(places) > MAX_TRIES:
            yield Simple(())
            return


def matches(pattern: CommandPattern, words: Sequence[str]) -> bool:
    """Whether the command of these words is one that the pattern speaks of."""
    if not words or not _same_program(pattern.program, words[0]):
        return False
    program, arguments = program_name(words[0]), words[1:]
    if UNKNOWN in program:
        if not pattern.options and not pattern.operands:
            return False  # any variable would be it
        program = pattern.program
    subcommand = pattern.operands[0] if pattern.operands else ""
    if subcommand and not _operands_match(pattern, program, arguments):
        return False
    given = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return all(_has_option(option, program, subcommand, given, arguments) for option in pattern.options)


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and word != "--"


def _same_program(wanted: str, word: str) -> bool:
    name = program_name(word)
    return name == wanted or UNKNOWN in name or ("*" in wanted and like(wanted, name))


def _operands_match(pattern: CommandPattern, program: str, arguments: Sequence[str]) -> bool:
    wanted = pattern.operands
    for start in _subcommand_places(program, arguments):
        if like(wanted[0], subcommand_name(program, arguments[start])) and _in_order(
            wanted[1:], arguments[start + 1 :]
        ):
            return True
    return False


def _subcommand_places(program: str, arguments: Sequence[str]) -> Iterator[int]:
    """Yield where the subcommand may be: the first operand, and before it what may be an option's value.

    Where the options with values are known their values are passed over.
    """
    values = value_options(program)
    value_due = False
    for position, word in enumerate(arguments):
        if value_due and (values is not None or not _is_option(word)):
            value_due = False
            if values is None:
                yield position
        elif _is_option(word):
            value_due = "=" not in word if values is None else word in values
        elif word != "--":
            yield position
            return


def _in_order(wanted: Sequence[str], arguments: Sequence[str]) -> bool:
    rest = iter(arguments)
    return all(any(_operand_like(word, found) for found in rest) for word in wanted)


def _operand_like(wanted: str, found: str) -> bool:
    value = found.partition("=")[2] if found.startswith("--") else found
    return not _is_option(value) and like(wanted, value)


def _has_option(
    option: str, program: str, subcommand: str, given: Sequence[str], arguments: Sequence[str]
) -> bool:
    names = aliases(program, subcommand, option)
    if any(_is_written(name, program, word) for name in names for word in given):
        return True
    if program not in LONG_SINGLE_DASH and _is_clustered(option, names, program, subcommand, given):
        return True
    forced = (program, subcommand) == ("git", "push") and "--force" in names
    return forced and any(word.startswith("+") and len(word) > 1 for word in arguments)


def _is_written(name: str, program: str, word: str) -> bool:
    """Whether a word is an option by its full name, with a value or shortened where the program allows it."""
    if "*" in name:
        return like(name, word)
    if word == name or (name.startswith("--") and word.startswith(name + "=")):
        return True
    long = name.startswith("--") and program in ABBREVIATING and len(word) >= _LEAST_ABBREVIATED
    return long and name.startswith(word) and word.startswith("--")


def _is_clustered(
    option: str, names: frozenset[str], program: str, subcommand: str, given: Sequence[str]
) -> bool:
    """Whether the letters of a short option are all given, in clusters or apart."""
    letters = option[1:]
    if option.startswith("--"):
        short = [name[1:] for name in names if len(name) == 2]
        return any(letter in _letters(program, subcommand, given) for letter in short)
    if not letters.isalpha() or len(letters) > _MAX_CLUSTER - 1:
        return False
    there = _letters(program, subcommand, given)
    return all(
        letter in there
        or any(
            name[1:] in there if len(name) == 2 else any(_is_written(name, program, word) for word in given)
            for name in aliases(program, subcommand, f"-{letter}")
        )
        for letter in letters
    )


def _letters(program: str, subcommand: str, given: Sequence[str]) -> frozenset[str]:
    """Return the short options given, without the letters of a value that follows one at once (`-mfix`)."""
    valued = value_options(program, subcommand) or frozenset()
    found: set[str] = set()
    for word in given:
        if not _is_option(word) or word.startswith("--"):
            continue
        known = False
        letters: list[str] = []
        for letter in word[1:]:
            if not letter.isalpha():
                break
            letters.append(letter)
            if f"-{letter}" in valued:
                known = True
                break
        if known or len(word) - 1 <= _MAX_CLUSTER:
            found.update(letters)
    return frozenset(found)


def like(wanted: str, word: str) -> bool:
    """Whether a word is the wanted one, in which `*` stands for any characters. Takes linear time."""
    first, *rest = wanted.split("*")
    if not rest:
        return word == wanted
    *middle, last = rest
    if not word.startswith(first) or not word.endswith(last) or len(word) < len(first) + len(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in middle:
        at = word.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
