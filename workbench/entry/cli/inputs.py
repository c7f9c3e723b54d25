"""What commands take: options about records that many share, and files, stdin, JSON, words or a dash."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from workbench.beneath import open_plain
from workbench.entry.cli import exits
from workbench.entry.cli.frame import Function, Invocation, with_options
from workbench.errors import UsageError
from workbench.lists.tables import ListType
from workbench.records.dataclass import dataclass
from workbench.text.counts import plural

_LISTED = 20  # malformed lines that are named

IDENTIFIERS = click.argument("identifiers", metavar="ID...", nargs=-1, required=True)
WHY = click.option("--reason", default="", metavar="TEXT", help="Why, for the history.")


def format_option(help: str = "Output format.") -> Callable[[Function], Function]:
    """Return the option `--format`, text or JSON lines, as the argument `form`."""
    choice = click.Choice(["text", "jsonl"])
    return click.option("--format", "form", type=choice, default="text", show_default=True, help=help)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """Open a file, `-` for stdin. Raises: UsageError if it cannot be read."""
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open_plain(Path(name).expanduser())
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    with stream:
        yield stream


def read_input(name: str, what: str, limit: int = sys.maxsize - 1) -> bytes:
    """Return what a file holds, `-` for stdin, at most `limit` bytes; `what` names it in messages.

    Raises: UsageError if it cannot be read or is larger.
    """
    with open_input(name) as stream:
        try:
            data = stream.read() if limit == sys.maxsize - 1 else stream.read(limit + 1)
        except OSError as error:
            raise _unreadable(name, error) from error
    if len(data) > limit:
        raise UsageError(f"{what} is larger than {limit >> 20} MB", hint="Give the part that matters.")
    return data


def words_or_stdin(
    here: Invocation, words: Sequence[str], from_stdin: bool, what: str, limit: int = sys.maxsize - 1
) -> str | bytes:
    """Return the words of the arguments as one text, or for `-` the bytes of stdin, at most `limit` of them.

    Raises: UsageError if both are given.
    """
    if not from_stdin and list(words) != ["-"]:
        return " ".join(words)
    if from_stdin and words and list(words) != ["-"]:
        raise UsageError(f"the {what} was given twice", hint="Give it as an argument or on stdin.")
    if sys.stdin.isatty():
        here.out.say(f"Reading the {what} from the terminal; end it with Ctrl-D.")
    return sys.stdin.buffer.read() if limit == sys.maxsize - 1 else sys.stdin.buffer.read(limit)


def decode_json(text: str, what: str, option: str, example: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value of a JSON text given as an option, such as the example. Raises: UsageError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = f"Quote it for your shell: {option} '{example}', or pass it on stdin with {option} -."
        raise UsageError(f"the {what} is not JSON: {error}", hint=hint) from error


def write_bytes(text: str) -> None:
    """Write a text to stdout as it is, in UTF-8 whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def write_json_line(value: object) -> None:
    """Write a value to stdout as one line of JSON."""
    write_bytes(json.dumps(value, ensure_ascii=False) + "\n")


@dataclass(slots=True)
class LineCount:
    """Counts the lines of an input and warns about malformed ones, by name while they are few."""

    here: Invocation
    example: str
    total: int = 0
    malformed: int = 0

    def add(self, number: int, error: str = "") -> None:
        """Count a line; `error` says what is wrong with it."""
        self.total += 1
        if not error:
            return
        self.malformed += 1
        if self.malformed <= _LISTED:
            self.here.out.warn(f"line {number}: {error}")
        elif self.malformed == _LISTED + 1:
            self.here.out.warn("more malformed lines are counted, not listed")

    def exit_code(self) -> int:
        """Return the exit code, and report how many lines could not be read."""
        if not self.malformed:
            return exits.OK
        self.here.out.fail(
            f"{self.malformed:,} of {plural(self.total, 'line')} could not be read",
            f"Each line is a JSON object such as {self.example}; the others were answered.",
        )
        return exits.ERROR


def _unreadable(name: str, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or str(error)
    return UsageError(f"{name} cannot be read: {reason}", hint="Name a file, or - for stdin.")


def limit_option(default: int = 50, shown: str = "Maximum number shown.") -> Callable[[Function], Function]:
    """Return what gives a command `--limit`, a number of at least 1."""
    return click.option("--limit", type=click.IntRange(1), default=default, show_default=True, help=shown)


def list_options(listed: ListType) -> Callable[[Function], Function]:
    """Return what gives a command FILTER as `text`, `--sort` and `--cursor` for a type of record."""
    return with_options(
        click.argument("text", nargs=-1, metavar="[FILTER]..."),
        click.option(
            "--sort", default="", metavar="COLUMN", help=f"{', '.join(listed.sorts)}; -COLUMN the other way."
        ),
        click.option(
            "--cursor", metavar="TEXT", help="The page after this one: next_cursor of the page before."
        ),
    )
