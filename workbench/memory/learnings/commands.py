"""Commands that cannot run here as they were first tried, and the way that works.

Either the failure is one of calling (a program that is not there, an option that is not known) and the same
program was called otherwise; or the very same command works in another directory, under another runner or
with a variable set; or it works once something was built, installed or formatted. A test that failed and
passed after an edit taught something else, and is left alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from workbench.memory.extraction.errors import extract_failure, only_reads
from workbench.memory.extraction.patterns import strip_escapes
from workbench.memory.learnings.lessons import Lesson
from workbench.records.iterations import RawIterationOutput, ToolUseEvent
from workbench.records.learnings import LearningKind
from workbench.sessions.importers.touches import shell_commands
from workbench.sessions.importers.transcripts import ToolUse
from workbench.shell.words import Simple
from workbench.shell.wrappers import program_name

WITHIN: Final = 8
"""So many calls after a failure may the one that works come."""

MOST: Final = 110  # characters of a command that is worth learning
_HEAD: Final = 600
_READ: Final = 4_000  # characters of an answer that are looked at
_NOT_CALLABLE: Final = re.compile(
    r"(?:(?:(?<![\w./@+-])[\w./@+-]+): (?:command )?not found|command not found: \S+)"
    r"|No module named ['\"]?[\w.]+['\"]?"
    r"|Cannot find module ['\"][\w@./-]+['\"]"
    r"|(?:unrecogni[sz]ed|unknown|invalid|illegal|unexpected)(?: \w+)? (?:option|argument|flag)s?\b.{0,60}"
    r"|(?:unknown|invalid|unrecogni[sz]ed) (?:command|subcommand|script)\b.{0,60}"
    r"|[Ss]cript not found.{0,40}"
    r"|[Nn]o such (?:option|command)\b.{0,40}"
    r"|[Mm]issing script:? ['\"]?[\w:.-]+['\"]?"
    r"|externally-managed-environment"
    r"|(?:is not installed|not installed globally)\b.{0,40}"
)
# One of these is in whatever the expression finds, which is slow to say that it finds nothing.
_SIGNS: Final = (
    "not found", "No module named", "Cannot find module", " option", " argument", " flag", "command",
    " script", "externally-managed-environment", "not installed",
)  # fmt: skip
_RUNNERS: Final = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipenv": ("run",),
    "rye": ("run",), "bundle": ("exec",), "npx": (), "bunx": (), "pnpx": (), "uvx": (), "sudo": (),
    "npm": ("exec", "run"), "pnpm": ("exec", "run", "dlx"), "yarn": ("run", "dlx"), "bun": ("run", "x"),
    "conda": ("run",), "mise": ("exec", "x"), "nix": ("run",), "devbox": ("run",),
}  # fmt: skip
_PACKAGES: Final = frozenset("pip pip3 npm pnpm yarn bun uv poetry".split())
_EDITS: Final = frozenset("edit write multiedit notebookedit apply_patch str_replace_based_edit_tool".split())
_NEVER: Final = frozenset(
    "cd ls cat echo mkdir rm cp mv head tail grep rg find sed awk export source which kill sort wc jq true "
    "pwd touch chmod sleep ps printf set test [ read for xargs tee uniq cut tr diff less".split()
)
_NAMED_WRONG: Final = re.compile(r"command|script|not installed", re.IGNORECASE)
_PREPARES: Final = re.compile(
    r"(?:^|[\s:])(?:build|install|sync|restore|generate|codegen|compile|migrate|setup|bootstrap|prepare|seed|"
    r"fix|format|fmt|add|ci|up|deps\.get|download)(?=$|[\s:])|--fix\b|--write\b"
)
_FILE: Final = re.compile(r"(?<!\S)(?>\S+?/)\S*\.\w{1,4}(?!\S)")  # preparing one file is for once
_REDIRECTED: Final = re.compile(
    r"(?<!\s)\s*(?:2>&1\s*|[12&]?>\s*/dev/null\s*|\|\s*(?:head|tail|grep|rg)\b[^|]*)$"
)
_VARIABLES: Final = re.compile(r"(?:^|&&\s*|;\s*)((?:[A-Za-z_]\w*=[^\s;&|'\"$`]*\s+)+)(?=\S)")
_OWN_PATH: Final = re.compile(r"(?:^|(?<=[\s='\"]))(?:~|/(?:home|Users|root|private|tmp|var|workspace))/\S*")
_WORD: Final = re.compile(r"[\w@%+=:,./*\[\]{}~^-]+")


@dataclass(frozen=True, slots=True)
class Tried:
    """A command that was run: as one line, and what became of it.

    `runner` started the program `core`, whose words are without it; `directory` and `variables` were set in
    the line itself. `said` is the beginning of what it printed. Of what went
    into a pipe the exit code says nothing: `piped` says that it may have failed unseen.
    """

    line: str
    core: tuple[str, ...]
    runner: tuple[str, ...]
    directory: str
    variables: str
    failed: bool
    said: str
    piped: bool = False


def command_lessons(raw: RawIterationOutput) -> Iterator[Lesson]:
    """Yield what was learned of how to call things, in the order of the failures."""
    if not any(use.failed or _not_callable((use.result or "")[:_HEAD]) for use in raw.tool_uses):
        return
    runs: list[Tried | None] = []
    for use in raw.tool_uses:
        if use.name.casefold() in _EDITS:
            runs.append(None)
        elif (one := _read_run(use, raw.cwd)) is not None:
            runs.append(one)
        elif not use.rejected and not only_reads(use, raw.cwd):
            runs.append(None)  # whatever it did, it may have changed a file
    seen: set[str] = set()
    for at, one in enumerate(runs):
        if one is None or not one.failed or one.line in seen:
            continue
        for other in runs[at + 1 : at + 1 + WITHIN]:
            if other is None:
                break  # something was edited: what works now may not have worked before
            why = "" if other.failed else _difference(one, other)
            if why:
                seen.add(one.line)
                yield _lesson(one, other, why)
                break
        if one.line not in seen and (other := _find_preparation(runs[at : at + 1 + WITHIN])) is not None:
            seen.add(one.line)
            yield _needs(one, other)


def _find_preparation(runs: Sequence[Tried | None]) -> Tried | None:
    """Return what made the first command work: the one thing done before it was run again, and worked."""
    failed, between = runs[0], list[Tried]()
    for run in runs[1:]:
        if run is None or failed is None or (run.failed and run.line == failed.line):
            return None
        if run.line == failed.line:
            return between[0] if len(between) == 1 and _first_words(failed.said) else None
        if not run.failed and _PREPARES.search(run.line) and not _FILE.search(run.line):
            between.append(run)
    return None


def is_not_callable(one: Tried) -> bool:
    """Whether a command failed for how it was called, and not for what it did."""
    return one.failed and _not_callable(one.said) is not None


def _not_callable(said: str) -> re.Match[str] | None:
    """Return where an answer says that something was called wrongly, if it does."""
    return _NOT_CALLABLE.search(said) if any(sign in said for sign in _SIGNS) else None


def tried_commands(raw: RawIterationOutput) -> Iterator[Tried]:
    """Yield the commands that were run one at a time, in order."""
    for use in raw.tool_uses:
        one = _read_run(use, raw.cwd)
        if one is not None:
            yield one


def _read_run(use: ToolUseEvent, cwd: str) -> Tried | None:
    if use.rejected or use.result is None:
        return None
    given = next((use.input[key] for key in ("command", "cmd") if isinstance(use.input.get(key), str)), "")
    if not given or "\n" in given.strip() or "<<" in given or len(given) > 4 * MOST:
        return None
    commands, _ = shell_commands(ToolUse(use.id, use.name, use.input, "", "", cwd, ""))
    programs = [one for one in commands if one.words and program_name(one.words[0]) not in _NEVER]
    outer = programs[:1]
    if not outer or any(not _inside(program, outer[0]) for program in programs[1:]):
        return None  # of several commands it is not known which one failed
    runner, core = _parts(outer[0].words)
    match = _VARIABLES.search(given)
    variables = "" if match is None else " ".join(match[1].split())
    directory = _relative(outer[0].directory, cwd)
    shown = " ".join(filter(None, (variables, _quote_words(outer[0].words))))
    line = _REDIRECTED.sub("", f"cd {directory} && {shown}" if directory else shown)
    if not core or len(line) > MOST or _OWN_PATH.search(line):
        return None
    said = strip_escapes(use.result[:_READ])
    piped = "|" in given
    failed = use.failed or (piped and _not_callable(said[:_HEAD]) is not None)
    return Tried(line, core, runner, directory, variables, failed, said, piped)


def _inside(command: Simple, outer: Simple) -> bool:
    """Whether a command is one that another starts: `pytest` of `uv run pytest`."""
    return len(command.words) <= len(outer.words) and command.words == outer.words[-len(command.words) :]


def _relative(directory: str, cwd: str) -> str:
    if cwd and (directory == cwd or directory.startswith(f"{cwd}/")):
        return directory[len(cwd) :].strip("/")
    return directory.rstrip("/") if directory not in (".", "") else ""


def _parts(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (runner, the program with its arguments that it starts)."""
    at = 0
    while at < len(words) - 1:
        name, rest = program_name(words[at]), words[at + 1 :]
        if name == "python" and rest[0] == "-m" and len(rest) > 1:
            at += 2
        elif name in _RUNNERS and (not _RUNNERS[name] or rest[0] in _RUNNERS[name]):
            at += 2 if _RUNNERS[name] else 1
        else:
            break
    return tuple(words[:at]), tuple(words[at:])


