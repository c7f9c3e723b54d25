"""Turn files on disk into facts: read, refuse what is not text, extract; in several processes if it pays."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from workbench.project.admission import content_refusal
from workbench.project.languages import language_of, role_of
from workbench.project.scan import MAX_TERMS_BYTES, read_bytes, stat_file
from workbench.project.snapshot import content_hash
from workbench.records.project import FileFacts, FileStat, Skipped
from workbench.text.source_secrets import MaskedSource, mask_source
from workbench.text.terms import count_terms
from workbench.text.tokens import estimated_tokens

Progress = Callable[[int, int], None]
Take = Callable[[str, FileFacts, int], None]


class TextKeeper(Protocol):
    """Keeps what is made of texts beside the index, without a second reading. Workers get a copy of it."""

    def prepare(
        self, digest: str, data: bytes, source: MaskedSource, facts: FileFacts
    ) -> tuple[str, bytes] | None:
        """Return what to keep of a file, None if that is kept already."""

    def take(self, prepared: tuple[str, bytes]) -> None:
        """Keep what a worker has prepared."""

    def flush(self) -> None:
        """Write what is new."""

    def tidy(self) -> None:
        """Remove what is of no use any more."""


_BATCH = 24
_PARALLEL_FROM = 150  # below this, starting processes costs more than they save


@dataclass(frozen=True, slots=True)
class Extracted:
    """One file read: its stat from before the read, its content hash, and its facts or why it has none.

    `prepared` is what a `TextKeeper` takes.
    """

    stat: FileStat
    digest: str
    facts: FileFacts | None
    skipped: Skipped | None = None
    prepared: tuple[str, bytes] | None = None


@dataclass(slots=True)
class Extraction:
    """Files read: facts by path in the order asked, hashes of every content read, and what was refused."""

    facts: dict[str, FileFacts] = field(default_factory=dict)
    stats: dict[str, FileStat] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def extract_file(root: str, cap: int, keeper: TextKeeper | None, path: str) -> Extracted | Skipped:
    """Read one file and extract its facts."""
    found = stat_file(root, path)
    if isinstance(found, str):
        return Skipped(path, found)
    data = read_bytes(root, path, cap)
    if isinstance(data, Skipped):
        return Extracted(found, "", None, data)
    digest = content_hash(data)
    refused = content_refusal(path, data)
    if refused is not None:
        return Extracted(found, digest, None, Skipped(path, refused))
    source = mask_source(data, role_of(path))
    facts = extract_facts(path, data, source)
    prepared = None if keeper is None else keeper.prepare(digest, data, source, facts)
    return Extracted(found, digest, facts, prepared=prepared)


def extract_all(
    root: Path,
    paths: Sequence[str],
    *,
    cap: int,
    take: Take | None = None,
    keeper: TextKeeper | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Extraction:
    """Read files and extract their facts. Ctrl-C stops the workers and is raised on.

    With `take` the facts of each file are handed over, with its path and size, instead of being kept.
    """
    result = Extraction()
    top = os.fspath(root)
    done = 0
    with closing(
        _batches(partial(extract_file, top, cap, keeper), partial(_fatal_file, top), paths, workers)
    ) as batches:
        for batch in batches:
            for path, item in zip(paths[done : done + len(batch)], batch, strict=True):
                _sort_in(result, path, item, take)
                if keeper is not None and isinstance(item, Extracted) and item.prepared is not None:
                    keeper.take(item.prepared)
            done += len(batch)
            if progress is not None:
                progress(done, len(paths))
    if keeper is not None:
        keeper.flush()
    return result


def _sort_in(result: Extraction, path: str, item: Extracted | Skipped, take: Take | None) -> None:
    if isinstance(item, Skipped):
        result.skipped.append(item)
        return
    result.stats[path] = item.stat
    result.hashes[path] = item.digest
    if item.facts is None:
        result.skipped += [item.skipped] if item.skipped is not None else []
    elif take is None:
        result.facts[path] = item.facts
    else:
        take(path, item.facts, item.stat.size)


_Extract = Callable[[str], Extracted | Skipped]


def _batches(
    extract: _Extract, killed: _Extract, paths: Sequence[str], workers: int | None
) -> Generator[list[Extracted | Skipped], None, None]:
    if len(paths) < _PARALLEL_FROM:
        yield from (
            [extract(path) for path in paths[at : at + _BATCH]] for at in range(0, len(paths), _BATCH)
        )
        return
    from workbench.project.workers import spread, worker_count

    yield from spread(extract, paths, workers=worker_count(workers), batch=_BATCH, failed=killed)


def _fatal_file(root: str, path: str) -> Extracted | Skipped:
    """Return what to say of a file that ended the process reading it."""
    found = stat_file(root, path)
    reason = Skipped(path, "its parser died")
    return Skipped(path, found) if isinstance(found, str) else Extracted(found, "", None, reason)


def extract_facts(path: str, data: bytes, source: MaskedSource | None = None) -> FileFacts:
    """Return the facts of a file. Never raises on malformed content.

    Credentials are masked first: neither a signature nor a term of the index holds one. `source` is the file
    without them where that is known.
    """
    from workbench.project.symbols import extract_symbols

    size, role = len(data), role_of(path)
    data = (source or mask_source(data, role)).data
    text = data[:MAX_TERMS_BYTES].decode("utf-8", "replace")
    language = language_of(path, text[:200].split("\n", 1)[0])
    symbols, imports = extract_symbols(language, data)
    return FileFacts(
        language=language,
        role=role,
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        tokens=estimated_tokens(size),
        symbols=symbols,
        imports=imports,
        body_terms=count_terms(text),
        name_terms=count_terms(" ".join(symbol.name for symbol in symbols)),
    )
