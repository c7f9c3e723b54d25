"""Rule files that a person names: which files a path means, and their import as one step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from workbench.curation.store import record
from workbench.errors import ParseError, UsageError
from workbench.rules.curation.rulestore import LOCK, RuleStore
from workbench.rules.files.stepping import InStep, bring_in_step
from workbench.rules.formats.detect import detect_format
from workbench.rules.formats.families import family_of
from workbench.rules.reading.discover import MAX_FILES, RuleSource, read_source

_RULE_ENDINGS = (".mdc", ".instructions.md", ".cursorrules", ".windsurfrules")
_TEXT_ENDINGS = (".md", ".markdown", ".txt")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The rule files that paths mean. `refused` are sentences about files that are none; `left` counts
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
) -> InStep:
    """Import rule files by name, as one step; with `dry_run` only say what it would bring.

    Raises: StoreError.
    """
    with store.lock(LOCK):
        found = bring_in_step(store, store.ledger(), sources, named=True)
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
