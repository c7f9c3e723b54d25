"""Links that a project brings lead nowhere: no command reads or writes what is outside of it."""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from screens.app import WorkbenchApp
from screens.commands import SECTIONS
from tests.deep import sample, searches
from tests.foreign.repositories import KEY, LINKS, SECRET, Hostile, make_linked
from tests.screens.conftest import settle
from tests.screens.golden import screen_text
from workbench.entry.cli import exits, main
from workbench.rules.files.placement import TARGETS

ELSEWHERE = {"app", "serve-web", "watch", "hook", "mcp", "serve", "grpc"}
"""The app is below, a browser shows it; watching ends by a signal, a hook its process; servers wait."""

COMMANDS = tuple(
    shlex.split(line)
    for line in """
    plan refresh_token --budget 500
    rank refresh_token
    show refresh_token pkg/auth.py:1-20 refresh_token:callers
    index
    rules list
    rules match refresh_token
    rules search refresh_token
    rules add Mind-the-gap --file CLAUDE.md
    rules add Mind-the-step --file AGENTS.md
    rules drift
    rules drift --merge
    rules import --discover
    rules import AGENTS.md .github
    rules conflicts list
    rules effective src/app.py --agent claude
    rules effective src/app.py --agent copilot
    rules lint --fail-on never
    rules check --tool Bash --input '{"command":"ls"}'
    rules history
    rules undo
    rules redo
    explore
    delta
    refresh
    import git --all
    import sessions
    export sessions
    episode start fix-it --session s1
    episode event s1 --type edit --file src/app.py
    episode list
    episode running
    feedback s1 --outcome success
    memory status
    memory search token
    memory list
    stash add Mind-the-text --topic trains
    stash add --file AGENTS.md
    stash add --file secret.md
    stash import .
    stash list
    stash search text
    stash protect seg- --off
    stash gc --max-segments 1
    stash undo
    stash conflicts
    stash history
    store status
    store copy . there
    install --agent claude --in-project --yes
    uninstall --agent claude --in-project --yes
    scan AGENTS.md
    dedup rules
    status
    stats
    runs list
    config show
    config set plan.budget 600 --in-project
    model list
    model status
    model import secret.md
    model rollback
    vectors status
    vectors list
    model train --min-samples 50
    model register tiny
    explain README.md
    sql "select count(*) from rules"
    replay --tasks 2 --no-packs --workers 1
    gain
    purge --secret "Mind the text" --dry-run
    purge --before 7d --yes
    doctor
    rebuild
    """.strip().splitlines()
) + tuple(["rules", "export", "--to", target] for target in sorted(TARGETS))


def test_every_command_is_tried() -> None:
    """A new command joins the list."""
    assert {words[0] for words in COMMANDS} | ELSEWHERE == set(main.COMMANDS)


@searches
def test_no_command_leaves_the_project(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is outside stays as it is to the byte and is never shown, whatever is run, in whatever order."""
    monkeypatch.chdir(hostile.root)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    before = hostile.kept()
    turn = int((hostile.root / "CLAUDE.local.md").is_symlink())
    for words in sample(COMMANDS, len(COMMANDS) // 2, first=turn):
        main.run(list(words))
        shown = capsys.readouterr()
        assert hostile.kept() == before, words
        assert SECRET not in shown.out + shown.err, words
        assert "defect of the workbench" not in shown.err, (words, shown.err)
    main.run(["rules", "list", "--json"])
    assert [rule["provenance"]["file"] for rule in json.loads(capsys.readouterr().out)["rules"]]


@pytest.mark.parametrize("hostile", [make_linked], indirect=True)
async def test_no_screen_leaves_the_project(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app, in a terminal or in a browser, shows and changes nothing of what is outside."""
    monkeypatch.chdir(hostile.root)
    before = hostile.kept()
    app = WorkbenchApp(hostile.root, watch=False)
    async with app.run_test(size=(200, 60)) as pilot:
        for section in SECTIONS:
            app.show_section(section.id)
            await settle(pilot)
            assert SECRET not in screen_text(app), section.id
        assert hostile.kept() == before


@pytest.mark.parametrize(
    ("target", "link"), [("agents", "AGENTS.md"), ("copilot", ".github"), ("cursor", ".cursor/rules")]
)
def test_an_export_names_the_link_it_refuses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    target: str,
    link: str,
) -> None:
    """Rules go to no file that a link leads out to, and the exit code says so."""
    hostile = make_linked(tmp_path)
    monkeypatch.chdir(hostile.root)
    before = hostile.kept()
    assert main.run(["rules", "export", "--to", target]) == exits.ERROR
    assert f"the link {link} leads out of the project" in capsys.readouterr().err
    assert hostile.kept() == before
    assert KEY in (hostile.root / "CLAUDE.md").read_text()


def test_links_that_stay_in_the_project_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CLAUDE.md as a link to AGENTS.md is one file with two names, and stays a link when it is edited."""
    hostile = make_linked(tmp_path)
    for name in LINKS:
        (hostile.root / name).unlink()
    (hostile.root / "CLAUDE.md").rename(hostile.root / "docs" / "rules.md")
    (hostile.root / "CLAUDE.md").symlink_to("docs/rules.md")
    monkeypatch.chdir(hostile.root)
    assert main.run(["rules", "add", "Never force-push.", "--file", "CLAUDE.md"]) == exits.OK
    assert main.run(["rules", "drift", "--merge"]) == exits.OK
    assert os.readlink(hostile.root / "CLAUDE.md") == "docs/rules.md"
    assert "- Never force-push." in (hostile.root / "docs" / "rules.md").read_text().splitlines()
    capsys.readouterr()
    assert main.run(["rules", "list", "--json"]) == exits.OK
    files = {rule["provenance"]["file"] for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert files == {"CLAUDE.md"}
