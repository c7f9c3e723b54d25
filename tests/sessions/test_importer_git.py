"""Commits become episodes: what they say, what they changed, and nothing that is not a task."""

from __future__ import annotations

from functools import partial

from workbench.plan.intent import parse_intent
from workbench.records.episodes import ChangeKind, Commit, FileChange
from workbench.sessions.episode_ledger import task_of
from workbench.sessions.episodes_fold import imported_episode
from workbench.sessions.importers.git import (
    MAX_CHANGES,
    MAX_TEXT,
    commit_episode,
    commit_episodes,
    commit_session,
    session_commit,
)

UNDERSTAND = partial(parse_intent, project_id="p")
FILES = (FileChange("src/b.py", ChangeKind.MODIFIED, 4, 2, "src/a.py"),)


def commit(subject: str, body: str = "", files: tuple[FileChange, ...] = FILES) -> Commit:
    return Commit("f" * 40, (), 1_700_000_000, subject, body, files)


def test_a_commit_is_an_episode_a_plan_can_read() -> None:
    """Message, time, changes and issues arrive in the history unchanged."""
    found = commit_episode(commit("fix: token refresh (#12)", "See GH-13."), "p", UNDERSTAND)
    assert found is not None
    assert found["session_id"] == f"git:{'f' * 40}"
    assert found["query_type"] == "bugfix"
    assert found["task_fingerprint"] == UNDERSTAND(str(found["task_text"])).task_fingerprint
    task = task_of(imported_episode(found))
    assert task.changes == FILES
    assert set(task.issue_refs) == {"#12", "#13"}
    assert (task.at, task.fix) == (1_700_000_000, True)


def test_commits_that_say_or_change_nothing_are_no_tasks() -> None:
    """An empty message or no files, as of a merge, teaches nothing."""
    trailer = "Signed-off-by: A Tester <tester@example.org>"
    assert commit_episode(commit(""), "p", UNDERSTAND) is None
    assert commit_episode(commit(trailer), "p", UNDERSTAND) is None
    assert commit_episode(commit("merge", files=()), "p", UNDERSTAND) is None
    assert next(iter(commit_episodes([commit(""), commit("one")], "p", UNDERSTAND)))["task_text"] == "one"


def test_mass_changes_and_long_messages_are_cut() -> None:
    """An episode stays small however large the commit."""
    files = tuple(FileChange(f"{number}.py", ChangeKind.ADDED) for number in range(MAX_CHANGES + 7))
    found = commit_episode(commit("x" * (MAX_TEXT * 2), files=files), "p", UNDERSTAND)
    assert found is not None
    assert (len(found["changes"]), len(found["task_text"])) == (MAX_CHANGES, MAX_TEXT)


def test_session_ids_name_their_commit() -> None:
    """The id of a commit's episode gives the commit back; other ids give none."""
    assert session_commit(commit_session("abc")) == "abc"
    assert session_commit("claude:abc") == ""


def test_secrets_in_messages_are_not_kept() -> None:
    """What somebody committed by mistake and told of is masked in the history's copy."""
    secret = "gh" + "p_" + "a1B2" * 9
    found = commit_episode(commit(f"fix: token {secret}", f"PASSWORD=hunter22 and {secret}"), "p", UNDERSTAND)

    assert found is not None
    assert secret not in found["task_text"]
    assert "hunter22" not in found["task_text"]
