"""`plan` and `rank`: streams, formats, bad input, and what is recorded."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from store import metrics
from workbench.entry.cli import exits
from workbench.errors import StoreError
from workbench.text.tokens import token_counter

SCHEMAS = Path(__file__).parents[4] / "docs" / "schema"
TASK = "jwt token is not refreshed on 401"


def check(document: Any, name: str) -> None:
    """Validate a document against a published schema."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_in_a_pipe_only_the_context_goes_to_stdout(project: Any, run: Any) -> None:
    """The context is for the next program, the reasons for the person; --quiet and --no-why drop them."""
    done = run("plan", TASK)
    assert done.code == exits.OK
    assert "def refresh_token" in done.out
    assert "Why:" not in done.out
    assert done.err.startswith("Why: ")
    assert run("plan", TASK, "--quiet").err == ""
    assert run("plan", TASK, "--no-why").err == ""
    assert "\nWhy: " in run("plan", TASK, "--why").out


def test_rules_that_apply_are_in_the_context(project: Any, run: Any) -> None:
    """A rule file's absolute rule stands in the pack with its place."""
    done = run("plan", TASK)
    assert "Never log the jwt token" in done.out
    assert "CLAUDE.md:3" in done.out


def test_json_is_the_whole_answer_and_the_same_every_time(project: Any, run: Any) -> None:
    """It has every field of the published schema; two calls differ under `timing` alone."""
    run("index")
    first, second = run("plan", TASK, "--json"), run("plan", TASK, "--format", "json")
    check(first.json(), "plan-response")
    assert "pkg/auth.py" in first.json()["context"]["files"][:2]
    assert first.json()["degraded"] == ["embeddings"]
    one, two = first.json(), second.json()
    assert one.pop("timing")
    assert two.pop("timing")
    assert one == two
    assert json.dumps(one) == json.dumps(two)


@pytest.mark.parametrize(
    ("shape", "mark"), [("xml", "<context>"), ("markdown", "```"), ("text", "pkg/auth.py")]
)
def test_formats_shape_the_text_within_the_budget(project: Any, run: Any, shape: str, mark: str) -> None:
    """Each format has its own marks, and its whole text stays under the budget."""
    done = run("plan", TASK, "--format", shape, "--budget", "150")
    assert mark in done.out
    assert token_counter("o200k_base").count(done.out) <= 150
    assert mark in run("plan", TASK, "--format", shape, "--json").json()["context"]["text"]


@pytest.mark.parametrize("arguments", [("plan",), ("plan", ""), ("plan", " \n"), ("rank", ""), ("plan", "-")])
def test_an_empty_task_is_refused(project: Any, run: Any, arguments: tuple[str, ...]) -> None:
    """Nothing is indexed or printed; the message says what to do."""
    done = run(*arguments)
    assert (done.code, done.out) == (exits.USAGE, "")
    assert "the task is empty" in done.err
    assert not (project.root / ".workbench").exists()


def test_the_task_can_come_from_stdin(project: Any, run: Any) -> None:
    """`-` and --stdin read it, whatever its bytes are; twice is a mistake."""
    direct = run("rank", "--json", TASK).out
    assert run("rank", "--json", "-", given=TASK.encode()).out == direct
    assert run("rank", "--json", "--stdin", given=TASK.encode()).out == direct
    assert run("rank", "-", given=b"\xff\xfe jwt \x1b[31m token").code == exits.OK
    assert run("rank", "--stdin", "other", given=TASK.encode()).code == exits.USAGE


def test_a_task_needs_no_quotes(project: Any, run: Any) -> None:
    """Words of a task may stand as several arguments."""
    assert run("rank", "--json", *TASK.split()).out == run("rank", "--json", TASK).out


@pytest.mark.parametrize(
    "text", ["--foo is broken", "-q is ignored", "--json\tis ignored", "-- is no comment"]
)
def test_a_quoted_task_may_begin_with_dashes(project: Any, run: Any, text: str) -> None:
    """It is the task with and without `--`, beside options on either side of it."""
    text = f"{text} in refresh_token"
    plain = run("rank", "--top", "2", text, "--json")
    assert plain.code == exits.OK, plain.err
    assert plain.json() == run("rank", "--top", "2", "--json", "--", text).json()
    assert len(plain.json()["files"]) == 2


def test_the_value_of_an_option_may_begin_with_dashes(project: Any, run: Any) -> None:
    """What an option takes stays its own where the task begins with dashes too."""
    (project.root / "-a b.py").write_text("x = 1\n")
    done = run("plan", "--foo is broken", "--pin", "-a b.py", "--json")
    assert "-a b.py" in done.json()["context"]["files"]


def test_words_that_begin_with_dashes_are_refused_with_what_to_type(project: Any, run: Any) -> None:
    """Without quotes an unknown option is no guess at a task: the hint has `--`, which works."""
    done = run("plan", "--foo", "is", "broken")
    assert done.code == exits.USAGE
    assert "`workbench plan -- --foo …`" in done.err
    assert run("plan", "--", "--foo", "is", "broken").code == exits.OK


