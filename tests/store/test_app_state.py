"""Where the app was left: two apps write over each other's sections only where they changed them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from screens.sitting import AppPlace, merge_changes, read_place
from store.app_state import place_file, read_place_file, seems_indexed, update_place_file
from workbench.config import Config
from workbench.entry.project import open_workspace


def test_what_many_apps_change_at_once_is_all_there(tmp_path: Path) -> None:
    """Each changes a section of its own; none of them is lost, and the file is whole at any time."""
    file = place_file(tmp_path)
    names = [f"section-{number}" for number in range(8)]

    def change(name: str) -> None:
        now = AppPlace(section=name, sections={name: {"filter": name}})
        update_place_file(file, partial(merge_changes, AppPlace(), now))
        assert read_place(read_place_file(file)).of(name) == {"filter": name}

    with ThreadPoolExecutor(4) as apps:
        list(apps.map(change, names))
    assert sorted(read_place(read_place_file(file)).sections) == names


def test_what_was_not_changed_here_is_left_as_it_is_there() -> None:
    """A section, the theme and the screen that are as they were found give way to what another app wrote."""
    found = AppPlace("plan", "nord", {"plan": {"task": "old"}, "rules": {"filter": ""}})
    theirs = merge_changes(found, AppPlace("log", "nord", {**found.sections, "plan": {"task": "new"}}), None)
    mine = AppPlace("plan", "nord", {**found.sections, "rules": {"filter": "x"}})
    both = read_place(merge_changes(found, mine, theirs))
    assert both == AppPlace("log", "", {"plan": {"task": "new"}, "rules": {"filter": "x"}})


def test_an_index_is_seen_without_opening_the_project(tmp_path: Path) -> None:
    """A project seems indexed once it is."""
    (tmp_path / "a.py").write_text("a = 1\n")
    assert not seems_indexed(tmp_path)
    open_workspace(tmp_path, Config()).workspace.sync(settle=True)
    assert seems_indexed(tmp_path)
