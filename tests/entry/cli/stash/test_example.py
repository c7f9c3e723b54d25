"""The worked example of docs/stash.md is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

from tests.entry.cli.conftest import Run

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "sample_data" / "stash_example.jsonl"


def blocks() -> list[list[str]]:
    """Return the shown outputs of the example: each block that begins with a command, line by line."""
    text = (ROOT / "docs" / "stash.md").read_text()
    return [found.splitlines() for found in re.findall(r"```\n(\$ .*?)```", text, re.DOTALL)]


def test_the_example_is_what_comes_out(empty: object, run: Run) -> None:
    """Each command of the document prints each line that is shown, besides ages and seconds."""
    for lines in blocks()[:3]:
        command = (
            lines[0].removeprefix("$ workbench ").replace("sample_data/stash_example.jsonl", str(EXAMPLE))
        )
        words = [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', command)]
        ran = run(*words)
        printed = {shape(line) for line in (ran.out + ran.err).splitlines()}
        assert [line for line in lines[1:] if line.strip() != "…" and shape(line) not in printed] == []
    assert len(blocks()) == 4


def shape(line: str) -> str:
    """Return a line without what depends on the day and the machine."""
    return re.sub(r"\d+ d |in \d+\.\d s|0\.\d\d", "", line.rstrip())
