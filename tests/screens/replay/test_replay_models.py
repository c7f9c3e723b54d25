"""What the section of replays shows, as pure functions of a run: lists, figures, rankings, reasons, plots."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.replay import figures, new_replay, rankings, runs, tasks
from screens.replay.charts import AGE, LATENCY, OVER, interval_chart, plot_curves
from screens.replay.comparison import change_cells, comparison_head, largest_changes, task_cells
from screens.replay.figures import compute_figures, gates_sentence, gates_text
from screens.replay.live_run import SoFar, add_rows, live_lines
from screens.replay.runs import RunLine
from screens.replay.task_panel import first_to_see, side_head, task_head
from screens.replay.tasks import task_preview
from screens.widgets.plot import plot_lines
from tests.replay.made import made_run
from workbench.lists.filters import parse
from workbench.records.replay import RunComparison, SystemRow, TaskRow
from workbench.replay.gates import Gate, GateState
from workbench.replay.run_comparison import compare_runs

HOSTILE = "[/] x = list[int][0]\x1b[31m\x00‮👩‍💻"
LINE = RunLine(
    "aaaa1111",
    "aaaa1111",
    "2026-01-02T03:04:05Z",
    HOSTILE,
    40,
    2,
    (("commit", 29), ("session", 11)),
    (("baseline", 0.1, 0.2), ("hybrid", 0.3, 0.6)),
    False,
    {"budget": 4000, "embedding": ""},
)


def row(**systems: SystemRow) -> TaskRow:
    """Return a task with two right files, of which one is missed by whoever ranks as told."""
    return TaskRow(
        "t1",
        "s1",
        "commit",
        HOSTILE,
        "ab" * 20,
        "cd" * 20,
        1_700_000_000,
        "bugfix",
        ("a.py", "z.py"),
        systems,
    )


FILES = tuple(f"pkg/{number}.py" for number in range(12))
HYBRID = SystemRow(
    ("a.py", *FILES),
    {"ndcg_at_10": 0.6, "context_tokens": 1000.0},
    {"a.py": "full", "pkg/0.py": "path"},
    1000,
    {
        "a.py": {"bm25_body": 2.0, "recency_12.raw": -0.5},
        "pkg/8.py": {"bm25_body": 1.0, "affinity": 0.5},
        "z.py": {"bm25_body": 0.25, "recency_12.raw": -1.5},
    },
    {"z.py": "place 40: no similar past task touched it"},
    {"a.py": ("contains “list”", "tests b.py")},
)
BASE = SystemRow(("z.py", "a.py"), {"ndcg_at_10": 0.9}, {}, None, {}, {})


def test_a_wish_is_the_command_line_that_starts_it() -> None:
    """Only what differs from what the program does anyway is said, and a dataset takes no options."""
    assert new_replay.replay_arguments(new_replay.ReplayRequest()) == ["replay", "--tasks", "150"]
    full = new_replay.ReplayRequest(
        new_replay.PROMPTS, "", 20, ("baseline", "hybrid"), 3000, packs=False, gate=True
    )
    assert new_replay.replay_arguments(full) == [
        *("replay", "--source", "sessions", "--tasks", "20", "--systems", "baseline,hybrid"),
        *("--budget", "3000", "--no-packs", "--gate"),
    ]
    assert new_replay.replay_arguments(new_replay.ReplayRequest(path="/data/x", dataset=True)) == [
        "replay",
        "/data/x",
    ]
    assert new_replay.replay_arguments(new_replay.ReplayRequest(path="-x"))[:2] == ["replay", "./-x"]


def test_the_usual_systems_need_not_be_named(tmp_path: Path) -> None:
    """Systems are listed with what they are; marking just the usual ones is no option at all."""
    choices = new_replay.list_systems()
    usual = frozenset(one.name for one in choices if one.usual)
    assert {"baseline", "bm25", "vector", "hybrid"} < usual
    assert all(one.about for one in choices)
    assert new_replay.select_systems(choices, usual) == ()
    assert new_replay.select_systems(choices, frozenset({"hybrid", "baseline"})) == ("baseline", "hybrid")
    assert "space" in new_replay.check_request(new_replay.ReplayRequest(), frozenset(), tmp_path)
    assert "not exist" in new_replay.check_request(new_replay.ReplayRequest(path="no"), usual, tmp_path)
    assert new_replay.check_request(new_replay.ReplayRequest(path=str(tmp_path)), usual, tmp_path) == ""
    assert not new_replay.is_dataset("", tmp_path)
    assert new_replay.is_dataset("sample_data/rules_benchmark", Path.cwd())


def test_a_run_is_a_line_that_tells_its_state_by_a_glyph() -> None:
    """Whole, interrupted and unreadable runs differ; hostile names are neutralised."""
    texts = [cell.plain for cell in runs.cells(LINE)]
    assert texts[0] == "◐"
    assert texts[2] == "2026-01-02 03:04"
    assert texts[4] == "29 commits 11 prompts"
    assert texts[6] == "0.600 hybrid"
    assert texts[7] == "interrupted, 2 left out"
    assert "\x1b" not in texts[3]
    assert "[/] x = list[int][0]" in texts[3]
    assert runs.cells(replace(LINE, complete=True))[0].plain == "●"
    assert runs.cells(replace(LINE, fault="torn"))[0].plain == "✗"
    assert "torn" in runs.run_preview(replace(LINE, fault="torn"), 30).plain
    assert runs.record_of(LINE)["system"] == ("baseline", "hybrid")


@given(st.integers(10, 200), st.text(max_size=30))
def test_a_preview_never_is_wider_than_its_room(width: int, name: str) -> None:
    """Whatever a system is called, every line fits."""
    line = replace(LINE, scores=((name, 0.1, 0.5), ("hybrid", 0.2, 1.0)))
    longest = max(part.cell_length for part in runs.run_preview(line, max(width, 24)).split("\n"))
    assert longest <= max(width, 24)


def test_figures_mark_the_best_and_judge_gaps() -> None:
    """The best of a column has a star; a gap is better, worse, or no difference shown."""
    found = figures.compute_figures(made_run(12))
    assert found.titles[0] == "P@10"
    best = [one.system for one in found.systems if one.cells[found.titles.index("nDCG@10")].best]
    assert best == ["hybrid"]
    assert [column.id for column in figures.system_columns(found)] == ["system", *found.titles]
    assert figures.system_cells(found.systems[-1], "hybrid")[0].plain == "hybrid"
    gap = next(one for one in found.gaps["hybrid"] if one.measure == "ndcg_at_10")
    assert gap.verdict == figures.BETTER
    assert "better" in figures.gap_cells(gap)[-1].plain
    assert [one.verdict for one in found.gaps["baseline"]] == [""] * len(found.gaps["baseline"])
    assert any("left out" not in line for line in found.head)


def test_tasks_are_compared_filtered_and_put_in_order() -> None:
    """The largest loss comes first; a filter names fields; every order is a permutation."""
    run = made_run(30)
    lines = tasks.task_lines(run, "baseline", "hybrid")
    everything = tasks.arrange_tasks(lines, run.rows, parse("", tasks.FIELDS), "largest loss")
    changes = [lines[at].change or 0.0 for at in everything]
    assert changes == sorted(changes)
    for order in tasks.ORDERS:
        assert sorted(tasks.arrange_tasks(lines, run.rows, parse("", tasks.FIELDS), order)) == list(range(30))
    some = tasks.arrange_tasks(lines, run.rows, parse("change:<0", tasks.FIELDS), "newest")
    assert all((lines[at].change or 0) < 0 for at in some)
    missed = tasks.arrange_tasks(lines, run.rows, parse("missed:>=1", tasks.FIELDS), "as replayed")
    assert missed == [at for at, line in enumerate(lines) if line.missed]
    by_file = tasks.arrange_tasks(
        lines, run.rows, parse(f"file:{run.rows[3].truth[0]}", tasks.FIELDS), "newest"
    )
    assert 3 in by_file


def test_a_task_that_was_not_replayed_says_so() -> None:
    """A fault has its own glyph, in the list and in what stands beside it."""
    run = made_run(2)
    broken = replace(run.rows[0], systems={}, fault="no tree [/]")
    line = tasks.task_lines(replace(run, rows=(broken,)), "baseline", "hybrid")[0]
    assert line.mark == tasks.FAULT
    assert tasks.cells(line)[0].plain == "✗"
    assert "no tree [/]" in task_preview(broken).plain
    assert "no tree [/]" in task_head(broken).plain


def test_a_ranking_marks_right_files_and_lists_those_it_missed() -> None:
    """Right files have stars, missed ones stand where they are or at the end, places are compared."""
    task = row(hybrid=HYBRID, baseline=BASE)
    mine, other = (
        rankings.ranked_side(task, "hybrid", "baseline"),
        rankings.ranked_side(task, "baseline", "hybrid"),
    )
    first, last = mine.rows[0], mine.rows[-1]
    assert (first.path, first.gold, first.missed, first.other) == ("a.py", True, False, 2)
    assert (last.path, last.place, last.missed, last.other) == ("z.py", 40, True, 1)
    assert [one.path for one in mine.missed] == ["z.py"]
    assert other.missed == ()
    assert [cell.plain.strip() for cell in rankings.cells(first)] == ["1", "★", "a.py", "■", "▲1"]
    assert [cell.plain.strip() for cell in rankings.cells(last)] == ["40", "☆", "z.py", "", "▼39"]
    assert rankings.cells(mine.rows[3])[4].plain == "∅"
    assert rankings.name("pkg/a.py").plain == "a.py  pkg/"
    assert first_to_see(mine) == len(mine.rows) - 1
    assert first_to_see(other) == 0
    assert rankings.ranked_side(task, "absent", "hybrid").rows == ()
    heads = [line.plain for line in side_head(mine, 20)]
    assert (heads[0], max(map(len, heads)) <= 20) == ("hybrid  nDCG 0.600", True)
    assert "  ".join(heads) == side_head(mine, 200)[0].plain


def test_why_a_file_was_missed_is_said_in_words() -> None:
    """Place, what took its place, what spoke for and against it, and the pack."""
    task = row(hybrid=HYBRID, baseline=BASE)
    mine = rankings.ranked_side(task, "hybrid", "baseline")
    said = dict(rankings.explain_file(task, mine, mine.rows[-1], 4000, {}))
    assert said["Missed"].startswith("place 40")
    assert said["Lacks"] == "no similar past task touched it"
    assert "pkg/8.py took place 10" in said["Instead"]
    assert said["Instead"].endswith("by words of the task in its text (+1.00, here +0.25)")
    assert said["For"] == "words of the task in its text +0.25"
    assert said["Against"] == "changed recently -1.50"
    assert "room left" in said["Pack"]
    assert (
        "took its 1,000 of 1,000" in dict(rankings.explain_file(task, mine, mine.rows[-1], 1000, {}))["Pack"]
    )
    assert said["Other"] == "the other system has it at place 1"
    found = dict(rankings.explain_file(task, mine, mine.rows[0], 4000, {}))
    assert found["Found"] == "right, at place 1"
    assert found["For"] == "contains “list”; tests b.py"
    assert found["Pack"] == "in the pack as full"
    plain = dict(rankings.explain_file(task, mine, mine.rows[3], 4000, {}))
    assert "not modified" in plain["Not gold"]
    assert "W computes them again" in plain["Weighs"]


def test_what_was_computed_again_is_said_instead_of_what_was_kept() -> None:
    """Weights of any file can be given; they take the place of those the run kept."""
    task = row(hybrid=HYBRID)
    mine = rankings.ranked_side(task, "hybrid", "baseline")
    parts = {"path_named": 0.75, "path_named.rank": -0.25, "size": -0.25}
    again = {"pkg/2.py": rankings.Weights(parts, ("named in the task, “2.py”",))}
    said = dict(rankings.explain_file(task, mine, mine.rows[3], 4000, again))
    assert said["For"] == "named in the task, “2.py”"
    bars, total = rankings.bars(rankings.weights(task, "hybrid", "pkg/2.py", again).parts, whole=True)
    assert [one.name for one in bars] == ["named in the task", "its size"]
    assert total == 0.25


def test_systems_that_weigh_nothing_and_files_that_were_not_there_are_said() -> None:
    """The baseline has no features, whatever its budget; a file from the future counts for nobody."""
    task = replace(row(baseline=BASE), missing=("new[/].py",))
    mine = rankings.ranked_side(task, "baseline", "hybrid")
    said = dict(rankings.explain_file(task, mine, mine.rows[0], None, {}))
    assert "weighs no features" in said["Weighs"]
    assert said["Pack"] == "no pack was made for this task"
    assert not rankings.weighs("baseline@0.65")
    assert rankings.weighs("hybrid-lexical")
    assert rankings.explain_absent(task)[0][0] == "new[/].py"
    assert rankings.bars({}, whole=True) == ([], None)
    assert rankings.bars({"a": 1.0}, whole=False)[1] is None


def test_curves_are_over_all_tasks_and_by_age() -> None:
    """Each chart has a series a system, says what to see, and too few tasks give none by age."""
    run = made_run(40)
    found = plot_curves(run, ["baseline", "hybrid"], "hybrid")
    assert [(one.name, one.own) for one in found[AGE].series] == [("baseline", False), ("hybrid", True)]
    assert re.fullmatch(r"hybrid ranks better than baseline in \d of 8 periods", found[AGE].title)
    for name in (OVER, LATENCY):
        series = found[name].series[0]
        assert (series.x[0], series.x[-1]) == (0, 100)
        assert list(series.y) == sorted(series.y)
    assert re.fullmatch(r"95 % of tasks take at most: hybrid \d\d ms, baseline \d\d ms", found[LATENCY].title)
    assert re.match(
        r"Tasks with no right file in the first ten: hybrid \d+%, baseline \d+%", found[OVER].title
    )
    assert plot_curves(made_run(3), ["hybrid"], "hybrid")[AGE].series == ()
    many = [f"bm25-{number}" for number in range(9)] + ["hybrid"]
    drawn = plot_curves(made_run(40, systems=many), many, "hybrid")[OVER].series
    assert [one.name for one in drawn] == [*many[:5], "hybrid"]  # the product's own is never left out


def test_intervals_are_a_row_a_system() -> None:
    """The product's own has a glyph of its own; a measure nobody has says so."""
    run = made_run(40)
    chart = interval_chart(compute_figures(run), "ndcg_at_10", "hybrid")
    assert [row.split()[0] for row in chart.rows] == ["baseline", "bm25", "hybrid"]
    assert chart.title.startswith("nDCG@10: hybrid 0.")
    lines = plot_lines(chart, 60, 8).splitlines()
    own = next(line for line in lines if line.startswith("hybrid"))
    assert "━" in own
    assert "●" in own
    assert sum("○" in line for line in lines) == 2
    assert len(plot_lines(chart, 60, 3).splitlines()) == 3
    assert interval_chart(compute_figures(run), "mrr+", "hybrid").series == ()


