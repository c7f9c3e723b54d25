"""What a journal promises: nothing acknowledged is lost, and nothing is hidden."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal, Quarantined, segments, verify
from store.journal_files import Rotation, stream_path
from store.journal_lines import MAX_LINE
from tests.adapters import ManualClock
from tests.deep import times
from workbench.errors import JournalError
from workbench.ports import Entry, Verbatim

# Every code point, lone surrogates too: that is how file names that are not UTF-8 arrive.
Start = Callable[..., subprocess.Popen[str]]
Outputs = Callable[[list[subprocess.Popen[str]]], list[str]]

TEXTS = st.text(st.characters(codec=None), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
BODIES = st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), min_size=1, max_size=5)

LIGHT = settings(
    max_examples=times(8, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def bodies(journal: FileJournal, stream: str) -> list[Any]:
    return [entry.body for _, entry in journal.read(stream)]


def journal_in(directory: Path) -> FileJournal:
    """Return a journal there: generated examples each need a new directory."""
    return FileJournal(directory, ManualClock())


@LIGHT
@given(batches=st.lists(BODIES, min_size=1, max_size=3), by=TEXTS)
def test_any_body_is_read_back_as_it_was(
    batches: list[list[dict[str, Any]]], by: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever JSON can hold comes back unchanged, in order, with the entries `append` returned."""
    journal = journal_in(tmp_path_factory.mktemp("journal"))

    returned = [entry for batch in batches for entry in journal.append("rules", "rule.put", batch, by=by)]

    assert returned == [entry for _, entry in journal.read("rules")]
    assert verify(journal.root) == []


