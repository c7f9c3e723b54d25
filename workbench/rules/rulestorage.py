"""How a rulebook is kept for the next run: a base of all rules, and a small file of what changed since.

A base is a generation of lines, one a rule, and arrays of what is computed of all of them. An edit of few
rules of many keeps only those; the others are read from the base that they name.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.curation.lazy import StoredLines, StoredValues
from workbench.records.conversion import convert, decode_lossless, encode_lossless
from workbench.records.rules import Rule
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.ruleset import RuleBase, RuleSet

BASE: Final = "rules"
CHANGES: Final = "rule_changes"
MANY: Final = 200
"""Rules from which on a change of few is kept by itself: fewer are written in no time."""

_RULES = "rules.jsonl"
_ARRAYS = "arrays.bin"
_PATCH = "changes.json"
_CRC = 9  # bytes of the first line
_AT_ONCE = 256  # rules; one call for all would hold up other threads

Head = Mapping[str, Any]
DAMAGED: Final = (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError)


class _Names(msgspec.Struct):
    ids: list[str]
    lineage: Mapping[str, Sequence[str]]
    checked: Sequence[str]


class StoredRules(StoredValues[Rule]):
    """Rules in lines."""

    def __init__(self, lines: StoredLines) -> None:
        super().__init__(lines, lambda line: decode_lossless(line, Rule))

    def all(self) -> tuple[Rule, ...]:
        """Return all rules, decoded some at once."""
        for start in range(0, len(self), _AT_ONCE):
            places = range(start, min(start + _AT_ONCE, len(self)))
            missing = [place for place in places if place not in self.decoded]
            if missing:
                some = b"[" + b",".join([self.lines[place] for place in missing]) + b"]"
                for place, rule in zip(missing, decode_lossless(some, list[Rule]), strict=True):
                    self.decoded.setdefault(place, rule)
        return super().all()


def keep_rules(store: RuleStore, head: Head, rules: RuleSet, *, whole: bool) -> RuleSet:
    """Keep rules and what else a rulebook has (`head`, with its signature): what changed, or the `whole`.

    Returns the rules to go on with, over the base that is kept. Raises: StoreError.
    """
    base = rules.base
    if base.digest and not rules.is_far and len(rules) >= MANY and not whole:
        kept = {**head, "used_until": dict(base.used_until)}
        patch = {"base": base.digest, "gone": sorted(rules.gone), "put": list(rules.put.values())}
        data = encode_lossless({"head": kept, **patch})
        store.publish(CHANGES, lambda directory: _write_sealed(directory / _PATCH, [data]))
        return rules
    made = rules.rebased(str(head["signature"]), head["used_until"])
    store.publish(BASE, lambda directory: _write_base(directory, head, made))
    return made


def open_rules(store: RuleStore, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    """Return the head and the rules that were kept last, None if nothing wanted or undamaged is kept."""
    for open_kept in (_open_changes, _open_base):
        try:
            found = open_kept(store, is_wanted)
        except (OSError, *DAMAGED):
            continue
        if found is not None:
            return found
    return None


def open_arrays_of(store: RuleStore, rules: RuleSet) -> None:
    """Open what is kept of all rules of the base. Raises: OSError, ValueError, KeyError if it is damaged."""
    from workbench.project.arrays import open_arrays
    from workbench.rules.fetching.facets import columns_from
    from workbench.rules.matching.lexical import words_from

    base, directory = rules.base, store.latest(BASE)
    if directory is None:
        raise ValueError("the rules are gone")
    arrays = open_arrays(directory / _ARRAYS)
    if arrays["digest"].tobytes() != base.digest.encode():
        raise ValueError("the arrays are of other rules")
    words = words_from({name[6:]: held for name, held in arrays.items() if name.startswith("words.")})
    if words.count != len(base.ids):
        raise ValueError("the words are of other rules")
    base.words = words
    base.columns = columns_from(arrays, RuleSet(base))


def _open_changes(store: RuleStore, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    directory = store.latest(CHANGES)
    if directory is None:
        return None
    kept = decode_lossless(bytes(_sealed((directory / _PATCH).read_bytes())), dict[str, Any])
    head = kept["head"]
    if not is_wanted(head):
        return None

    def is_base(known: Head) -> bool:
        return bool(known["signature"] == kept["base"] and known["used_until"] == head["used_until"])

    found = _open_base(store, is_base)
    if found is None:
        return None
    put = {rule.id: rule for rule in convert(kept["put"], list[Rule])}
    return head, found[1].changed(put, convert(kept["gone"], list[str]))


def _open_base(store: RuleStore, is_wanted: Callable[[Head], bool]) -> tuple[Head, RuleSet] | None:
    directory = store.latest(BASE)
    if directory is None:
        return None
    with (directory / _RULES).open("rb") as file:
        lead, first = file.readline(), file.readline()
        head = json.loads(first)
        if not isinstance(head, dict) or not is_wanted(head):
            return None
        second = file.readline()
        content = _sealed(b"".join([lead, first, second, file.read()]))
    names = decode_lossless(second, _Names)
    ids, ends = names.ids, array("q")
    width = len(ids) * ends.itemsize
    ends.frombytes(content[len(content) - width :])
    lines = content[len(first) + len(second) : len(content) - width]
    if (ends[-1] if ids else 0) != len(lines):
        raise ValueError("the rules are cut short")
    until, digest = convert(head["used_until"], dict[str, int]), str(head["signature"])
    return head, RuleSet(
        RuleBase(ids, StoredRules(StoredLines(lines, ends)), names.lineage, names.checked, until, digest)
    )


def _write_base(directory: Path, head: Head, rules: RuleSet) -> None:
    from workbench.project.arrays import write_arrays
    from workbench.rules.fetching.facets import columns_arrays
    from workbench.rules.matching.lexical import words_arrays

    base = rules.base
    names = encode_lossless(_Names(list(base.ids), base.lineage, base.checked)) + b"\n"
    lines = [encode_lossless(rule) + b"\n" for rule in rules]
    ends = array("q", accumulate(map(len, lines)))
    # The standard library's JSON, for names that are not UTF-8 are lone surrogates, which it alone can write.
    first = json.dumps(head).encode("ascii") + b"\n"
    _write_sealed(directory / _RULES, [first, names, b"".join(lines), ends.tobytes()])
    words = {f"words.{name}": held for name, held in words_arrays(rules.words).items()}
    digest = str(head["signature"]).encode()
    write_arrays(directory / _ARRAYS, {**words, **columns_arrays(rules.columns), "digest": digest})


def _write_sealed(path: Path, parts: list[bytes]) -> None:
    """Write parts behind a line with their checksum."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    with path.open("wb") as file:
        file.writelines([b"%08x\n" % crc, *parts])


def _sealed(data: bytes) -> memoryview:
    """Return what is behind the first line. Raises: ValueError if it is not what was written."""
    content = memoryview(data)[_CRC:]
    if zlib.crc32(content) != int(data[:_CRC], 16):
        raise ValueError("the rules have changed since they were written")
    return content
