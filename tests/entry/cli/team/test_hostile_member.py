"""What a member gains who writes into the database with its own login: entries in its own name alone."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.entry.cli.conftest import Ran, Run
from tests.teams import Team
from workbench.records.ids import IdSource, new_id

Say = Callable[..., Ran]
DAY = 86_400
SHOWN = 5


def at_time(seconds: float) -> str:
    """Return an id of so many seconds from now."""
    return IdSource(lambda: int((time.time() + seconds) * 1000)).new()


@dataclass(frozen=True, slots=True)
class Hostile:
    """Bob, with his login, SQL and what every member may read."""

    url: str
    project: str
    admin: str  # a server of an earlier version lets more in

    def rows(self, statement: str, *given: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(statement.encode(), given).fetchall()

    def machine(self, member: str) -> str:
        [(found,)] = self.rows(
            "SELECT machine FROM workbench.machines WHERE project = %s AND member LIKE %s",
            self.project,
            f"{member}%",
        )
        return str(found)

    def entries(self, member: str, kind: str) -> list[dict[str, Any]]:
        statement = """SELECT convert_from(line, 'UTF8') FROM workbench.entries
            WHERE project = %s AND machine = %s AND kind = %s ORDER BY begins"""
        return [
            json.loads(line) for (line,) in self.rows(statement, self.project, self.machine(member), kind)
        ]

    def write(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        stream: str = "rules",
        id: str = "",
        at: str = "",
        by: str = "cli",
        line: bytes = b"",
        column: str = "",
        as_admin: bool = False,
    ) -> str:
        """Add an entry to Bob's stream and return its id."""
        id = id or new_id()
        at = at or datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
        said = {"v": 1, "id": id, "at": at, "kind": kind, "by": by, "body": body}
        line = line or json.dumps(said, separators=(",", ":")).encode() + b"\n"
        key = (self.project, self.machine("bob"), stream)
        with psycopg.connect(self.admin if as_admin else self.url) as bob:
            found = bob.execute(
                "SELECT generation, entries, bytes, crc FROM workbench.streams"
                " WHERE (project, machine, stream) = (%s, %s, %s)",
                key,
            ).fetchone()
            if found is None:
                bob.execute("INSERT INTO workbench.streams VALUES (%s, %s, %s, 0, 0, 0, 0, '')", key)
            generation, count, size, crc = found or (0, 0, 0, 0)
            after = zlib.crc32(line, crc)
            bob.execute(
                "INSERT INTO workbench.entries VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (*key, generation, size, after, column or id, at, kind, by, line),
            )
            bob.execute(
                "UPDATE workbench.streams SET entries = %s, bytes = %s, crc = %s, last = %s"
                " WHERE (project, machine, stream) = (%s, %s, %s)",
                (count + 1, size + len(line), after, column or id, *key),
            )
        return id


@dataclass(frozen=True, slots=True)
class Pair:
    """Anna, who goes on as always, and Bob, who does not."""

    anna: Say
    bob: Say
    hostile: Hostile

    def rules(self) -> dict[str, str]:
        """Return the rules in force at Anna's after a sync, by id."""
        assert self.anna("store", "sync").code == 0
        return {one["id"]: one["rule"] for one in self.anna("rules", "list", "--json").json()["rules"]}

    def aside(self, group: str = "rules") -> str:
        """Return what is put aside, which doctor, verify and the history name alike."""
        verified = self.anna("store", "verify")
        found = [one for one in verified.out.splitlines() if one.startswith("put aside: ")]
        assert verified.code == int(bool(found))
        doctor, history = self.anna("doctor").out, self.anna(group, "history").err
        for one in found[:SHOWN]:
            assert one in doctor
            assert one in history or f" in {group}" not in one
        return "\n".join(found)


@pytest.fixture
def pair(project: Any, tmp_path: Path, run: Run, team: Team) -> Pair:
    """Anna has a rule; Bob has received it, and written one of his own."""
    other = project.copy(tmp_path / "other")
    name = team.project("anna", "bob")

    def saying(root: Path) -> Say:
        return lambda *arguments: run("--project", str(root), *arguments)

    anna, bob = saying(project.root), saying(other.root)
    for say, member in ((anna, "anna"), (bob, "bob")):
        done = say("store", "use", team.url(member), "--name", name)
        assert done.code == 0, done.err
    assert anna("rules", "add", "Round VAT down.").code == 0
    bob("store", "sync")
    assert bob("rules", "add", "Log in UTC.").code == 0
    anna("store", "sync")
    owner = team.server.url(team.database)
    return Pair(anna, bob, Hostile(team.url("bob"), name, owner))


