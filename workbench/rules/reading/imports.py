"""Rule files turned into rules, context and warnings.

Pure apart from the function that reads a file. A file that can't be read or parsed costs a warning, never
the others; text that is no instruction is kept as context, so that nothing of a file is lost.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from workbench.errors import ParseError
from workbench.records.dataclass import dataclass
from workbench.records.rules import Provenance, Rule
from workbench.rules.formats.families import IMPORTING, reader_of
from workbench.rules.formats.frontmatter import read_front_matter
from workbench.rules.formats.markdown import Kind
from workbench.rules.formats.textfile import decode_text
from workbench.rules.reading.construction import (
    PROSE,
    Batch,
    build_rule,
    globs_for,
    is_rule,
    why_no_rule,
)
from workbench.rules.reading.discovery import Read, RuleSource
from workbench.rules.reading.units import Unit, split_units
from workbench.text.sanitize import is_safe, safe_lines

_IMPORT_LINE = re.compile(r"(?<![\w`/.])@((?:~/|\.{1,2}/|/)?[\w.-]+(?:/[\w.-]+)*)")
_TEXT_ENDING = re.compile(r"\.(?:md|mdc|txt|markdown)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImportWarning:
    """Something in a rule file that deserves a look. `line` is 1-based, 0 for the file as a whole."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class SkippedBlock:
    """A piece of a rule file that is no instruction: the `unit` it was read as, None for front matter."""

    kind: str
    text: str
    provenance: Provenance
    unit: Unit | None = None

    @property
    def why(self) -> str:
        """Why prose or the row of a table is none, as a clause; empty for what could not have been one."""
        unit = self.unit
        return why_no_rule(unit) if unit is not None and unit.kind in (*PROSE, Kind.TABLE_ROW) else ""


@dataclass(frozen=True, slots=True)
class ImportLine:
    """An `@path` in a rule file: where it is, what it names, and whether it was followed."""

    file: str
    line: int
    target: str
    followed: bool


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A rule file that was read; `digest` is of its bytes, `names` lead to the same."""

    file: str
    names: tuple[str, ...]
    format: str
    home: bool
    digest: str


@dataclass(frozen=True, slots=True)
class RuleImport:
    """What came out of rule files. `read` were read; `unreadable` were found and could not be."""

    rules: tuple[Rule, ...]
    contexts: tuple[SkippedBlock, ...]
    warnings: tuple[ImportWarning, ...]
    read: tuple[ReadFile, ...] = ()
    unreadable: tuple[str, ...] = ()
    imports: tuple[ImportLine, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files that were read."""
        return tuple(found.file for found in self.read)


