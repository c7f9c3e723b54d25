"""What a journal lost or had altered is noticed at a look, and brought back from its copy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import locks
from store.journal import FileJournal, verify
from store.journal_copies import ASIDE, accept, append_lines, copy_path, damaged_streams, damages, repair
from store.journal_files import lock_path, stream_path, write_lines
from store.location import Location, locate
from tests.adapters import ManualClock
from tests.deep import times

STREAM = "rules"


def journal_of(root: Path, count: int = 4) -> FileJournal:
    journal = FileJournal(root, ManualClock())
    for number in range(count):
        journal.append(STREAM, "rule.put", [{"number": number}], by="cli")
    return journal


def numbers(root: Path) -> list[int]:
    """Return the numbers of the entries that can be read, in their order."""
    return [entry.body["number"] for _, entry in FileJournal(root, ManualClock()).read(STREAM)]


def change(root: Path, data: bytes) -> None:
    """Put other bytes in a journal's place, a moment after its last write."""
    path = stream_path(root, STREAM)
    path.write_bytes(data)
    later = path.stat().st_mtime_ns + 10_000_000_000
    os.utime(path, ns=(later, later))


def test_copies_follow_their_journals(tmp_path: Path) -> None:
    """What is appended is in both; a look finds nothing, and metrics are not copied."""
    journal = journal_of(tmp_path)
    journal.append("memory/auth", "memory.put", [{"a": 1}], by="cli")
    journal.append("metrics", "measured", [{"a": 1}], by="cli", sync=False)

    assert copy_path(tmp_path, STREAM).read_bytes() == stream_path(tmp_path, STREAM).read_bytes()
    assert copy_path(tmp_path, "memory/auth").exists()
    assert not copy_path(tmp_path, "metrics").exists()
    assert damaged_streams(tmp_path) == []
    assert damages(tmp_path) == []


@pytest.mark.parametrize("how", ["behind", "missing", "unfinished line", "touched"])
def test_a_copy_that_is_behind_catches_up(tmp_path: Path, how: str) -> None:
    """Writers are killed between both files, earlier programs know no copies, and files are touched."""
    journal = journal_of(tmp_path)
    path, copy = stream_path(tmp_path, STREAM), copy_path(tmp_path, STREAM)
    if how == "behind":
        write_lines(path, path.read_bytes().splitlines(keepends=True)[0], sync=False)
    elif how == "missing":
        copy.unlink()
    elif how == "unfinished line":
        path.write_bytes(path.read_bytes() + b'{"v":1,"id"')
    else:
        change(tmp_path, path.read_bytes())

    assert damaged_streams(tmp_path) == []
    journal.append(STREAM, "rule.put", [{"number": 9}], by="cli")
    assert copy.read_bytes() == path.read_bytes()
    assert damages(tmp_path) == []


@pytest.mark.parametrize(
    ("how", "missing", "altered", "unreadable"),
    [("cut", 2, 0, 0), ("gone", 4, 0, 0), ("letter", 0, 1, 0), ("bits", 1, 0, 1), ("middle", 1, 0, 0)],
)
def test_what_a_journal_lost_is_noticed_and_comes_back(
    tmp_path: Path, how: str, missing: int, altered: int, unreadable: int
) -> None:
    """Also after more was written, which stays; both files as they were are set aside."""
    journal = journal_of(tmp_path)
    lines = stream_path(tmp_path, STREAM).read_bytes().splitlines(keepends=True)
    spoiled = {
        "cut": lines[:2],
        "gone": [],
        "letter": [lines[0].replace(b'"number":0', b'"number":7'), *lines[1:]],
        "bits": [lines[0], b"\x00" + lines[1][1:], *lines[2:]],
        "middle": [lines[0], *lines[2:]],
    }[how]
    change(tmp_path, b"".join(spoiled))
    if how == "gone":
        stream_path(tmp_path, STREAM).unlink()
    assert damaged_streams(tmp_path) == [STREAM]
    journal.append(STREAM, "rule.put", [{"number": 9}], by="cli")
    assert damaged_streams(tmp_path) == [STREAM]
    damaged_bytes = stream_path(tmp_path, STREAM).read_bytes()

    [found] = damages(tmp_path)
    aside = repair(found, "now")

    assert (found.missing, found.altered, found.unreadable) == (missing, altered, unreadable)
    assert numbers(tmp_path) == [0, 1, 2, 3, 9]
    assert damages(tmp_path) == []
    assert aside == tmp_path / ASIDE / "now"
    assert (aside / "journal" / "rules.jsonl").read_bytes() == damaged_bytes
    assert (aside / "journal-copy" / "rules.jsonl").read_bytes() == b"".join(lines)


