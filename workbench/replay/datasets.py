"""Which kind of dataset a folder holds, and its records, read strictly: faults name file and line.

A rules benchmark is `rules.jsonl` (a `Rule` a line) and `messages.jsonl` (a `Message` a line). Further kinds
are further entries of `MARKS`.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from workbench.errors import ParseError, UsageError
from workbench.records.conversion import convert, decode_json
from workbench.records.rules import Rule
from workbench.suggest import did_you_mean

Record = TypeVar("Record", Rule, "Message")

RULES: Final = "rules.jsonl"
MESSAGES: Final = "messages.jsonl"


class DatasetKind(StrEnum):
    """What is replayed."""

    RULES = "rules"  # messages against the rules they should match


MARKS: Final[Mapping[DatasetKind, tuple[str, ...]]] = {DatasetKind.RULES: (RULES, MESSAGES)}
"""The files that a dataset of each kind consists of."""


class Split(StrEnum):
    """The half of a message: thresholds are chosen on `fit` and figures reported on `test`."""

    FIT = "fit"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Message:
    """A message and the ids of all rules it should match, in any order; none for a message about no rule.

    `kind` names what makes it hard (`paraphrase`, `typo` …) and is only reported by. A message without a
    `split` gets that of `split_of`.
    """

    id: str
    text: str
    expected: tuple[str, ...] = ()
    kind: str = ""
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class RulesDataset:
    """Rules and messages; every message has a split and expects only rules that exist."""

    name: str
    rules: tuple[Rule, ...]
    messages: tuple[Message, ...]


def holds_dataset(folder: Path) -> bool:
    """Whether a folder holds a dataset, or a part of one."""
    return any((folder / name).is_file() for names in MARKS.values() for name in names)


def detect_dataset(folder: Path) -> DatasetKind:
    """Return the kind of a folder's dataset. Raises: UsageError without one, ParseError for half of one."""
    if not folder.is_dir():
        reason = "cannot be replayed" if folder.exists() else "does not exist"
        raise UsageError(
            f"{folder} {reason}",
            hint="--replay takes a repository, the folder of a dataset, or transcripts (.jsonl).",
        )
    for kind, names in MARKS.items():
        missing = [name for name in names if not (folder / name).is_file()]
        if not missing:
            return kind
        if len(missing) < len(names):
            raise ParseError(
                f"{folder} lacks {', '.join(missing)}", hint=f"A {kind} dataset has {' and '.join(names)}."
            )
    wanted = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in MARKS.items())
    raise UsageError(f"{folder} holds no dataset", hint=f"It needs the files of one of these ({wanted}).")


def read_rules(folder: Path) -> RulesDataset:
    """Read a rules benchmark.

    Raises: ParseError, naming file and line, for a line that is not a JSON object, lacks a field, has an
    unknown one or a value out of range, repeats an id, or expects a rule that does not exist.
    """
    place = folder / RULES
    rules: dict[str, Rule] = {}
    for line, rule in _records(place, Rule):
        _check_rule(rule, place, line, rules)
        rules[rule.id] = rule
    if not rules:
        raise ParseError("there are no rules", path=str(place), hint="Write one JSON object a line.")
    place = folder / MESSAGES
    messages: dict[str, Message] = {}
    for line, message in _records(place, Message):
        _check_message(message, place, line, messages, rules)
        messages[message.id] = replace(message, split=message.split or split_of(message.text))
    if not messages:
        raise ParseError("there are no messages", path=str(place), hint="Write one JSON object a line.")
    return RulesDataset(folder.resolve().name, tuple(rules.values()), tuple(messages.values()))


def split_of(text: str) -> Split:
    """Return the half a message falls into by its text: `fit` if the first byte of its sha256 is even."""
    return Split.TEST if hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % 2 else Split.FIT


def _check_rule(rule: Rule, place: Path, line: int, known: Container[str]) -> None:
    problem, hint = "", "Each rule needs an id of its own and a text."
    if not rule.id or rule.id in known:
        problem = f"the rule id {rule.id!r} names two rules" if rule.id else "the rule has no id"
    elif not rule.rule.strip():
        problem = f"the rule {rule.id!r} is empty"
    elif not 0 <= rule.priority <= 100:
        problem = f"the priority {rule.priority} of {rule.id!r} is not between 0 and 100"
        hint = "50 is what a rule has that is given none."
    if problem:
        raise ParseError(problem, path=str(place), line=line, hint=hint)


def _check_message(
    message: Message, place: Path, line: int, known: Container[str], rules: Mapping[str, Rule]
) -> None:
    if not message.id or message.id in known:
        problem = f"the id {message.id!r} names two messages" if message.id else "the message has no id"
        raise ParseError(problem, path=str(place), line=line, hint="Each message needs an id of its own.")
    if not message.text.strip():
        raise ParseError(
            f"the message {message.id!r} is empty", path=str(place), line=line, hint="Give it a text."
        )
    for wanted in message.expected:
        if wanted not in rules:
            raise ParseError(
                f"the message {message.id!r} expects {wanted!r}, which is not a rule of {RULES}",
                path=str(place),
                line=line,
                hint=did_you_mean(wanted, rules, "Correct the id, or add the rule."),
            )
    if len(set(message.expected)) < len(message.expected):
        raise ParseError(
            f"the message {message.id!r} expects a rule twice",
            path=str(place),
            line=line,
            hint="Once counts.",
        )


def _records(place: Path, kind: type[Record]) -> Iterator[tuple[int, Record]]:
    """Yield (line number from 1, record) of a file with a JSON object a line; blank lines are skipped."""
    names = {field.name for field in fields(kind)}
    content = place.read_bytes().removeprefix(codecs.BOM_UTF8)
    for line, raw in enumerate(content.split(b"\n"), start=1):
        if raw.strip():
            try:
                found = decode_json(raw, dict[str, Any])
                unknown = sorted(found.keys() - names)
                if unknown:
                    problem = f"a {kind.__name__.lower()} has no field {unknown[0]!r}"
                    raise ParseError(
                        problem,
                        path=str(place),
                        line=line,
                        hint=did_you_mean(unknown[0], sorted(names), f"It has {', '.join(sorted(names))}."),
                    )
                yield line, convert(found, kind)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise ParseError(
                    str(error),
                    path=str(place),
                    line=line,
                    hint=f"Each line is a {kind.__name__.lower()} as one JSON object, in UTF-8.",
                ) from error
