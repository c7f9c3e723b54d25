"""Imports take what is new, once, and lose nothing that is understood, whatever happened to the files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import MemoryJournal
from tests.sessions.importers.made import (
    NOON,
    ROOT,
    codex,
    codex_did,
    codex_said,
    edited,
    group,
    held,
    ran,
    raw,
    user,
)
from workbench.errors import GitError
from workbench.plan.intent import parse_intent
from workbench.records.episodes import CommittedPaths
from workbench.sessions.importers.export import exported_lines
from workbench.sessions.importers.importer import QUIET, Importer, ImportReport, ImportRequest, ImportStore
from workbench.sessions.importers.places import ProjectPlaces, TranscriptFile, digest_of
from workbench.sessions.importers.readers import read_session

SESSION = [
    user("fix the login of the shop", "u1", 0),
    *edited("a", "/p/a.py", 1),
    *ran("b", "pytest", "3 passed", 2),
    user("now change the logout as well", "u2", 10),
    *edited("c", "/p/b.py", 11),
    *ran("d", "git commit -m x", "[main 0123abc] x", 12),
    user("and what about the tests?", "u3", 20),
    *edited("e", "/p/tests/test_b.py", 21),
]
ROLLOUT = [
    codex("session_meta", 0, id="c", cwd="/p"),
    *codex_said("make the basket faster", 1),
    *codex_did("ca", "exec_command", {"cmd": "sed -i s/a/b/ basket.py"}, "Process exited with code 0", 2),
    *codex_said("still not fast enough", 3),
]


class Place:
    """A journal in memory, what was read before, and a clock that stands a day after the sessions."""

    def __init__(self, directory: Path, roots: Sequence[str] = (ROOT,)) -> None:
        self.journal = MemoryJournal()
        self.directory = directory
        self.roots = tuple(roots)
        self.now = NOON + 86_400.0
        self.archived: list[str] = []
        self.publications = 0

    def run(self, *files: TranscriptFile, **wanted: Any) -> ImportReport:
        def publish(kind: str, write: Any) -> Path:
            self.publications += 1
            path = self.directory / f"{kind}-{self.publications}"
            path.mkdir(parents=True, exist_ok=True)
            write(path)
            return path

        store = ImportStore(
            project_id="p",
            places=ProjectPlaces(self.roots),
            journal=self.journal,
            latest=lambda kind: self.directory / f"{kind}-{self.publications}" if self.publications else None,
            publish=publish,
            lock=_unlocked,
            understand=partial(parse_intent, project_id="p"),
            now=lambda: self.now,
            archive=self._archive if wanted.pop("archive", False) else None,
            commits=wanted.pop("commits", lambda since: ()),
        )
        return Importer(store, ImportRequest(**wanted)).run(files)

    def _archive(self, files: Sequence[TranscriptFile]) -> Mapping[str, str]:
        self.archived += [str(file.path) for file in files]
        return {str(file.path): "x" for file in files}

    @property
    def bodies(self) -> dict[str, dict[str, Any]]:
        """The episodes as the journal has them last."""
        found = {}
        for _, entry in self.journal.read("sessions"):
            found[entry.body["session_id"]] = dict(entry.body)
        return found

    @property
    def entries(self) -> int:
        """How many entries the journal has."""
        return sum(1 for _ in self.journal.read("sessions"))


@contextmanager
def _unlocked(name: str) -> Iterator[None]:
    del name
    yield


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_prompts_become_episodes(place: Place) -> None:
    """With the project's paths, how they ended and what speaks for it."""
    report = place.run(held(raw(SESSION)))
    first, second, third = place.bodies.values()
    assert (report.sessions, report.new, report.edits) == (1, 3, 3)
    assert first["changes"] == [["a.py", "modified", 1, 1, ""]]
    assert (first["outcome"], first["outcome_evidence"]) == (
        "success",
        "commit 0123abc asked for by a later prompt; tests passed",
    )
    assert (second["outcome"], second["commit_sha"]) == ("success", "0123abc")
    assert (third["outcome"], third["parent_session"], third["prompt_index"]) == ("unknown", "s", 2)
    assert (first["source"], first["started_at"], first["project_id"]) == ("claude_code", NOON, "p")


