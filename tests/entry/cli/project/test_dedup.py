"""`workbench dedup` run on pairs and lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

OPPOSED = {"a": "Use tabs for indentation.", "b": "Never use tabs for indentation."}
ALIKE = {"a": "Do not forget to run the tests.", "b": "Run the tests."}
APART = {"a": "Run `make lint` first.", "b": "Run `make build` first."}


def lines(*values: object) -> bytes:
    """Return values as JSON lines; bytes as they are."""
    return b"\n".join(v if isinstance(v, bytes) else json.dumps(v).encode() for v in values) + b"\n"


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command needs a project."""
    monkeypatch.chdir(tmp_path)


def test_pairs_from_stdin_are_answered_in_order(run: Run, tmp_path: Path) -> None:
    """One line of verdict, score and evidence for each pair, and nothing is left in the directory."""
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl", given=lines(OPPOSED, ALIKE, APART))
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one["verdict"] for one in found] == ["conflict", "duplicate", "unique"]
    assert all(set(one) == {"verdict", "score", "evidence"} for one in found)
    assert all(0 <= one["score"] <= 1 and one["evidence"] for one in found)
    assert (done.code, done.err, list(tmp_path.iterdir())) == (0, "", [])


def test_malformed_lines_keep_their_place(run: Run) -> None:
    """Each is answered with an error and told with its number; the rest is judged and the exit code is 1."""
    given = lines(OPPOSED, b"nope", b"", {"a": "x"}, b"\xff", ALIKE)
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl", given=given)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [one.get("verdict", "error") for one in found] == ["conflict", *["error"] * 4, "duplicate"]
    assert found[3] == {"error": "line 4: b must be a text"}
    assert "warning: line 2: not JSON" in done.err
    assert "4 of 6 lines could not be read" in done.err
    assert done.code == 1


def test_thousands_of_malformed_lines_are_counted(run: Run) -> None:
    """Not each of them is told."""
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl", given=b"x\n" * 3000)
    assert len(done.out.splitlines()) == 3000
    assert len(done.err.splitlines()) < 30
    assert "3,000 of 3,000 lines" in done.err


def test_odd_texts_are_judged(run: Run) -> None:
    """A megabyte, NUL, lone surrogates, emoji and other scripts pass through."""
    big = "the cache is cold " * 60_000
    values = [big, "a\0b", "\ud800", "🦀 \u202e", "не используй табы", "使わない"]
    given = lines(*({"a": value, "b": value} for value in values), {"a": big, "b": "never"})
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl", given=given)
    verdicts = [json.loads(line)["verdict"] for line in done.out.splitlines()]
    assert verdicts == ["duplicate"] * len(values) + ["unique"]
    assert done.code == 0


def test_no_pairs_are_no_answers(run: Run) -> None:
    """Nothing in, nothing out."""
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_people_read_a_line_a_pair(run: Run, tmp_path: Path) -> None:
    """A file is read as stdin is; `--json` means JSON lines."""
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(lines(OPPOSED, b"nope"))
    shown = run("dedup", "check", "--pairs", str(file))
    assert shown.out.startswith("conflict   ")
    assert "tabs" in shown.out
    assert "error" in shown.out.splitlines()[1]
    assert json.loads(run("dedup", "check", "--pairs", str(file), "--json").out.splitlines()[0])["verdict"]


def test_a_file_that_is_not_there_is_told(run: Run, tmp_path: Path) -> None:
    """The name, the reason and the way out."""
    for name in (str(tmp_path / "none.jsonl"), str(tmp_path), "a\0b"):
        done = run("dedup", "check", "--pairs", name)
        assert done.code == 2
        assert "cannot be read" in done.err
        assert "- for stdin" in done.err


def test_without_a_model_words_alone_decide(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--meaning` degrades, it never fails."""
    monkeypatch.setenv("WORKBENCH_MODELS_EMBEDDING", "off")
    done = run("dedup", "check", "--pairs", "-", "--format", "jsonl", "--meaning", given=lines(OPPOSED))
    assert json.loads(done.out)["verdict"] == "conflict"
    assert "compared by words alone" in done.err
    assert done.code == 0


def test_a_list_is_shown_in_groups(run: Run, tmp_path: Path) -> None:
    """Repetitions stand together, contradictions in pairs, with the numbers of their lines."""
    file = tmp_path / "learnings.txt"
    file.write_text("Use tabs.\n\nuse tabs\nThe worker retries failed jobs.\nNever use tabs.\n", "utf-8")
    shown = run("dedup", "scan", str(file))
    assert "same  2 texts" in shown.out
    assert "conflict" in shown.out
    assert "4 texts: 1 repetition in 1 group, 1 contradiction" in shown.err
    told = run("dedup", "scan", str(file), "--json").json()
    assert [[one["line"] for one in group] for group in told["groups"]] == [[1, 3]]
    assert [(one["left"]["line"], one["right"]["line"]) for one in told["conflicts"]] == [(1, 5)]
    assert told["texts"] == 4


def test_a_list_of_json_lines_is_read(run: Run) -> None:
    """Texts, or objects with one; what is neither is told."""
    given = lines("Use tabs.", {"text": "use tabs"}, {"rule": "x"})
    done = run("dedup", "scan", "-", "--format", "jsonl", "--json", given=given)
    assert len(done.json()["groups"]) == 1
    assert "line 3" in done.err
    assert done.code == 1
