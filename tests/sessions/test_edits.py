"""The lines that commits changed, kept from one commit to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.errors import GitError
from workbench.records.worktree import CommitPatch, FilePatch, Hunk
from workbench.sessions.edits import (
    MAX_EDITS,
    MAX_HUNKS,
    EditKeeper,
    EditStore,
    collect_edits,
    load_edits,
    save_edits,
)

HUNK = (Hunk(1, 1, 1, 1),)
PAST = [
    CommitPatch("c", 30, (FilePatch("new.py", HUNK, old_path="old.py"),)),
    CommitPatch("b", 20, (FilePatch("other.py", HUNK), FilePatch("old.py", HUNK * (MAX_HUNKS + 1)))),
    CommitPatch("a", 10, (FilePatch("old.py", HUNK, whole=True),)),
]


def test_edits_follow_renames_up_to_where_a_file_was_written_whole() -> None:
    """A file keeps what was done to it under its old name; nothing of before it was written matters."""
    edits = collect_edits(PAST)
    assert [(edit.at, edit.hunks, edit.whole) for edit in edits["new.py"]] == [
        (30, HUNK, False),
        (20, (), True),
    ]
    assert "old.py" not in edits


def test_only_the_latest_edits_are_kept() -> None:
    """Memory stays bounded for files that change all the time."""
    patches = [CommitPatch("x", number, (FilePatch("a", HUNK),)) for number in range(50)]
    assert len(collect_edits(patches)["a"]) == MAX_EDITS


@pytest.mark.parametrize("read", range(4))
def test_reading_in_parts_gives_the_same(read: int) -> None:
    """Newer commits on top of kept edits are what all commits are."""
    assert collect_edits(PAST[:read], collect_edits(PAST[read:])) == collect_edits(PAST)


def test_a_file_of_edits_holds_all_of_them(tmp_path: Path) -> None:
    """Names that are no text come back; what is damaged is as if it was not there."""
    edits = {**collect_edits(PAST), "\udcff": collect_edits(PAST)["new.py"]}
    save_edits(edits, "c", 7, tmp_path)
    found = load_edits(tmp_path)
    assert found is not None
    assert (found.tip, found.depth, found.all()) == ("c", 7, edits)
    assert found.of("nowhere.py") == ()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:80])
    assert load_edits(tmp_path) is None


class Line:
    """A line of commits, and a generation on disk."""

    def __init__(self, root: Path) -> None:
        self.root, self.patches, self.known = root, PAST, {"a": 2, "b": 1, "c": 0}
        self.asked: list[str | None] = []
        self.current: Path | None = None

    def publish(self, write: Callable[[Path], None]) -> Path:
        self.current = self.root / str(len(self.asked))
        self.current.mkdir()
        write(self.current)
        return self.current

    def newest(self, limit: int | None, since: str | None, unreadable: set[str]) -> Iterator[CommitPatch]:
        """Give the commits after another, of which git cannot read one, and note that they were asked for."""
        self.asked.append(since)
        unreadable.add(f"bad {since}")
        yield from self.patches[: len(self.patches) if since is None else self.known[since]]

    def keeper(self) -> EditKeeper:
        """Open the edits as a new process would."""
        store = EditStore(
            lambda: self.current, self.publish, contextlib.nullcontext, self.newest, self.known.get
        )
        return EditKeeper(store)


def test_a_plan_reads_what_is_new_and_no_more(tmp_path: Path) -> None:
    """Edits are first read by a sync; a plan adds new commits, and takes another line's as they are."""
    line = Line(tmp_path)
    line.patches, line.known = PAST[1:], {"a": 1, "b": 0}
    keeper = line.keeper()
    assert keeper.at("b", 100) is None
    assert not line.asked
    keeper.sync("b", 100)
    line.patches, line.known = PAST, {"a": 2, "b": 1, "c": 0}
    found = line.keeper().at("c", 100)
    assert found is not None
    assert (found.tip, found.all()) == ("c", collect_edits(PAST))
    assert line.asked == [None, "b"]
    assert found.unreadable == 2  # one each time
    line.known = {}
    elsewhere = line.keeper().at("z", 100)
    assert elsewhere is not None
    assert elsewhere.tip == "c"
    line.keeper().sync("z", 100)
    assert line.asked == [None, "b", None]


def test_a_failing_repository_leaves_what_is_kept(tmp_path: Path) -> None:
    """A plan does with the edits of the last sync; a sync says why it failed."""
    line = Line(tmp_path)
    line.keeper().sync("c", 100)

    def fail(since: str) -> int | None:
        raise GitError("no", hint="no")

    keeper = line.keeper()
    assert keeper.store is not None
    keeper.store = EditStore(keeper.store.open, line.publish, contextlib.nullcontext, line.newest, fail)
    found = keeper.at("d", 100)
    assert found is not None
    assert found.tip == "c"
    with pytest.raises(GitError):
        keeper.sync("d", 100)
    assert EditKeeper(None).at("c", 100) is None