def rough_tokens(text: str) -> int:
    """Return about how many tokens a text has, without any table: four bytes each."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def import_rules(
    sources: Sequence[RuleSource],
    read: Read,
    *,
    project_id: str = "",
    project_root: str = "",
    count_tokens: Callable[[str], int] = rough_tokens,
    now: str = "",
) -> RuleImport:
    """Import rule files.

    `project_id` owns the rules of the project's files, nobody those of the user's home. `@path` lines of
    CLAUDE.md and GEMINI.md are followed one level, inside `project_root` only. `now` (ISO 8601) becomes the
    rules' creation time.
    """
    work = _Work(Batch(project_id, count_tokens, now))
    queue = [(source, 0) for source in _without_copies(sources, read, work)]
    known = {name for source in sources for name in (source.path, *source.names)}
    for source, depth in queue:
        data = work.data.pop(source.path, None)
        if data is None:
            data = _read(source, read, work)
            if data is None:
                continue
        digest = content_digest(data)
        work.read.append(ReadFile(source.path, source.names, source.format, source.home, digest))
        units = _import_file(source, data, work)
        for target, line in _import_lines(source, units):
            follow = _imported_source(source, target, project_root) if depth == 0 else None
            fresh = follow is not None and follow.path not in known
            if follow is not None and fresh:
                known.add(follow.path)
                queue.append((follow, depth + 1))
            work.imports.append(ImportLine(source.path, line, target, follow is not None))
    return RuleImport(
        tuple(work.rules),
        tuple(work.contexts),
        tuple(work.warnings),
        tuple(work.read),
        tuple(work.unreadable),
        tuple(work.imports),
    )


def content_digest(data: bytes) -> str:
    """Return what identifies a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class _Work:
    """What an import has collected so far."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.rules: list[Rule] = []
        self.contexts: list[SkippedBlock] = []
        self.warnings: list[ImportWarning] = []
        self.read: list[ReadFile] = []
        self.unreadable: list[str] = []
        self.imports: list[ImportLine] = []
        self.data: dict[str, bytes] = {}
        self.seen: Counter[tuple[str, str]] = Counter()


def _read(source: RuleSource, read: Read, work: _Work) -> bytes | None:
    try:
        return read(source)
    except ParseError as error:
        message = error.message
    except OSError as error:
        message = f"could not be read: {error.strerror or error}"
    work.unreadable.append(source.path)
    work.warnings.append(ImportWarning(source.path, 0, message))
    return None


def _without_copies(sources: Sequence[RuleSource], read: Read, work: _Work) -> list[RuleSource]:
    """Return the sources that can be read, identical copies for the same directory merged under one name."""
    kept: dict[tuple[str, bool, bytes], RuleSource] = {}
    for source in sources:
        data = _read(source, read, work)
        if data is None:
            continue
        key = (source.directory, source.home, hashlib.sha256(data).digest())
        first = kept.get(key)
        if first is not None and data.strip() and _plain_pair(first, source):
            kept[key] = replace(first, names=(*first.names, source.path, *source.names))
            continue
        if first is not None:
            key = (source.directory, source.home, source.path.encode("utf-8", "surrogateescape"))
        kept[key] = source
        work.data[source.path] = data
    return list(kept.values())


def _plain_pair(first: RuleSource, second: RuleSource) -> bool:
    """Whether two formats read the same text the same way."""
    return reader_of(first.format, first.path) is reader_of(second.format, second.path)


def _import_file(source: RuleSource, data: bytes, work: _Work) -> tuple[Unit, ...]:
    text, problems = decode_text(data)
    lines = safe_lines(text)
    if not is_safe(text.replace("\r\n", "\n")):
        hidden = next(i for i, line in enumerate(text.split("\n")) if not is_safe(line.removesuffix("\r")))
        problems.append((hidden + 1, "has hidden or control characters; they are shown, not obeyed"))
    work.warnings.extend(ImportWarning(source.path, line, problem) for line, problem in problems)
    front = read_front_matter(lines)
    reach = reader_of(source.format, source.path)(front)
    units, warnings = split_units(lines, front.body_start)
    found = sorted((*front.warnings, *warnings))
    work.warnings.extend(ImportWarning(source.path, line, text) for line, text in found)
    globs = globs_for(source, reach)
    if front.body_start:
        where = Provenance(
            source.path, 1, front.body_start, source.format, source.home, globs, (), source.names
        )
        work.contexts.append(SkippedBlock("front matter", "\n".join(lines[: front.body_start]), where))
    for unit in units:
        stated = reach if unit.stated is None else unit.stated.reach or reach
        where = Provenance(
            source.path,
            unit.line,
            unit.end_line,
            source.format,
            source.home,
            globs if stated is reach else globs_for(source, stated),
            unit.section,
            source.names,
            stated.activation,
        )
        if is_rule(unit):
            work.rules.append(build_rule(unit, where, stated, work.seen, work.batch))
        else:
            work.contexts.append(SkippedBlock(unit.kind.value, unit.text, where, unit))
    return units


def import_targets(units: Iterable[Unit]) -> list[tuple[str, int]]:
    """Return the (target, line) of `@path`s in a file's prose; code spans and code blocks don't count."""
    found: list[tuple[str, int]] = []
    for unit in units:
        if unit.kind not in PROSE or "@" not in unit.own:
            continue
        for offset, line in enumerate(unit.own.split("\n")):
            bare_line = re.sub(r"`[^`]*`", "", line)
            found.extend((match.group(1), unit.line + offset) for match in _IMPORT_LINE.finditer(bare_line))
    return found


def names_text(target: str) -> bool:
    """Whether an `@path` ends like a file of text: others may be names of people and packages."""
    return _TEXT_ENDING.search(target.rstrip(".")) is not None


def _import_lines(source: RuleSource, units: Iterable[Unit]) -> list[tuple[str, int]]:
    """Return the (target, line) of the texts that a file of a format with imports pulls in."""
    if source.format not in IMPORTING:
        return []
    return [(target, line) for target, line in import_targets(units) if names_text(target)]


def imported_paths(source: RuleSource, units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the project-relative paths that a rule file pulls in by `@path`."""
    found = (_imported_source(source, target, ".") for target, _ in _import_lines(source, units))
    return tuple(dict.fromkeys(other.path for other in found if other is not None))


def _imported_source(source: RuleSource, target: str, root: str) -> RuleSource | None:
    """Return the file an `@path` names if it lies inside the project, by its path at least."""
    if source.home or not root or target.startswith(("/", "~")):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), target.rstrip(".")))
    if path.startswith("..") or path == ".":
        return None
    return RuleSource(path, "imported", posixpath.join(root, path), source.directory, inside=root)
