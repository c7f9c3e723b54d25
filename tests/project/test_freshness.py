"""The check that an index still describes the disk: no change is missed, no unchanged file reported."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.git_repository import find_repository, head_state, lister, listing_inputs
from tests.deep import times
from workbench.errors import ParseError, ProjectError
from workbench.project.directories import walk_lister
from workbench.project.freshness import FreshnessLimits, FreshnessReport, check
from workbench.project.scan import Lister, ScanLimits, read_bytes, scan, stat_file
from workbench.project.snapshot import Snapshot, advance, content_hash, pack, take_snapshot, unpack
from workbench.records.project import FileStat, Freshness
from workbench.records.worktree import Listing

HOUR = 3_600_000_000_000


@dataclass
class Project:
    """A directory, its snapshot, and how its names are listed; every question to the lister is kept."""

    root: Path
    lists: Lister
    head: Callable[[], str | None] = lambda: None
    inputs: tuple[str, ...] = ()
    asked: list[Sequence[str] | None] = field(default_factory=list)

    def lister(self, only: Sequence[str] | None) -> Listing:
        self.asked.append(None if only is None else tuple(only))
        return self.lists(only)

    def snapshot(self, limits: ScanLimits | None = None) -> Snapshot:
        scanned = scan(self.root, self.lister, limits)
        hashes = {entry.path: digest(self.root, entry.path) for entry in scanned.files}
        taken = take_snapshot(self.root, scanned, hashes, head=self.head(), inputs=self.inputs)
        self.asked.clear()
        return taken

    def check(self, snapshot: Snapshot, limits: FreshnessLimits | None = None) -> FreshnessReport:
        self.asked.clear()
        return check(snapshot, self.root, self.lister, head=self.head(), limits=limits)

    def mend(self, report: FreshnessReport) -> Snapshot:
        """Re-index what a report names, as a plan does, and return the snapshot after it."""
        indexed = {}
        for path in (*report.changed, *report.added):
            found = stat_file(self.root, path)
            if isinstance(found, FileStat):
                indexed[path] = (found, digest(self.root, path))
        return advance(report.snapshot, indexed, report.removed, seen_ns=report.checked_ns, head=self.head())


def digest(root: Path, path: str) -> str:
    """Hash a file as it is now; empty if it cannot be read."""
    data = read_bytes(root, path)
    return content_hash(data) if isinstance(data, bytes) else ""


def settle(root: Path) -> None:
    """Make everything below a directory look an hour old, so that nothing is racy by its mtime."""
    for directory, _, files in os.walk(root, topdown=False):
        for path in (*(os.path.join(directory, name) for name in files), directory):
            status = os.lstat(path)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - HOUR), follow_symlinks=False)


def later(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as if it had been taken a minute later, so that nothing in it is racy."""
    minute = 60_000_000_000
    return replace(
        snapshot,
        seen=snapshot.seen + minute,
        directory_seen=snapshot.directory_seen + minute,
        inputs_seen=snapshot.inputs_seen + minute,
    )


@pytest.fixture
def plain(tmp_path: Path) -> Project:
    """A directory without version control: three files, one of them deep."""
    root = tmp_path / "plain"
    for path in ("a.py", "b.py", "deep/er/c.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path} 1\n")
    return Project(root, walk_lister(root))


@pytest.fixture
def tracked(work: Any) -> Project:
    """A git repository with one commit, an ignore file and an ignored file."""
    work.write(".gitignore", "*.log\nignored/\n")
    work.write("a.py", "a\n")
    work.write("src/b.py", "b\n")
    work.write("x.log", "x\n")
    work.write("ignored/deep/y", "y\n")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None
    return Project(
        work.root, lister(repository), lambda: head_state(repository).sha, listing_inputs(repository)
    )


def test_nothing_changed_is_fresh_and_asks_nobody(tracked: Project) -> None:
    """An untouched project is FRESH without running the lister, and the snapshot stays the same object."""
    snapshot = later(tracked.snapshot())
    report = tracked.check(snapshot)

    assert (report.state, report.reason) == (Freshness.FRESH, "")
    assert report.snapshot is snapshot
    assert tracked.asked == []


def test_a_racy_snapshot_becomes_settled_by_checking(plain: Project) -> None:
    """Just written files are compared by content, found equal, and the check notes it."""
    report = plain.check(plain.snapshot())

    assert report.state is Freshness.FRESH
    assert (report.snapshot.seen > 0).all()