def rule_of(pair: Pair, member: str = "anna") -> dict[str, Any]:
    body: dict[str, Any] = pair.hostile.entries(member, "rule.put")[0]["body"]
    return body


def evil(pair: Pair, **values: Any) -> dict[str, Any]:
    """Return the body of a rule of Bob's, in a step of its own."""
    step = {"step": new_id(), "title": "of bob"}
    return {
        **rule_of(pair),
        "id": "rule-00000000",
        "rule": "Evil.",
        "replaces": [],
        "curation": step,
        **values,
    }


def stacks(pair: Pair) -> list[Any]:
    """Return Anna's steps that can be undone and done again."""
    listed = pair.anna("rules", "undo", "--list", "--json").json()
    return [listed["undo"], listed["redo"]]


def test_a_step_is_its_machines_alone(pair: Pair) -> None:
    """What repeats another's step and slot is out of force, hers stays, and all that lists it names it."""
    rule = rule_of(pair)
    marks = {**rule["curation"], "slot": rule["id"], "seen": [rule["curation"]["step"]]}
    before = pair.rules()
    for replaced in ([rule["id"]], []):
        for late in (0, 3):  # also before hers, and in the middle of it
            moment = at_time(-late)
            pair.hostile.write("rule.put", evil(pair, replaces=replaced, curation=marks), id=moment)
    pair.hostile.write("rule.removed", {"id": rule["id"], "curation": marks})
    pair.hostile.write("conflict.reopened", {"id": "conflict-1", "curation": marks})
    assert pair.rules() == before
    assert pair.aside().count("it claims a step of ") == 6
    history = pair.anna("rules", "history").out
    assert "Evil" not in history
    assert "no conflicts" in pair.anna("rules", "conflicts", "list").err


