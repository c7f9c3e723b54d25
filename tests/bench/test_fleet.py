"""The fleet bench: what is lost, doubled, late or different is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.fleet.__main__ import processor_seconds, received_costs
from bench.fleet.load import RATES, Agents, Notes
from bench.fleet.outcome import (
    Fault,
    differing,
    durations,
    is_calm,
    lags,
    lost_on_machine,
    lost_on_server,
    read_work,
    recovery,
    unseen,
)


def entry(identifier: str, kind: str, **body: str) -> bytes:
    return json.dumps({"id": identifier, "kind": kind, "body": body}).encode()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Notes of two machines: a rule and its edit, a segment, a use; machine 1 saw the rule and its edit."""
    path = tmp_path / "notes"
    to = Notes(path)
    common: dict[str, Any] = {"machine": 0, "face": "LibraryFace", "ms": 2.0, "first": False}
    to.note("rule", text="Old.", id="r1", old="", **common)
    to.note("trying", machine=0, text="New.", old="r1")
    to.note("edit", text="New.", id="r2", old="r1", **common)
    to.note("segment", text="Kept.", id=None, old="", **common)
    to.note("use", text="s1", id=None, old="", **{**common, "ms": 1.0})
    to.note("failed", machine=1, call="fetch", why="no")
    found = read_work([path]).calls
    to.note("seen", machine=1, ids=["r1"], seen=found[0]["at"] + 0.5)
    to.note("seen", machine=1, ids=["r1", "r2"], seen=found[1]["at"] + 0.25)
    path.write_bytes(path.read_bytes() + b'{"kind": "rule", "at": 1')  # killed
    return path


def test_what_is_not_there_once_is_named(notes: Path) -> None:
    """On the server by entries, on a machine by what is in force: an edited text is not."""
    work = read_work([notes])
    lines = [
        entry("1", "rule.put", rule="Old."),
        entry("2", "rule.put", rule="New."),
        entry("3", "segment.put", text="Kept."),
        entry("4", "rule.used", session_id="s1"),
    ]
    assert [*lost_on_server(work, lines)] == []
    assert [*lost_on_server(work, lines[1:])] == ["rule 'Old.' is on the server 0 times"]
    [twice, doubled] = lost_on_server(work, [*lines, lines[2]])
    assert (twice, doubled) == (
        "the entry 3 is on the server 2 times",
        "segment 'Kept.' is on the server 2 times",
    )
    there = {"rule": ["New."], "segment": ["Kept."]}
    assert [*lost_on_machine(work, 0, there)] == []
    assert [*lost_on_machine(work, 0, {"rule": ["Old.", "New."], "segment": []})] == [
        "machine 0: rule 'Old.' is there 1 times",
        "machine 0: segment 'Kept.' is there 0 times",
    ]
    assert [*lost_on_machine(work, 1, {**there, "rule": ["New."]})] == []


def test_an_edit_that_was_not_acknowledged_may_have_happened(notes: Path) -> None:
    """The old text may be in force or not."""
    work = read_work([notes])
    work.calls = [call for call in work.calls if call["kind"] != "edit"]
    for rules in (["Old."], ["New."]):
        assert [*lost_on_machine(work, 1, {"rule": rules, "segment": ["Kept."]})] == []


def test_lags_and_durations_are_of_calm_moments(notes: Path) -> None:
    """From the acknowledgement to the first look that had it; what was during a fault is counted apart."""
    work = read_work([notes])
    assert lags(work) == pytest.approx([0.25, 0.5])
    assert durations(work, {"use", "segment"}, "LibraryFace") == [1.0, 2.0]
    at = work.calls[0]["at"]
    fault = Fault("a split", at - 1, at + 0.1)
    assert lags(work, [fault]) == [] == durations(work, {"use"}, "LibraryFace", [fault])
    assert recovery(work, fault) == pytest.approx(0.4, abs=0.05)
    assert not is_calm(at + 5, [fault])
    assert is_calm(at + 11, [fault])


def test_first_calls_are_counted_apart(notes: Path) -> None:
    """They are neither calm fetches and writes nor lags, and nobody has to see their rules."""
    to = Notes(notes.with_name("first"))
    common: dict[str, Any] = {"machine": 0, "face": "LibraryFace", "ms": 900.0, "old": "", "first": True}
    to.note("use", text="s2", id=None, **common)
    to.note("rule", text="First.", id="r3", **common)
    work = read_work([notes.with_name("first"), notes])
    work.seen[1]["r3"] = work.calls[1]["at"] + 30
    assert lags(work) == pytest.approx([0.25, 0.5])
    assert unseen(work, [2]) == 2
    assert durations(work, {"use"}, "LibraryFace") == [1.0]
    assert durations(work, {"use", "rule"}, "LibraryFace", first=True) == [900.0, 900.0]


class NoFace:
    """A face that does nothing and succeeds."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: "r1"


def test_a_process_makes_a_call_of_each_kind_first(tmp_path: Path) -> None:
    """The rule that it adds is the one it edits."""
    face: Any = NoFace()
    Agents(0, "m0", face, Notes(tmp_path / "notes"), agents=0, pace=1.0).warm_up()
    calls = read_work([tmp_path / "notes"]).calls
    assert [(call["kind"], call["first"]) for call in calls] == [(kind, True) for kind in RATES]
    assert calls[-1]["old"] == "r1"


def test_seconds_of_processors_are_of_machines_that_ended_in_order(notes: Path) -> None:
    """By face and by what took them, a minute of a machine; what is received costs what listeners took."""
    to = Notes(notes.with_name("others"))
    for machine, seconds in enumerate(({"calls": 3.0, "listeners": 1.0}, {"calls": 5.0, "listeners": 3.0})):
        to.note("ended", machine=machine, face="library", seconds=seconds)
    to.note("ended", machine=2, face="serve", seconds={"server": 8.0})
    work = read_work([notes, notes.with_name("others")])
    assert processor_seconds(work, 2.0) == {
        "processor seconds of a machine a minute, library": {"calls": 2.0, "listeners": 1.0},
        "processor seconds of a machine a minute, serve": {"server": 4.0},
    }
    assert received_costs(work, 1_000) == 2.0


def test_machines_that_differ_are_named() -> None:
    """By the digest, those that are not as most are."""
    states = {number: {"digests": {"rules": "a", "stash": "b"}} for number in range(3)}
    assert [*differing(states)] == []
    states[2] = {"digests": {"rules": "a", "stash": "c"}}
    assert [*differing(states)] == ["stash: machines [2] differ from the others"]