def test_changed_added_and_removed_files_are_dirty(plain: Project) -> None:
    """Each kind of change is reported once; after mending, the project is fresh again."""
    snapshot = plain.snapshot()
    (plain.root / "a.py").write_text("another\n")
    (plain.root / "b.py").unlink()
    (plain.root / "new" / "sub").mkdir(parents=True)
    (plain.root / "new" / "sub" / "d.py").write_text("d\n")

    report = plain.check(snapshot)

    assert report.state is Freshness.DIRTY
    assert (report.changed, report.added, report.removed) == (("a.py",), ("new/sub/d.py",), ("b.py",))
    assert report.reason == "1 changed, 1 added, 1 removed"
    assert plain.check(report.snapshot).changed == ("a.py",)
    mended = plain.mend(report)
    assert mended.paths == ("a.py", "deep/er/c.py", "new/sub/d.py")
    assert plain.check(mended).state is Freshness.FRESH
    (plain.root / "new" / "sub" / "e.py").write_text("e\n")
    assert plain.check(mended).added == ("new/sub/e.py",)


def test_a_rewrite_with_equal_size_and_time_is_caught(plain: Project) -> None:
    """A file rewritten within the clock's granularity, with all its times equal, is still compared."""
    path = plain.root / "a.py"
    before = path.stat()
    snapshot = plain.snapshot()
    path.write_text("a.py 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert path.stat().st_size == before.st_size
    assert plain.check(snapshot).changed == ("a.py",)


def test_a_later_rewrite_that_restores_the_time_is_caught(plain: Project) -> None:
    """Tools that keep a file's time cannot hide a rewrite: the inode's own change time tells."""
    settle(plain.root)
    snapshot = plain.snapshot()
    path = plain.root / "a.py"
    before = path.stat()
    path.write_text("a.py 3\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert plain.check(snapshot).changed == ("a.py",)


def test_a_touched_file_is_not_changed(plain: Project) -> None:
    """A new time with the same content is no change, and is not compared again."""
    snapshot = later(plain.snapshot())
    os.utime(plain.root / "a.py", ns=(1, 1))

    report = plain.check(snapshot)

    assert report.state is Freshness.FRESH
    assert report.snapshot is not snapshot
    assert int(report.snapshot.mtimes[0]) == 1


def test_a_moved_head_is_stale(tracked: Project, work: Any) -> None:
    """A commit makes the index stale as a whole, and the files that differ are still named."""
    snapshot = tracked.snapshot()
    work.write("a.py", "changed\n")
    work.commit()

    report = tracked.check(snapshot)

    assert (report.state, report.head_moved) == (Freshness.STALE, True)
    assert report.changed == ("a.py",)
    assert report.reason == "HEAD moved; 1 changed, 0 added, 0 removed"
    assert tracked.check(tracked.mend(report)).state is Freshness.FRESH


def asked_once(tracked: Project) -> Snapshot:
    """Return a snapshot that knows the ignored names, however fast the repository was made."""
    taken = tracked.snapshot()
    listed = replace(taken, inputs_seen=later(taken).inputs_seen)
    return later(tracked.check(listed).snapshot)


def test_ignored_files_come_and_go_unnoticed(tracked: Project) -> None:
    """A new ignored file is asked about once and is no change."""
    snapshot = asked_once(tracked)
    (tracked.root / "y.log").write_text("y\n")

    report = tracked.check(snapshot)
    assert report.state is Freshness.FRESH
    assert tracked.asked == [("y.log",)]

    assert tracked.check(later(report.snapshot)).state is Freshness.FRESH
    assert tracked.asked == []


def test_a_changed_ignore_file_changes_the_listing(tracked: Project) -> None:
    """What was ignored is added, what is ignored now is removed."""
    snapshot = tracked.snapshot()
    (tracked.root / ".gitignore").write_text("ignored/\n*.py\n")
    report = tracked.check(snapshot)

    # Tracked files stay listed whatever the ignore file says.
    assert (report.changed, report.added, report.removed) == ((".gitignore",), ("x.log",), ())


def test_a_file_that_git_was_told_to_track_is_added(tracked: Project, work: Any) -> None:
    """`git add -f` changes no file of the work tree, yet the project has one more."""
    snapshot = tracked.snapshot()
    work.git("add", "-f", "x.log")

    assert tracked.check(snapshot).added == ("x.log",)


def test_the_repositorys_own_excludes_count(tracked: Project) -> None:
    """A change of .git/info/exclude lists the project anew."""
    (tracked.root / "free.txt").write_text("x")
    snapshot = tracked.snapshot()
    (tracked.root / ".git" / "info").mkdir(exist_ok=True)
    (tracked.root / ".git" / "info" / "exclude").write_text("free.txt\n")

    assert tracked.check(snapshot).removed == ("free.txt",)


def test_files_in_once_empty_directories_are_noticed(tracked: Project) -> None:
    """Empty directories are watched too, those that existed and those that appear."""
    (tracked.root / "empty" / "nested").mkdir(parents=True)
    snapshot = later(tracked.snapshot())
    (tracked.root / "empty" / "nested" / "n.py").write_text("n\n")
    report = tracked.check(snapshot)
    assert report.added == ("empty/nested/n.py",)

    (tracked.root / "later" / "nested").mkdir(parents=True)
    report = tracked.check(tracked.mend(report))
    assert report.state is Freshness.FRESH
    (tracked.root / "later" / "nested" / "n.py").write_text("n\n")
    assert tracked.check(report.snapshot).added == ("later/nested/n.py",)


def test_vendored_names_are_not_asked_about(tracked: Project) -> None:
    """Installing packages or running tests does not disturb the index."""
    snapshot = asked_once(tracked)
    for path in ("node_modules/x/index.js", "src/__pycache__/b.pyc", ".workbench/journal"):
        (tracked.root / path).parent.mkdir(parents=True)
        (tracked.root / path).write_text("x")

    assert tracked.check(snapshot).state is Freshness.FRESH
    assert tracked.asked == []


def test_a_file_and_a_directory_that_trade_places_are_noticed(tracked: Project) -> None:
    """A directory that became a file is added under its name, and the other way round."""
    report = tracked.check(tracked.snapshot())
    (tracked.root / "src/b.py").unlink()
    (tracked.root / "src").rmdir()
    (tracked.root / "src").write_text("now a file\n")
    (tracked.root / "a.py").unlink()
    (tracked.root / "a.py").mkdir()
    (tracked.root / "a.py/inner.py").write_text("inner\n")
    report = tracked.check(report.snapshot)
    assert (report.added, report.removed) == (("a.py/inner.py", "src"), ("a.py", "src/b.py"))
    report = tracked.check(tracked.mend(report))
    assert report.state is Freshness.FRESH


def test_a_directory_replaced_by_a_link_is_gone(plain: Project, tmp_path: Path) -> None:
    """Files behind a link that took a directory's place are removed, equal or not."""
    snapshot = plain.snapshot()
    (plain.root / "deep").rename(tmp_path / "elsewhere")
    (plain.root / "deep").symlink_to(tmp_path / "elsewhere")

    assert plain.check(snapshot).removed == ("deep/er/c.py",)


def test_a_file_replaced_by_a_link_is_gone(plain: Project) -> None:
    """A link is not a file of the project."""
    snapshot = plain.snapshot()
    (plain.root / "a.py").unlink()
    (plain.root / "a.py").symlink_to("b.py")

    assert plain.check(snapshot).removed == ("a.py",)


def test_large_files_matter_when_they_shrink(plain: Project) -> None:
    """A file over the limit may grow unnoticed; once it fits, it is reported."""
    limits = FreshnessLimits(max_bytes=1000)
    (plain.root / "big.txt").write_bytes(b"x" * 2000)
    snapshot = plain.snapshot(ScanLimits(max_bytes=1000))
    (plain.root / "big.txt").write_bytes(b"x" * 3000)
    report = plain.check(snapshot, limits)
    assert report.state is Freshness.FRESH

    (plain.root / "big.txt").write_bytes(b"x" * 500)
    assert plain.check(report.snapshot, limits).changed == ("big.txt",)


def test_a_new_large_file_is_not_added(plain: Project) -> None:
    """A new file over the limit is watched only."""
    limits = FreshnessLimits(max_bytes=1000)
    snapshot = plain.snapshot()
    (plain.root / "big.txt").write_bytes(b"x" * 2000)

    report = plain.check(snapshot, limits)

    assert report.state is Freshness.FRESH
    assert "big.txt" in report.snapshot.paths


def test_too_many_changes_are_stale(plain: Project) -> None:
    """Beyond the limit the whole index is called stale, with every change named."""
    snapshot = plain.snapshot()
    for name in ("a.py", "b.py"):
        (plain.root / name).write_text("rewritten\n")

    report = plain.check(snapshot, FreshnessLimits(max_changes=1))

    assert report.state is Freshness.STALE
    assert report.changed == ("a.py", "b.py")
    assert "too many" in report.reason


def test_other_versions_are_stale_and_damage_is_an_error(plain: Project) -> None:
    """A snapshot of another version says stale; bytes that are none raise ParseError with a hint."""
    snapshot = plain.snapshot()
    data = pack(snapshot)
    other = unpack(data.replace(b'"version": 1', b'"version": 9'))

    assert plain.check(other).state is Freshness.STALE
    for damaged in (b"", b"x", data[:-5], data[: len(data) // 2], data + b"12345678", data[:30]):
        with pytest.raises(ParseError, match="damaged") as caught:
            unpack(damaged)
        assert caught.value.hint


def test_a_snapshot_survives_packing(tracked: Project) -> None:
    """Every column comes back equal, odd names included."""
    with open(os.fsencode(tracked.root) + b"/caf\xe9.py", "wb") as file:
        file.write(b"x")
    snapshot = tracked.snapshot()

    again = unpack(pack(snapshot))

    for name in Snapshot.__slots__:
        first, second = getattr(snapshot, name), getattr(again, name)
        assert (first == second).all() if hasattr(first, "dtype") else first == second, name
    assert tracked.check(again).state is Freshness.FRESH


def test_an_empty_project_and_a_missing_one(tmp_path: Path) -> None:
    """Nothing at all is fresh until the first file appears; a root that is gone is an error."""
    root = tmp_path / "empty"
    root.mkdir()
    project = Project(root, walk_lister(root))
    snapshot = unpack(pack(project.snapshot()))
    assert project.check(snapshot).state is Freshness.FRESH
    (root / "a.py").write_text("x")
    assert project.check(snapshot).added == ("a.py",)
    (root / "a.py").unlink()
    root.rmdir()
    with pytest.raises(ProjectError, match="not a directory"):
        project.check(snapshot)


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "same", "remove", "rename", "touch"]),
        st.sampled_from(["a.py", "b.py", "d/c.py", "d/e/f.py", "g/h.py"]),
        st.integers(0, 3),
    ),
    max_size=8,
)