def test_what_a_replay_has_reached_is_a_mean_by_system() -> None:
    """Rows are added up; the lines tell the command, how far it is, and the means."""
    sums = add_rows(add_rows({}, [{"hybrid": 0.5}]), [{"hybrid": 1.0, "bm25": 0.25}])
    so_far = SoFar({}, 2, sums)
    assert so_far.mean("hybrid") == 0.75
    texts = [line.plain for line in live_lines("workbench replay [/]", "Replaying", 2, 8, so_far, 80)]
    assert "workbench replay [/]" in texts[0]
    assert "2/8" in texts[1]
    assert texts[2].startswith("hybrid 0.750")
    assert max(len(text) for text in texts) <= 80


def test_gates_stand_by_glyph_figure_and_reason() -> None:
    """Passed, failed and missing gates differ by glyph; a reason follows what is not passed."""
    gates = (
        Gate("G1", "freshness", "0 stale", "at most 0", GateState.PASSED, reason="never told"),
        Gate("G3", "precision", "+3 %", "+25 %", GateState.FAILED, reason="0.1 [/] against 0.2"),
        Gate("G4", "tokens", "-", "-30 %", GateState.MISSING, reason="no packs"),
    )
    text = gates_text(gates).plain
    assert "✓ G1" in text
    assert "✗ G3" in text
    assert "? G4" in text
    assert "0.1 [/] against 0.2" in text
    assert "never told" not in text
    assert gates_sentence(gates) == "1 of 3 gates passed: G3 failed, G4 could not be judged"
    assert "D judges" in gates_text(None).plain