@LIGHT
@given(data=st.data())
def test_a_cut_at_any_byte_loses_only_the_torn_line(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After a truncation whole lines are still there, and the next append is readable."""
    root = tmp_path_factory.mktemp("j")
    journal = journal_in(root)
    journal.append("rules", "rule.put", [{"n": n, "text": "é\n" * n} for n in range(4)], by="cli")
    path = stream_path(root, "rules")
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    os.truncate(path, cut)
    kept = whole[:cut].count(b"\n")

    before = [body["n"] for body in bodies(journal, "rules")]
    journal.append("rules", "rule.put", [{"n": "next"}], by="cli")
    after = [body["n"] for body in bodies(journal, "rules")]

    sealed_whole = cut < len(whole) and whole[cut : cut + 1] == b"\n"  # all but the newline was written
    assert list(range(kept)) == before
    assert [*range(kept + sealed_whole), "next"] == after


@LIGHT
@given(garbage=st.binary(min_size=1, max_size=60))
def test_garbage_is_quarantined_and_hides_nothing(
    garbage: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bytes that are no entry are skipped by readers and reported; entries around them are read."""
    root = tmp_path_factory.mktemp("j")
    journal = journal_in(root)
    journal.append("rules", "rule.put", [{"n": 1}], by="cli")
    with stream_path(root, "rules").open("ab") as file:
        file.write(garbage)
    journal.append("rules", "rule.put", [{"n": 2}], by="cli")

    assert bodies(journal, "rules") == [{"n": 1}, {"n": 2}]
    assert sum(1 for line in garbage.split(b"\n") if line.strip()) == len(verify(root))


def test_verify_says_where_and_why(journal: FileJournal, tmp_path: Path) -> None:
    """A quarantined line is reported with stream, line number, offset and reason; a torn tail too."""
    journal.append("memory/login", "learning.put", [{}], by="cli")
    path = stream_path(tmp_path, "memory/login")
    first = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"v":2,"id":"","at":"","kind":"","by":"","body":{}}\n[1]\n{"v"')

    found = verify(tmp_path)

    assert [(q.stream, q.line) for q in found] == [
        ("memory/login", 2),
        ("memory/login", 3),
        ("memory/login", 0),
    ]
    assert first == found[0].offset
    assert "another version" in found[0].reason
    assert "unfinished" in found[2].reason


def test_reading_goes_on_from_an_offset(journal: FileJournal) -> None:
    """Offsets that `read` gives are where the next read starts."""
    journal.append("rules", "rule.put", [{"n": 1}, {"n": 2}], by="cli")
    (first, _), (second, _) = journal.read("rules")
    journal.append("rules", "rule.put", [{"n": 3}], by="cli")

    assert [entry.body for _, entry in journal.read("rules", first)] == [{"n": 2}, {"n": 3}]
    assert [entry.body for _, entry in journal.read("rules", second)] == [{"n": 3}]
    assert list(journal.read("rules", journal.size("rules"))) == []


def test_an_offset_inside_a_line_is_refused(journal: FileJournal) -> None:
    """A reader whose journal was replaced is told so and gets no half entries."""
    journal.append("rules", "rule.put", [{"n": 1}, {"n": 2}], by="cli")

    with pytest.raises(JournalError, match="beginning of a line"):
        list(journal.read("rules", 7))


def test_a_missing_stream_is_empty(journal: FileJournal) -> None:
    """Reading what was never written is no error and creates nothing."""
    assert list(journal.read("rules")) == []
    assert journal.size("rules") == 0
    assert journal.streams() == []


def test_streams_are_listed_by_name(journal: FileJournal, tmp_path: Path) -> None:
    """Streams come sorted, nested ones too, and files that are none are left out."""
    for stream in ("stash", "rules", "memory/b", "memory/a"):
        journal.append(stream, "x.put", [{}], by="cli")
    (tmp_path / "journal" / "notes.txt").write_text("no journal")

    assert journal.streams() == ["memory/a", "memory/b", "rules", "stash"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/../b", "/etc/x", "a/b/c", "a//b", "a/", "a\\b", "a\0", "-a", "a\n"]
)
def test_names_that_lead_elsewhere_are_refused(journal: FileJournal, name: str) -> None:
    """No stream name reaches a file outside the journal directory."""
    with pytest.raises(JournalError):
        journal.append(name, "x.put", [{}], by="cli")
    with pytest.raises(JournalError):
        list(journal.read(name))


def test_a_symbolic_link_is_not_followed(journal: FileJournal, tmp_path: Path) -> None:
    """A journal that is a link is refused: it could lead out of the project."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"")
    journal.append("stash", "x.put", [{}], by="cli")
    stream_path(tmp_path, "rules").symlink_to(target)

    with pytest.raises(JournalError):
        journal.append("rules", "rule.put", [{}], by="cli")
    assert target.read_bytes() == b""


def test_a_value_json_cannot_hold_is_refused(journal: FileJournal) -> None:
    """An entry that cannot be written leaves the stream as it was."""
    with pytest.raises(JournalError, match="cannot be written as JSON"):
        journal.append("rules", "rule.put", [{"n": 1}, {"n": object()}], by="cli")
    assert journal.streams() == []


def test_an_entry_over_the_limit_is_refused(journal: FileJournal) -> None:
    """A line longer than 16 MB is not written."""
    with pytest.raises(JournalError, match="too long"):
        journal.append("rules", "rule.put", [{"text": "x" * MAX_LINE}], by="cli")


def test_a_line_over_the_limit_is_skipped(journal: FileJournal, tmp_path: Path) -> None:
    """A line longer than 16 MB is quarantined, and what follows it is read."""
    journal.append("rules", "rule.put", [{"n": 1}], by="cli")
    with stream_path(tmp_path, "rules").open("ab") as file:
        file.write(b"x" * (MAX_LINE + 10) + b"\n")
    journal.append("rules", "rule.put", [{"n": 2}], by="cli")

    assert bodies(journal, "rules") == [{"n": 1}, {"n": 2}]
    assert [q.reason[:11] for q in verify(tmp_path)] == ["longer than"]


def test_scan_yields_quarantined_lines_in_place(journal: FileJournal, tmp_path: Path) -> None:
    """`scan` shows readers that count what `read` leaves out."""
    journal.append("rules", "rule.put", [{"n": 1}], by="cli")
    with stream_path(tmp_path, "rules").open("ab") as file:
        file.write(b"junk\n\n")
    journal.append("rules", "rule.put", [{"n": 2}], by="cli")

    assert [Entry, Quarantined, Entry] == [type(found) for _, _, found in journal.scan("rules")]


def test_a_short_write_is_rolled_back(
    journal: FileJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When only part of a batch fits on the disk, nothing of it stays, and the error says what to do."""
    journal.append("rules", "rule.put", [{"n": 1}], by="cli")
    before = stream_path(tmp_path, "rules").read_bytes()
    write = os.write
    monkeypatch.setattr("store.journal.os.write", lambda fd, data: write(fd, data[: len(data) // 2]))

    with pytest.raises(JournalError) as failure:
        journal.append("rules", "rule.put", [{"n": 2}, {"n": 3}], by="cli")

    assert "free some space" in failure.value.hint
    assert before == stream_path(tmp_path, "rules").read_bytes()


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_full_disk_is_rolled_back(
    journal: FileJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """An error of the disk leaves the journal as it was, and the next append works."""
    journal.append("rules", "rule.put", [{"n": 1}], by="cli")

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(f"os.{call}", fail, raising=False)
        with pytest.raises(JournalError, match="No space left"):
            journal.append("rules", "rule.put", [{"n": 2}], by="cli")
    journal.append("rules", "rule.put", [{"n": 3}], by="cli")

    assert bodies(journal, "rules") == [{"n": 1}, {"n": 3}]


def test_what_was_appended_without_waiting_is_brought_to_disk_later(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many appends wait for the disk once; a disk that fails then is told, as is a stream that is none."""
    waited: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr("store.journal.sync_data", waited.append)
        for number in range(3):
            journal.append("rules", "rule.put", [{"n": number}], by="cli", sync=False)
        assert waited == []
        journal.sync("rules")
        assert len(waited) == 1

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr("store.journal.sync_data", fail)
        with pytest.raises(JournalError):
            journal.sync("rules")
    with pytest.raises(JournalError):
        journal.sync("nothing")


FILE_LIMIT = """
import resource, sys
sys.dont_write_bytecode = True  # Python would keep the part of a module that fits
from pathlib import Path
from store.clock import SystemClock
from store.journal import FileJournal
from workbench.errors import JournalError
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
journal = FileJournal(Path(sys.argv[1]), SystemClock())
count = 0
try:
    while True:
        journal.append("rules", "rule.put", [{"n": count, "text": "x" * 500}], by="cli")
        count += 1
except JournalError as error:
    print(count, error.hint)
"""


def test_a_real_limit_loses_nothing_acknowledged(
    journal: FileJournal, tmp_path: Path, start: Start, outputs: Outputs
) -> None:
    """A process that hits the kernel's file size limit gets an error; what it acknowledged is all there."""
    [printed] = outputs([start(FILE_LIMIT, tmp_path)])

    count, hint = printed.split(" ", 1)
    assert list(range(int(count))) == [body["n"] for body in bodies(journal, "rules")]
    assert int(count) > 0
    assert "free some space" in hint
    assert verify(tmp_path) == []


def test_a_rotated_stream_stays_bounded(tmp_path: Path) -> None:
    """A stream that rotates keeps its newest parts; the oldest entries go, the newest never."""
    journal = FileJournal(tmp_path, ManualClock(), rotated={"metrics": Rotation(max_bytes=2_000, keep=2)})
    for n in range(200):
        journal.append("metrics", "op.measured", [{"n": n}], by="hook", sync=False)

    parts = segments(journal, "metrics")
    numbers = [body["n"] for part in parts for body in bodies(journal, part)]

    assert len(parts) == 3
    assert parts[-1] == "metrics"
    assert list(range(numbers[0], 200)) == numbers
    assert sum(journal.size(part) for part in parts) <= 6_000


def test_entries_have_the_documented_form(journal: FileJournal, tmp_path: Path) -> None:
    """A line on disk has exactly the fields of the format, in order, and UTC time."""
    [entry] = journal.append("rules", "rule.put", [{"id": "r"}], by="tui")

    assert (
        f'{{"v":1,"id":"{entry.id}","at":"2023-11-14T22:13:20.000000Z","kind":"rule.put","by":"tui",'
        '"body":{"id":"r"}}\n'
    ) == stream_path(tmp_path, "rules").read_text()
    assert stream_path(tmp_path, "rules").stat().st_mode & 0o777 == 0o600


def test_the_revision_follows_what_a_reader_may_consume(journal: FileJournal, tmp_path: Path) -> None:
    """Each append changes it and a torn tail does not; a journal of the same size has another one."""
    seen = [journal.revision("rules")]
    for text in ("a", "b", "x" * 20_000):
        journal.append("rules", "rule.put", [{"text": text}], by="cli")
        seen.append(journal.revision("rules"))
    assert len(set(seen)) == 4
    path = tmp_path / "journal" / "rules.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":1,"id":"01')
    assert journal.revision("rules") == seen[-1]

    size = journal.size("rules")
    path.unlink()
    for text in ("a", "b", "x" * 20_000):
        journal.append("rules", "rule.put", [{"text": text}], by="cli")
    assert (journal.size("rules"), journal.revision("rules") == seen[-1]) == (size, False)


def test_secrets_are_masked_but_in_verbatim_texts(journal: FileJournal, tmp_path: Path) -> None:
    """Whoever appends; what a rule file has to be restored from stays as the file has it."""
    secret = {"k": "password = hunter2hunter2"}
    journal.append("stash", "a.kind", [secret], by="cli")
    assert b"hunter2" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert journal.append("rules", "a.kind", [Verbatim(secret)], by="cli")[0].body == secret