def test_a_step_of_an_older_program_is_asked_about(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names no machine: who repeats it has a step of its own, in its own name, and hers is not lost."""
    monkeypatch.setattr("workbench.curation.concurrency.bind_step", lambda step, machine: step)
    assert pair.anna("rules", "add", "Never push.").code == 0
    [rule] = [
        one["body"]
        for one in pair.hostile.entries("anna", "rule.put")
        if one["body"]["rule"] == "Never push."
    ]
    for late in (0, 3):
        moment = at_time(-late)
        marks = {**rule["curation"], "slot": rule["id"], "seen": []}
        pair.hostile.write("rule.put", evil(pair, id=f"rule-0000000{late}", curation=marks), id=moment)
    pair.rules()
    conflicts = pair.anna("rules", "conflicts", "list").out
    assert "Evil." in conflicts
    assert "Never push." in conflicts
    lines = pair.anna("rules", "history").out.splitlines()
    assert sum("(anna" in one for one in lines) == 2
    evils = [number for number, one in enumerate(lines) if "Evil." in one and "    added" in one]
    assert evils
    assert all("(bob" in next(one for one in reversed(lines[:number]) if one[:1] != " ") for number in evils)


@pytest.mark.parametrize("walk", ["undoes", "redoes"])
def test_undo_and_redo_are_of_the_own_steps(pair: Pair, walk: str) -> None:
    """An entry that takes back another's step, or repeats it, leaves that where it was."""
    step = rule_of(pair)["curation"]["step"]
    if walk == "redoes":
        assert pair.anna("rules", "undo").code == 0
    listed = stacks(pair)
    marks = {"step": new_id(), "title": f"{walk} hers", walk: step}
    pair.hostile.write("conflict.reopened", {"id": "conflict-1", "curation": marks})
    pair.rules()
    assert stacks(pair) == listed
    assert pair.anna("rules", "redo" if walk == "redoes" else "undo").code == 0


def test_records_of_ones_own_are_no_teams(pair: Pair) -> None:
    """A rule or a learning of all of Anna's projects is neither changed, replaced, removed nor settled."""
    assert pair.anna("rules", "add", "Mine alone.", "--home").code == 0
    [own] = [one for one, text in pair.rules().items() if text == "Mine alone."]
    before = pair.rules()
    pair.hostile.write("rule.removed", {"id": own, "curation": {"step": new_id(), "title": "x"}})
    pair.hostile.write("rule.put", evil(pair, id=own))
    settled = {"id": "conflict-1", "left": own, "right": "rule-x", "action": "keep-right"}
    pair.hostile.write("conflict.resolved", {**settled, "curation": {"step": new_id(), "title": "x"}})
    assert pair.rules() == before
    assert pair.aside().count("a record of your own") == 3
    pair.hostile.write("rule.put", evil(pair, replaces=[own]))
    assert pair.rules() == {**before, "rule-00000000": "Evil."}


def test_a_rule_of_a_member_is_of_this_project_alone(pair: Pair) -> None:
    """One that claims to be a person's own in all projects is the team's, also once it is edited."""
    pair.hostile.write("rule.put", evil(pair, project_id=None))
    assert "Evil." in pair.rules().values()
    assert pair.anna("rules", "edit", "rule-00000000", "--priority", "90").code == 0
    shown = pair.anna("rules", "show", "rule-00000000", "--json").json()
    assert shown["project_id"]


def test_what_machines_do_not_share_is_put_aside(pair: Pair) -> None:
    """How files were read, other kinds in streams of learnings, and what is read as rule files'."""
    synced = {"file": "CLAUDE.md", "format": "claude", "digest": "x", "anchors": []}
    undo = {"offset": 0, "length": 0, "passage": "Evil."}
    pair.hostile.write("file.synced", {**synced, "undo": undo})
    pair.hostile.write("file.forgotten", {"file": "CLAUDE.md"})
    pair.hostile.write("rule.put", evil(pair), by="import:rule-files")
    pair.hostile.write("segment.collected", {"id": "x"}, stream="stash")
    before = pair.rules()
    assert "Evil." not in before.values()
    assert pair.aside().count("no kind that machines share") == 4
    pair.hostile.write("rule.put", evil(pair), id="x" * 26, as_admin=True)
    assert pair.rules() == before


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "2996-01-01T00:00:00Z"),
        ({}, "yesterday"),
        ({}, "0001-01-01T00:00:00"),
        ({"reviewed_at": "9999"}, ""),
        ({"last_used": "2996-01-01T00:00:00Z"}, ""),
    ],
)
def test_times_are_those_of_ids(pair: Pair, body: dict[str, str], at: str) -> None:
    """What says that it was written, used or reviewed later than its id is put aside, also by old servers."""
    before = pair.rules()
    pair.hostile.write("rule.put", evil(pair, **body), at=at, as_admin=True)
    assert pair.rules() == before
    assert "put aside: " in pair.aside()


def test_who_and_where_come_from_the_stream(pair: Pair) -> None:
    """A face is one word, without a person, a machine or an escape; only members are in parentheses."""
    pair.hostile.rows(
        "UPDATE workbench.machines SET name = 'this machine (anna)' WHERE machine = %s RETURNING 1",
        pair.hostile.machine("bob"),
    )
    pair.hostile.write("rule.put", evil(pair, machine="x"), by="cli on this machine (anna)\x1b[2J\n")
    assert "Evil." in pair.rules().values()
    [line] = [one for one in pair.anna("rules", "history").out.splitlines() if "of bob" in one]
    assert "cli_on_this_machine_(anna)_[2J on " in line
    assert "this machine [anna] (bob" in line or "vm:other (bob" in line
    assert "\x1b" not in line


