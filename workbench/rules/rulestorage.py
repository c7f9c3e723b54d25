"""How a set of rules is kept for the next run: a base of all rules, and a small file of what changed since.

It serves the rulebook, and learnings as the rules that they would make.

A base is a generation of lines, one a rule, that are read when they are asked for, and of mapped arrays of
what is computed of all of them. An edit of few rules of many keeps only those; the others are read from the
base that they name.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from workbench.curation.lazy import DamagedLines, FileLines, StoredFile, StoredValues, write_lines
from workbench.errors import StoreError
from workbench.records.conversion import convert, decode_lossless, encode_lossless
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.rules.ruleset import RuleBase, RuleSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.rules.matching.filters import MatchColumns
    from workbench.rules.matching.lexical import RuleWords
    from workbench.rules.matching.texts import RuleTexts

MANY: Final = 200
"""Rules from which on a change of few is kept by itself: fewer are written in no time."""

_RULES = "rules.lines"
_ARRAYS = "arrays.bin"
_PATCH = "changes.json"
_CRC = 9  # bytes of the first line
_TRAILER = 43  # bytes of the last line: the size of the lines, where the head begins, its checksum
_AT_ONCE = 256  # rules; one call for all would hold up other threads

Head = Mapping[str, Any]
DAMAGED: Final = (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError)


Heal = Callable[[Mapping[str, int]], Callable[[str], Rule | None]]
"""Gives, for the ends of the journals of use, what reads a rule from the journals by its id."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a set of rules is kept: generations of the kinds `base` and `changes`.

    `arrays` are what is kept of a set besides its words, what filters look at and the keys of its texts.
    """

    latest: Callable[[str], Path | None]
    publish: Callable[[str, Callable[[Path], None]], object]
    base: str
    changes: str
    heal: Heal
    arrays: Callable[[RuleSet], Mapping[str, NDArray[Any] | bytes]]


class _Names(msgspec.Struct):
    ids: list[str]
    lineage: Mapping[str, Sequence[str]]
    checked: Sequence[str]
    checksums: list[int]


class StoredRules(StoredValues[Rule]):
    """Rules in lines. Those of a damaged file are what `heal` gives for their places."""

    def __init__(self, lines: FileLines, heal: Callable[[int], Rule]) -> None:
        super().__init__(lines, lambda line: decode_lossless(line, Rule))
        self._heal = heal

    def __getitem__(self, number: int) -> Rule:
        try:
            return super().__getitem__(number)
        except (DamagedLines, *DAMAGED):
            return self.decoded.setdefault(number, self._heal(number))

    def all(self) -> tuple[Rule, ...]:
        """Return all rules, decoded some at once."""
        for start in range(0, len(self), _AT_ONCE):
            places = range(start, min(start + _AT_ONCE, len(self)))
            missing = [place for place in places if place not in self.decoded]
            with suppress(DamagedLines, *DAMAGED):  # decoded one by one
                some = b"[" + b",".join([self.lines[place] for place in missing]) + b"]"
                for place, rule in zip(missing, decode_lossless(some, list[Rule]), strict=True):
                    self.decoded.setdefault(place, rule)
        return super().all()


def keep_rules(shelf: Shelf, head: Head, rules: RuleSet, *, whole: bool) -> RuleSet:
    """Keep rules and what else is known of them (`head`, with its signature): what changed, or the `whole`.

    Returns the rules to go on with, over the base that is kept. Raises: StoreError.
    """
    base = rules.base
    if base.digest and not rules.is_far and len(rules) >= MANY and not whole:
        kept = {**head, "used_until": dict(base.used_until)}
        patch = {"base": base.digest, "gone": sorted(rules.gone), "put": list(rules.put.values())}
        data = encode_lossless({"head": kept, **patch})
        shelf.publish(shelf.changes, lambda directory: _write_sealed(directory / _PATCH, [data]))
        return rules
    made = rules.rebase(str(head["signature"]), head["used_until"])
    shelf.publish(shelf.base, lambda directory: _write_base(shelf, directory, head, made))
    return made


def open_rules(shelf: Shelf, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    """Return the head and the rules that were kept last, None if nothing wanted or undamaged is kept."""
    for open_kept in (_open_changes, _open_base):
        try:
            found = open_kept(shelf, is_wanted)
        except (OSError, *DAMAGED):
            continue
        if found is not None:
            return found
    return None


def open_arrays_of(shelf: Shelf, rules: RuleSet) -> Mapping[str, NDArray[Any]]:
    """Open what is kept of all rules of the base, and return the arrays, by name.

    Raises: OSError, ValueError, KeyError if it is damaged.
    """
    from workbench.project.arrays import open_arrays

    base, directory = rules.base, shelf.latest(shelf.base)
    if directory is None:
        raise ValueError("the rules are gone")
    arrays = open_arrays(directory / _ARRAYS)
    if arrays["digest"].tobytes() != base.digest.encode():
        raise ValueError("the arrays are of other rules")
    base.kept_words = partial(_open_words, arrays, len(base.ids))
    base.kept_matching = partial(_open_matching, arrays, RuleSet(base))
    base.kept_texts = partial(_open_texts, arrays, RuleSet(base))
    return arrays


def _open_words(arrays: Mapping[str, NDArray[Any]], count: int) -> RuleWords | None:
    """Return the words of so many rules, None if they are damaged."""
    from workbench.rules.matching.lexical import words_from

    try:
        words = words_from(_arrays_named(arrays, "words."))
    except (OSError, *DAMAGED):
        return None
    return words if words.count == count else None


def _open_matching(arrays: Mapping[str, NDArray[Any]], rules: RuleSet) -> MatchColumns | None:
    """Return the columns of rules for matches, None if they are damaged."""
    from workbench.rules.matching.filters import match_columns_from

    try:
        return match_columns_from(_arrays_named(arrays, "matching."), rules)
    except (OSError, *DAMAGED):
        return None


def _open_texts(arrays: Mapping[str, NDArray[Any]], rules: RuleSet) -> RuleTexts | None:
    """Return the keys of the texts of rules, None if they are damaged."""
    from workbench.rules.matching.texts import texts_from

    try:
        return texts_from(_arrays_named(arrays, "texts."), rules)
    except (OSError, *DAMAGED):
        return None


def _arrays_named(arrays: Mapping[str, NDArray[Any]], begin: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(begin): held for name, held in arrays.items() if name.startswith(begin)}


def _open_changes(shelf: Shelf, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    directory = shelf.latest(shelf.changes)
    if directory is None:
        return None
    kept = decode_lossless(bytes(_read_sealed((directory / _PATCH).read_bytes())), dict[str, Any])
    head = kept["head"]
    if not is_wanted(head):
        return None

    def is_base(known: Head) -> bool:
        return bool(known["signature"] == kept["base"] and known["used_until"] == head["used_until"])

    base = _open_base(shelf, is_base)
    if base is None:
        return None
    put = {rule.id: rule for rule in convert(kept["put"], list[Rule])}
    return head, base[1].with_changes(put, convert(kept["gone"], list[str]))


def _open_base(shelf: Shelf, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    directory = shelf.latest(shelf.base)
    if directory is None:
        return None
    path = directory / _RULES
    with path.open("rb") as file:
        file.seek(-_TRAILER, os.SEEK_END)
        size, start, crc = (int(part, 16) for part in file.read().split())
        file.seek(start)
        first = file.readline()
        head = json.loads(first)
        if not isinstance(head, dict) or not is_wanted(head):
            return None
        second = file.readline()
        file.seek(size)
        offsets = file.read(start - size)
    if zlib.crc32(second, zlib.crc32(first, zlib.crc32(offsets))) != crc:
        raise ValueError("the rules have changed since they were written")
    names, ends = decode_lossless(second, _Names), array("q")
    ends.frombytes(offsets)
    if len(ends) != len(names.ids) or (ends[-1] if ends else 0) != size:
        raise ValueError("the rules are cut short")
    until, digest = convert(head["used_until"], dict[str, int]), str(head["signature"])
    lines = FileLines(StoredFile(path), ends, names.checksums)
    held = StoredRules(lines, _Healing(shelf.heal, path, names.ids, until))
    return head, RuleSet(RuleBase(names.ids, held, names.lineage, names.checked, until, digest))


class _Healing:
    """Gives rules of a damaged file as the journals have them; the next process makes another file."""

    def __init__(self, heal: Heal, path: Path, ids: Sequence[str], until: Mapping[str, int]) -> None:
        self._heal, self._path, self._ids, self._until = heal, path, ids, until
        self._read: Callable[[str], Rule | None] | None = None

    def __call__(self, place: int) -> Rule:
        if self._read is None:
            self._path.unlink(missing_ok=True)
            self._read = self._heal(self._until)
        found = self._read(self._ids[place])
        if found is None:
            raise StoreError(
                f"the index {self._path.parent.name} is damaged: {self._ids[place]} cannot be read",
                hint="Run the command again: all is read from the journals then.",
            )
        return found


def _write_base(shelf: Shelf, directory: Path, head: Head, rules: RuleSet) -> None:
    from workbench.project.arrays import write_arrays
    from workbench.rules.matching.filters import match_arrays
    from workbench.rules.matching.lexical import words_arrays
    from workbench.rules.matching.texts import texts_arrays

    base = rules.base
    with (directory / _RULES).open("wb") as file:
        ends, checksums = write_lines(file, (encode_lossless(rule) + b"\n" for rule in rules))
        # The standard library's JSON: names that are not UTF-8 are lone surrogates, which it alone can write.
        first = json.dumps(head).encode("ascii") + b"\n"
        second = encode_lossless(_Names(list(base.ids), base.lineage, base.checked, checksums)) + b"\n"
        offsets, size = ends.tobytes(), ends[-1] if ends else 0
        crc = zlib.crc32(second, zlib.crc32(first, zlib.crc32(offsets)))
        trailer = b"%016x %016x %08x\n" % (size, size + len(offsets), crc)
        file.writelines([offsets, first, second, trailer])
    words = {f"words.{name}": held for name, held in words_arrays(rules.words).items()}
    matching = {f"matching.{name}": held for name, held in match_arrays(rules.matching).items()}
    texts = {f"texts.{name}": held for name, held in texts_arrays(rules.texts).items()}
    digest = str(head["signature"]).encode()
    write_arrays(directory / _ARRAYS, {**words, **matching, **texts, **shelf.arrays(rules), "digest": digest})


def _write_sealed(path: Path, parts: list[bytes]) -> None:
    """Write parts behind a line with their checksum."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    with path.open("wb") as file:
        file.writelines([b"%08x\n" % crc, *parts])


def _read_sealed(data: bytes) -> memoryview:
    """Return what is behind the first line. Raises: ValueError if it is not what was written."""
    content = memoryview(data)[_CRC:]
    if zlib.crc32(content) != int(data[:_CRC], 16):
        raise ValueError("the rules have changed since they were written")
    return content
