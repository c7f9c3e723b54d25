"""Where text goes: stdout carries data, stderr carries narration, progress and errors.

Printing never fails on odd characters (lone surrogates of undecodable file names, a terminal that knows only
ASCII), and text from files never drives the terminal: on a terminal control characters are shown, not sent.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TextIO

from workbench.records.dataclass import dataclass
from workbench.text.sanitize import one_line

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PROGRESS_VARIABLE = "WORKBENCH_PROGRESS"
"""With the value `json` progress is printed as lines `{"progress": [stage, done, total]}` on stderr."""
_PROGRESS_AFTER = 1.0  # seconds; what ends sooner needs no bar
_PROGRESS_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Output:
    """The two streams and how to write to them."""

    quiet: bool = False
    color: bool = False

    def data(self, text: str) -> None:
        """Write text to stdout, with a newline at its end; on a terminal its control characters are shown."""
        self.paint(visible(text) if sys.stdout.isatty() else text)

    def paint(self, text: str) -> None:
        """Write text that was put together with `style` to stdout; the styles reach the terminal."""
        _write(sys.stdout, text if text.endswith("\n") else text + "\n")

    def json(self, value: object) -> None:
        """Write a value as indented JSON to stdout, in UTF-8 whatever the locale says."""
        text = to_json(value) + "\n"
        with _name_in_errors(sys.stdout):
            sys.stdout.flush()
            binary: IO[bytes] | None = getattr(sys.stdout, "buffer", None)
            if binary is None:
                sys.stdout.write(text)
            else:
                # Lone surrogates become \udcXX, which is how JSON writes them.
                binary.write(text.encode("utf-8", "backslashreplace"))
                binary.flush()

    def say(self, text: str) -> None:
        """Write a line of narration to stderr unless `--quiet`."""
        if not self.quiet:
            _write(sys.stderr, visible(text) + "\n")

    def warn(self, text: str) -> None:
        """Write a warning to stderr, `--quiet` or not."""
        _write(sys.stderr, f"warning: {visible(text)}\n")

    def fail(self, message: str, hint: str = "") -> None:
        """Write an error and its hint to stderr."""
        _write(sys.stderr, f"error: {visible(message)}\n" + (f"  hint: {visible(hint)}\n" if hint else ""))

    def style(self, text: str, codes: str) -> str:
        """Return text in the given SGR codes (`1` bold, `2` faint, `32` green), or plain without colour."""
        return f"\x1b[{codes}m{visible(text)}\x1b[0m" if self.color else text

    def progress(self, label: str) -> Progress:
        """Return a progress line for one piece of work; a context manager."""
        if os.environ.get(PROGRESS_VARIABLE) == "json":
            return Progress(label, shown=True, lines=True)
        return Progress(label, shown=not self.quiet and sys.stderr.isatty())


class Progress:
    """One line on stderr that appears when work takes longer than a second, and goes when it ends.

    With `lines` each is a line of JSON from the first moment on, for the program that started this one.
    """

    def __init__(self, label: str, *, shown: bool, lines: bool = False) -> None:
        self.label = label
        self._lines = lines
        self._shown = shown
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn and not self._lines:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, done: int, total: int = 0, label: str = "") -> None:
        """Say how far the work is; `total` 0 means unknown."""
        now = time.monotonic()
        after = 0.0 if self._lines else _PROGRESS_AFTER
        if not self._shown or now - self._started < after or now - self._drawn < _PROGRESS_EVERY:
            return
        self._drawn = now
        if self._lines:
            _write(sys.stderr, json.dumps({"progress": [label or self.label, done, total]}) + "\n")
            return
        sys.stderr.write("\r" + progress_line(label or self.label, done, total, _columns()) + "\x1b[K")
        sys.stderr.flush()


def progress_line(label: str, done: int, total: int, columns: int) -> str:
    """Return e.g. `Indexing ####------ 1,200 of 3,000`, at most `columns - 1` wide."""
    if total <= 0:
        return f"{label} {done:,}"[: columns - 1]
    share = min(1.0, done / total)
    counts = f"{done:,} of {total:,}"
    width = max(0, min(30, columns - len(label) - len(counts) - 3))
    filled = int(width * share)
    return f"{label} {'#' * filled}{'-' * (width - filled)} {counts}"[: columns - 1]


def to_json(value: object) -> str:
    """Return a record, mapping or list as indented JSON; keys keep their order."""
    import msgspec

    return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), ensure_ascii=False, indent=2)


def visible(text: str) -> str:
    """Return text with its control characters (newline and tab aside) as visible escapes: `\\x1b`."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def shorten(text: str, width: int = 72) -> str:
    """Return a text as one line of at most `width` characters, safe to show."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def wants_color(env: Mapping[str, str] = os.environ, *, no_color: bool = False) -> bool:
    """Whether to colour stdout: a capable terminal and neither `--no-color` nor NO_COLOR."""
    return not no_color and not env.get("NO_COLOR") and env.get("TERM") != "dumb" and sys.stdout.isatty()


def _plain(value: object) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    with _name_in_errors(stream):
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


@contextmanager
def _name_in_errors(stream: TextIO) -> Iterator[None]:
    """Have an error of writing to a stream say which one: a full disk behind `>` is not the project's."""
    try:
        yield
    except OSError as error:
        error.filename = getattr(stream, "name", "").strip("<>")
        raise