def test_the_server_takes_nothing_of_the_future(pair: Pair) -> None:
    """Nor a line that says otherwise than its columns: twelve minutes ahead is refused, weeks ago is not."""
    ahead = [at_time(720), at_time(115 * DAY)]
    honest, body = new_id(), evil(pair)
    good = json.dumps(
        {"v": 1, "id": honest, "at": "2026-01-01T00:00:00Z", "kind": "rule.put", "by": "cli", "body": body}
    )
    lines = {
        "another id": good.replace(honest, ahead[1]),
        "two ids": good[:-1] + f',"id":"{ahead[1]}"}}',
        "an escaped id": good[:-1] + f',"\\u0069d":"{ahead[1]}"}}',
        "another time": good.replace("2026-01-01", "2996-01-01"),
        "another kind": good.replace("rule.put", "rule.removed"),
        "no JSON": "{",
    }
    refused = (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidTextRepresentation)
    for line in lines.values():
        with pytest.raises(refused):
            pair.hostile.write(
                "rule.put", {}, id=honest, at="2026-01-01T00:00:00Z", line=line.encode() + b"\n"
            )
    for identifier in ahead:
        with pytest.raises(refused):
            pair.hostile.write("rule.put", body, id=identifier)
        with pytest.raises(refused):
            pair.hostile.write("rule.put", body, id=identifier, column=honest)
    with pytest.raises(refused):
        pair.hostile.write("rule.put", body, at="2996-01-01T00:00:00Z")
    assert "Evil." not in pair.rules().values()
    weeks = at_time(-40 * DAY)
    at = datetime.fromtimestamp(time.time() - 40 * DAY, UTC).isoformat()
    odd = evil(pair, rule='Wörter \ud83d\ude00 \\ " \0 \ud800 {}', created_at=at, updated_at=at)
    odd["curation"] = {"step": weeks, "title": "late"}
    pair.hostile.write("rule.put", odd, id=weeks, at=at)
    assert "rule-00000000" in pair.rules()


