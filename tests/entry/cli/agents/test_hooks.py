"""What hooks answer and record, on payloads as agents write them; `docs/agents.md` shows the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Work
from tests.entry.cli.conftest import Run, enter_copy
from workbench.entry.cli import main
from workbench.entry.hooks.handlers import respond

PAGE = Path(__file__).parents[4] / "docs" / "agents.md"
PLACE = "/home/me/shop"  # what the page calls the project
EXAMPLE = re.compile(
    r"^(\*\*(\w+): [^*\n]+\*\* `(\w+)`\n\n```json\n(.+)\n```\n)\n(?:```json\n.+\n```|No answer\.)$",
    re.MULTILINE,
)
SESSION = "5f0c1f7e-0000-4000-8000-000000000001"

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def _guarded_package(_package: Work, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """Make an indexed project with a rule that forbids a command."""
    work = _package.copy(tmp_path_factory.mktemp("guarded") / "work")
    work.write("AGENTS.md", "- Never push with force.\n")

    def run(*words: str) -> str:
        with redirect_stdout(StringIO()) as printed:
            assert main.run(["--project", str(work.root), *words]) == 0
        return printed.getvalue()

    run("index")
    [forced] = [
        one["id"] for one in json.loads(run("rules", "list", "--json"))["rules"] if "force" in one["rule"]
    ]
    check = '{"command": "git push --force", "decision": "deny"}'
    run("rules", "edit", forced, "--authority", "absolute", "--check", check)
    return work


@pytest.fixture
def project(_guarded_package: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A copy of that project, and the current directory in it."""
    return enter_copy(_guarded_package, tmp_path, monkeypatch)


