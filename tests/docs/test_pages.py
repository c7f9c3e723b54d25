"""What README and docs/*.md tell readers to type works, and prints what they show."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.deep import DEEP, only_deep
from tests.docs.pages import ROOT, Block, all_pages, read_blocks, read_commands
from tests.docs.running import Reader, as_shown, clean_state, lines_of, run_workbench
from tests.postgres_server import DatabaseServer

PAGES = {page.name: read_blocks(page) for page in all_pages()}
TEAM = "team.md"
RUN = [name for name, blocks in PAGES.items() if name != TEAM and any(not b.comments.exempt for b in blocks)]


@pytest.mark.parametrize("name", RUN)
def test_what_a_page_says_to_type_works(name: str, tmp_path: Path) -> None:
    """From nothing, each command and each block of Python works, and prints what the page shows."""
    with clean_state(tmp_path, {}):
        reader = Reader(tmp_path)
        blocks = PAGES[name]
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if not block.comments.exempt and not (block.comments.is_deep and not DEEP):
                check(reader, block, after)


def check(reader: Reader, block: Block, after: Block | None) -> None:
    match block.kind:
        case "sh":
            for (command, code, printed), expected in reader.type_script(block):
                assert expected in (code, None), f"{block}: `{command.line}` ended with {code}:\n{printed}"
        case "console":
            for command, _, printed in reader.type(block):
                assert as_shown(command.printed, printed), f"{block}: `{command.line}` prints\n{printed}"
        case "python":
            printed = reader.exec(block)
            if after and after.kind == "text":
                assert as_shown(lines_of(after), printed), f"{block} prints\n{printed}"
        case "json" if block.comments.file:
            reader.enter(block)
        case "sql":
            reader.enter(block)
            code, printed = run_workbench(["sql", block.text])
            assert code == 0, f"{block}:\n{printed}"


@only_deep
def test_the_walk_of_a_team_works(tmp_path: Path, postgres: DatabaseServer) -> None:
    """The commands of docs/team.md, in their order, with a server in place of the container."""
    with clean_state(tmp_path, {"OWNER": postgres.make_database()}):
        reader = Reader(tmp_path)
        for block in PAGES[TEAM]:
            if not block.comments.exempt:
                check(reader, block, None)


def test_each_block_is_checked_or_says_why_not() -> None:
    """A block of text is what the Python above it prints, or says what it is."""
    for blocks in PAGES.values():
        for before, block in zip([None, *blocks], blocks, strict=False):
            answers = before is not None and before.kind == "python" and not before.comments.exempt
            assert block.kind != "text" or block.comments.exempt or answers, f"{block}: what prints this?"


def test_data_on_pages_is_well_formed() -> None:
    """JSON and TOML parse, Python that does not run compiles, and the tests that compare a block exist."""
    for block in (block for blocks in PAGES.values() for block in blocks):
        if block.kind == "json":
            json.loads(block.text)
        elif block.kind == "toml":
            tomllib.loads(block.text)
        elif block.kind == "python" and block.comments.exempt:
            compile(
                f"async def block():\n{re.sub('^', '    ', block.text, flags=re.MULTILINE)}",
                str(block),
                "exec",
            )
        if "/" in block.comments.exempt:
            assert (ROOT / block.comments.exempt).is_file(), str(block)


def test_what_no_test_runs_names_what_there_is() -> None:
    """Commands, options, modules and make's targets of blocks that do not run exist."""
    from workbench.entry.cli.reference import every_command

    options = {
        path: {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
        for path, command in every_command()
    }
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for block in (block for blocks in PAGES.values() for block in blocks):
        if block.kind not in ("sh", "console", "measurement"):
            continue
        for command in read_commands(block):
            for called in re.findall(r"(?:^|[|&;(] +)workbench ([^|&;)#'\"]*)", command.line):
                assert_known(called, options, block)
            for module in re.findall(r"python -m (bench[\w.]*)", command.line):
                assert importlib.util.find_spec(module), f"{block}: {module}"
            for target in re.findall(r"^make ([a-z-]+)", command.line):
                assert target in targets, f"{block}: make {target}"


def assert_known(called: str, options: dict[str, set[str]], block: Block) -> None:
    """Hold that a command and its options exist; those of the program itself come before any command."""
    path, words = "workbench", called.split()
    while words and f"{path} {words[0]}" in options:
        path = f"{path} {words.pop(0)}"
    assert path != "workbench" or words[:1] == [] or words[0].startswith("-"), f"{block}: workbench {called}"
    known = (
        options[path] | options["workbench"] | (options["workbench replay"] if "--replay" in words else set())
    )
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in known, f"{block}: {path} has no {word}"


def test_the_page_of_the_api_names_what_is_public() -> None:
    """Every method of the public classes is named in docs/api.md."""
    from workbench.api.learnings import ProjectLearnings
    from workbench.api.project import Project
    from workbench.api.rules import ProjectRules
    from workbench.api.sessions import ProjectSessions
    from workbench.api.stash import ProjectStash

    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for face in (Project, ProjectRules, ProjectLearnings, ProjectSessions, ProjectStash):
        public = [name for name in vars(face) if not name.startswith("_")]
        assert [name for name in public if not re.search(rf"\b{name}\b", text)] == [], face.__name__
