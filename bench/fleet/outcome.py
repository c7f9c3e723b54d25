"""What became of a fleet's work: what was acknowledged and is where it has to be, how fast and how late."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

WRITES: Final = {"rule": "rule", "edit": "rule", "learning": "learning", "segment": "segment", "use": "use"}
"""The kinds of calls that write, and the kind of record that holds their text."""
SETTLING: Final = 10.0
"""Seconds after the end of a fault in which nothing counts as calm."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was done to the fleet, from when to when in seconds of the monotonic clock."""

    name: str
    begin: float
    end: float


@dataclass(slots=True)
class Work:
    """What the agents noted: calls that returned, edits that were tried, failures, and who saw what when."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    tried: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    seen: dict[int, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    ended: list[dict[str, Any]] = field(default_factory=list)  # machines, with seconds of processors

    @property
    def writes(self) -> list[dict[str, Any]]:
        return [call for call in self.calls if call["kind"] in WRITES]


def read_work(paths: Iterable[Path]) -> Work:
    """Read the notes of all processes; the unfinished line of a killed one is no note."""
    work = Work()
    for path in sorted(paths):
        for line in path.read_text().split("\n")[:-1]:
            note = json.loads(line)
            match note["kind"]:
                case "failed":
                    work.failed.append(note)
                case "trying":
                    work.tried.append(note)
                case "ended":
                    work.ended.append(note)
                case "seen":
                    for identifier in note["ids"]:
                        work.seen[note["machine"]].setdefault(identifier, note["seen"])
                case _:
                    work.calls.append(note)
    return work


def lost_on_server(work: Work, lines: Iterable[bytes]) -> Iterator[str]:
    """Yield which acknowledged writes are not on the server exactly once, and which entries are twice."""
    there: Counter[tuple[str, str]] = Counter()
    entries: Counter[str] = Counter()
    for line in lines:
        entry = json.loads(line)
        entries[entry["id"]] += 1
        kind, _, what = entry["kind"].partition(".")
        body = entry["body"]
        text = {"rule": "rule", "learning": "text", "segment": "text"}.get(kind, "")
        if what == "put" and text:
            there[kind, str(body.get(text))] += 1
        elif what == "used":
            there["use", str(body.get("session_id"))] += 1
    yield from (
        f"the entry {one} is on the server {count} times" for one, count in entries.items() if count > 1
    )
    for call in work.writes:
        count = there[WRITES[call["kind"]], call["text"]]
        if count != 1:
            yield f"{call['kind']} {call['text']!r} is on the server {count} times"


def lost_on_machine(work: Work, machine: int, texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield which acknowledged writes that nothing replaced are not in force on a machine exactly once."""
    found = {(kind, text): count for kind, all_ in texts.items() for text, count in Counter(all_).items()}
    edited = {call["old"] for call in work.tried}
    replaced = {call["old"] for call in work.calls if call["kind"] == "edit"}
    for call in work.writes:
        kind = WRITES[call["kind"]]
        if kind == "use":
            continue  # counts of uses are in the tables, which are compared
        count = found.get((kind, call["text"]), 0)
        least = 0 if call["id"] in edited else 1
        most = 0 if call["id"] in replaced else 1
        if not least <= count <= most:
            yield f"machine {machine}: {call['kind']} {call['text']!r} is there {count} times"


def differing(states: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield which machines have another digest than most."""
    names = sorted({name for state in states.values() for name in state["digests"]})
    for name in names:
        digests = {
            machine: state["digests"][name] for machine, state in states.items() if name in state["digests"]
        }
        usual = Counter(digests.values()).most_common(1)[0][0]
        others = [machine for machine, digest in digests.items() if digest != usual]
        if others:
            yield f"{name}: machines {others} differ from the others"


def is_calm(at: float, faults: Iterable[Fault]) -> bool:
    """Whether nothing was done to the fleet at a moment or shortly before."""
    return not any(fault.begin - 1 <= at <= fault.end + SETTLING for fault in faults)


def lags(work: Work, faults: Sequence[Fault] = ()) -> list[float]:
    """Return, sorted, the seconds from each calm write of a rule to when each observer elsewhere had it.

    First calls are made before observers look.
    """
    found = []
    for call in work.calls:
        if call["kind"] in ("rule", "edit") and not call["first"] and is_calm(call["at"], faults):
            for machine, seen in work.seen.items():
                if machine != call["machine"] and call["id"] in seen:
                    found.append(seen[call["id"]] - call["at"])
    return sorted(found)


def unseen(work: Work, machines: Collection[int]) -> int:
    """Return how many (rule, observer) there are that never met, but of first calls."""
    rules = [call for call in work.calls if call["kind"] in ("rule", "edit") and not call["first"]]
    return sum(call["id"] not in work.seen[machine] for call in rules for machine in machines)


def recovery(work: Work, fault: Fault) -> float:
    """Return how many seconds after a fault all that was written meanwhile was seen by who ever saw it."""
    written = [
        call["id"]
        for call in work.calls
        if call["kind"] in ("rule", "edit") and fault.begin <= call["at"] <= fault.end
    ]
    times = [seen[one] for one in written for seen in work.seen.values() if one in seen]
    return max([0.0, *(at - fault.end for at in times)])


def durations(
    work: Work,
    kinds: Collection[str],
    face: str,
    faults: Sequence[Fault] = (),
    *,
    measure: str = "ms",
    first: bool = False,
) -> list[float]:
    """Return, sorted, the milliseconds of calm calls of some kinds by a face; `cpu` are of processors.

    Those that are the first ones of their process, or all others.
    """
    return sorted(
        call[measure]
        for call in work.calls
        if call["kind"] in kinds
        and call["face"] == face
        and call["first"] is first
        and is_calm(call["at"], faults)
    )