@pytest.fixture
def package(_package: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A copy of the repository alone."""
    return enter_copy(_package, tmp_path, monkeypatch)


@pytest.fixture
def ask(project: Work) -> Ask:
    """Ask a hook in that project, and return the answer decoded."""

    def hook(name: str, agent: str = "claude", /, **given: Any) -> Any:
        payload = {"session_id": SESSION, "cwd": str(project.root), "hook_event_name": name, **given}
        return answer(json.dumps(payload).encode(), name, agent)

    return hook


def answer(data: bytes, name: str, agent: str) -> Any:
    """Return what a hook prints, decoded, None for nothing; what follows is done, also what a child does."""
    reply = respond(data, name, agent)
    reply.then()
    if reply.beside is not None:
        reply.beside()
    return json.loads(reply.output) if reply.output else None


def test_the_page_shows_what_is_answered(ask: Ask, project: Work) -> None:
    """Each payload of `docs/agents.md`, one after the other, gets the answer under it (UPDATE_GOLDENS=1)."""
    del ask
    count = 0

    def again(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        head, agent, name, payload = found.groups()
        said = answer(payload.replace(PLACE, str(project.root)).encode(), name, agent)
        text = json.dumps(said, ensure_ascii=False).replace(str(project.root), PLACE)
        return f"{head}\n" + ("No answer." if said is None else f"```json\n{text}\n```")

    page = PAGE.read_text(encoding="utf-8")
    now = EXAMPLE.sub(again, page)
    if os.environ.get("UPDATE_GOLDENS"):
        PAGE.write_text(now, encoding="utf-8")
    assert count > 20
    assert now == page


def test_a_session_is_recorded_and_counted(ask: Ask, run: Run, project: Work) -> None:
    """Prompts are episodes with what their tools touched; `stats --usage` counts what became of the files."""
    path = str(project.root / "pkg" / "auth.py")
    ask("UserPromptSubmit", prompt="the jwt token is not refreshed after a 401")
    ask(
        "UserPromptSubmit", prompt="the jwt token is not refreshed after a 401"
    )  # the hook is installed twice
    ask("PostToolUse", tool_name="Edit", tool_input={"file_path": path}, tool_use_id="a")
    ask("PostToolUse", tool_name="Edit", tool_input={"file_path": path}, tool_use_id="a")
    ask("PostToolUse", tool_name="Read", tool_input={"file_path": "/etc/passwd"}, tool_use_id="b")
    ask(
        "PostToolUse",
        tool_name="Write",
        tool_input={"file_path": str(project.root / "notes" / "new.py")},
        tool_use_id="c",
    )
    ask("PreToolUse", tool_name="Bash", tool_input={"command": "git push --force"}, tool_use_id="d")
    ask("Stop")
    ask("UserPromptSubmit", prompt="continue")
    shown = run("episode", "show", f"{SESSION}/1", "--json").json()
    assert [(one["event_type"], one.get("file_path")) for one in shown["events"]] == [
        ("edit", "pkg/auth.py"),
        ("edit", "notes/new.py"),
        ("decision", ""),
    ]
    assert shown["events"][2]["payload"]["decision"] == "deny"
    listed = run("episode", "list", "--json").json()["sessions"]
    assert [one["session_id"] for one in listed] == [f"{SESSION}/1"]
    assert f"prompt 1 of {SESSION}" in run("episode", "show", f"{SESSION}/1").out
    places = run("sql", "select prompt_index from episode_sources where source = 'hook'", "--format", "csv")
    assert places.out.split() == ["prompt_index", "0"]
    counted = run("stats", "--usage", "--json").json()
    [used], [session] = counted["hooks"], counted["sessions"]
    assert session["missed"] == ["notes/new.py"]
    assert session["session_id"] == SESSION
    assert used | {"tokens": 0, "files": 0} == {
        "agent": "claude",
        "event": "UserPromptSubmit",
        "calls": 3,
        "silent": 2,
        "tokens": 0,
        "files": 0,
        "opened": 1,
        "edited": 2,
        "missed": 1,
        "changed": 1,
        "nearby": 0,
        "elsewhere": 1,
    }
    assert used["tokens"] > 0 < used["files"]
    assert "claude  UserPromptSubmit" in run("stats", "--usage").out


def test_what_no_hook_saw_is_the_delta_of_the_prompt(ask: Ask, run: Run, project: Work) -> None:
    """A file that a shell command changed during a turn is in its episode, as what changed on disk."""
    ask("UserPromptSubmit", prompt="the jwt token is not refreshed after a 401")
    project.write("pkg/auth.py", "AUTH = 1\n")
    ask("PostToolUse", tool_name="Bash", tool_input={"command": "python fix.py"}, tool_use_id="a")
    ask("Stop")
    shown = run("episode", "show", f"{SESSION}/1", "--json").json()
    deltas = [one["file_path"] for one in shown["events"] if one["event_type"] == "delta"]
    assert deltas == ["pkg/auth.py"]
    assert [(one["path"], one["kind"]) for one in shown["changes"]] == [("pkg/auth.py", "modified")]


def test_an_import_takes_the_place_of_what_hooks_recorded(
    ask: Ask, run: Run, project: Work, tmp_path: Path
) -> None:
    """One prompt is one task and one call one breach, whoever recorded it, however often it is imported."""
    task = "the jwt token is not refreshed after a 401"
    ask("UserPromptSubmit", prompt=task)
    ask("PreToolUse", tool_name="Bash", tool_input={"command": "git push --force"}, tool_use_id="b1")
    now = datetime.now(UTC) + timedelta(seconds=5)
    common = {"sessionId": SESSION, "cwd": str(project.root), "version": "2.1.0", "gitBranch": "main"}
    calls: list[dict[str, Any]] = [
        {"id": "t", "name": "Read", "input": {"file_path": str(project.root / "pkg" / "store.py")}},
        {"id": "e", "name": "Edit", "input": {"file_path": str(project.root / "pkg" / "auth.py")}},
        *({"id": one, "name": "Bash", "input": {"command": "git push --force"}} for one in ("b1", "b2")),
    ]
    reply = {"id": "m", "role": "assistant", "content": [{"type": "tool_use", **call} for call in calls]}
    done = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
    results = {"role": "user", "content": done}
    spoken = (("user", {"role": "user", "content": task}), ("assistant", reply), ("user", results))
    path = tmp_path / f"{SESSION}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, (kind, message) in enumerate(spoken):
            line = {
                "type": kind,
                "uuid": f"u{number}",
                "timestamp": now.isoformat(),
                **common,
                "message": message,
            }
            file.write(json.dumps(line) + "\n")
    os.utime(path, (1_767_600_000, 1_767_600_000))
    for _ in range(2):
        assert run("import", "sessions", str(path), "--again").code == 0
    listed = run("episode", "list", "--json").json()["sessions"]
    assert [one["source"] for one in listed] == ["claude_code"]
    found = run("stats", "--usage", "--json").json()
    [session] = found["sessions"]
    assert session["changed"] == ["pkg/auth.py"]
    assert session["missed"] == []
    [rule] = session["broken"]
    [counted] = [one for one in found["rules"] if one["rule_id"] == rule]
    assert (counted["given"], counted["obeyed"], counted["broken"]) == (1, 0, 1)
    breaches = run("sql", 'SELECT call, "by" FROM rule_breaches ORDER BY call', "--json").json()
    assert [(row["call"], row["by"]) for row in breaches] == [("b1", "hook"), ("b2", "import:sessions")]


def test_files_wait_for_a_likely_one(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the threshold no file is added, and it is said once; absolute rules come all the same."""
    monkeypatch.setenv("WORKBENCH_HOOKS_THRESHOLD", "1")
    said = ask("UserPromptSubmit", prompt="the jwt token is not refreshed after a 401")
    text = said["hookSpecificOutput"]["additionalContext"]
    assert "Never push with force." in text
    assert "pkg/auth.py\n" not in text
    assert text.endswith("Files: nothing relevant enough.\n")
    said = ask("UserPromptSubmit", prompt="the login page is slow")
    line = "The workbench has nothing relevant enough for this task.\n"
    assert said["hookSpecificOutput"]["additionalContext"] == line
    assert ask("UserPromptSubmit", prompt="the logout page is slow") is None


def test_a_prompt_about_nothing_here_gets_nothing(ask: Ask) -> None:
    """Not even a sentence, in a prompt or before a sub-agent's, and the next prompt gets its plan."""
    for prompt in ("thanks, that will be all", "asdf qwer zxcv", "write a haiku"):
        assert ask("UserPromptSubmit", prompt=prompt) is None
    tool = {"tool_name": "Task", "tool_input": {"prompt": "write a haiku", "subagent_type": "x"}}
    assert ask("PreToolUse", **tool) is None
    said = ask("UserPromptSubmit", prompt="the jwt token is not refreshed after a 401")
    assert "pkg/auth.py" in said["hookSpecificOutput"]["additionalContext"]


def test_context_keeps_to_its_characters(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt gets no more characters than the settings allow, and nothing where they allow none."""
    sizes = []
    for most in (0, 50, 300, 700):
        monkeypatch.setenv("WORKBENCH_HOOKS_PROMPT_CHARS", str(most))
        said = ask(
            "UserPromptSubmit", session_id=f"s-{most}", prompt="the jwt token is not refreshed after a 401"
        )
        sizes.append(len(said["hookSpecificOutput"]["additionalContext"]) if said else 0)
    assert sizes[:2] == [0, 0]
    assert 0 < sizes[2] <= 300 < sizes[3] <= 700


def test_a_compaction_puts_the_transcript_aside(
    ask: Ask, run: Run, project: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is about to be lost is in the stash once, if it is the agent's own transcript and wanted."""
    path = Path.home() / ".claude" / "projects" / "shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    words = "We decided to keep the jwt token in memory because a disk may be shared."
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": words}]}
    line = {"type": "assistant", "uuid": "a", "timestamp": "2026-01-05T09:00:05Z", "sessionId": SESSION}
    line |= {"cwd": str(project.root), "version": "2.1.0", "message": message}  # type: ignore[dict-item]
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")

    def stashed() -> list[str]:
        return [one["text"] for one in run("stash", "list", "--json").json()["segments"]]

    ask("PreCompact", trigger="auto", transcript_path=str(tmp_path / path.name))
    monkeypatch.setenv("WORKBENCH_HOOKS_STASH", "0")
    ask("PreCompact", trigger="auto", transcript_path=str(path))
    assert stashed() == []
    monkeypatch.delenv("WORKBENCH_HOOKS_STASH")
    ask("PreCompact", trigger="auto", transcript_path=str(path))
    once = stashed()
    assert words in once
    ask("PreCompact", trigger="auto", transcript_path=str(path))
    assert stashed() == once


def test_rules_of_linked_files_are_not_repeated_to_the_agent_that_loads_one(package: Any, run: Run) -> None:
    """One file under the names of several agents: none gets its rules again, in no hook and no plan."""
    rule = "Never edit the generated schema by hand."
    (package.root / "CLAUDE.md").unlink()
    head = "---\nalwaysApply: true\n---\n\n"
    package.write(".agents/base.md", f"{head}- {rule}\n- Read the schema before changing tokens.\n")
    for name, target in (
        (".cursor/rules/base.mdc", "../../.agents/base.md"),
        ("CLAUDE.md", ".agents/base.md"),
        ("AGENTS.md", ".agents/base.md"),
    ):
        (package.root / name).parent.mkdir(parents=True, exist_ok=True)
        (package.root / name).symlink_to(target)
    package.write("GEMINI.md", "- Never push on Fridays.\n")
    assert run("index").code == 0
    prompt = "change the schema of tokens by hand"
    given = {"source": "startup", "prompt": prompt, "tool_name": "Task", "tool_input": {"prompt": prompt}}
    names = {"claude": ("SessionStart", "UserPromptSubmit", "PreToolUse"), "cursor": ("sessionStart",)}
    found = []
    for agent, events in names.items():
        for event in events:
            payload = {"session_id": f"{agent} {event}", "cwd": str(package.root), "hook_event_name": event}
            found.append(json.dumps(answer(json.dumps({**payload, **given}).encode(), event, agent)))
    plans = [run("plan", prompt, "--agent", one, "--json").json() for one in ("claude", "cursor", "codex")]
    found += [plan["context"]["text"] for plan in plans]
    assert [rule in text for text in found] == [False] * 7
    assert all("Never push on Fridays." in text for text in found)
    dropped = plans[-1]["dropped_candidates"]
    assert any("is in AGENTS.md, which codex loads by itself" in one["reason"] for one in dropped)
    assert rule in run("plan", prompt, "--agent", "gemini").out
    assert rule in run("plan", prompt).out
    pinned = next(one["file"] for one in dropped if "Never edit" in one["reason"])
    assert rule in run("plan", prompt, "--agent", "codex", "--pin", pinned).out


def test_a_session_starts_with_each_rule_once(package: Any, run: Run) -> None:
    """What files of several agents say in the same words is said once, and not to who loads one of them.

    So do prompts: a copy of what the session has is nothing new.
    """
    package.write("CLAUDE.md", "- Never push with force.\n")
    package.write("AGENTS.md", "- Never push with force!\n- Never log tokens; mask them.\n")
    package.write(".github/copilot-instructions.md", "- Never log tokens: mask them.\n")
    assert run("index").code == 0

    def said(agent: str, event: str, session: str = "a") -> list[str]:
        payload = {
            "session_id": f"{agent}-{session}",
            "cwd": str(package.root),
            "hook_event_name": event,
            "source": "startup",
            "prompt": "the jwt token is not refreshed after a 401",
        }
        given = json.dumps(answer(json.dumps(payload).encode(), event, agent))
        return sorted(re.findall(r"Never (log|push)", given))

    assert said("claude", "SessionStart") == ["log"]
    assert said("gemini", "SessionStart") == ["log", "push"]
    assert said("claude", "UserPromptSubmit") == []
    assert said("claude", "UserPromptSubmit", "b") == ["log"]
    assert said("claude", "UserPromptSubmit", "b") == []


def test_what_is_added_is_recorded_by_its_name(ask: Ask, project: Work) -> None:
    """Journals know which files and rules a prompt was given, and hold no line of them."""
    code = (project.root / "pkg" / "auth.py").read_text().splitlines()
    given = ask("UserPromptSubmit", prompt="the jwt token is not refreshed after a 401")
    context = given["hookSpecificOutput"]["additionalContext"]
    shown = [line for line in code if len(line.strip()) > 20 and line.strip() in context]
    journals = "".join(file.read_text() for file in (project.root / ".workbench").rglob("*.jsonl"))
    assert shown
    assert "pkg/auth.py" in journals
    assert not [line for line in shown if line.strip() in journals]