def test_a_commit_of_what_a_task_changed_is_its_outcome(place: Place) -> None:
    """Half of the files within an hour make it; an outcome that the session shows is left as it is."""
    commits = [
        CommittedPaths("0" * 40, NOON - 1, frozenset({"tests/test_b.py"})),
        CommittedPaths("1" * 40, NOON + 30, frozenset({"other.py"})),
        CommittedPaths("2" * 40, NOON + 60, frozenset({"a.py", "b.py", "tests/test_b.py"})),
    ]
    asked: list[int] = []

    def since(moment: int) -> list[CommittedPaths]:
        asked.append(moment)
        return commits

    place.run(held(raw(SESSION)), commits=since)
    last = place.bodies["claude_code:u3"]
    assert (last["outcome"], last["commit_sha"]) == ("success", "2" * 40)
    assert last["outcome_evidence"] == f"derived: commit {'2' * 12} took 1 of 1 changed files within an hour"
    assert place.bodies["claude_code:u2"]["commit_sha"] == "0123abc"
    assert len(asked) == 1


def test_commits_that_cannot_be_read_leave_outcomes_unknown(place: Place) -> None:
    """The import goes on and says so."""

    def broken(since: int) -> list[CommittedPaths]:
        raise GitError(f"no commits since {since}")

    report = place.run(held(raw(SESSION)), commits=broken)
    assert place.bodies["claude_code:u3"]["outcome"] == "unknown"
    assert any("no outcome is derived from commits" in note for note in report.notes)


def test_importing_twice_is_importing_once(place: Place) -> None:
    """Unchanged files are not read; read again, they say nothing new; a lost cache costs time alone."""
    place.run(held(raw(SESSION)), held(raw(ROLLOUT), "r.jsonl"))
    before = place.entries
    assert place.run(held(raw(SESSION))).read == 0
    again = place.run(held(raw(SESSION)), held(raw(ROLLOUT), "r.jsonl"), again=True)
    assert (again.new, again.updated, again.unchanged) == (0, 0, 5)
    place.publications = 0
    place.run(held(raw(SESSION)), held(raw(ROLLOUT), "r.jsonl"))
    assert place.entries == before


def test_the_last_task_of_a_fresh_session_waits(place: Place) -> None:
    """Until nothing was written for a while, though the file has not changed since."""
    place.now = NOON + QUIET / 2
    assert place.run(held(raw(SESSION))).new == 2
    place.now = NOON + QUIET
    report = place.run(held(raw(SESSION)))
    assert (report.new, report.unchanged) == (1, 2)


def test_a_task_that_went_on_is_brought_up_to_date(place: Place) -> None:
    """A session that continues later replaces what its last task was taken for."""
    place.run(held(raw(SESSION[:5])))
    report = place.run(held(raw(SESSION)))
    assert (report.new, report.updated) == (2, 1)
    assert len(place.bodies) == 3


@pytest.mark.parametrize("swapped", [False, True])
def test_resumed_sessions_tell_a_prompt_once(place: Place, swapped: bool) -> None:
    """The telling that goes furthest counts, whichever is read first."""
    resumed = [{**line, "sessionId": "t"} for line in SESSION[:9]]
    resumed += [{**line, "sessionId": "t"} for line in edited("z", "/p/z.py", 15)]
    files = [held(raw(SESSION[:10])), held(raw(resumed), "t.jsonl")]
    for file in reversed(files) if swapped else files:
        place.run(file)
    assert [change[0] for change in place.bodies["claude_code:u2"]["changes"]] == ["b.py", "z.py"]
    assert place.bodies["claude_code:u2"]["parent_session"] == "t"


def test_an_older_copy_of_a_session_changes_nothing(place: Place) -> None:
    """A shorter file that tells the same prompts leaves what is known of them."""
    place.run(held(raw(SESSION)))
    before = place.bodies
    report = place.run(held(raw(SESSION[:8]), "backup.jsonl"))
    assert (report.new, report.updated) == (0, 0)
    assert place.bodies == before


def test_other_projects_stay_out(place: Place) -> None:
    """Their prompts, their paths; they are counted and named."""
    lines = [
        user("fix the login", "u1"),
        *edited("a", "/p/a.py"),
        *edited("b", "/other/b.py"),
        *edited("c", "/p/.git/config"),
        user("fix the kitchen", "u2", cwd="/other"),
        *edited("d", "/other/c.py"),
    ]
    report = place.run(held(raw(lines)))
    (body,) = place.bodies.values()
    assert [change[0] for change in body["changes"]] == ["a.py"]
    assert report.skipped["prompts of other projects"] == 1
    assert report.skipped["paths outside of the project"] == 3
    assert dict(report.elsewhere) == {"/other": 1}