def test_a_session_records_its_pack(project: Any, run: Any) -> None:
    """--session starts the episode and records the pack; without a task it is the episode's own."""
    done = run("plan", TASK, "--session", "retry-7", "--budget", "500", "--query-type", "bugfix", "--json")
    trace = run("episode", "show", "retry-7", "--json").json()
    assert trace["task_text"] == TASK
    assert trace["token_budget"] == 500
    [event] = trace["events"]
    assert event["payload"]["pack"]["tokens"] == done.json()["budget_report"]["estimated_used"]
    again = run("plan", "--session", "retry-7", "--budget", "500", "--query-type", "bugfix", "--json")
    assert again.json()["context"] == done.json()["context"]
    assert run("plan", "another task", "--session", "retry-7").code == exits.OK
    trace = run("episode", "show", "retry-7", "--json").json()
    assert trace["task_text"] == TASK
    assert [event["payload"].get("task") for event in trace["events"]] == [None, None, "another task"]
    refused = run("plan", TASK, "--session", "no id", "--budget", "500")
    assert "def refresh_token" in refused.out
    assert "the pack is not recorded in session no id" in refused.err


def test_an_endless_task_is_cut_and_said_to_be(project: Any, run: Any) -> None:
    """A log of megabytes does not become a query of megabytes."""
    done = run("rank", "-", given=b"jwt token " * 100_000)
    assert done.code == exits.OK
    assert "only the first 200,000 characters" in done.err


def test_strict_refuses_what_changed(project: Any, run: Any) -> None:
    """Without an index and after a change the code is that of staleness, and nothing is printed."""
    assert run("plan", TASK, "--strict").code == exits.STALE
    run("index")
    assert run("plan", TASK, "--strict").code == exits.OK
    project.write("pkg/new.py", "x = 1\n")
    done = run("plan", TASK, "--strict")
    assert (done.code, done.out) == (exits.STALE, "")
    assert "workbench refresh" in done.err


