"""Which format a file has that somebody names for import, wherever it lies and whatever it is called."""

from __future__ import annotations

import json
import posixpath
import re

from workbench.errors import ParseError
from workbench.rules.formats.families import family_of
from workbench.rules.formats.frontmatter import FrontMatter, read_front_matter
from workbench.rules.formats.textfile import decode_text
from workbench.text.sanitize import safe_lines

PLAIN = "plain"
_ENDINGS = frozenset({"", ".md", ".mdc", ".markdown", ".txt", ".rules"})
_MAGIC = (b"\x7fELF", b"\x89PNG", b"PK\x03\x04", b"\x1f\x8b", b"%PDF", b"GIF8", b"\xff\xd8\xff", b"MZ\x90")
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65536
# Keys only one format's front matter has, in the order they decide.
_KEYS = (
    ("alwaysApply", "cursor"),
    ("applyTo", "copilot-instructions"),
    ("trigger", "windsurf"),
    ("inclusion", "kiro"),
    ("globs", "cursor"),
    ("paths", "claude-rules"),
)


def detect_format(path: str, data: bytes) -> str:
    """Return the name of a file's format: by its path, its name, its front matter; else `plain`.

    `path` may be absolute; separators are posix.
    Raises: ParseError with the path if the file is no text, or is data or source code rather than prose.
    """
    name = posixpath.basename(path)
    _check_text(path, data)
    known = family_of(path.lstrip("/"))
    if known is not None:
        return known[0].name
    ending = posixpath.splitext(name)[1].lower()
    _check_prose(path, ending, data)
    if ending == ".mdc":
        return "cursor"
    if name.endswith(".instructions.md"):
        return "copilot-instructions"
    return _by_front_matter(read_front_matter(safe_lines(decode_text(data)[0])))


def _by_front_matter(front: FrontMatter) -> str:
    return next((name for key, name in _KEYS if key in front.fields), PLAIN)


def _check_text(path: str, data: bytes) -> None:
    sample = data[:_SAMPLE]
    wide = sample[:2] in (b"\xff\xfe", b"\xfe\xff")
    if sample.startswith(_MAGIC) or (not wide and 10 * len(_CONTROL.findall(sample)) > len(sample)):
        raise ParseError(
            "is no text file", path=path, hint="Name a Markdown file with rules, such as CLAUDE.md."
        )


def _check_prose(path: str, ending: str, data: bytes) -> None:
    if ending not in _ENDINGS:
        raise ParseError(
            f"is no rule file: {ending} is not one of {', '.join(sorted(_ENDINGS - {''}))}",
            path=path,
            hint="Copy its rules into a Markdown file and import that.",
        )
    text = decode_text(data)[0].strip()
    if text and text[0] in "{[" and text[-1] in "}]":
        try:
            json.loads(text)
        except ValueError:
            return
        raise ParseError("is JSON, no rule file", path=path, hint="Rule files are Markdown or plain text.")