def test_the_project_may_have_been_elsewhere(place: Place) -> None:
    """Where --root says, in a work tree of an agent, or in a clone of the same repository."""
    lines = [user("fix the login", "u1", cwd="/old/trees/x"), *edited("a", "/old/trees/x/a.py")]
    assert place.run(held(raw(lines)), roots=("/old/trees/*",)).new == 1
    inside = [user("fix it well", "u2"), *edited("b", "/p/.claude/worktrees/w/src/a.py")]
    place.run(held(raw(inside), "b.jsonl"))
    changes = [body["changes"][0][0] for body in place.bodies.values()]
    assert changes == ["a.py", "src/a.py"]


def test_secrets_are_not_stored(place: Place) -> None:
    """Neither in a prompt nor in a path."""
    secret = "sk-" + "a1B2" * 8
    place.run(held(raw([user(f"use the key {secret} for the login", "u1"), *edited("a", f"/p/{secret}.py")])))
    assert secret not in json.dumps(list(place.bodies.values()))


def test_a_bare_prompt_has_the_one_before_as_its_context(place: Place) -> None:
    """`continue` says nothing about what is continued."""
    place.run(held(raw([user("fix the login", "u1"), user("continue", "u2"), *edited("a", "/p/a.py")])))
    assert place.bodies["claude_code:u2"]["task_text"] == "continue\n\nfix the login"


def test_what_was_forgotten_stays_forgotten(place: Place) -> None:
    """Unless it is asked for again."""
    place.run(held(raw(SESSION)))
    place.journal.append("sessions", "episode.forgotten", [{"session_ids": ["claude_code:u1"]}], by="test")
    place.publications = 0
    assert place.run(held(raw(SESSION))).skipped["tasks that were forgotten on purpose"] == 1
    assert place.run(held(raw(SESSION)), again=True).new == 1


def test_a_dry_run_writes_nothing(place: Place) -> None:
    """It says what an import would do."""
    report = place.run(held(raw(SESSION)), dry_run=True, archive=True)
    assert (report.new, place.entries, place.publications, place.archived) == (3, 0, 0, [])


def test_since_leaves_older_prompts_for_another_time(place: Place) -> None:
    """They are counted, and an import without it takes them up."""
    report = place.run(held(raw(SESSION), changed=(NOON + 99) * 1_000_000_000), since=NOON + 5)
    assert (report.new, report.skipped["prompts older than --since"]) == (2, 1)
    assert place.run(held(raw(SESSION), changed=(NOON + 99) * 1_000_000_000)).new == 1
    assert place.run(held(raw(SESSION)), since=NOON + 5).read == 0


def test_files_are_archived_once_their_tasks_are_the_projects(place: Place) -> None:
    """Turned on later, it makes up for what was imported before."""
    other = held(raw([user("fix the kitchen", "k", cwd="/other")]), "other.jsonl")
    place.run(held(raw(SESSION)), other)
    place.run(held(raw(SESSION)), other, archive=True)
    place.run(held(raw(SESSION)), other, archive=True)
    assert place.archived == ["/transcripts/s.jsonl"]


def test_an_export_is_imported_as_it_was(tmp_path: Path, place: Place) -> None:
    """There and back, elsewhere, the episodes are the same but for the project's id."""
    place.run(held(raw(SESSION)), held(raw(ROLLOUT), "r.jsonl"))
    other = Place(tmp_path / "other", roots=("/elsewhere",))
    lines = exported_lines(entry for _, entry in place.journal.read("sessions"))
    assert other.run(held(raw(lines))).new == 5
    assert list(map(digest_of, other.bodies.values())) == list(map(digest_of, place.bodies.values()))


def test_hostile_exports_are_checked() -> None:
    """Paths that lead out, commits that are none, odd values: left out, with a reason where a line is."""
    good = {"type": "workbench.episode", "session_id": "x", "task_text": "fix it", "started_at": 1}
    lines = [
        {"type": "workbench.sessions", "version": 1},
        {
            **good,
            "changes": [["../../etc/passwd", "modified", 1, 1, ""], ["a.py", "modified", -1, "x", None], 3],
        },
        {**good, "session_id": "git:0123abc"},
        {**good, "started_at": 10**30},
        {"type": "user"},
        b"{",
    ]
    reading = read_session(group(*lines), "p")
    (body,) = reading.bodies
    assert body["changes"] == [["a.py", "modified", 0, 0, ""]]
    assert (reading.tally.lines, reading.tally.lines_understood) == (6, 2)


