"""`workbench show`: handles to text, for people and for programs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from tests.test_imports import RUN_CLI, modules
from workbench.entry.cli import exits


def test_names_files_and_lines_are_shown(indexed: Any, run: Run) -> None:
    """The text alone is on stdout; an unknown name beside known ones has its line."""
    found = run("show", "refresh_token", "pkg/auth.py:1-1", "refresh_tokn")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("pkg/auth.py:6-8 refresh_token\n  def refresh_token(token):\n")
    assert 'pkg/auth.py:1\n  """Tokens."""\n' in found.out
    assert "Did you mean refresh_token (pkg/auth.py:6)?" in found.out


def test_aspects_are_options_and_parts_of_handles(project: Any, run: Run) -> None:
    """Both are the same."""
    assert run("show", "refresh_token", "--callers").out == run("show", "refresh_token:callers").out
    assert "tests/test_auth.py" in run("show", "pkg/auth.py", "--links").out


def test_json_has_what_became_of_each_handle(project: Any, run: Run) -> None:
    """With the tokens of the text, which are within the budget."""
    found = run("show", "refresh_token", "nothing_of_it", "--budget", "60", "--json").json()
    assert [(one["handle"], one["found"]) for one in found["handles"]][1] == ("nothing_of_it", "unknown")
    assert found["tokens"] <= found["token_budget"] == 60


def test_a_budget_without_room_for_a_line_is_said(indexed: Any, run: Run) -> None:
    """Nothing goes to stdout, and stderr says why."""
    ran = run("show", "refresh_token", "--budget", "2")
    assert (ran.code, ran.out) == (0, "")
    assert "refresh_token: the budget has no room for it" in ran.err


def test_files_are_named_as_seen_from_here(indexed: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As other programs print them in a directory of the project."""
    monkeypatch.chdir(indexed.root / "pkg")
    assert run("show", "auth.py:6").out.startswith("pkg/auth.py:6-8 refresh_token\n")
    assert run("show", "../pkg/auth.py:1-1").out.startswith("pkg/auth.py:1\n")


def test_what_is_unknown_is_refused_with_the_nearest_name(project: Any, run: Run) -> None:
    """On stderr, with the code of a wrong use."""
    found = run("show", "refresh_tokn")
    assert (found.code, found.out) == (exits.USAGE, "")
    assert "Did you mean refresh_token (pkg/auth.py:6)?" in found.err


def test_the_session_of_the_agent_is_given_nothing_twice(
    project: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known from the environment; --again shows all."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    assert "def refresh_token" in run("show", "refresh_token").out
    assert run("show", "refresh_token").out.endswith("given to this session already\n")
    assert "def refresh_token" in run("show", "refresh_token", "--again").out


def test_a_name_in_an_indexed_project_imports_what_it_uses(indexed: Any) -> None:
    """No database, no parser, no model, no history, no rules; numpy holds the index."""
    names = modules(RUN_CLI.format(arguments=["show", "refresh_token:callers", "pkg/auth.py"]))
    heavy = ("duckdb", "tree_sitter", "onnxruntime", "hnswlib", "bm25s", "workbench.plan.pipeline")
    assert "numpy" in names
    assert {name for name in names if name.startswith(heavy)} == set()
