"""`workbench stash prune`: a proposal with reasons, stashed on demand as one step."""

from __future__ import annotations

from pathlib import Path

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits

DATA = Path(__file__).parents[4] / "sample_data" / "sessions" / "claude_code"
LONGEST = max(DATA.rglob("*.jsonl"), key=lambda path: (path.stat().st_size, path))


def test_a_proposal_changes_nothing_until_it_is_applied(empty: object, run: Run) -> None:
    """The proposal names what goes and what stays; --apply stashes it, undo takes it back."""
    shown = run("stash", "prune", "--budget", "2000", str(LONGEST))
    assert shown.code == exits.OK
    assert "put aside: " in shown.out
    assert "it states the task" in shown.out
    assert "--apply" in shown.err
    assert "the stash is empty" in run("stash", "list").err
    applied = run("stash", "prune", "--budget", "2000", str(LONGEST), "--apply", "--json").json()
    assert applied["tokens_after"] <= 2000 < applied["tokens_before"]
    assert run("stash", "list", "--json").json()["total_count"] == len(applied["stashed"]) > 0
    known = run("stash", "import", str(LONGEST), "--json").json()
    assert known["known"] >= len(applied["aside"]) // 2
    run("stash", "undo")
    run("stash", "undo")
    assert "the stash is empty" in run("stash", "list").err


def test_pruning_what_is_known_is_a_step_of_its_own(empty: object, run: Run) -> None:
    """Undo after a pruning that stashed nothing new leaves the import alone; redo does that step again."""
    added = run("stash", "import", str(LONGEST), "--json").json()["added"]
    applied = run("stash", "prune", "--budget", "2000", str(LONGEST), "--apply", "--json").json()
    assert (applied["stashed"], len(applied["known"]) > 0) == ([], True)
    for verb in ("undo", "redo", "undo"):
        assert "prune " in run("stash", verb).out
        assert run("stash", "list", "--json").json()["total_count"] == added
    shown = run("stash", "prune", "--budget", "2000", str(LONGEST), "--apply").err
    assert f"0 segments added, {len(applied['known'])} known" in shown
    run("stash", "undo")
    assert "import " in run("stash", "undo").out
    assert "the stash is empty" in run("stash", "list").err


def test_a_budget_that_cannot_be_met_is_said(empty: object, run: Run, tmp_path: Path) -> None:
    """What must stay is not given up for a small budget; what is no transcript is refused."""
    tight = run("stash", "prune", "--budget", "1", str(LONGEST))
    assert (tight.code, "too large" in tight.err) == (exits.ERROR, True)
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    assert run("stash", "prune", "--budget", "9", str(tmp_path / "a.jsonl")).code == exits.USAGE
    assert run("stash", "prune", "--budget", "9", str(tmp_path / "b.jsonl")).code == exits.USAGE
