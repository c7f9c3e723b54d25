"""Cuts of files kept on disk by content, so that a plan in a new process only looks terms up.

A cut is a function of a content, its language and the role of its path (which secrets are masked), and of the
tokenizer. `index` writes the cuts of long files, which take longest; whoever reads a file that is not there
adds it. With a cut go the lines of its file that are masked, so that no other line has to be looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from workbench.plan.cuts import VERSION, FileCut, cut_file, decode_cut, encode_cut
from workbench.project.index import FORMAT
from workbench.project.scan import decode
from workbench.project.segment_cache import SegmentCache, tidy
from workbench.records.conversion import decode_msgpack
from workbench.records.dataclass import dataclass
from workbench.records.project import FileFacts, Role, Symbol
from workbench.text.sanitize import safe_lines
from workbench.text.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from workbench.text.source_secrets import MaskedSource

LONG: Final = 64 << 10  # bytes of a file that is cut with the index; cutting them all takes a third longer
_LENGTH: Final = 8  # bytes before a cut, which say how many it has


@dataclass(frozen=True, slots=True)
class KeptCut:
    """A file's cut, its lines that are shown otherwise than they are, and (line, kind) of what is masked."""

    cut: FileCut
    shown: Mapping[int, str]
    masked: tuple[tuple[int, str], ...] = ()


def make_cut(
    language: str, data: bytes, source: MaskedSource, symbols: Sequence[Symbol], counter: TokenCounter
) -> KeptCut:
    """Cut a file's bytes, of which `source` is what may be shown."""
    text = decode(source.data)
    found = cut_file(language, text, symbols, counter)
    if source.data is data:
        return KeptCut(found, {})
    plain, shown = safe_lines(decode(data)), safe_lines(text)
    differing = {number: line for number, line in enumerate(shown) if plain[number : number + 1] != [line]}
    return KeptCut(found, differing, tuple(source.masked))


class CutCache:
    """The cuts of a project's files; a directory of None keeps none. Not thread-safe."""

    def __init__(self, directory: Path | None, tokenizer: str) -> None:
        self._directory = directory
        self._tokenizer = tokenizer

    def __reduce__(self) -> tuple[Callable[..., CutCache], tuple[Path | None, str]]:
        """Give a worker the place alone."""
        return CutCache, (self._directory, self._tokenizer)

    @property
    def _version(self) -> str:
        return f"{VERSION}-{FORMAT}-{self._tokenizer}"

    @cached_property
    def _kept(self) -> SegmentCache | None:
        return None if self._directory is None else SegmentCache(self._directory, self._version)

    def get(self, digest: str, language: str, role: Role) -> KeptCut | None:
        """Return the cut of a content, None if it is not here or damaged."""
        data = None if self._kept is None else self._kept.get(_key(digest, language, role))
        if data is None:
            return None
        try:
            end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
            shown, masked = decode_msgpack(
                bytes(data[end:]), tuple[dict[int, str], tuple[tuple[int, str], ...]]
            )
            found = decode_cut(data[_LENGTH:end])
        except (ValueError, msgspec.MsgspecError):
            return None
        return None if found is None else KeptCut(found, shown, masked)

    def put(self, digest: str, language: str, role: Role, kept: KeptCut) -> None:
        """Keep a cut; `flush` writes it."""
        if self._kept is not None:
            self._kept.put(_key(digest, language, role), _encode(kept))

    def prepare(
        self, digest: str, data: bytes, source: MaskedSource, facts: FileFacts
    ) -> tuple[str, bytes] | None:
        """Return the key and the bytes of a long file's cut for `take`, None if it is here already."""
        if len(data) < LONG:
            return None
        key = _key(digest, facts.language, facts.role)
        if self._kept is None or self._kept.get(key) is not None:
            return None
        counter = token_counter(self._tokenizer)
        return key, _encode(make_cut(facts.language, data, source, facts.symbols, counter))

    def take(self, prepared: tuple[str, bytes]) -> None:
        """Keep what `prepare` returned, in this process or another."""
        if self._kept is not None:
            self._kept.put(*prepared)

    def flush(self) -> None:
        """Write what is new."""
        if self._kept is not None:
            self._kept.flush()

    def tidy(self) -> None:
        """Remove the cuts of other versions, and the oldest where there are too many."""
        if self._directory is not None:
            tidy(self._directory, self._version)


def _key(digest: str, language: str, role: Role) -> str:
    return f"{digest} {language} {role}"


def _encode(kept: KeptCut) -> bytes:
    try:
        rest = msgspec.msgpack.encode((kept.shown, kept.masked))
        found = encode_cut(kept.cut)
    except UnicodeEncodeError:
        return b""  # of a text with lone surrogates: cut each time
    return len(found).to_bytes(_LENGTH, "little") + found + rest
