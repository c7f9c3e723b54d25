"""The examples of `docs/api.md` run, in order, in the sample project, and print what stands below them."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

from sample_data.build import build

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block prints what the block under it shows; `...` is for what differs."""
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(examples) > 4
    for code, expected in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), names)
        same = doctest.OutputChecker().check_output(expected, printed.getvalue(), doctest.ELLIPSIS)
        assert same, f"{code}\nprinted\n{printed.getvalue()}\nand not\n{expected}"


def test_the_page_names_what_is_public() -> None:
    """Every method of the public classes is named on the page."""
    from workbench.api.learnings import ProjectLearnings
    from workbench.api.project import Project
    from workbench.api.rules import ProjectRules
    from workbench.api.sessions import ProjectSessions
    from workbench.api.stash import ProjectStash

    text = PAGE.read_text(encoding="utf-8")
    for face in (Project, ProjectRules, ProjectLearnings, ProjectSessions, ProjectStash):
        public = [name for name in vars(face) if not name.startswith("_")]
        assert [name for name in public if not re.search(rf"\b{name}\b", text)] == [], face.__name__