def test_an_interrupted_import_keeps_what_it_did(place: Place) -> None:
    """Ctrl-C in the middle: the sessions before it are there, the next import takes the rest."""
    files = [held(raw(SESSION)), held(raw(ROLLOUT), "r.jsonl")]
    opened: list[int] = []

    def stop() -> Any:
        opened.append(1)
        if len(opened) > 1:  # the first time only its beginning is looked at
            raise KeyboardInterrupt
        return files[1].open()

    stopped = TranscriptFile(files[1].path, files[1].size, files[1].changed, stop)
    with pytest.raises(KeyboardInterrupt):
        place.run(files[0], stopped)
    assert len(place.bodies) == 3
    report = place.run(*files)
    assert (report.read, report.new) == (1, 2)


LINES = [json.dumps(line).encode() for line in SESSION]
ODD = [
    b"{",
    b"\xff\xfe",
    b"[" * 5_000,
    b'{"type":"novelty"}',
    b'{"type":"user","message":7}',
    b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":9}}]}}',
    b'{"type":"user","timestamp":1e400,"uuid":{},"message":{"content":[3,null,{"type":"tool_result"}]}}',
    b'{"type":"assistant","message":{"usage":{"input_tokens":123456789012345678901234567890},"content":"x"}}',
    b'{"type":"session_meta","payload":{"id":5,"cwd":[]}}',
    b'{"type":"progress","data":{"message":{"type":"progress","data":{}}},"timestamp":"9999-99-99"}',
]
PROMPTS = {"claude_code:u1", "claude_code:u2", "claude_code:u3"}


@given(st.data())
def test_mutated_transcripts_lose_no_prompt(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Duplicated, reordered and strange lines between: each prompt whose line is whole becomes a task."""
    lines = data.draw(st.permutations(LINES)) if data.draw(st.booleans()) else list(LINES)
    lines += data.draw(st.lists(st.sampled_from(LINES), max_size=6))
    for odd in data.draw(st.lists(st.sampled_from(ODD) | st.binary(max_size=30), max_size=8)):
        lines.insert(data.draw(st.integers(0, len(lines))), odd.replace(b"\n", b""))
    place = Place(tmp_path_factory.mktemp("import"))
    report = place.run(held(b"\n".join(lines) + b"\n"))
    if report.details:  # else the beginning is no transcript's, which is counted as well
        assert place.bodies.keys() >= PROMPTS
        assert report.tally.lines == sum(bool(line.strip(b" \t\r\n\0")) for line in lines)
    else:
        assert report.skipped["files that are not transcripts"] == 1


@given(st.sampled_from([SESSION, ROLLOUT]), st.data())
def test_truncated_and_flipped_bytes_never_crash(
    tmp_path_factory: pytest.TempPathFactory, session: list[Any], data: st.DataObject
) -> None:
    """Cut anywhere, with bytes changed anywhere, a file is read; what is left of its lines is counted."""
    content = bytearray(raw(session)[: data.draw(st.integers(0, len(raw(session))))])
    for _ in range(data.draw(st.integers(0, 6))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    place = Place(tmp_path_factory.mktemp("import"))
    report = place.run(held(bytes(content)))
    assert report.tally.lines_understood <= report.tally.lines
    assert all(body["ended_at"] >= body["started_at"] >= 0 for body in place.bodies.values())


@given(st.sampled_from([SESSION, ROLLOUT]), st.integers(0, 1_000_000))
def test_a_growing_file_is_imported_as_if_at_once(
    tmp_path_factory: pytest.TempPathFactory, session: list[Any], seed: int
) -> None:
    """Appended in random pieces, imported after each, in a hurry or not, the journal says the same."""
    content, chance = raw(session), random.Random(seed)
    whole = Place(tmp_path_factory.mktemp("whole"))
    whole.run(held(content))
    grown = Place(tmp_path_factory.mktemp("grown"))
    cuts = [*sorted(chance.sample(range(len(content)), 4)), len(content)]
    for cut in cuts:
        grown.now = NOON + chance.choice([1.0, 86_400.0])
        grown.run(held(content[:cut]))
    grown.now = NOON + 86_400.0
    grown.run(held(content))
    assert {key: digest_of(body) for key, body in grown.bodies.items()} == {
        key: digest_of(body) for key, body in whole.bodies.items()
    }
