"""The chaos bench tells a fault from an explained failure, and what differs from what was written."""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import pytest

from bench.chaos.damage import files_by_turns, spoil
from bench.chaos.points import Watch, name_of, unsynced
from bench.chaos.project import Content, Done, Narration, answer, difference
from store.files import write_atomic
from store.generations import publish
from store.journal import FileJournal
from tests.adapters import ManualClock


def test_an_explained_failure_is_no_defect() -> None:
    """Signals, tracebacks and the sentence for our own mistakes are; half an answer acknowledges nothing."""
    assert Done(2, "", "error: the disk is full\n  hint: Free some space.").defect == ""
    assert Done(-signal.SIGSEGV, "", "").defect == "ended by signal 11"
    assert "Traceback" in Done(1, "", "Traceback (most recent call last):\n").defect
    assert "defect" in Done(1, "", "error: this is a defect of the workbench: KeyError").defect
    assert answer(Done(0, '{"rules": [', "")) is None
    assert answer(Done(-9, '{"rules": []}', "")) == {"rules": []}


def test_it_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    """A suite is named as it begins, and after so many seconds the command that runs, on stderr."""
    narration = Narration(every=0.0)
    narration.add(["index"])
    narration.begin("kills", "20 seconds: Kill commands.")
    narration.add(["rules", "add", "x" * 100])
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert (captured.out, first) == ("", "kills: 20 seconds: Kill commands.")
    assert "1 commands; now rules add x" in second
    assert len(second) < 120


def test_what_is_lost_or_doubled_is_a_difference() -> None:
    """By kind, with what went and what came."""
    before = Content(("a", "b"), ("s",), ())
    assert difference(before, before) == ""
    assert difference(before, Content(("a", "b", "b"), ("s",), ())) == "of the rules [] are gone, ['b'] came"
    assert difference(before, Content(("a", "b"), (), ())) == "of the segments ['s'] are gone, [] came"
    assert difference(before, "stash list: failed") == "stash list: failed"


@pytest.mark.parametrize("how", ["cut", "emptied", "altered", "overwritten", "removed"])
def test_a_file_is_damaged_in_every_way(tmp_path: Path, how: str) -> None:
    """None of them leaves it as it was."""
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)))
    spoil(path, how, random.Random(1))
    assert path.exists() is (how != "removed")
    assert how == "removed" or path.read_bytes() != bytes(range(256))


def test_files_are_damaged_part_by_part(tmp_path: Path) -> None:
    """One of each part of a state comes before the second of any; locks are left alone."""
    for name in ("journal/a.jsonl", "journal/b.jsonl", "tables.duckdb", "runs/r.gz", "locks/x.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).parts[0] for path in files_by_turns(tmp_path, random.Random(1))]
    assert found == ["journal", "runs", "tables.duckdb", "journal"]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says where descriptors lead")
def test_what_is_acknowledged_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut there is what was written: data, names of files, and directories made for them."""
    clock = ManualClock()
    watch = Watch(tmp_path)
    watch.start(monkeypatch.setattr)
    state = tmp_path / "project" / ".workbench"
    state.parent.mkdir()
    watch.events.clear()
    journal = FileJournal(state, clock)
    journal.append("rules", "rule.put", [{"id": "a"}], by="cli")
    journal.append("memory/general", "learning.put", [{"id": "b"}], by="cli")
    write_atomic(state / "app" / "place.json", b"{}")
    publish(state, "words", lambda place: (place / "data").touch(), clock=clock)

    copies = [path for path in unsynced(watch.events) if "/journal-copy" not in path]
    assert not copies
    assert "write project/.workbench/journal/rules.jsonl" in map(name_of, watch.events)
    watch.events.clear()
    journal.append("metrics", "op.measured", [{}], by="cli", sync=False)
    assert "project/.workbench/journal/metrics.jsonl" in unsynced(watch.events)
