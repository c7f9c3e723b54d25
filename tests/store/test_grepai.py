"""grepai by a program that answers as the real one does, and in every other way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from store.grepai import find_grepai, search_grepai
from workbench.errors import ModelError

HITS = [
    {"file_path": "src/a.py", "start_line": 1, "end_line": 9, "score": 0.5},
    {"file_path": "src/a.py", "start_line": 20, "end_line": 29, "score": 0.71, "symbol_name": "f"},
    {"file_path": "./src\\b.py", "start_line": 1, "end_line": 9, "score": 0.4},
    {"file_path": "src/c.py", "start_line": 1, "end_line": 9, "score": -0.1},
]


def make_grepai(directory: Path, script: str) -> str:
    directory.mkdir(exist_ok=True)
    program = directory / "grepai"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def printing(tmp_path: Path, answer: Any) -> str:
    """Write a program that prints an answer, indented as Go does."""
    text = answer if isinstance(answer, str) else json.dumps(answer, indent=2)
    (tmp_path / "answer").write_text(text)
    return make_grepai(tmp_path / "bin", f'cat "{tmp_path}/answer"')


def test_files_have_their_best_score(tmp_path: Path) -> None:
    """The program is asked as it wants to be, in the project; a task is one argument, whatever it holds."""
    program = printing(tmp_path, HITS)
    root = tmp_path / "project"
    root.mkdir()
    assert search_grepai(program, root, "a task", timeout=60) == {"src/a.py": 0.71, "src/b.py": 0.4}
    noted = make_grepai(
        tmp_path / "bin", f'pwd >"{tmp_path}/asked"; printf "%s\\n" "$@" >>"{tmp_path}/asked"; echo "[]"'
    )
    assert search_grepai(noted, root, "--workspace=x\n\0$(touch y)", timeout=60) == {}
    asked = (tmp_path / "asked").read_text("utf-8").split("\n")
    assert asked[:-1] == [
        str(root),
        *"search --json --compact --limit 50 --".split(),
        "--workspace=x ␀$(touch y)",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": "failed to connect to Ollama\x1b[2J"}, r"grepai: failed to connect to Ollama␛\[2J"),
        ("No results found.", "not JSON"),
        ("", "not JSON"),
        ('[{"file_path": "a"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ({"hits": []}, "not a list of hits"),
        ([{"file_path": 3, "score": 1}], "no file_path or no score"),
        ([{"file_path": "a", "score": "1"}], "no file_path or no score"),
        (["a"], "no file_path or no score"),
        ("x" * 1_000_001, "more than 1,000,000 bytes"),
    ],
)
def test_an_answer_that_is_none_is_refused(tmp_path: Path, answer: Any, reason: str) -> None:
    """An error comes with exit 0; prose, a part, another shape and too much are errors as well."""
    with pytest.raises(ModelError, match=reason):
        search_grepai(printing(tmp_path, answer), tmp_path, "a task", timeout=60)


def test_numbers_that_are_none_do_not_count(tmp_path: Path) -> None:
    """Python reads NaN and Infinity; a score is a positive number."""
    text = '[{"file_path": "a", "score": NaN}, {"file_path": "b", "score": Infinity}]'
    assert search_grepai(printing(tmp_path, text), tmp_path, "a task", timeout=60) == {}


def test_a_program_that_fails_gives_a_reason(tmp_path: Path) -> None:
    """Status 1 with cobra's message, endless output, waiting with a child, no program at all."""
    usage = make_grepai(
        tmp_path / "bin", 'printf "Error: no grepai project found\\nUsage:\\n  x\\n" >&2; exit 1'
    )
    with pytest.raises(ModelError, match=r"^grepai: no grepai project found$"):
        search_grepai(usage, tmp_path, "a task", timeout=60)
    with pytest.raises(ModelError, match="ended with status 3"):
        search_grepai(make_grepai(tmp_path / "bin", "exit 3"), tmp_path, "a task", timeout=60)
    with pytest.raises(ModelError, match="more than 1,000,000 bytes"):
        search_grepai(make_grepai(tmp_path / "bin", "exec yes"), tmp_path, "a task", timeout=60)
    with pytest.raises(ModelError, match=r"did not answer within 0.2 s"):
        search_grepai(make_grepai(tmp_path / "bin", "sleep 600 & sleep 600"), tmp_path, "a task", timeout=0.2)
    with pytest.raises(ModelError, match="cannot be started"):
        search_grepai(str(tmp_path / "gone"), tmp_path, "a task", timeout=60)


def test_no_program_of_the_project_is_run(tmp_path: Path) -> None:
    """It is found on PATH, outside of the project, which has an index of its own."""
    root = tmp_path / "project"
    root.mkdir()
    inside = Path(make_grepai(root, "exit")).parent
    outside = Path(make_grepai(tmp_path / "bin", "exit")).parent

    def refused(path: object) -> str:
        with pytest.raises(ModelError) as found:
            find_grepai(root, {"PATH": str(path)})
        return found.value.message

    assert refused(tmp_path / "empty") == "grepai is not installed"
    assert refused("") == "grepai is not installed"
    assert "is in the project, whose programs are not run" in refused(inside)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "grepai").symlink_to(inside / "grepai")
    assert "is in the project" in refused(tmp_path / "linked")
    assert refused(outside) == "grepai has no index of this project"
    (root / ".grepai").symlink_to(tmp_path)
    assert refused(outside) == "grepai has no index of this project"
    (root / ".grepai").unlink()
    (root / ".grepai").mkdir()
    assert find_grepai(root, {"PATH": str(outside)}) == str(outside / "grepai")