def comparison() -> RunComparison:
    """Compare two made-up runs."""

    first, second = made_run(12), replace(made_run(12, seed=2), id="r2")
    return compare_runs(first, second, system="hybrid")


def test_a_comparison_lists_the_largest_changes_first() -> None:
    """Tasks are ordered by how much they changed either way, with a glyph for which."""
    found = comparison()
    tasks = largest_changes(found)
    sizes = [abs(one.after - one.before) for one in tasks]
    assert sizes == sorted(sizes, reverse=True)
    for one in tasks:
        glyph = task_cells(one, less_is_better=False)[0].plain
        assert glyph == ("▲" if one.after > one.before else "▼")
    assert {change_cells(one)[0].plain for one in found.changes} <= {"▲", "▼", "="}
    assert comparison_head(found) == ["before r1 · after r2: 12 tasks in both"]
    left_out = comparison_head(replace(found, only_before=5, only_after=2))
    assert left_out[0].endswith("; left out 5 only in r1, 2 only in r2")


def test_a_comparison_calls_measures_as_a_run_does() -> None:
    """What is a median there and a mean here says so."""
    titles = {change_cells(one)[2].plain for one in comparison().changes}
    assert {"nDCG@10", "P@10", "tokens (mean)"} <= titles
    assert not any("_" in title for title in titles)


@pytest.mark.parametrize("text", [HOSTILE, "x" * 1_000_000, ""])
def test_hostile_tasks_and_paths_are_data_everywhere(text: str) -> None:
    """Whatever a task or a path holds, every piece of the section shows it, neutralised and bounded."""
    run = made_run(4, head=text or " ", path="d/" + text.replace("{", "").replace("}", "")[:5000] + "{}.py")
    lines = tasks.task_lines(run, "baseline", "hybrid")
    task = run.rows[0]
    mine = rankings.ranked_side(task, "hybrid", "baseline")
    contents = [
        *tasks.cells(lines[0]),
        task_preview(task),
        task_head(task),
        *(cell for one in mine.rows for cell in rankings.cells(one)),
    ]
    for content in contents:
        assert "\x1b" not in content.plain
        assert "\x00" not in content.plain
        assert len(content.plain) < 60_000
