"""Rule files by the names that agents look for, each read once, and what `@path` lines in them pull in.

Nothing here opens a file: sources and the function that reads one come from the caller. Names are relative to
the project, begin with `~/` for the user's home, or are absolute.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from workbench.errors import ParseError
from workbench.records.rules import Activation
from workbench.rules.formats.families import BY_NAME, family_of
from workbench.rules.formats.frontmatter import FrontMatter, Reach, read_front_matter
from workbench.rules.formats.textfile import decode_text
from workbench.rules.globs import first_match
from workbench.rules.reading.construction import globs_for
from workbench.rules.reading.discovery import Read, RuleSource
from workbench.rules.reading.imports import import_targets, names_text
from workbench.rules.reading.units import split_units
from workbench.text.sanitize import safe_lines

MOST_IMPORTED: Final = 500
"""Files that imports of one agent may pull in; more are left out with a reason."""

_BINARY: Final = 8192  # bytes in which a zero says that a file is not text


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule file that was read: its text, front matter and when it applies as its format says."""

    source: RuleSource
    text: str
    size: int
    front: FrontMatter
    reach: Reach

    @property
    def globs(self) -> tuple[str, ...]:
        """The globs of its front matter, from the project's root; none for any path."""
        return globs_for(self.source, self.reach) if self.reach.globs else ()

    def matches(self, file: str) -> bool:
        """Whether its globs take a project-relative path in; a file without globs takes in every one."""
        return not self.globs or first_match(self.globs, [file]) is not None


@dataclass(frozen=True, slots=True)
class ImportedName:
    """An `@path` of a rule file: the name it leads to, empty with the reason `why` if it is not followed."""

    target: str
    line: int
    name: str
    why: str = ""


@dataclass(slots=True)
class RuleTree:
    """The rule files of a project and its user, found by name.

    `root` and `home` are absolute, `home` is empty where the user's own files are not read. What could not
    be read is in `refused`, by name.
    """

    root: str
    home: str
    read: Read
    sources: dict[str, RuleSource] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, RuleText | None] = field(default_factory=dict)

    def names(self, *families: str, below: str = "") -> Iterator[str]:
        """Yield the names of known files of some formats, sorted; `below` is how they begin."""
        for name in sorted(self.sources):
            if self.sources[name].format in families and name.startswith(below):
                yield name

    def resolve(self, name: str) -> str:
        """Return the path of the file that a name leads to, links followed."""
        return os.path.realpath((self.sources.get(name) or self._source(name)).location)

    def find(self, name: str) -> RuleText | None:
        """Return a file by its name, None if it is not there, or refused to be read."""
        if name not in self._texts:
            self._texts[name] = self._open(name)
        return self._texts[name]

    def _open(self, name: str) -> RuleText | None:
        source = self.sources.get(name) or self._source(name)
        try:
            data = self.read(source)
        except ParseError as error:
            self.refused[name] = error.message
            return None
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            if not isinstance(error, NotADirectoryError):
                self.refused[name] = f"could not be read: {getattr(error, 'strerror', None) or error}"
            return None
        if b"\0" in data[:_BINARY] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            self.refused[name] = "is not text"
            return None
        text, _ = decode_text(data)
        front = read_front_matter(safe_lines(text))
        known = BY_NAME.get(source.format)
        reach = known.read(front) if known is not None else Reach(Activation.ALWAYS)
        return RuleText(source, text, len(data), front, reach)

    def _source(self, name: str) -> RuleSource:
        if name.startswith("~/"):
            return RuleSource(name, "named", posixpath.join(self.home, name[2:]), home=True)
        if name.startswith("/"):
            return RuleSource(name, "named", name, home=True)
        found = family_of(name)
        format_, directory = (found[0].name, found[1]) if found else ("named", posixpath.dirname(name))
        return RuleSource(name, format_, posixpath.join(self.root, name), directory, inside=self.root)

    def imports(self, name: str, *, anything: bool) -> list[ImportedName]:
        """Return what the `@path`s of a file lead to, in their order.

        With `anything` every file counts that is there, else only texts by their ending. Paths that lead out
        of the project, or of the home for the user's own files, are never opened.
        """
        found = self.find(name)
        if found is None or "@" not in found.text:
            return []
        units, _ = split_units(safe_lines(found.text), found.front.body_start)
        result = []
        for target, line in import_targets(units):
            text = names_text(target)
            one = self._resolve(name, target, line)
            if text or (anything and one.name and self.find(one.name) is not None):
                result.append(one)
        return result

    def _resolve(self, name: str, target: str, line: int) -> ImportedName:
        path = target.rstrip(".")
        own = name.startswith("~/")
        if path.startswith("/"):
            inside = os.path.relpath(path, self.root).replace(os.sep, "/")
            joined = path if inside.startswith("..") else inside
        elif path.startswith("~/"):
            joined = path
        else:
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if own and joined.startswith("~/") and "/../" not in joined:
            return ImportedName(target, line, joined)
        if not own and not name.startswith("/") and not joined.startswith(("..", "/", "~")):
            return ImportedName(target, line, joined)
        return ImportedName(target, line, "", "is outside, and read only once the agent was allowed to")


def rule_tree(root: str, home: str, sources: Iterable[RuleSource], read: Read) -> RuleTree:
    """Return a tree of sources: a file that several names lead to is known by each of them."""
    tree = RuleTree(root, home, read)
    for source in sources:
        tree.sources[source.path] = source
        for name in source.names:
            found = family_of(name.removeprefix("~/"))
            if found is not None:
                tree.sources[name] = replace(source, path=name, format=found[0].name, names=())
    return tree
