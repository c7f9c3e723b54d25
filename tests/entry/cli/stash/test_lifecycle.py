"""`workbench stash edit|protect|expire|remove|gc|undo|redo|history`: decisions and what takes them back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Work
from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits


def add(run: Run, text: str, *options: str) -> str:
    identifier: str = run("stash", "add", text, *options, "--json").json()["segment"]["segment_id"]
    return identifier


def test_decisions_are_steps_that_undo_takes_back(empty: object, run: Run) -> None:
    """Each says how the segment is now; undo, redo and history name the steps."""
    one, two = add(run, "One"), add(run, "Two")
    edited = run("stash", "edit", one, "--topic", "auth", "--reference", two, "--json").json()["segments"][0]
    assert (edited["topic"], edited["references"], edited["text"]) == ("auth", [two], "One")
    assert run("stash", "show", two, "--json").json()["referenced_by"] == [one]
    assert "protected" in run("stash", "protect", one).out
    assert run("stash", "remove", one).code == exits.USAGE
    run("stash", "protect", one, "--off")
    assert run("stash", "expire", one, "--on", "2020-01-01", "--json").json()["segments"][0]["expires_at"]
    assert "expired" in run("stash", "list").out
    assert run("stash", "expire", one).code == exits.USAGE
    assert run("stash", "remove", one, two, "--reason", "done", "--json").json() == {"removed": [one, two]}
    assert "undo: remove" in run("stash", "undo").out
    assert run("stash", "list", "--json").json()["total_count"] == 2
    assert "redo: remove" in run("stash", "redo").out
    assert "remove" in run("stash", "undo", "--list").out
    assert "done" in run("stash", "history", one).out
    steps = run("stash", "history", "--json").json()
    assert steps["total_count"] == len(steps["steps"]) == 9


def test_gc_says_what_goes_and_why(empty: object, run: Run) -> None:
    """A dry run changes nothing; the first addition of a day does it by itself and says so."""
    kept = add(run, "Kept", "--protect")
    gone = add(run, "Gone", "--expires-in", "0")
    dry = run("stash", "gc", "--dry-run", "--json").json()
    assert [(one["segment_id"], one["reason"]) for one in dry["removed"]] == [(gone, "expired")]
    assert (dry["kept"], dry["protected"], dry["dry_run"]) == (1, 1, True)
    ran = run("stash", "gc", "--max-segments", "1", "--max-age", "0")
    assert "it expired on" in ran.out
    assert "1 segment of 1 token removed; 1 of 2 tokens stay, 1 of them protected" in ran.err
    assert [one["segment_id"] for one in run("stash", "list", "--json").json()["segments"]] == [kept]


def test_retention_runs_before_the_first_addition_of_a_day(
    empty: Work, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what it removed and why, is a step of its own, and a setting turns it off."""
    gone = add(run, "Gone", "--expires-in", "0")
    journal = empty.root / ".workbench" / "journal" / "stash.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if "segment.collected" not in line), encoding="utf-8")
    monkeypatch.setenv("WORKBENCH_STASH_COLLECT", "false")
    assert "removed" not in run("stash", "add", "One").err
    monkeypatch.delenv("WORKBENCH_STASH_COLLECT")
    assert "1 segment removed first (1 expired; stash.collect)" in run("stash", "add", "Two").err
    assert "removed" not in run("stash", "add", "Three").err
    assert run("stash", "history", gone[:12], "--json").code == exits.OK


def test_what_is_removed_is_found_no_more_and_purged(empty: Work, run: Run) -> None:
    """Its text stays in the journal, from which undo brings it back, until a purge takes it out."""
    gone = add(run, "The vault is opened with a lever")
    add(run, "Nets are in cents")

    def searched() -> list[str]:
        return [
            one["segment_id"] for one in run("stash", "search", "vault lever", "--json").json()["segments"]
        ]

    def holders() -> list[Path]:
        files = (file for file in (empty.root / ".workbench").rglob("*") if file.is_file())
        return [file for file in files if b"opened with a lever" in file.read_bytes()]

    assert searched() == [gone]
    run("stash", "remove", gone)
    assert gone not in searched()
    assert empty.root / ".workbench" / "journal" / "stash.jsonl" in holders()
    assert run("purge", "--secret", "opened with a lever", "--yes").code == 0
    assert holders() == []
