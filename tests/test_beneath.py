"""Nothing below a directory leads out of it, also not a link that is made between a look and the opening."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from store.files import private_dir, read_state, replace_file, write_atomic
from workbench import beneath
from workbench.beneath import LeadsOut, open_beneath, resolve_beneath
from workbench.errors import StoreError


def read(root: Path, path: str, *, links: bool = True) -> str:
    with open(open_beneath(str(root), path, links=links), "rb") as file:
        return file.read().decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with prose in it, and a file and a directory of the user's outside."""
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "agents.md").write_text("inside")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "agents.md").write_text("secret")
    return root


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link.md", "docs/agents.md"),
        ("link.md", "./docs/../docs//agents.md"),
        ("deep/er/link.md", "../../docs/agents.md"),
        ("link.md", "{root}/docs/agents.md"),
    ],
)
def test_links_in_a_project_are_followed(root: Path, name: str, target: str) -> None:
    """Relative and absolute ones, as long as they stay below the directory and the caller allows links."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(target.format(root=root))
    assert read(root, name) == "inside"
    with resolve_beneath(str(root), name) as place:
        assert (place.path, place.linked) == ("docs/agents.md", True)
    with pytest.raises(LeadsOut):
        read(root, name, links=False)


@pytest.mark.parametrize(
    ("links", "path", "named"),
    [
        ({"a.md": "../outside/agents.md"}, "a.md", "a.md"),
        ({"a.md": "{base}/outside/agents.md"}, "a.md", "a.md"),
        ({"a": "../outside"}, "a/agents.md", "a"),
        ({"a": "b", "b": "../outside"}, "a/agents.md", "a"),
        ({"docs/up": "../.."}, "docs/up/outside/agents.md", "docs/up"),
        ({"a.md": ".git/config"}, "a.md", "a.md"),
        ({"a": ".GIT"}, "a/config", "a"),
        ({"a.md": "{base}/root-b/agents.md"}, "a.md", "a.md"),
        ({}, "../outside/agents.md", "../outside/agents.md"),
    ],
)
def test_what_leads_out_is_refused_by_the_name_of_the_link(
    root: Path, links: dict[str, str], path: str, named: str
) -> None:
    """Whichever part of a path is the link, and however many others are in between."""
    for name, target in links.items():
        (root / name).symlink_to(target.format(base=root.parent))
    with pytest.raises(LeadsOut) as refusal:
        read(root, path)
    assert refusal.value.link == named
    assert named in str(refusal.value)


@pytest.mark.parametrize("part", ["docs", "agents.md"])
def test_a_link_made_after_the_look_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The directory or the file is swapped for a link as soon as it was seen to be none."""
    look: Callable[[str, int], str | None] = beneath._link

    def swap(name: str, handle: int) -> str | None:
        found = look(name, handle)
        place = root / "docs" if name == "docs" else root / "docs" / name
        if name == part and not place.is_symlink():
            place.rename(root / "moved")
            place.symlink_to(root.parent / "outside" / ("" if name == "docs" else name))
        return found

    monkeypatch.setattr(beneath, "_link", swap)
    with pytest.raises(LeadsOut, match="is not followed"):
        read(root, "docs/agents.md")


def test_loops_and_missing_files_are_what_they_are(root: Path) -> None:
    """A circle of links and a dangling one are errors of the system, not of trust."""
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "c").symlink_to("nothing")
    with pytest.raises(OSError, match="Too many levels") as error:
        read(root, "a")
    assert not isinstance(error.value, LeadsOut)
    with pytest.raises(FileNotFoundError):
        read(root, "c")


def test_a_write_goes_through_a_link_that_stays_inside(root: Path) -> None:
    """The link stays one and its target keeps its permissions; what leads out is refused and unchanged."""
    (root / "AGENTS.md").symlink_to("docs/agents.md")
    (root / "docs" / "agents.md").chmod(0o640)
    replace_file(root / "AGENTS.md", b"new", expected=b"inside", inside=root)
    assert (root / "AGENTS.md").is_symlink()
    assert (root / "docs" / "agents.md").read_text() == "new"
    assert (root / "docs" / "agents.md").stat().st_mode & 0o777 == 0o640
    replace_file(root / "fresh" / "rules.md", b"new", expected=None, inside=root)
    assert (root / "fresh" / "rules.md").read_text() == "new"
    (root / ".github").symlink_to("../outside")
    for name in (".github/agents.md", ".github/new/rules.md"):
        with pytest.raises(StoreError, match=r"the link \.github leads out of the project"):
            replace_file(root / name, b"new", expected=b"secret", inside=root)
    assert os.listdir(root.parent / "outside") == ["agents.md"]
    assert (root.parent / "outside" / "agents.md").read_text() == "secret"


def test_state_is_reached_without_any_link(root: Path) -> None:
    """Also one that stays in the project: nobody but the program puts anything there."""
    state = root / ".workbench"
    write_atomic(state / "runs" / "one", b"1")
    assert read_state(state / "runs" / "one") == b"1"
    (state / "journal").symlink_to("../docs")
    (state / "runs" / "two").symlink_to("../../docs/agents.md")
    with pytest.raises(StoreError, match=r"the link \.workbench/journal is not followed"):
        private_dir(state / "journal")
    with pytest.raises(StoreError, match=r"the link \.workbench/journal is not followed"):
        write_atomic(state / "journal" / "rules.jsonl", b"")
    with pytest.raises(LeadsOut):
        read_state(state / "runs" / "two")
    write_atomic(state / "runs" / "two", b"2")  # takes the link's place
    assert (root / "docs" / "agents.md").read_text() == "inside"
