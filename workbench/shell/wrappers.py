"""Programs that start other programs: what `sudo`, `env`, `xargs`, `bash -c` or `find -exec` run in turn."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from workbench.places import data_file
from workbench.records.dataclass import dataclass

_TABLES: Final[dict[str, Any]] = json.loads(
    data_file(__package__, "options.json").read_text(encoding="utf-8")
)
_ALIASES: Final = {
    name: tuple(frozenset(group.split()) for group in groups.split("|"))
    for name, groups in _TABLES["aliases"].items()
}
_VALUES: Final = {name: frozenset(options.split()) for name, options in _TABLES["values"].items()}
_SAME: Final[dict[str, dict[str, str]]] = _TABLES["same"]

LONG_SINGLE_DASH: Final = frozenset(_TABLES["long_single_dash"].split())
"""One dash begins a long option of these programs, not a cluster of short ones."""

ABBREVIATING: Final = frozenset(_TABLES["abbreviating"].split())
"""These programs take any unambiguous beginning of a long option."""


def aliases(program: str, subcommand: str, option: str) -> frozenset[str]:
    """Return all the ways to write an option of a program's subcommand, itself included."""
    for name in (f"{program} {subcommand}", program):
        for group in _ALIASES.get(name, ()):
            if option in group:
                return group
        if name in _ALIASES and name != program:
            break  # what the subcommand means by a letter is listed there
    return frozenset({option})


def value_options(program: str, subcommand: str = "") -> frozenset[str] | None:
    """Return the options that are followed by a value, None for a program that is not known."""
    own = _VALUES.get(program)
    if own is None or not subcommand:
        return own
    return own | _VALUES.get(f"{program} {subcommand}", frozenset())


def subcommand_name(program: str, word: str) -> str:
    """Return the full name of a subcommand: npm's `i` is `install`."""
    return _SAME.get(program, {}).get(word, word)