def _difference(failed: Tried, works: Tried) -> str:
    """Return what a failure said where another command is the way to do the same, else ''."""
    if failed.line == works.line:
        return ""
    why = _not_callable(failed.said)
    same = failed.core == works.core
    elsewhere = (failed.runner, failed.directory, failed.variables) != (
        works.runner,
        works.directory,
        works.variables,
    )
    if same and elsewhere:
        return " ".join(why[0].split()) if why is not None else _first_words(failed.said)
    if why is None:
        return ""
    mine, theirs = failed.core[0], works.core[0]
    verbs = [word for word in failed.core[1:] if not word.startswith("-")][:1]
    kept = [word for word in works.core[1:] if not word.startswith("-")][:1]
    shorter, longer = sorted(((*failed.runner, *failed.core), (*works.runner, *works.core)), key=len)
    if len(shorter) > 1 and longer[-len(shorter) :] == shorter:  # under a runner nobody knows
        return " ".join(why[0].split())
    one_program = program_name(mine) == program_name(theirs) and verbs == kept
    operands = [[word for word in one.core[1:] if not word.startswith("-")] for one in (failed, works)]
    if operands[0] != operands[1] and not _NAMED_WRONG.search(why[0]):
        return ""  # it was asked for something else
    other_manager = {program_name(mine), program_name(theirs)} <= _PACKAGES and verbs == kept and verbs
    by_number = program_name(mine).rstrip("0123456789.") == program_name(theirs).rstrip("0123456789.")
    return " ".join(why[0].split()) if one_program or other_manager or (by_number and mine != theirs) else ""


def _first_words(said: str) -> str:
    failure = extract_failure(said, rejected=False)
    return "" if failure is None else _OWN_PATH.sub("…", " ".join(failure.message.split()))


def _quote_words(words: Sequence[str]) -> str:
    return " ".join(word if _WORD.fullmatch(word) else shlex.quote(word) for word in words)


def _needs(failed: Tried, first: Tried) -> Lesson:
    why = _first_words(failed.said)[:100]
    return Lesson(
        LearningKind.COMMAND,
        f"`{failed.line}` fails ({why}) until `{first.line}` has run.",
        "a command failed, and worked once another one had run; nothing was edited in between",
        evidence=why,
        trigger=f"before {failed.line}",
        remedy=first.line,
        observed=True,
    )


def _lesson(failed: Tried, works: Tried, why: str) -> Lesson:
    return Lesson(
        LearningKind.COMMAND,
        f"`{failed.line}` does not run here ({why[:100]}); `{works.line}` does.",
        "a command failed for how it was called, and the way that works was found",
        evidence=why[:200],
        trigger=failed.line,
        remedy=works.line,
        observed=True,
    )
