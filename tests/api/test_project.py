"""The public face does what the command line does, prints nothing, and changes nothing of its process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

import workbench
from tests.conftest import Connections, Work
from workbench.curation.conflicts import RecordChanged
from workbench.entry.cli import main
from workbench.entry.cli.output import to_json
from workbench.errors import ConfigError, ProjectError, StaleProject, UsageError

TASK = "the token is not refreshed when it expires"
ROOT = Path(workbench.__file__).resolve().parents[1]


@pytest.fixture
def shop(work: Work) -> Work:
    """A repository with two modules, a rule file and two commits."""
    work.write("auth/token.py", "def refresh_token(session):\n    return session.renew()\n")
    work.write("auth/login.py", "from auth.token import refresh_token\n\ndef login(): ...\n")
    work.write("CLAUDE.md", "# Rules\n\n- Never log a token.\n")
    work.commit("Add tokens")
    work.write("auth/token.py", "def refresh_token(session):\n    return session.renew(force=True)\n")
    work.commit("fix: the token expires too early")
    return work


def settled(response: workbench.PlanResponse) -> workbench.PlanResponse:
    """Return a response without its times and without what the state of caches was."""
    return replace(response, timing={}, cache_status="hit")


def test_a_plan_is_that_of_the_command_line(
    shop: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same request gives the same bytes, from a directory inside of the project, too."""
    with workbench.open_project(shop.root / "auth") as project:
        project.plan(TASK)
        found = project.plan(TASK, budget=800, style="markdown")
        assert project.root == shop.root
    assert found.budget_report.estimated_used <= found.budget_report.token_budget == 800
    assert "Never log a token" in found.context.text
    monkeypatch.chdir(shop.root)
    capsys.readouterr()
    assert main.run(["plan", TASK, "--budget", "800", "--format", "markdown", "--json"]) == 0
    printed = capsys.readouterr().out
    assert to_json(found).split('"timing"')[0] == printed.split('"timing"')[0]


def test_a_preview_is_recorded_nowhere(shop: Work) -> None:
    """A plan counts the use of its rules, a preview does not; both pack the same."""
    with workbench.open_project(shop.root) as project:
        project.preview(TASK)
        (before,) = project.rules.list().rows
        assert settled(project.preview(TASK)) == settled(project.plan(TASK))
        (after,) = project.rules.list().rows
    assert (before.usage_count, after.usage_count) == (0, 1)