_VERSION = re.compile(r"(?<=[a-z])\d+(?:\.\d+)*$")
_VERSIONED = frozenset({"python", "pip", "node", "ruby", "perl", "gcc", "clang", "pypy"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELLS = frozenset("sh bash zsh dash ksh ash fish rbash mksh".split())
_SHELL_VALUES = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A program whose arguments are another program's command line, after options of its own.

    `values` are options followed by a value, `skipped` counts operands before the command, `assignments` is
    whether `NAME=value` may come first, and `lookups` are options that make it run nothing.
    """

    values: frozenset[str] = frozenset()
    skipped: int = 0
    assignments: bool = False
    lookups: frozenset[str] = frozenset()


def _prefix(values: str = "", skipped: int = 0, *, assignments: bool = False, lookups: str = "") -> _Prefix:
    return _Prefix(frozenset(values.split()), skipped, assignments, frozenset(lookups.split()))


_PREFIXES = {name: _prefix(**fields) for name, fields in _TABLES["prefixes"].items()}


def program_name(word: str) -> str:
    """Return a program's name as compared: `/usr/bin/Git`, `git.exe` are `git`, `python3.12` `python`."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
    name = name.removesuffix(".exe").removesuffix(".cmd")
    plain = _VERSION.sub("", name)
    return plain if plain in _VERSIONED else name


def inner_commands(words: Sequence[str], given: str | None = None) -> Iterator[tuple[str, ...]]:
    """Yield the commands, as words, that a command runs itself; `given` is its standard input if known."""
    if not words:
        return
    name = program_name(words[0])
    if prefix := _PREFIXES.get(name):
        inner = _after_options(words, prefix)
        if inner and name == "xargs" and given is not None:
            inner = (*inner, *given.split())
        if inner:
            yield inner
    elif name == "find":
        yield from _find_exec(words, {"-exec", "-execdir", "-ok", "-okdir"})
    elif name in ("fd", "fdfind"):
        yield from _find_exec(words, {"-x", "-X", "--exec", "--exec-batch"})
    elif name in ("python", "pypy") and "-m" in words:
        module = words.index("-m") + 1
        if all(word.startswith("-") for word in words[1 : module - 1]) and module < len(words):
            yield tuple(words[module:])


def inner_scripts(words: Sequence[str], given: str | None = None) -> Iterator[str]:
    """Yield the shell scripts that a command runs: of `bash -c`, `eval`, of its standard input."""
    if not words:
        return
    name = program_name(words[0])
    if name in _SHELLS:
        script = _shell_script(words)
        if script is not None:
            yield script
        elif given is not None and not any(not word.startswith(("-", "+")) for word in words[1:]):
            yield given
    elif reader := _SCRIPTS.get(name):
        script = reader(words)
        if script:
            yield script


def _after_options(words: Sequence[str], prefix: _Prefix) -> tuple[str, ...]:
    at, skipped = 1, prefix.skipped
    while at < len(words):
        word = words[at]
        if word in prefix.lookups:
            return ()
        if word == "--":
            at += 1
            break
        if len(word) > 1 and word.startswith("-"):
            at += 2 if _takes_next(word, prefix.values) else 1
        elif prefix.assignments and _ASSIGNMENT.match(word):
            at += 1
        elif skipped:
            at, skipped = at + 1, skipped - 1
        else:
            break
    return tuple(words[at + skipped :])


def _takes_next(word: str, values: frozenset[str]) -> bool:
    """Whether the word after an option is its value: of `-u`, and of `-Eu`, but not of `-uroot`."""
    if word in values or word.startswith("--"):
        return word in values
    first = next((place for place, letter in enumerate(word) if f"-{letter}" in values and place), 0)
    return first == len(word) - 1 and first > 0


def _find_exec(words: Sequence[str], options: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield what `find … -exec … \\;` runs, with the places it searches instead of `{}`."""
    places: list[str] = []
    for word in words[1:]:
        if word.startswith(("-", "(", "!")):
            break
        places.append(word)
    at = 1
    while at < len(words):
        if words[at] in options:
            end = at + 1
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            inner = words[at + 1 : end]
            yield tuple(filled for word in inner for filled in (places or ["."] if word == "{}" else [word]))
            at = end
        at += 1


def _shell_script(words: Sequence[str]) -> str | None:
    """Return the argument of a shell's `-c`, also in a cluster such as `-lc`; None without one."""
    at, wanted = 1, False
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith(("-", "+")) or len(word) < 2:
            break
        wanted = wanted or word == "--command" or (word[0] == "-" and word[1] != "-" and "c" in word[1:])
        at += 2 if word in _SHELL_VALUES else 1
    return words[at] if wanted and at < len(words) else None


def _join(words: Sequence[str]) -> str:
    return " ".join(words[1:])


def _split_string(words: Sequence[str]) -> str:
    """Return the command line of `env -S`."""
    for at, word in enumerate(words):
        if word in ("-S", "--split-string") or (word.startswith("-S") and len(word) > 2):
            first = word[2:] if word.startswith("-S") and len(word) > 2 else ""
            return " ".join(part for part in (first, *words[at + 1 :]) if part)
        if word.startswith("--split-string="):
            return " ".join((word.partition("=")[2], *words[at + 1 :]))
    return ""


def _option_c(words: Sequence[str]) -> str:
    """Return the script of `su -c`, `script -c`, `flock FILE -c`."""
    for option in ("-c", "--command"):
        if option in words[:-1]:
            return words[words.index(option) + 1]
    return ""


_SSH_VALUES = frozenset("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w".split())


def _remote(words: Sequence[str]) -> str:
    rest = _after_options(words, _Prefix(_SSH_VALUES, skipped=1))
    return " ".join(rest)


def _watch_command(words: Sequence[str]) -> str:
    rest = _after_options(words, _prefix("-n --interval"))
    return rest[0] if len(rest) == 1 else shlex.join(rest)


_SCRIPTS: dict[str, Callable[[Sequence[str]], str]] = {
    "eval": _join,
    "env": _split_string,
    "su": _option_c,
    "script": _option_c,
    "flock": _option_c,
    "ssh": _remote,
    "watch": _watch_command,
    "trap": lambda words: words[1] if len(words) > 2 else "",
}
