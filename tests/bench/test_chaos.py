"""The chaos bench tells a fault from an explained failure, and what differs from what was written."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from bench.chaos import Content, Done, answer, difference, spoil


def test_an_explained_failure_is_no_defect() -> None:
    """Signals, tracebacks and the sentence for our own mistakes are; half an answer acknowledges nothing."""
    assert Done(2, "", "error: the disk is full\n  hint: Free some space.").defect == ""
    assert Done(-signal.SIGSEGV, "", "").defect == "ended by signal 11"
    assert "Traceback" in Done(1, "", "Traceback (most recent call last):\n").defect
    assert "defect" in Done(1, "", "error: this is a defect of the workbench: KeyError").defect
    assert answer(Done(0, '{"rules": [', "")) is None
    assert answer(Done(-9, '{"rules": []}', "")) == {"rules": []}


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