@settings(max_examples=times(13, 40))
@given(st.lists(EDITS, min_size=1, max_size=3))
def test_no_history_of_edits_leaves_stale_data(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[Any]
) -> None:
    """After any edits, checking and mending gives exactly what is on disk, with the right contents."""
    root = tmp_path_factory.mktemp("edited")
    (root / "a.py").write_text("0")
    project = Project(root, walk_lister(root))
    snapshot = project.snapshot()
    for edits in rounds:
        for action, path, number in edits:
            edit(root / path, action, str(number))
        snapshot = project.mend(project.check(snapshot))
        on_disk = {entry.path: digest(root, entry.path) for entry in scan(root, walk_lister(root)).files}
        assert dict(zip(snapshot.paths, snapshot.hashes, strict=True)) == on_disk


def edit(path: Path, action: str, content: str) -> None:
    """Do one thing to a file, as editors and tools do it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if action == "remove":
        path.unlink(missing_ok=True)
    elif action == "rename":
        new = path.with_name("tmp~")
        new.write_text(content)
        new.replace(path)
    elif action == "same" and path.exists():
        status = path.stat()
        path.write_text(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif action == "touch" and path.exists():
        os.utime(path)
    else:
        path.write_text(content)


def test_edits_during_checks_are_never_lost(plain: Project) -> None:
    """A file edited all the time by another thread: after the last edit, one check finds the truth."""
    path = plain.root / "a.py"
    snapshot = plain.snapshot()
    done = threading.Event()

    def write() -> None:
        for number in range(300):
            path.write_text(f"{number:04}\n")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        snapshot = plain.mend(plain.check(snapshot))
    writer.join()
    snapshot = plain.mend(plain.check(snapshot))

    assert dict(zip(snapshot.paths, snapshot.hashes, strict=True))["a.py"] == content_hash(b"0299\n")


def test_an_added_file_is_told_until_it_is_indexed(tracked: Project) -> None:
    """A caller that does not index what was added hears of it again, also in a new directory."""
    snapshot = asked_once(tracked)
    (tracked.root / "fresh/er").mkdir(parents=True)
    (tracked.root / "fresh/er/n.py").write_text("n\n")
    (tracked.root / "src/m.py").write_text("m\n")
    for _ in range(3):
        report = tracked.check(snapshot)
        assert report.added == ("fresh/er/n.py", "src/m.py")
        snapshot = later(report.snapshot)
    snapshot = tracked.mend(report)
    for _ in range(3):
        report = tracked.check(snapshot)
        assert report.state is Freshness.FRESH
        snapshot = later(report.snapshot)
    assert tracked.asked == []


def test_a_file_that_git_was_told_of_is_told_until_it_is_indexed(tracked: Project) -> None:
    """An ignored file that was added to git by force is reported by every check until it is indexed."""
    snapshot = asked_once(tracked)
    subprocess.run(["git", "-C", tracked.root, "add", "-f", "ignored/deep/y"], check=True)
    for _ in range(3):
        report = tracked.check(snapshot)
        assert report.added == ("ignored/deep/y",)
        snapshot = later(report.snapshot)
    assert tracked.check(tracked.mend(report)).state is Freshness.FRESH
