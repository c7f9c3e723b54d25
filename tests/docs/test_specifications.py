"""docs/specifications.md: what it says that a command prints is printed, in one sample project."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.deep import sample, searches
from tests.docs.pages import ROOT
from tests.docs.running import Reader, clean_state
from workbench.entry.cli.reference import every_command

PAGE = (ROOT / "docs" / "specifications.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (works|partly|refused) \| (.+) \|$", re.MULTILINE)
SHOWN = re.compile(r"((?:`workbench [^`]*`, )*`workbench [^`]*`) → `([^`]*)`")
LINES = 253


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of a specification, the commands that show it, and what the last of them prints."""

    number: int
    commands: tuple[str, ...]
    text: str


def shown() -> list[Shown]:
    """Return the lines of the page that a command shows."""
    return [
        Shown(int(number), tuple(re.findall(r"`([^`]*)`", commands)), text)
        for number, _, _, face in ROW.findall(PAGE)
        for commands, text in SHOWN.findall(face)
    ]


def test_each_line_has_a_status_and_a_face() -> None:
    """All lines are there, in order; what is refused names the decision, what is partly says no text."""
    rows = ROW.findall(PAGE)
    assert [int(number) for number, *_ in rows] == list(range(1, LINES + 1))
    assert [number for number, _, status, face in rows if status == "refused" and "adr/" not in face] == []
    assert len(shown()) >= 50


@searches
def test_commands_print_what_the_page_says(tmp_path: Path) -> None:
    """Each command of the table runs in the sample project, and the text beside it is in what it prints."""
    wrong = []
    with clean_state(tmp_path, {}):
        reader = Reader(tmp_path)
        reader.go("roastery")
        for before in re.findall(r"^<!-- before (.*) -->$", PAGE, re.MULTILINE):
            assert reader.run(before)[0] == 0, before
        for line in sample(shown(), 40):
            printed = ""
            for command in line.commands:
                _, printed = reader.run(reader.fill(command))
            if line.text not in printed:
                wrong.append(
                    f"{line.number}: `{line.commands[-1]}` prints no `{line.text}`:\n{printed[:600]}"
                )
    assert wrong == [], "\n\n".join(wrong)


def test_files_and_pages_that_show_a_line_are_there() -> None:
    """Tests, sources, pages and commands that the table names exist."""
    known = {path for path, _ in every_command()}
    faces = " ".join(face for *_, face in ROW.findall(PAGE))
    named = re.findall(r"`((?:tests|store|docs)/[\w./]+)`", faces)
    linked = [f"docs/{page}" for page in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", faces)]
    commands = re.findall(r"`(workbench [a-z]+(?: [a-z]+)?)[^`]*`", faces)
    assert {one for one in commands if one not in known and one.rpartition(" ")[0] not in known} == set()
    assert [path for path in named + linked if not (ROOT / path).exists()] == []
