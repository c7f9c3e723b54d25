"""Rule files that a person names: which files a path means, their formats, and their import as one step."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.curation.store import record
from workbench.errors import ParseError, UsageError
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.files.sync import SyncResult, sync_files
from workbench.rules.formats.families import family_of
from workbench.rules.formats.frontmatter import FrontMatter, read_front_matter
from workbench.rules.formats.textfile import decode_text
from workbench.rules.reading.discovery import MAX_FILES, RuleSource, read_source
from workbench.text.sanitize import safe_lines

_RULE_ENDINGS = (".mdc", ".instructions.md", ".cursorrules", ".windsurfrules")
_TEXT_ENDINGS = (".md", ".markdown", ".txt")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The rule files that paths mean. `refused` are sentences about files that are not; `left` counts
    Markdown files in directories that may or may not hold rules.
    """

    sources: tuple[RuleSource, ...]
    refused: tuple[str, ...] = ()
    left: int = 0


def named_files(
    root: Path, paths: Sequence[str], *, every: bool = False, progress: Progress | None = None
) -> NamedFiles:
    """Return the rule files that paths mean: files whatever they are called, directories with all below.

    Of directories, files with the names and endings of rule files are taken, with `every` all Markdown.
    Raises: UsageError for a path that does not exist.
    """
    found: list[Path] = []
    left = 0
    for given in paths:
        path = Path(given).expanduser()
        if path.is_dir():
            inside = list(_below(path))
            taken = [item for item in inside if every or _looks_like_rules(path, item)]
            left += len(inside) - len(taken)
            found += taken
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{given} does not exist", hint="Name rule files or directories that hold some.")
    sources: dict[str, RuleSource] = {}
    refused: list[str] = []
    for done, path in enumerate(dict.fromkeys(found)):
        if progress is not None:
            progress("reading rule files", done, len(found))
        try:
            source = _source(root, path)
        except (ParseError, OSError) as error:
            reason = error.message if isinstance(error, ParseError) else error.strerror or str(error)
            refused.append(f"{path}: {reason}")
            continue
        sources.setdefault(source.path, source)
    return NamedFiles(tuple(sources[path] for path in sorted(sources)), tuple(refused), left)


def import_named(
    store: RuleStore, sources: Sequence[RuleSource], *, by: str, dry_run: bool = False
) -> SyncResult:
    """Import rule files by name, as one step; with `dry_run` only say what it would bring.

    Raises: StoreError.
    """
    with store.lock(LOCK):
        found = sync_files(store, store.ledger(), sources, named=True)
        if not dry_run:
            record(store, found.drafts, by=by)
    return found


def _below(path: Path) -> Iterator[Path]:
    """Yield the Markdown and rule files below a directory, sorted; links to directories are not followed."""
    count = 0
    for parent, names, files in os.walk(path):
        names[:] = sorted(name for name in names if name not in (".git", "node_modules", ".workbench"))
        for file in sorted(files):
            if file.lower().endswith((*_RULE_ENDINGS, *_TEXT_ENDINGS)):
                yield Path(parent, file)
                count += 1
        if count > MAX_FILES:
            raise UsageError(
                f"{path} holds more than {MAX_FILES:,} files", hint="Name the directories that hold rules."
            )


def _looks_like_rules(base: Path, path: Path) -> bool:
    inside = path.relative_to(base).as_posix()
    return path.name.endswith(_RULE_ENDINGS) or family_of(inside) is not None


def _source(root: Path, path: Path) -> RuleSource:
    """Return a file as a source: by its path in the project, or by its absolute path outside of it."""
    location = Path(os.path.abspath(path))
    inside = location.is_relative_to(root)
    name = location.relative_to(root).as_posix() if inside else location.as_posix()
    source = RuleSource(name, "plain", str(location), inside=str(root) if inside else "")
    data = read_source(source)
    known = family_of(name) if inside else None
    if known is not None:
        return replace(source, format=known[0].name, directory=known[1])
    return replace(source, format=detect_format(name, data))


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
    Raises: ParseError with the path if the file is not text, or is data or source code rather than prose.
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
            "is not a text file", path=path, hint="Name a Markdown file with rules, such as CLAUDE.md."
        )


def _check_prose(path: str, ending: str, data: bytes) -> None:
    if ending not in _ENDINGS:
        raise ParseError(
            f"is not a rule file: {ending} is not one of {', '.join(sorted(_ENDINGS - {''}))}",
            path=path,
            hint="Copy its rules into a Markdown file and import that.",
        )
    text = decode_text(data)[0].strip()
    if text and text[0] in "{[" and text[-1] in "}]":
        try:
            json.loads(text)
        except ValueError:
            return
        raise ParseError("is JSON, not a rule file", path=path, hint="Rule files are Markdown or plain text.")