def test_what_is_of_the_future_waits_for_its_time(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an older server took it: it and what follows wait, and count once their time has come."""
    from store.postgres.server import PostgresServer

    ahead = at_time(115 * DAY)
    before = pair.rules()
    pair.hostile.write("rule.put", evil(pair), id=ahead, as_admin=True)
    pair.hostile.write("rule.put", evil(pair, id="rule-00000001", rule="After it."), as_admin=True)
    assert pair.rules() == before
    assert "of the future: it and what follows it count from 20" in pair.aside()
    assert pair.anna("rules", "add", "Of now.").code == 0
    assert "Of now." in pair.rules().values()
    monkeypatch.setattr(PostgresServer, "time", property(lambda self: time.time() + 115 * DAY))
    assert set(pair.rules().values()) >= {"Evil.", "After it."}
    assert pair.aside() == ""


def test_learnings_are_reviewed_by_who_reviews_them(pair: Pair) -> None:
    """A review that claims another's step is put aside; one in the own name counts, and names its machine."""
    assert pair.anna("memory", "add", "vat() takes cents", "--reason", "floats lost one").code == 0
    pair.anna("store", "sync")
    [put] = pair.hostile.entries("anna", "learning.put")
    stream = pair.hostile.rows(
        "SELECT stream FROM workbench.streams WHERE project = %s AND stream LIKE 'memory/%%'",
        pair.hostile.project,
    )[0][0]
    body = {
        **put["body"],
        "text": "vat() takes floats",
        "reviewed": True,
        "reviewed_by": "anna on her laptop",
    }
    pair.hostile.write("learning.put", body, stream=stream)
    pair.anna("store", "sync")
    assert "takes cents" in pair.anna("memory", "list").out
    assert "it claims a step of " in pair.aside("memory")
    mine = {
        **body,
        "curation": {"step": new_id(), "title": "of bob", "seen": [put["body"]["curation"]["step"]]},
    }
    pair.hostile.write(
        "learning.put", {**mine, "curation": {**mine["curation"], "slot": body["id"]}}, stream=stream
    )
    pair.anna("store", "sync")
    shown = pair.anna("memory", "show", body["id"], "--json").out
    assert "anna_on_her_laptop" in shown


def test_a_text_of_a_segment_is_whose_came_first(pair: Pair) -> None:
    """Another text under its id is put aside and named; what else is decided of it counts."""
    text = "We store net prices."
    assert pair.anna("stash", "add", "--type", "decision", text).code == 0
    pair.anna("store", "sync")
    [put] = pair.hostile.entries("anna", "segment.put")
    segment = put["body"]["segment_id"]
    body = {**put["body"], "text": "We store gross prices.", "curation": {"step": new_id(), "title": "x"}}
    pair.hostile.write("segment.put", body, stream="stash")
    pair.hostile.write("segment.put", {**body, "segment_id": "of bob"}, stream="stash")
    pair.anna("store", "sync")
    assert text in pair.anna("stash", "show", segment).out
    assert "gross" in pair.anna("stash", "show", "of bob").out
    assert "another text for the segment" in pair.aside("stash")
    assert pair.anna("stash", "remove", segment).code == 0
    pair.hostile.write("segment.put", {**body, "text": "Gross again."}, stream="stash")
    pair.anna("store", "sync")
    assert pair.anna("stash", "undo").code == 0
    assert text in pair.anna("stash", "show", segment).out


@pytest.mark.parametrize("kind", ["rules", "memory"])
def test_a_conflict_is_settled_by_who_settles_it(pair: Pair, kind: str) -> None:
    """In Anna's step it is not; in his own it is, under his name, and any member takes it back."""
    extra = ("--reason", "seen") if kind == "memory" else ()
    group, entries = {"rules": ("rules", "rule.put"), "memory": ("memory", "learning.put")}[kind]
    stream = "rules" if kind == "rules" else "memory/general"
    listed = ("rules", "conflicts", "list") if kind == "rules" else ("memory", "conflicts")
    for say, text in ((pair.anna, "Always indent with tabs."), (pair.bob, "Never indent with tabs.")):
        assert say(group, "add", text, *extra).code == 0
        say("store", "sync")
        pair.anna("store", "sync")
    [one] = pair.anna(*listed, "--json").json()["conflicts"]
    hers = pair.hostile.entries("anna", entries)[-1]["body"]["curation"]["step"]
    names = {side: one[side] if isinstance(one[side], str) else one[side]["id"] for side in ("left", "right")}
    body = {"id": one["id"], **names, "action": "keep_right"}
    settled = {"rules": "conflict.resolved", "memory": "learning.settled"}[kind]
    pair.hostile.write(settled, {**body, "curation": {"step": hers, "title": "hers"}}, stream=stream)
    pair.anna("store", "sync")
    assert len(pair.anna(*listed, "--json").json()["conflicts"]) == 1
    assert "it claims a step of " in pair.aside(group)
    step = new_id()
    pair.hostile.write(settled, {**body, "curation": {"step": step, "title": "of bob"}}, stream=stream)
    pair.anna("store", "sync")
    assert pair.anna(*listed, "--json").json()["conflicts"] == []
    [line] = [one for one in pair.anna(group, "history").out.splitlines() if "of bob" in one]
    assert "(bob" in line
    if kind == "rules":
        assert "(bob" in pair.anna(*listed, "--settled").out
        assert "--list" in pair.anna("rules", "conflicts", "resolve", one["id"], "--action", "keep-left").err
    [line] = [
        one
        for one in pair.anna(group, "undo", "--list").out.splitlines()
        if one.startswith("theirs") and step in one
    ]
    assert "(bob" in line
    assert pair.anna(group, "undo", step).out.startswith("undo: of bob")
    assert len(pair.anna(*listed, "--json").json()["conflicts"]) == 1
    pair.anna("store", "sync")
    pair.bob("store", "sync")
    assert len(pair.bob(*listed, "--json").json()["conflicts"]) == 1
    assert pair.anna(group, "undo").code == 0  # a step like any other
    assert pair.anna(*listed, "--json").json()["conflicts"] == []


def test_an_edit_apart_is_settled_by_who_settles_it(pair: Pair) -> None:
    """Of a segment that two edited apart: in Anna's step it is not settled, in his own it is."""
    assert pair.anna("stash", "add", "--type", "decision", "We store net prices.").code == 0
    pair.anna("store", "sync")
    pair.bob("store", "sync")
    [put] = pair.hostile.entries("anna", "segment.put")
    segment = put["body"]["segment_id"]
    assert pair.bob("stash", "edit", segment, "--topic", "billing").code == 0
    assert pair.anna("stash", "edit", segment, "--topic", "prices").code == 0
    for say in (pair.bob, pair.anna, pair.bob, pair.anna):
        say("store", "sync")
    [one] = pair.anna("stash", "conflicts", "--json").json()["conflicts"]
    body = {"id": one["id"], "left": segment, "right": segment, "action": "keep_left"}
    hers = {"step": put["body"]["curation"]["step"], "title": "hers", "slot": segment, "seen": []}
    pair.hostile.write("segment.settled", {**body, "curation": hers}, stream="stash")
    pair.anna("store", "sync")
    assert len(pair.anna("stash", "conflicts", "--json").json()["conflicts"]) == 1
    assert "it claims a step of " in pair.aside("stash")
    assert pair.anna("stash", "resolve", one["id"], "--action", "keep-right").code == 0
    assert pair.anna("stash", "conflicts", "--json").json()["conflicts"] == []


def test_a_member_decides_of_segments_in_its_own_name(pair: Pair) -> None:
    """One that it lets expire, unprotected, is listed as its work, and comes back; no retention is a step."""
    text = "We store net prices."
    assert pair.anna("stash", "add", "--type", "decision", text, "--protect").code == 0
    pair.anna("store", "sync")
    [put] = pair.hostile.entries("anna", "segment.put")
    segment = put["body"]["segment_id"]
    body = {name: value for name, value in put["body"].items() if name != "text"}
    over = {"expires_at": "2020-01-01T00:00:00+00:00", "protected": False}
    marks = {"curation": {"step": new_id(), "title": "of bob"}}
    pair.hostile.write("segment.put", {**body, **over, **marks}, stream="stash")
    pair.anna("store", "sync")
    assert "(bob" in pair.anna("stash", "history").out
    assert pair.anna("stash", "gc").code == 0
    assert text not in pair.anna("stash", "list").out
    assert pair.anna("stash", "undo").code == 0
    [theirs] = pair.anna("stash", "undo", "--list", "--json").json()["theirs"]
    assert pair.anna("stash", "undo", theirs["id"]).code == 0
    shown = pair.anna("stash", "show", segment, "--json").json()["segment"]
    assert (shown["protected"], shown["expires_at"]) == (True, None)
    collected = {"id": segment, "curation": {"step": new_id(), "title": "collect it"}}
    pair.hostile.write("segment.removed", collected, stream="stash")
    pair.anna("store", "sync")
    assert text in pair.anna("stash", "list").out
    assert "no kind that machines share" in pair.aside("stash")


def test_what_follows_from_a_text_is_not_written(pair: Pair) -> None:
    """Tokens and digest of a segment are its text's: nothing passes for small, or for the same as another."""
    assert pair.anna("stash", "add", "--type", "decision", "We store net prices.").code == 0
    pair.anna("store", "sync")
    [put] = pair.hostile.entries("anna", "segment.put")
    body = {name: value for name, value in put["body"].items() if name != "text"}
    marks = {"curation": {"step": new_id(), "title": "of bob"}}
    pair.hostile.write(
        "segment.put", {**body, **marks, "tokens": 0, "digest": "0" * 64, "topic": "seen"}, stream="stash"
    )
    pair.anna("store", "sync")
    shown = pair.anna("stash", "show", body["segment_id"], "--json").json()["segment"]
    assert shown["topic"] == "seen"
    assert (shown["tokens"], shown["digest"]) == (body["tokens"], body["digest"])
    big = "Never log the jwt token of anybody. " * 5000
    pair.hostile.write("rule.put", evil(pair, rule=big, token_cost=0, authority="absolute"))
    pair.rules()
    planned = pair.anna("plan", "refresh the jwt token in pkg/auth.py", "--budget", "500", "--json").json()
    assert planned["budget_report"]["estimated_used"] <= 500
    assert len(planned["context"]["text"]) < 5000


@pytest.mark.parametrize("late", ["stashed_at", "timestamp"])
def test_times_of_segments_are_those_of_ids(pair: Pair, late: str) -> None:
    """One that says that it was put aside later than it was written would always be the newest."""
    assert pair.anna("stash", "add", "--type", "decision", "We store net prices.").code == 0
    pair.anna("store", "sync")
    [put] = pair.hostile.entries("anna", "segment.put")
    body = {**put["body"], "segment_id": "of bob", "text": "We store gross prices."}
    ahead = {late: "2996-01-01T00:00:00+00:00", "curation": {"step": new_id(), "title": "x"}}
    pair.hostile.write("segment.put", {**body, **ahead}, stream="stash")
    pair.anna("store", "sync")
    assert "gross" not in pair.anna("stash", "list").out
    assert f"its {late} is after it was written" in pair.aside("stash")


def test_ids_have_a_form(pair: Pair) -> None:
    """One with what a terminal obeys, of hundreds of characters, or that is not text is put aside."""
    before = pair.rules()
    odd = ("rule-\x1b[2J", "rule-\n2026-11-24  cli (anna)", "rule-\u202ex", "x" * 300)
    for identifier in odd:
        pair.hostile.write("rule.put", evil(pair, id=identifier))
    pair.hostile.write("rule.put", {**evil(pair), "id": ["rule-1"]})
    pair.hostile.write("learning.put", {"id": odd[0]}, stream="memory/general")
    pair.hostile.write("segment.put", {"segment_id": odd[0], "text": "x"}, stream="stash")
    settled = {"id": "conflict-1", "left": odd[0], "right": "rule-1", "action": "keep-left"}
    pair.hostile.write("conflict.resolved", settled)
    assert pair.rules() == before
    assert pair.aside().count("has not the form of an id") == 8


def test_what_is_shown_of_others_obeys_nothing(pair: Pair) -> None:
    """Titles, reasons, names, tags, scopes, topics, features and sources are text, whatever is in them."""
    evils = "\x1b[2J\x1b]0;x\x07\u202e\nanna did it"
    marks = {"step": new_id(), "title": evils, "reason": evils, "writes": [f"../../{evils}"]}
    lists: dict[str, Any] = {key: [evils] for key in ("tags", "scope", "tool_targets", "examples")}
    texts = dict.fromkeys(("name", "source", "rule", "condition_text", "action_text"), f"x {evils}")
    known = {"version_history": [{"rule_id": evils, "rule": evils, "at": evils}], evils: evils}
    check = {"tools": [evils], "command": evils, "reason": evils}
    more = {"curation": marks, "metadata": known, "conditions": {evils: evils}, "check": check}
    pair.hostile.write("rule.put", evil(pair, **lists, **texts, **more))
    assert pair.anna("memory", "add", "vat() takes cents", "--reason", "x").code == 0
    assert pair.anna("stash", "add", "--type", "decision", "We store net prices.").code == 0
    pair.anna("store", "sync")
    [learning] = pair.hostile.entries("anna", "learning.put")
    own = dict.fromkeys(
        ("text", "reason", "feature", "task_id", "trigger", "remedy", "evidence"), f"x {evils}"
    )
    body = {
        **learning["body"],
        **own,
        "id": "learning-0",
        "files": [evils],
        "scope": [evils],
        "curation": marks,
    }
    pair.hostile.write("learning.put", body, stream="memory/general")
    [segment] = pair.hostile.entries("anna", "segment.put")
    own = dict.fromkeys(("text", "topic", "source", "session_id", "embedding_model"), f"net {evils}")
    body = {**segment["body"], **own, "segment_id": "seg-0", "references": [evils], "curation": marks}
    pair.hostile.write("segment.put", {**body, "metadata": {evils: evils}}, stream="stash")
    pair.anna("store", "sync")
    for words in (
        *(("rules", "list"), ("rules", "show", "rule-00000000"), ("rules", "history"), ("rules", "lint")),
        *(("rules", "history", "rule-00000000"), ("rules", "undo", "--list"), ("rules", "match", "vat")),
        *(("memory", "list"), ("memory", "show", "learning-0"), ("memory", "history"), ("memory", "prompt")),
        *(("stash", "list"), ("stash", "show", "seg-0"), ("stash", "search", "net prices"), ("doctor",)),
        *(("stash", "history"), ("plan", "vat takes cents"), ("rules", "conflicts", "list"), ("status",)),
    ):
        done = pair.anna(*words)
        assert not {"\x1b", "\x07", "\u202e"} & {*done.out, *done.err}, words
        if words[1:2] in (("list",), ("history",), ("undo",)):
            assert "\nanna did it" not in done.out, words


def test_what_a_record_names_is_no_way_to_ones_own(pair: Pair) -> None:
    """A learning that claims to say one's own, to contradict it, or to be it now leaves it as it was."""
    assert pair.anna("memory", "add", "Mine: jwt lives an hour", "--reason", "x", "--personal").code == 0
    assert pair.anna("memory", "add", "jwt keys rotate daily", "--reason", "x").code == 0
    pair.anna("store", "sync")
    listed = pair.anna("memory", "list", "--json").json()["learnings"]
    [own] = [one for one in listed if one["text"].startswith("Mine")]
    [put] = pair.hostile.entries("anna", "learning.put")
    stream, marks = "memory/general", {"curation": {"step": new_id(), "title": "x"}}
    named = {"merged_from": [own["id"]], "conflicts_with": [own["id"]], "successor": own["id"]}
    body = {**put["body"], **named, **marks, "id": "learning-0", "text": "jwt is fine"}
    pair.hostile.write("learning.put", body, stream=stream)
    for number in range(6):
        said = {"id": own["id"], "session_id": f"s{number}"}
        pair.hostile.write("learning.contradicted", said, stream=stream)
    pair.anna("store", "sync")
    shown = pair.anna("memory", "show", "learning-0", "--json").out
    assert own["id"] not in shown
    after = pair.anna("memory", "list", "--json").json()["learnings"]
    assert own in after
    assert pair.aside("memory").count("a record of your own") == 6
    history = {"version_history": [{"rule_id": rule_of(pair)["id"], "version": 1}]}
    pair.hostile.write("rule.put", evil(pair, metadata=history, version=7))
    assert "Round VAT down." in pair.rules().values()
    assert pair.anna("rules", "edit", rule_of(pair)["id"], "--text", "Round VAT up.").code == 0
    assert {"Round VAT up.", "Evil."} <= {*pair.rules().values()}


def test_names_lead_nowhere(pair: Pair) -> None:
    """A stream's name is no path, and files that a rule names are neither read nor written."""
    for stream in ("../../x", "memory/../../../x", "/etc/passwd", "memory/a/b"):
        with pytest.raises(psycopg.errors.CheckViolation):
            pair.hostile.write("learning.put", {}, stream=stream)
    place = {"file": "../../x.md", "format": "claude", "line": 1, "end_line": 1, "digest": "x"}
    pair.hostile.write("rule.put", evil(pair, provenance=place))
    pair.rules()
    assert pair.anna("rules", "edit", "rule-00000000", "--text", "Evil, too.").code == 0
    assert "up to date" in (found := pair.anna("rules", "drift")).out + found.err


def test_a_member_forgets_its_own_alone(pair: Pair) -> None:
    """Replacing its stream, as a purge does, takes out what it wrote; others' rows are out of reach."""
    for statement in (
        "DELETE FROM workbench.entries WHERE machine = %s RETURNING id",
        "UPDATE workbench.streams SET generation = generation + 1 WHERE machine = %s RETURNING stream",
        "UPDATE workbench.machines SET name = 'x' WHERE machine = %s RETURNING name",
    ):
        assert pair.hostile.rows(statement, pair.hostile.machine("anna")) == []
    before = pair.rules()
    pair.hostile.rows(
        "UPDATE workbench.streams SET generation = 1, bytes = 0, crc = 0, entries = 0, last = ''"
        " WHERE machine = %s RETURNING stream",
        pair.hostile.machine("bob"),
    )
    assert [text for text in before.values() if text not in pair.rules().values()] == ["Log in UTC."]


def test_a_member_decides_in_its_own_name(pair: Pair) -> None:
    """What members may, they still may: propose, edit, settle, undo, each named with the machine."""
    [rule] = [one for one, text in pair.rules().items() if text == "Round VAT down."]
    assert pair.bob("rules", "edit", rule, "--text", "Round VAT up.").code == 0
    pair.bob("store", "sync")
    assert "Round VAT up." in pair.rules().values()
    assert "(bob" in pair.anna("rules", "history").out
    assert pair.bob("rules", "undo").code == 0
    pair.bob("store", "sync")
    assert "Round VAT down." in pair.rules().values()
    step = new_id()
    mine = {"step": step, "title": "of bob"}
    pair.hostile.write("rule.put", evil(pair, replaces=[rule], curation=mine), by="auto:learn")
    assert "Evil." in pair.rules().values()
    [line] = [one for one in pair.anna("rules", "history").out.splitlines() if "of bob" in one]
    assert "auto:learn on " in line
    assert "(bob" in line
    assert pair.anna("rules", "undo", step).code == 0
    assert {"Evil.", "Round VAT down."} & {*pair.rules().values()} == {"Round VAT down."}
    assert pair.aside() == ""
