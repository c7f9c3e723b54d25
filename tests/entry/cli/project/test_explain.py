"""`workbench explain`: what a file is and what was done with it, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits
from workbench.text.tokens import estimated_tokens


def test_a_file_is_explained(indexed: Any, run: Run) -> None:
    """Its index entry, its commits with their issues, and what changed with it."""
    found = run("explain", "pkg/auth.py", "--task", "logins lose the token (#7)", "--json").json()
    facts = found["facts"]
    assert (facts["language"], facts["role"], facts["imports"]) == ("python", "source", ["pkg/store.py"])
    assert facts["tested_by"] == ["tests/test_auth.py"]
    assert [one["name"] for one in facts["symbols"]] == ["refresh_token", "login"]
    assert [(one["issues"], one["related"]) for one in found["sessions"]] == [(["#7"], True), ([], False)]
    assert found["edited"] == 2
    assert "pkg/store.py" in [one["path"] for one in found["companions"]]
    assert [one["head"] for one in found["similar"]] == ["fix: login keeps the jwt token (#7)"]
    text = run("explain", "pkg/auth.py", "--task", "logins lose the token (#7)").out
    assert "alike  fix: login keeps the jwt token (#7)" in text
    assert "1 related task marked *" in text
    assert "defines refresh_token:6, login:11" in text


def test_the_index_in_the_tables_is_the_one_that_plans_use(project: Any, run: Run) -> None:
    """After an edit and the next plan, symbols, lines and tokens are those of the new text."""
    run("plan", "refresh the token", "--budget", "300")
    text = "def read(token):\n    return token\n\n\ndef forget(token):\n    del token\n"
    project.write("pkg/store.py", text)
    run("plan", "refresh the token", "--budget", "300")
    facts = run("explain", "pkg/store.py", "--json").json()["facts"]
    assert [(one["name"], one["line"]) for one in facts["symbols"]] == [("read", 1), ("forget", 5)]
    assert (facts["lines"], facts["size"], facts["tokens"]) == (6, len(text), estimated_tokens(len(text)))


def test_paths_are_found_from_where_one_stands(
    indexed: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to the current directory, else to the project; a file that is gone keeps its past."""
    monkeypatch.chdir(indexed.root / "pkg")
    assert run("explain", "auth.py", "--json").json()["path"] == "pkg/auth.py"
    assert run("explain", "pkg/auth.py", "--json").json()["path"] == "pkg/auth.py"
    Path(indexed.root / "pkg" / "store.py").unlink()
    run("refresh")
    found = run("explain", "store.py", "--json")
    assert found.code == exits.USAGE
    gone = run("explain", "pkg/store.py", "--json").json()
    assert (gone["facts"], gone["edited"]) == (None, 1)


def test_a_file_that_is_gone_is_called_so(indexed: Any, run: Run) -> None:
    """Renamed or removed since it was indexed, with a task and without, and once the index has seen it."""
    Path(indexed.root / "pkg" / "store.py").rename(indexed.root / "pkg" / "shop.py")
    for words in (("pkg/store.py",), ("read the token", "pkg/store.py")):
        shown = run("explain", *words).out.splitlines()
        assert shown[:2] == ["pkg/store.py", "  no longer there; known from the index"]
    run("refresh")
    assert run("explain", "pkg/store.py").out.splitlines()[1] == "  no longer there; known from the history"


def test_an_unknown_file_is_refused(indexed: Any, run: Run) -> None:
    """What neither the index nor any task knows is not a file of the project."""
    ran = run("explain", "pkg/\x1b[2Jnone.py")
    assert ran.code == exits.USAGE
    assert "\x1b" not in ran.err


TASK = "the jwt token is not refreshed on 401"


def test_a_plan_for_a_task_is_explained_in_words_first(project: Any, run: Run) -> None:
    """A file that is in, one left out by a person, one that the budget leaves out and one not indexed."""
    shown = run("explain", TASK, "pkg/auth.py").out.splitlines()
    assert shown[0].startswith("pkg/auth.py is in: ")
    assert "number 1 of" in shown[1]
    assert "What would bring it in" not in shown
    out = run("explain", TASK, "pkg/auth.py", "--exclude", "pkg/auth.py", "--json").json()["plan"]
    assert (out["state"], out["reason"]) == ("out", "excluded by you")
    assert out["remedies"] == ["take its exclusion back"]
    little = run("explain", TASK, "pkg/auth.py", "--budget", "20", "--json").json()["plan"]
    assert little["state"] != "shown"
    enough = str(little["sufficient_budget"])
    assert (
        run("explain", TASK, "pkg/auth.py", "--budget", enough, "--json").json()["plan"]["state"] == "shown"
    )
    project.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0")
    image = run("explain", TASK, "logo.png", "--json").json()["plan"]
    assert (image["state"], image["reason"]) == ("unranked", "not indexed: binary")
    project.write(".gitignore", "secret.txt\n")
    project.write("secret.txt", "x\n")
    assert "ignored by git or by index.exclude" in run("explain", TASK, "secret.txt").out
    twice = run("explain", "rotate rotate rotate tokens tokens", "pkg/auth.py", "--json").json()
    assert all(one["similarity"] <= 1 for one in twice["similar"])
    known, unheard = (
        run("explain", task, "pkg/auth.py", "--json").json()["similar"][0]["similarity"]
        for task in ("rotate tokens", "rotate tokens of zebras")
    )
    assert unheard < known


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("explain",), "which file"),
        (("explain", TASK, "pkg/auth.py", "pkg/store.py"), "one task and one file"),
        (("explain", TASK, "pkg"), "is a directory"),
        (("explain", TASK, "../elsewhere.py"), "outside of the project"),
        (("explain", TASK, "pkg/auht.py"), "Did you mean pkg/auth.py?"),
    ],
)
def test_what_is_no_file_of_the_project_is_refused(
    words: tuple[str, ...], reason: str, project: Any, run: Run
) -> None:
    """With what is wrong, or the name that may have been meant."""
    ran = run(*words)
    assert (ran.code, reason in ran.err) == (exits.USAGE, True)


def test_events_of_every_type_are_counted(indexed: Any, run: Run) -> None:
    """Hits, deltas and decisions about a file count beside reads and edits."""
    run("episode", "start", "fix the login", "--session", "s")
    for kind in ("grepai_hit", "grepai_hit", "delta", "decision", "read"):
        run("episode", "event", "s", "--type", kind, "--file", "pkg/auth.py")
    found = run("explain", "pkg/auth.py", "--json").json()
    assert found["events"] == {"decision": 1, "delta": 1, "edit": 2, "grepai_hit": 2, "read": 1}
    assert "read by 1, decision 1×, delta 1×, grepai_hit 2×" in run("explain", "pkg/auth.py").out