def test_copy_delivers_the_context(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The clipboard holds exactly the context, and stderr says where it went."""
    target = tmp_path / "copied.txt"
    monkeypatch.setenv("WORKBENCH_CLIPBOARD_MODE", "file")
    monkeypatch.setenv("WORKBENCH_CLIPBOARD_FILE", str(target))
    done = run("plan", TASK, "--copy")
    assert target.read_text(encoding="utf-8").rstrip("\n") == done.out.rstrip("\n")
    assert str(target) in done.err


def test_the_baseline_knows_the_kind_of_task_only(project: Any, run: Any) -> None:
    """Files stand in the order of the layers, and say so."""
    answer = run("plan", TASK, "--baseline", "--query-type", "bugfix", "--json").json()
    check(answer, "plan-response")
    places = [one["features"].get("baseline_place") for one in answer["selection"]]
    assert all(places)
    assert answer["intent"]["predicted"] == "bugfix"


def test_rank_lists_files_with_their_reasons(project: Any, run: Any) -> None:
    """The table is for people, JSON has every feature and follows its schema; --top bounds both."""
    lines = [line.split() for line in run("rank", TASK).out.splitlines()]
    assert [line[0] for line in lines] == [str(place) for place in range(1, len(lines) + 1)]
    assert "pkg/auth.py" in [line[3] for line in lines[:2]]
    assert all(line[1].endswith("%") for line in lines)
    assert not re.search(r"[+-]\d", run("rank", TASK).out)
    answer = run("rank", TASK, "--json", "--top", "2").json()
    check(answer, "rank-response")
    assert [one["path"] for one in answer["files"]] == [line[3] for line in lines[:2]]


def test_every_call_is_measured(
    project: Any, run: Any, entries: Callable[[str], list[dict[str, Any]]]
) -> None:
    """The journal has duration, stages, cache levels, tokens and what was missing, of failed calls too."""
    run("plan", TASK)
    run("plan", TASK)
    run("rank", TASK)
    project.write("pkg/new.py", "x = 1\n")
    run("plan", TASK, "--strict")
    first, second, ranked, failed = entries("metrics")
    assert [one["operation"] for one in (first, second, ranked, failed)] == ["plan", "plan", "rank", "plan"]
    assert (first["cache"]["index"], second["cache"]["index"]) == ([0, 1], [1, 0])
    assert second["tokens"] > 0
    assert second["candidates"] == ranked["candidates"] > 0
    assert {"index", "history", "rules", "rank", "contents", "pack"} <= second["stages"].keys()
    assert second["degraded"] == ranked["degraded"] == ["embeddings"]
    assert [one["ok"] for one in (second, failed)] == [True, False]


def test_a_full_disk_does_not_break_a_plan(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement that cannot be recorded is said on stderr; the answer is the same."""
    run("index")
    expected = run("plan", TASK).out

    def full(*_: object, **__: object) -> None:
        raise StoreError("No space left on device")

    monkeypatch.setattr(metrics, "record_call", full)
    done = run("plan", TASK)
    assert (done.code, done.out) == (exits.OK, expected)
    assert "the measurement of this plan was not recorded: No space left on device" in done.err


def test_measuring_can_be_turned_off(
    project: Any,
    run: Any,
    monkeypatch: pytest.MonkeyPatch,
    entries: Callable[[str], list[dict[str, Any]]],
) -> None:
    """With store.metrics false nothing is written."""
    monkeypatch.setenv("WORKBENCH_STORE_METRICS", "false")
    run("rank", TASK)
    assert entries("metrics") == []


def test_outside_a_repository_it_plans_without_history(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer says what is missing; an empty directory gives one line and a note."""
    monkeypatch.chdir(tmp_path)
    done = run("plan", TASK)
    assert done.code == exits.OK
    assert "these words say nothing about this project" in done.out
    assert done.out.count("\n") == 1
    assert "not a git repository" in done.err
    (tmp_path / "auth.py").write_text("def refresh_token(): pass\n", encoding="utf-8")
    answer = run("plan", TASK, "--json").json()
    assert answer["context"]["files"] == ["auth.py"]
    assert "history" in answer["degraded"]


def test_a_bare_repository_is_refused(make_work: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hooks are no project; nothing is written into it."""
    bare = make_work("bare", "--bare")
    monkeypatch.chdir(bare.root)
    done = run("plan", TASK)
    assert (done.code, done.out) == (exits.ERROR, "")
    assert "bare repository" in done.err
    assert not (bare.root / ".workbench").exists()


def test_names_never_break_a_table(project: Any, run: Any) -> None:
    """A line feed, an escape sequence or undecodable bytes in a name stay on the file's line."""
    for name in ("new\nline_token.py", "esc\x1b[31m_token.py", "bad\udcff_token.py"):
        try:
            project.write(name, "def jwt_token(): pass\n")
        except OSError:
            pytest.skip("the file system takes UTF-8 names only")
    done = run("rank", "jwt token", "--top", "50")
    assert all(line[:3].strip().isdigit() for line in done.out.splitlines())
    assert "\x1b" not in done.out
    paths = [one["path"] for one in run("rank", "jwt token", "--json").json()["files"]]
    assert {"new\nline_token.py", "bad\udcff_token.py"} <= set(paths)


def test_files_are_pinned_and_excluded_from_where_one_stands(
    run: Any, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path counts from the current directory first; what is pinned is in and what is excluded says so."""
    monkeypatch.chdir(project.root / "pkg")
    arguments = ("plan", "refresh the token", "--pin", "store.py", "--exclude", "pkg/auth.py", "--json")
    found = run(*arguments).json()
    assert "pkg/store.py" in found["context"]["files"]
    assert "pkg/auth.py" not in found["context"]["files"]
    assert {"file": "pkg/auth.py", "reason": "excluded by you"} in found["dropped_candidates"]


def test_an_unknown_pin_is_refused_with_a_suggestion(run: Any, project: Any) -> None:
    """A name that is neither a file nor a rule exits 2 and says what may have been meant."""
    ran = run("plan", "refresh the token", "--pin", "pkg/stroe.py")
    assert ran.code == 2
    assert "Did you mean pkg/store.py?" in ran.err


def test_what_was_put_aside_comes_back_in_a_plan(project: Any, run: Any) -> None:
    """As a quotation with its session, unless the plan is asked to leave the stash alone."""
    text = "We refresh the jwt token once after a 401 on purpose: a second time would lock the session"
    run("stash", "add", text, "--session", "s7", "--type", "decision", "--id", "seg-1")
    answer = run("plan", "why do we refresh the jwt token once after a 401 on purpose?", "--json").json()
    assert [one["segment_id"] for one in answer["context"]["segments"]] == ["seg-1"]
    assert f"(decision, decided today in session s7) {text}" in answer["context"]["text"]
    assert "shown 1" in run("stash", "show", "seg-1").out
    left = run("plan", "why do we refresh the jwt token once after a 401 on purpose?", "--no-stash", "--json")
    assert "segments" not in left.json()["context"]


def test_the_spelling_of_the_specification_works(project: Any, run: Any, tmp_path: Path) -> None:
    """`plan PROJECT --task … --token-budget …`, `feedback --session … --note …`, `gain` [img §9]."""
    usual = run("plan", TASK, "--budget", "300", "--json").json()
    spelled = ("--task", TASK, "--token-budget", "300", "--ml-mode", "off", "--json")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here = Path.cwd()
    try:
        os.chdir(elsewhere)
        asked = run("plan", str(project.root), *spelled).json()
    finally:
        os.chdir(here)
    assert asked["context"] == usual["context"] == run("plan", *spelled).json()["context"]
    assert asked["budget_report"]["token_budget"] == 300
    full = run("plan", TASK, "--ml-mode", "full", "--detail", "compact", "--json").json()
    assert full["degraded"] == ["embeddings", "reranking"]
    assert "full" not in {one["representation"] for one in full["selection"]}
    run("episode", "start", TASK, "--session", "s-1", "--token-budget", "300")
    judged = run("feedback", "--session", "s-1", "--outcome", "success", "--note", "the tests pass", "--json")
    assert judged.json()["outcome"] == "success"
    assert run("feedback", "--outcome", "success").code == exits.USAGE
    assert {one["operation"] for one in run("gain", "--json").json()["operations"]} >= {"plan"}
