"""Copies of files that others delete: whole, private, bounded."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from store.archive import Archive, ArchiveSource

CONTENT = b'{"a": 1}\n' * 100


def source(content: bytes = CONTENT, path: str = "/x/s.jsonl", changed: int = 1) -> ArchiveSource:
    return ArchiveSource(path, len(content), changed, lambda: io.BytesIO(content))


def held(archive: Archive) -> dict[str, bytes]:
    """Return the content of each copy by the file it was made of."""
    found = {}
    for copy in archive.copies():
        with archive.open(copy) as file:
            found[copy.path] = file.read()
    return found


def archive_name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}.jsonl.gz"


def test_copies_are_whole_and_private(tmp_path: Path) -> None:
    """Named by their content, readable by their owner alone."""
    archive = Archive(tmp_path, 1_000_000)
    names = archive.keep([source(), source(b"other", "/x/t.jsonl")])
    assert held(archive) == {"/x/s.jsonl": CONTENT, "/x/t.jsonl": b"other"}
    place = tmp_path / "archive"
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert {path.name for path in place.glob("*.gz")} == set(names.values())


def test_a_grown_file_replaces_its_copy(tmp_path: Path) -> None:
    """Unchanged files are not copied again; a file that took another's place leaves its copy alone."""
    archive = Archive(tmp_path, 1_000_000)
    first = archive.keep([source()])
    assert archive.keep([source()]) == first
    archive.keep([source(CONTENT * 2, changed=2)])
    assert held(archive) == {"/x/s.jsonl": CONTENT * 2}
    archive.keep([source(b"new", changed=3)])
    assert sorted(held(archive).values()) == sorted([CONTENT * 2, b"new"])
    assert len(list((tmp_path / "archive").glob("*.gz"))) == 2


def test_what_is_appended_meanwhile_comes_the_next_time(tmp_path: Path) -> None:
    """A copy has the size the file was found with."""
    archive = Archive(tmp_path, 1_000_000)
    archive.keep([ArchiveSource("/x/s.jsonl", 9, 1, lambda: io.BytesIO(CONTENT))])
    assert held(archive) == {"/x/s.jsonl": CONTENT[:9]}


def test_the_oldest_go_when_there_is_no_room(tmp_path: Path) -> None:
    """What is too big for all the room is not kept, and both are counted."""
    import random

    noise = [random.Random(seed).randbytes(1_000) for seed in range(3)]
    archive = Archive(tmp_path, 2_500)
    archive.keep([source(content, f"/x/{name}.jsonl") for name, content in enumerate(noise)])
    assert set(held(archive)) == {"/x/1.jsonl", "/x/2.jsonl"}
    archive.keep([source(random.Random(9).randbytes(5_000), "/x/big.jsonl")])
    assert (archive.dropped, archive.refused, len(archive.copies())) == (1, 1, 2)


def test_a_failed_copy_leaves_nothing(tmp_path: Path) -> None:
    """Interrupted while it is written, what was there still is, without a torn file beside it."""
    archive = Archive(tmp_path, 1_000_000)
    archive.keep([source()])

    def stop() -> io.BytesIO:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive.keep([ArchiveSource("/x/t.jsonl", 9, 1, stop)])
    assert held(archive) == {"/x/s.jsonl": CONTENT}
    assert len(list((tmp_path / "archive").iterdir())) == 2


def test_a_damaged_index_is_no_copies(tmp_path: Path) -> None:
    """It is made anew with what is archived next."""
    archive = Archive(tmp_path, 1_000_000)
    archive.keep([source()])
    (tmp_path / "archive" / "index.json").write_bytes(b"{")
    assert archive.copies() == ()
    archive.keep([source()])
    assert held(archive) == {"/x/s.jsonl": CONTENT}


def test_copies_outlive_a_damaged_index(tmp_path: Path) -> None:
    """What agents deleted since is in the copies alone: no import removes them, and what is wrong is said."""
    archive = Archive(tmp_path, 1_000_000)
    names = set(archive.keep([source(), source(b"gone", "/x/t.jsonl")]).values())
    assert archive.faults() == []
    (tmp_path / "archive" / "index.json").write_bytes(b'[{"path')
    assert "index.json cannot be read" in archive.faults()[0]
    archive.keep([source()])
    archive.keep([source(b"new", "/x/u.jsonl")])
    assert names <= {path.name for path in (tmp_path / "archive").glob("*.gz")}
    assert held(archive) == {"/x/s.jsonl": CONTENT, "/x/u.jsonl": b"new"}
    assert archive.faults() == ["1 damaged lists are set aside, whose copies are kept"]
    assert archive.forget(float("inf"), dry=False)[0] == 2
    assert held(archive) == {}
    assert {path.name for path in (tmp_path / "archive").glob("*.gz")} == names - {archive_name(CONTENT)}


def test_a_copy_with_a_flipped_byte_is_named(tmp_path: Path) -> None:
    """Whatever byte it is, all of the copy is compared with its name."""
    archive = Archive(tmp_path, 1_000_000)
    (name,) = archive.keep([source()]).values()
    whole = bytearray((tmp_path / "archive" / name).read_bytes())
    for place in range(10, len(whole)):
        whole[place] ^= 0x55
        (tmp_path / "archive" / name).write_bytes(whole)
        assert any(name in fault for fault in archive.faults()), place
        whole[place] ^= 0x55


def test_copies_hold_no_secrets(tmp_path: Path) -> None:
    """Also not one that stands where two blocks of reading meet; lines keep their numbers."""
    secret = b"gh" + b"p_" + b"a1B2" * 9
    content = b"x" * ((1 << 20) - 10) + b" " + secret + b"\n" + secret
    archive = Archive(tmp_path, 10_000_000)
    archive.keep([source(content)])
    kept = held(archive)["/x/s.jsonl"]

    assert secret not in kept
    assert kept.count(b"\n") == content.count(b"\n")
    assert kept.count(b"[secret:github-token]") == 2
