"""Coding sessions in halves, asked for what they used again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.conversations import CHOOSE, REPORT
from bench.stash_sessions import half_of, sessions
from tests.replay.conversations import SHOP, write_transcript


@pytest.fixture(autouse=True)
def _model(model_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embed with the model that is there already."""
    monkeypatch.setenv("WORKBENCH_CACHE", str(model_cache))


def test_halves_are_of_whole_sessions_wherever_they_lie() -> None:
    """Each session is in one half, in the same one in another folder."""
    files = [Path(f"/a/{at}.jsonl") for at in range(7)]
    halves = [half_of(files, half) for half in (CHOOSE, REPORT)]
    assert sorted([*halves[0], *halves[1]]) == files
    moved = half_of([Path("/b") / file.name for file in reversed(files)], CHOOSE)
    assert [one.name for one in moved] == [one.name for one in halves[0]]


def test_each_kind_of_question_has_bm25_beside_the_stash(tmp_path: Path) -> None:
    """A session that needs a file, an error and a finding again gives a line each, with their difference."""
    write_transcript(tmp_path / "shop.jsonl", *SHOP)
    (place,) = [half for half in (CHOOSE, REPORT) if half_of([tmp_path / "shop.jsonl"], half)]
    lines = list(sessions(tmp_path, place, tmp_path / "cache", lexical=True, say=lambda text: None))
    assert [line.split(" | ")[1] for line in lines if line.startswith("| all (3)")] == [
        "bm25",
        "hybrid",
        "hybrid - bm25",
        "p",
    ]
    (pay,) = [line for line in lines if line.startswith("| file (1) | hybrid |")]
    assert "| 1.000 [1.000, 1.000] |" in pay


def test_a_half_without_a_session_says_so(tmp_path: Path) -> None:
    """Nothing is measured where nothing is."""
    (line,) = sessions(tmp_path, REPORT, tmp_path / "cache", lexical=True, say=lambda text: None)
    assert line == "no question: no later prompt used anything again"