def test_options_of_a_plan_are_followed(shop: Work) -> None:
    """Pins, exclusions, kinds and strictness mean what they mean everywhere."""
    with workbench.open_project(shop.root, settings={"plan.budget": 700}) as project:
        found = project.plan(TASK, pinned=["auth/login.py"], excluded=["auth/token.py"], query_type="bugfix")
        assert found.budget_report.token_budget == 700
        assert found.context.files[0] == "auth/login.py"
        assert "auth/token.py" not in found.context.files
        assert (found.intent.predicted, found.intent.confidence) == ("bugfix", 1.0)
        assert project.rank(TASK, top=1).files[0].path == "auth/token.py"
        shop.write("auth/login.py", "def login(): return 1\n")
        with pytest.raises(StaleProject):
            project.plan(TASK, strict=True)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"task": "  "}, "the task is empty"),
        ({"task": TASK, "budget": 0}, "a budget of 0 tokens"),
        ({"task": TASK, "query_type": "chore"}, "'chore' is not a valid kind of task"),
        ({"task": TASK, "style": "html"}, "'html' is not a style of packs"),
        ({"task": TASK, "pinned": ["gone.py"]}, "gone.py"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_hint(
    shop: Work, given: dict[str, object], named: str
) -> None:
    """Each refusal is a UsageError that names the thing and says what to do."""
    with workbench.open_project(shop.root) as project, pytest.raises(UsageError) as refused:
        project.plan(**given)  # type: ignore[arg-type]
    assert named in refused.value.message
    assert refused.value.hint


def test_unknown_options_are_errors_of_the_caller(shop: Work) -> None:
    """A misspelt name is a TypeError, as of any function."""
    with workbench.open_project(shop.root) as project, pytest.raises(TypeError, match="bugdet"):
        project.plan(TASK, bugdet=500)  # type: ignore[call-arg]


def test_projects_that_cannot_be_opened_say_why(shop: Work, tmp_path: Path) -> None:
    """What is not a directory, what is bare, and an unknown setting are refused; a closed project, too."""
    with pytest.raises(ProjectError, match="is not a directory"):
        workbench.open_project(tmp_path / "none")
    with pytest.raises(ConfigError):
        workbench.open_project(shop.root, settings={"plan.bugdet": 3})
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare.git"], check=True)
    with pytest.raises(ProjectError, match="bare"):
        workbench.open_project(tmp_path / "bare.git")
    project = workbench.open_project(shop.root)
    project.close()
    with pytest.raises(UsageError, match="is closed"):
        project.rank(TASK)
    assert issubclass(UsageError, workbench.WorkbenchError)


def test_rules_are_curated_in_steps(shop: Work) -> None:
    """Added, matched, checked, edited, removed: each is a step of the face `python` that undo takes back."""
    with workbench.open_project(shop.root) as project:
        rules = project.rules
        rule = rules.add(
            "Never force-push.",
            authority="absolute",
            check={"command": "git push --force"},
            tags=["tool:git"],
        )
        assert rules.get(rule.id) == rule
        verdict = rules.check("Bash", {"command": "git push --force origin"})
        assert (verdict.decision, verdict.rule and verdict.rule.id) == ("ask", rule.id)
        assert rules.check("Bash", {"command": "ls"}).decision == "allow"
        assert [one.rule for one in rules.match("log the token again").matches] == ["Never log a token."]
        edited = rules.edit(rule.id, priority=90, seen=rule)
        assert edited.priority == 90
        with pytest.raises(RecordChanged):
            rules.edit(rule.id, priority=10, seen=rule)
        rules.remove(rule.id, reason="no longer")
        assert [one.rule for one in rules.list().rows] == ["Never log a token."]
        with pytest.raises(UsageError):
            rules.get(rule.id)
        rules.undo()
        assert rules.get(rule.id).priority == 90
        rules.redo()
        assert {change.by for change in rules.history(rule.id)} == {"python"}
        with pytest.raises(UsageError, match="priority"):
            rules.edit(rules.list().rows[0].id, priority=900)


def test_rules_are_listed_in_pages(shop: Work, connections: Connections) -> None:
    """A filter of the app, a column and a cursor make pages; what is none of these is refused."""
    with workbench.open_project(shop.root) as project:
        for number in range(5):
            project.rules.add(f"Keep module {number} small.", priority=number * 10, tags=["tool:git"])
        first = project.rules.list("tag:tool:git small", sort="priority", limit=3)
        second = project.rules.list("tag:tool:git small", sort="priority", limit=3, cursor=first.cursor)
        assert [rule.priority for rule in (*first.rows, *second.rows)] == [40, 30, 20, 10, 0]
        assert (first.total, second.cursor) == (5, None)
        assert project.rules.list("authority:absolute").rows[0].rule == "Never log a token."
        for wrong in ({"filter": "tokens:many"}, {"sort": "colour"}, {"cursor": "x"}, {"limit": 0}):
            with pytest.raises(UsageError):
                project.rules.list(**wrong)
    assert (connections.made, connections.alive) == (1, 0)


def test_a_rule_in_a_file_is_placed_there(shop: Work) -> None:
    """`file` names the rule file it is to be written into; your own rules are of no project."""
    with workbench.open_project(shop.root) as project:
        placed = project.rules.add("Use four spaces.", file="CLAUDE.md", scope=["path:**/*.py"])
        own = project.rules.add("Answer in English.", home=True)
    assert placed.provenance is not None
    assert placed.provenance.file == "CLAUDE.md"
    assert own.project_id is None


def test_learnings_are_curated_in_steps(shop: Work) -> None:
    """Added, retired, brought back: as the command line does it."""
    with workbench.open_project(shop.root) as project:
        learnings = project.learnings
        found = learnings.add("A refresh_token lives for a day", feature="auth", reason="it expired twice")
        assert learnings.all() == (found,)
        assert learnings.get(found.id[:14]).text == found.text
        (gone,) = learnings.retire(found.id)
        assert learnings.all() == ()
        assert learnings.all(gone=True) == (gone,)
        learnings.undo()
        assert [one.id for one in learnings.all()] == [found.id]
        learnings.redo()
        learnings.restore(found.id)
        other = learnings.add("A cache lives for an hour", feature="cache", reason="it was stale")
        newest = learnings.list("lives", sort="feature", limit=1)
        assert (newest.rows[0].id, newest.total) == (found.id, 2)
        rest = learnings.list("lives", sort="feature", limit=1, cursor=newest.cursor)
        assert ([one.id for one in rest.rows], rest.cursor) == ([other.id], None)
        learnings.retire(other.id)
        assert [one.id for one in learnings.list().rows] == [found.id]
        assert {one.id for one in learnings.list(gone=True).rows} == {found.id, other.id}
        with pytest.raises(UsageError):
            learnings.list("colour:red")
        assert found.text in project.plan("how long does a refresh_token live").context.text
        learnings.reject(found.id, reason="wrong")
        assert learnings.history(found.id)[-1].reason == "wrong"
        with pytest.raises(UsageError, match="nothing to accept"):
            learnings.accept()


def test_sessions_are_recorded_and_given_packs(shop: Work) -> None:
    """A session is started, followed and ended; a plan for it is recorded in it."""
    with workbench.open_project(shop.root) as project:
        sessions = project.sessions
        name = sessions.start(TASK, session="fix-1")
        project.plan(TASK, session=name)
        assert sessions.event(name, "read", files=["auth/token.py"])
        assert sessions.event(name, "edit", files=["auth/token.py"], kind="modified", key="e1")
        assert not sessions.event(name, "edit", files=["auth/token.py"], kind="modified", key="e1")
        assert sessions.end(name, "success").outcome == "success"
        assert sessions.feedback(name, "partial", "one test is missing").rationale == "one test is missing"
        trace = sessions.get("fix-1")
        (row,) = sessions.list("outcome:partial").rows
        assert sessions.list("outcome:failed").total == 0
    assert [event.event_type for event in trace.events] == ["decision", "read", "edit", "feedback"]
    assert "auth/token.py" in trace.events[0].payload["pack"]["files"]
    assert (row.session_id, row.edits, row.outcome) == ("fix-1", 1, "partial")


def test_the_past_is_replayed(shop: Work) -> None:
    """A replay of the project's commits scores systems, and is kept."""
    with workbench.open_project(shop.root) as project:
        run = project.replay(tasks=5, systems=["baseline", "bm25"], packs=0, workers=1)
        with pytest.raises(UsageError):
            project.replay(source="dreams")
    assert [one.system for one in run.systems] == ["baseline", "bm25"]
    assert [row.head for row in run.rows] == ["fix: the token expires too early"]
    assert run.complete


def test_status_and_doctor_look_and_change_nothing(shop: Work) -> None:
    """Before the first plan nothing is indexed, and asking does not change that."""
    with workbench.open_project(shop.root) as project:
        assert not project.status().indexed
        assert not project.status().indexed
        assert project.doctor().sound
        project.plan(TASK)
        assert project.status().files == 3


def test_nothing_is_printed_and_nothing_of_the_process_changes(
    shop: Work, capfd: pytest.CaptureFixture[str]
) -> None:
    """No output, no signal handlers, no variables: in a thread other than the main one as well."""
    before = dict(os.environ), signal.getsignal(signal.SIGINT), Path.cwd(), logging.getLogger().handlers[:]

    def ask() -> None:
        with workbench.open_project(shop.root) as project:
            project.plan(TASK)
            project.rules.add("Use pnpm.", tags=["language:pyhton"])

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert before == (
        dict(os.environ),
        signal.getsignal(signal.SIGINT),
        Path.cwd(),
        logging.getLogger().handlers[:],
    )
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_what_no_answer_holds_is_logged(shop: Work, caplog: pytest.LogCaptureFixture) -> None:
    """A setting of the project that is ignored is a warning of the logger `workbench`."""
    shop.write(".workbench/config.toml", "[plan]\nbugdet = 3\n")
    with caplog.at_level(logging.WARNING, "workbench"):
        workbench.open_project(shop.root).close()
    assert "bugdet" in caplog.text


def test_threads_share_a_project(shop: Work) -> None:
    """Questions from several threads wait for each other, and each gets what it would get alone."""
    tasks = [f"{TASK} in {part}" for part in ("login", "token", "session", "renew")]
    with workbench.open_project(shop.root) as project:
        project.plan(TASK)
        alone = [settled(project.preview(task)) for task in tasks]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda task: settled(project.preview(task)), tasks)) == alone


def test_a_script_without_a_guard_is_run_once(shop: Work, tmp_path: Path) -> None:
    """Workers that read many files do not run the caller's script again, whatever threads are alive."""
    for number in range(200):
        shop.write(f"many/module_{number}.py", f"def function_{number}(): ...\n")
    shop.commit("Many files")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
            import threading
            import workbench
            print("run", flush=True)
            alive = threading.Event()
            thread = threading.Thread(target=alive.wait)
            thread.start()
            try:
                with workbench.open_project({str(shop.root)!r}) as project:
                    print(project.rank("function_77", top=1).files[0].path, project.status().skipped)
            finally:
                alive.set()
        """),
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.splitlines() == ["run", "many/module_77.py {}"]