def test_a_journal_changed_on_purpose_is_accepted(tmp_path: Path) -> None:
    """The copy is then what the journal is."""
    journal_of(tmp_path)
    lines = stream_path(tmp_path, STREAM).read_bytes().splitlines(keepends=True)
    change(tmp_path, lines[0] + lines[3])

    accept(damages(tmp_path)[0], "now")

    assert numbers(tmp_path) == [0, 3]
    assert damaged_streams(tmp_path) == []
    assert copy_path(tmp_path, STREAM).read_bytes() == lines[0] + lines[3]


def test_nothing_is_said_while_somebody_writes(tmp_path: Path) -> None:
    """A look between the two writes of an append would see a journal that its copy does not follow."""
    journal_of(tmp_path)
    change(tmp_path, b"")

    with locks.exclusive(lock_path(tmp_path, STREAM)):
        assert damaged_streams(tmp_path) == []
    assert damaged_streams(tmp_path) == [STREAM]


def test_everyone_who_opens_the_project_is_told_once(tmp_path: Path) -> None:
    """In one sentence that names the file and the command."""
    environment = {"WORKBENCH_HOME": str(tmp_path / "home")}
    root = locate(tmp_path, environment).root
    journal_of(root)
    journal_of(tmp_path / "home")
    change(root, b"")
    change(tmp_path / "home", b"")

    found = locate(tmp_path, environment)

    [note] = found.notes
    assert note.startswith(f"{root}/journal/rules.jsonl and 1 other journal is not what was written")
    assert "`workbench doctor --repair`" in note
    assert Location(root, tmp_path, tmp_path / "home").notes == ()


def test_what_a_later_version_wrote_outlasts_a_repair(tmp_path: Path) -> None:
    """Its lines are no damage: they stay in their place, and whoever verifies is given what wrote them."""
    journal = journal_of(tmp_path)
    path = stream_path(tmp_path, STREAM)
    later = path.read_bytes().splitlines(keepends=True)[0].replace(b'"v":1', b'"v":2')
    append_lines(tmp_path, STREAM, later, sync=False)
    journal.append(STREAM, "rule.put", [{"number": 9}], by="cli")
    whole = path.read_bytes()
    assert [one.is_later for one in verify(tmp_path)] == [True]

    change(tmp_path, whole[: len(whole) // 2])
    [found] = damages(tmp_path)
    assert not found.unreadable
    repair(found, "now")
    assert path.read_bytes() == whole


def test_an_entry_whose_id_was_altered_is_there_once(tmp_path: Path) -> None:
    """It is the copy's entry and no other one."""
    journal_of(tmp_path)
    content = stream_path(tmp_path, STREAM).read_bytes()
    change(tmp_path, content[:13] + content[14:])

    repair(damages(tmp_path)[0], "now")

    assert numbers(tmp_path) == [0, 1, 2, 3]


@settings(
    max_examples=times(13, 40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_whatever_is_done_to_a_journal_nothing_acknowledged_stays_lost(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines removed, altered, added and cut anywhere: repaired, all entries are there, in their order."""
    root = tmp_path_factory.mktemp("j")
    written = [entry for _, entry in journal_of(root).read(STREAM)]
    content = bytearray(stream_path(root, STREAM).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 300))
        content[at : at + length] = data.draw(st.binary(max_size=40))
    change(root, bytes(content))

    for one in damages(root):
        repair(one, "now")

    found = [entry for _, entry in FileJournal(root, ManualClock()).read(STREAM)]
    assert [entry for entry in found if entry in written] == written
    assert damages(root) == []
