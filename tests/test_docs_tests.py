"""What a page claims names its test: each paragraph, item and row; and what is named as a test is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("security", "privacy", "team", "team-server", "reliability")]
HELD = [DOCS / f"{name}.md" for name in ("security", "privacy", "team", "reliability")]
"""Pages of which each claim has a footnote or names its test; `<!-- no claim -->` is above what is none."""

_NAMED = re.compile(r"\btests/[\w/]*\w(?:\.py)?/?(?:::?\s*(test_\w+(?:, test_\w+)*))?")
_NOTE = re.compile(r"^\[\^([\w-]+)\]: (.+)$", re.MULTILINE)
_MARK = re.compile(r"\[\^([\w-]+)\](?!:)")
_COMMAND = re.compile(r"`[^`]*\b(?:make|pytest|python -m bench)\b")
_ASIDE = re.compile(r"^```.*?^```$|^\|[^\n]*\|\n\|[-: |]+\|$|^#[^\n]*$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"\n(?=- |\| )|\n{2,}")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_tests_that_a_page_names_are_there(page: Path) -> None:
    """Files, directories, and functions of files by their names."""
    for named in _NAMED.finditer(page.read_text(encoding="utf-8")):
        path = ROOT / re.split(r"::?\s", named[0])[0]
        assert path.exists(), named[0]
        for name in filter(None, (named[1] or "").split(", ")):
            assert f"def {name}(" in path.read_text(encoding="utf-8"), named[0]


@pytest.mark.parametrize("page", HELD, ids=lambda path: path.name)
def test_every_claim_names_its_test(page: Path) -> None:
    """Each paragraph, item and row, but not what leads to a list or to a block, which runs in a test."""
    text = page.read_text(encoding="utf-8")
    notes = dict(_NOTE.findall(text))
    prose = _ASIDE.sub("", _NOTE.sub("", text))
    blocks = [block for block in _BLOCK.split(prose) if re.sub("<!--.*?-->", "", block).strip()]
    assert [name for name, note in notes.items() if not _names_test(note)] == []
    assert {*_MARK.findall(prose)} == {*notes}
    assert [block for block in blocks if not (_is_exempt(block) or _names_test(block))] == []


def test_what_a_team_is_told_is_what_it_says() -> None:
    """The messages in the table of what is wrong are in the sources."""
    rows = re.findall(r"^\| (`.+?`) \|", (DOCS / "team.md").read_text(encoding="utf-8"), re.MULTILINE)
    sources = "".join(
        file.read_text(encoding="utf-8")
        for place in ("team", "postgres")
        for file in ROOT.glob(f"store/{place}/*.py")
    )
    messages = [part.strip(" …") for row in rows for part in re.findall("`(.+?)`", row)]
    assert len(messages) > 10
    assert [message for message in messages if message.removesuffix(":") not in sources] == []


def _is_exempt(block: str) -> bool:
    return "<!-- no claim -->" in block or block.rstrip().endswith(":")


def _names_test(text: str) -> bool:
    return any(form.search(text) for form in (_MARK, _NAMED, _COMMAND))
