"""What settings of agents start is this program, or what it was made of: nobody else's of the same name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.entry.install.test_changes import places, the_file
from workbench.entry.install.agents import PROJECT
from workbench.entry.install.program import installed_from, own_program, require_source
from workbench.errors import UsageError

PASSING = [
    ("/home/me/.cache/uv/archive-v0/M962S1JM/lib", ("uvx", "--from")),
    ("C:\\Users\\me\\uv\\cache\\archive-v0\\x", ("uvx", "--from")),
    ("/home/me/.local/pipx/.cache/4c1f", ("pipx", "run", "--spec")),
]
"""Environments that are cleaned up some day, and what makes them again."""


@pytest.mark.parametrize(("prefix", "words"), PASSING)
def test_no_environment_that_is_cleaned_up_is_named(
    tmp_path: Path, prefix: str, words: tuple[str, ...]
) -> None:
    """What uvx or pipx made for one run is made again of the same source, by the uv that ran it."""
    wanted = (*words, "/my wheels/w.whl", "context-workbench")
    argument = f"{prefix}/bin/context-workbench"
    assert own_program({"PATH": ""}, argument, prefix, "/my wheels/w.whl") == wanted
    for name in ("uv", words[0]):
        (tmp_path / name).touch()
    if words[0] == "uvx":
        found = own_program({"PATH": "", "UV": str(tmp_path / "uv")}, "x", prefix, "/my wheels/w.whl")
        assert found == (str(tmp_path / "uvx"), *wanted[1:])


@pytest.mark.parametrize(("prefix", "words"), PASSING)
def test_a_name_of_an_index_is_never_written(prefix: str, words: tuple[str, ...]) -> None:
    """Whoever registers a name runs code where it is written: without a source installing is refused."""
    found = own_program({"PATH": ""}, f"{prefix}/bin/context-workbench", prefix)
    assert words[0] not in found
    with pytest.raises(UsageError, match="package index") as refused:
        require_source(prefix)
    assert "uv tool install" in refused.value.hint
    require_source(prefix, "/w.whl")
    require_source("/usr")


@pytest.mark.parametrize(
    ("record", "source"),
    [
        ({"url": "file:///my%20wheels/w-0.1.0.whl", "archive_info": {}}, "/my wheels/w-0.1.0.whl"),
        ({"url": "file:///src/tool", "dir_info": {"editable": True}}, "/src/tool"),
        (
            {"url": "https://files.example/w-0.1.0.whl", "archive_info": {}},
            "https://files.example/w-0.1.0.whl",
        ),
        (
            {"url": "https://git.example/tool.git", "vcs_info": {"vcs": "git", "commit_id": "4c1f"}},
            "git+https://git.example/tool.git@4c1f",
        ),
        (
            {"url": "https://a.example/s.zip", "archive_info": {}, "subdirectory": "py"},
            "https://a.example/s.zip#subdirectory=py",
        ),
        (None, ""),
        ([], ""),
    ],
)
def test_installers_record_what_they_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: object, source: str
) -> None:
    """A path or URL that uvx and pipx take; nothing for an index or a record that is malformed."""
    monkeypatch.syspath_prepend(tmp_path)
    about = tmp_path / "made_tool-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: made-tool\nVersion: 0.1.0\n", "utf-8")
    if record is not None:
        (about / "direct_url.json").write_text(json.dumps(record), encoding="utf-8")
    assert installed_from("made-tool") == source
    assert installed_from("no-such-tool") == ""


def test_the_program_is_named_so_that_any_agent_finds_it(tmp_path: Path) -> None:
    """The program that runs, else the one on PATH, else this Python; a project's command is for everybody."""
    program = tmp_path / "bin" / "workbench"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert own_program({}, str(program)) == (str(program),)
    assert own_program({"PATH": str(program.parent)}, "pytest") == (str(program),)
    assert own_program({"PATH": ""}, "pytest")[1:] == ("-P", "-m", "workbench")
    published = program.rename(program.with_name("context-workbench"))
    assert own_program({"PATH": ""}, str(published))[1:] == ("-P", "-m", "workbench")
    program.symlink_to(published)
    assert own_program({}, str(published)) == (str(program),)
    where = places(tmp_path)
    shared = the_file(where, "claude", "hooks", None, PROJECT).entries[0].value["hooks"][0]["command"]
    assert shared == "workbench hook SessionStart --agent claude 2>/dev/null || true"
    own = the_file(where, "claude", "hooks", None).entries[0].value["hooks"][0]["command"]
    assert own == "'/opt/my tools/workbench' hook SessionStart --agent claude"
    assert os.sep in own
