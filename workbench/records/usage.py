"""What sessions were given, what they touched afterwards, and which rules they broke: as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from workbench.records.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShownLines:
    """Lines of a file that a session was given: `digest` is that of the content they are of."""

    digest: str
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Handover:
    """What a session was given at one of its moments, `at` in seconds; `why` says why nothing was.

    `files` maps paths to how they were shown, `passages` are ids of rules, learnings and segments, `matched`
    those of the rules that matched, given or not; `backed` are the files that past tasks spoke for; `tokens`
    are those of the whole text. What was given to a
    sub-agent is not in the session's own context. `variant` names how rules were matched where that is under
    test. `seen` is how far the stream of sessions was recorded then, in bytes, -1 if unknown. `shown` are the
    lines of files that are in the text, `lists` identify the lists that are: they are not given again.
    """

    session: str
    agent: str
    event: str
    files: Mapping[str, str] = field(default_factory=dict)
    passages: tuple[str, ...] = ()
    matched: tuple[str, ...] = ()
    backed: frozenset[str] = frozenset()
    tokens: int = 0
    why: str = ""
    subagent: bool = False
    variant: str = ""
    seen: int = -1
    at: float = 0.0
    by: str = ""
    shown: Mapping[str, tuple[ShownLines, ...]] = field(default_factory=dict)
    lists: tuple[str, ...] = ()


class FileTouch(NamedTuple):
    """When a session last read and edited a file, in seconds since the epoch, and as live entries; -1: never.

    `read_entry` and `edit_entry` are places in the stream of sessions of what was recorded live.
    """

    path: str
    read_at: int = -1
    edited_at: int = -1
    read_entry: int = -1
    edit_entry: int = -1


@dataclass(frozen=True, slots=True)
class RuleBreach:
    """A call that broke a rule, `at` in seconds."""

    session: str
    rule: str
    decision: str
    at: float


@dataclass(frozen=True, slots=True)
class UsageRecords:
    """What was recorded of hand-overs and of the sessions that were given something.

    By session: `touches`, the `outcomes` of its tasks and the files of instructions it `loaded` by itself.
    `neighbours` maps a file to those that import or test it, or that it imports or tests.
    """

    handovers: tuple[Handover, ...] = ()
    touches: Mapping[str, tuple[FileTouch, ...]] = field(default_factory=dict)
    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    loaded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    breaches: tuple[RuleBreach, ...] = ()
    neighbours: Mapping[str, frozenset[str]] = field(default_factory=dict)
