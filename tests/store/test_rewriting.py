"""A journal that is written again loses what is to go and nothing else, whenever its process ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from store import rewriting
from store.journal import FileJournal
from store.journal_copies import copy_path, damages
from store.journal_files import stream_path
from store.rewriting import Rewriting, rewrite_stream
from tests.adapters import ManualClock
from workbench.errors import JournalError, StoreError

STREAM = "sessions"


def journal_of(root: Path, count: int = 6) -> FileJournal:
    journal = FileJournal(root, ManualClock())
    journal.append(STREAM, "episode.event", [{"number": number} for number in range(count)], by="hook")
    return journal


def numbers(root: Path) -> list[int]:
    """Return the numbers of the entries that can be read, in their order."""
    return [entry.body["number"] for _, entry in FileJournal(root, ManualClock()).read(STREAM)]


def without_odd(line: bytes) -> bytes | None:
    """Give up the entries with odd numbers."""
    return None if any(b'"number":%d}' % number in line for number in (1, 3, 5)) else line


def test_lines_go_and_the_copy_follows(tmp_path: Path) -> None:
    """A dry run counts the same and changes nothing; a line that cannot be read stays as it is."""
    journal_of(tmp_path)
    path = stream_path(tmp_path, STREAM)
    before = path.stat().st_size
    assert rewrite_stream(tmp_path, STREAM, without_odd, dry=True).lines == 3
    assert path.stat().st_size == before

    done = rewrite_stream(tmp_path, STREAM, without_odd, dry=False)

    assert (done, numbers(tmp_path)) == (Rewriting(3, before - path.stat().st_size), [0, 2, 4])
    assert copy_path(tmp_path, STREAM).read_bytes() == path.read_bytes()
    assert rewrite_stream(tmp_path, STREAM, without_odd, dry=False) == Rewriting(0, 0)
    assert rewrite_stream(tmp_path, "nothing", without_odd, dry=False) == Rewriting(0, 0)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("point", "left"),
    [("readable_end", range(6)), ("sync_data", range(6)), ("sync_dir", (0, 2, 4)), ("catch_up", None)],
)
def test_a_killed_rewriting_leaves_the_old_journal_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, left: range | tuple[int, ...] | None
) -> None:
    """At every step: all that was there or all that is to stay, and the next append makes the copy whole."""
    journal = journal_of(tmp_path)

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(rewriting, point, killed)
        with pytest.raises(KeyboardInterrupt):
            rewrite_stream(tmp_path, STREAM, without_odd, dry=False)

    assert numbers(tmp_path) == list(range(6) if left is None else left)
    journal.append(STREAM, "episode.event", [{"number": 8}], by="hook")
    assert copy_path(tmp_path, STREAM).read_bytes() == stream_path(tmp_path, STREAM).read_bytes()
    assert damages(tmp_path) == []
    rewrite_stream(tmp_path, STREAM, without_odd, dry=False)
    assert numbers(tmp_path) == [0, 2, 4, 8]


def test_what_is_appended_meanwhile_stays(tmp_path: Path) -> None:
    """Writers go on while most of a journal is read; a half-written last line is kept for its writer."""
    journal = journal_of(tmp_path)
    late = iter([7, 9])

    def change(line: bytes) -> bytes | None:
        if (number := next(late, None)) is not None:
            journal.append(STREAM, "episode.event", [{"number": number}], by="hook")
        return without_odd(line)

    rewrite_stream(tmp_path, STREAM, change, dry=False)

    assert numbers(tmp_path) == [0, 2, 4, 7, 9]
    with stream_path(tmp_path, STREAM).open("ab") as file:
        file.write(b'{"v":1,"id"')
    rewrite_stream(tmp_path, STREAM, lambda line: None if b'"number":7}' in line else line, dry=False)
    assert stream_path(tmp_path, STREAM).read_bytes().endswith(b'{"v":1,"id"')
    assert numbers(tmp_path) == [0, 2, 4, 9]


def test_a_journal_that_lost_lines_is_repaired_first(tmp_path: Path) -> None:
    """Else what its copy still holds would go with it."""
    journal_of(tmp_path)
    path = stream_path(tmp_path, STREAM)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(StoreError, match="not what was written") as refused:
        rewrite_stream(tmp_path, STREAM, without_odd, dry=False)
    assert "--repair" in refused.value.hint
    assert copy_path(tmp_path, STREAM).read_bytes().count(b"\n") == 6


def test_a_journal_that_was_replaced_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Whoever else rewrites or repairs it was quicker."""
    journal_of(tmp_path)
    path = stream_path(tmp_path, STREAM)

    def change(line: bytes) -> bytes | None:
        other = path.with_name("other")
        other.write_bytes(b"")
        other.rename(path)
        return None

    with pytest.raises((JournalError, StoreError), match="replaced meanwhile"):
        rewrite_stream(tmp_path, STREAM, change, dry=False)
    assert path.read_bytes() == b""
