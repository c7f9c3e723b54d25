"""`workbench purge`: what is to go is gone from every byte, and the rest works as before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from store.location import MARK
from store.purge import remains
from workbench.entry.cli import exits
from workbench.entry.services.purge import MASK
from workbench.places import fallback_root

SECRET = 'hunter-"zwei"-äöü'


def filled(project: Any, run: Any) -> None:
    """Record a session, its stash and a task that hold a text, index, list and replay."""
    started = run("episode", "start", f"rotate {SECRET} soon", "--json").json()["session_id"]
    event = ("episode", "event", started, "--type", "edit", "--file", "pkg/auth.py")
    assert run(*event).code == exits.OK
    assert run("episode", "end", started, "--outcome", "success").code == exits.OK
    run("stash", "add", f"The old one was {SECRET}.", "--session", started)
    run("stash", "add", "Tokens live for a day.", "--session", "other")
    run("rules", "add", f"Never use {SECRET} again.")
    run("plan", f"rotate {SECRET}")
    run("stash", "search", SECRET)
    run("stats")


def kept(project: Any, home: Path, text: str) -> list[Path]:
    """Return the files of both states that hold a text."""
    return remains([project.root / ".workbench", home], [text.encode()])


def test_a_text_is_taken_out_of_everything(project: Any, home: Path, run: Any) -> None:
    """Also where JSON writes it otherwise; nothing happens without a yes; the user's own file is named."""
    filled(project, run)
    project.write("AGENTS.md", f"- Rotate {SECRET}.\n")
    run("index")
    before = set((project.root / ".workbench" / "journal").rglob("*.jsonl"))
    assert kept(project, home, "hunter-")

    refused = run("purge", "--secret", SECRET)
    assert (refused.code, "nobody can be asked" in refused.err) == (exits.USAGE, True)
    assert "lines of the journal" in run("purge", "--secret", SECRET, "--dry-run").out
    assert kept(project, home, "hunter-")
    done = run("purge", "--secret", SECRET, "--yes")

    assert (done.code, done.out.splitlines()[-1]) == (exits.OK, "gone")
    assert f"{project.root}/AGENTS.md holds it" in done.err
    assert kept(project, home, "hunter-") == []
    assert set((project.root / ".workbench" / "journal").rglob("*.jsonl")) == before
    assert run("doctor").code == exits.OK
    (project.root / "AGENTS.md").unlink()
    texts = [one["rule"] for one in run("rules", "list", "--json").json()["rules"]]
    assert f"Never use {MASK} again." in texts
    assert "is kept of it" in run("purge", "--secret", SECRET, "--yes").out


def test_state_that_was_kept_elsewhere_meanwhile_is_purged_too(project: Any, home: Path, run: Any) -> None:
    """Or it would be brought back: what a read-only project's sessions wrote lies in the user's home."""
    filled(project, run)
    elsewhere = fallback_root(project.root, home)
    shutil.copytree(project.root / ".workbench" / "journal", elsewhere / "journal")
    (elsewhere / MARK).write_text("{}")
    assert kept(project, home, "hunter-")

    assert run("purge", "--secret", SECRET, "--yes").code == exits.OK

    assert kept(project, home, "hunter-") == []
    assert run("status").code == exits.OK
    assert kept(project, home, "hunter-") == []


def test_a_session_goes_with_what_was_stashed_of_it(project: Any, home: Path, run: Any) -> None:
    """By the beginning of its id; other sessions and the rules stay."""
    filled(project, run)
    session = run("episode", "list", "--json").json()["sessions"][0]["session_id"]
    assert run("purge", "--session", "nobody", "--yes").code == exits.USAGE

    done = run("purge", "--session", session[:-2], "--yes", "--json").json()

    assert (done["done"], done["remaining"]) == (True, [])
    assert done["journals"]["sessions"] == 4  # started, what lay on disk, an event, ended
    assert kept(project, home, session) == []
    assert run("episode", "list", "--json").json()["sessions"] == []
    segments = run("stash", "list", "--json").json()["segments"]
    assert [segment["text"] for segment in segments] == ["Tokens live for a day."]
    assert "Never use" in run("rules", "list").out
    assert run("doctor").code == exits.OK


def test_a_short_id_is_not_found_in_everything(project: Any, home: Path, run: Any) -> None:
    """Two letters are in vectors and hashes by chance: the session's id is looked for as files name it."""
    filled(project, run)
    run("episode", "start", "rotate tokens", "--session", "s2")
    (project.root / ".workbench" / "chance").write_bytes(b"\0s2\0")

    done = run("purge", "--session", "s2", "--yes", "--json").json()

    assert (done["done"], done["remaining"]) == (True, [])


def test_what_is_older_goes_and_what_was_curated_stays(project: Any, run: Any) -> None:
    """A moment in the past takes nothing, one in the future every session."""
    filled(project, run)
    assert "nothing is kept" in run("purge", "--before", "7d", "--yes").out
    assert "nothing is kept" in run("purge", "--due", "--yes").out

    assert run("purge", "--before", "2999-01-01", "--yes").code == exits.OK

    assert run("episode", "list", "--json").json()["sessions"] == []
    assert "Never use" in run("rules", "list").out
    assert run("plan", "rotate tokens").code == exits.OK


def test_a_project_is_forgotten(project: Any, home: Path, run: Any) -> None:
    """Nothing of its state is left but shared settings; the next plan begins again."""
    filled(project, run)
    run("config", "set", "plan.budget", "900", "--in-project")

    assert run("purge", "--project", "--yes").code == exits.OK

    left = {path.name for path in (project.root / ".workbench").iterdir()}
    assert left <= {"config.toml", ".gitignore", "locks", "journal"}  # the command measured itself
    assert kept(project, home, "hunter-") == []
    assert run("plan", "rotate tokens").code == exits.OK


def test_one_thing_is_purged_at_a_time(project: Any, run: Any) -> None:
    """Nothing, two things and a text that is everywhere are refused with the next step."""
    for given in (
        [],
        ["--project", "--before", "1d"],
        ["--due", "--project"],
        ["--secret", "ab"],
        ["--before", "soon"],
    ):
        assert run("purge", *given, "--yes").code == exits.USAGE, given


def test_a_file_that_still_holds_it_is_named(project: Any, home: Path, run: Any) -> None:
    """Every byte is searched, also of files that nobody here wrote: the exit code is 1."""
    filled(project, run)
    stray = project.root / ".workbench" / "notes.txt"
    stray.write_text(f"remember {SECRET}")

    done = run("purge", "--secret", SECRET, "--yes")

    assert done.code == exits.ERROR
    assert str(stray) in done.out + done.err
    assert kept(project, home, "hunter-") == [stray]
