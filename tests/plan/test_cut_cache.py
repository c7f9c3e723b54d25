"""Kept cuts give the same plans as fresh ones, whatever became of their files."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from workbench.plan.cut_cache import CutCache, make_cut
from workbench.plan.cuts import FileCut
from workbench.plan.representations import Content, Contents
from workbench.project.index import ProjectIndex
from workbench.project.languages import role_of
from workbench.project.symbols import extract_symbols
from workbench.project.updates import build_index
from workbench.records.project import Role, Symbol
from workbench.text.source_secrets import mask_source
from workbench.text.tokens import token_counter

COUNTER = token_counter()
SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
FILES = {
    "src/a.py": "import os\n\n\nclass Session:\n    def refresh_token(self):\n        return os.urandom(4)\n",
    "src/key.py": f"import os\n\n\ndef login():\n    token = '{SECRET}'\n    return token\n",
    "docs/odd.md": "# A title\r\n\r\nwith \x07 a bell\r\n\n## Another\n\nmore\n",
    "latin.txt": "caf\u00e9\n",
    "empty.txt": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1" if name == "latin.txt" else "utf-8"))
    return tmp_path / "project"


def read_all(root: Path, cuts: CutCache | None) -> tuple[list[Content], int]:
    """Return all files as a new process reads them, and how many were cut for it."""
    index: ProjectIndex = build_index([], [], [])
    contents = Contents(root, COUNTER, cap=100_000, cuts=cuts)
    found = [contents.read(name, index, {}) for name in FILES]
    contents.flush()
    assert all(isinstance(one, Content) for one in found)
    return [one for one in found if isinstance(one, Content)], contents.misses


def described(contents: list[Content]) -> list[object]:
    """Return all that a plan sees of files."""
    arrays = [name for name in FileCut.__slots__ if name not in ("lines", "names")]
    return [
        (
            one.path,
            one.lines,
            one.kept.masked,
            one.cut.lines,
            one.cut.names,
            [np.asarray(getattr(one.cut, name)).tolist() for name in arrays],
        )
        for one in contents
    ]


def test_what_is_kept_is_what_is_cut(root: Path, tmp_path: Path) -> None:
    """Without a cache, with an empty, a full and a damaged one files are the same, lines and masks too."""
    fresh, _ = read_all(root, None)
    assert SECRET not in repr(described(fresh))
    place = tmp_path / "cuts"
    for misses in (len(FILES), 0):
        found, cut = read_all(root, CutCache(place, COUNTER.name))
        assert (described(found), cut) == (described(fresh), misses)
    (segment,) = place.glob("*/*")
    good = segment.read_bytes()
    for at in range(0, len(good), 7):
        segment.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        found = read_all(root, CutCache(place, COUNTER.name))[0]
        assert described(found) == described(fresh)
        for other in place.glob("*/*"):
            if other != segment:
                other.unlink()
    segment.write_bytes(good[:40])
    assert described(read_all(root, CutCache(place, COUNTER.name))[0]) == described(fresh)


def test_another_content_or_tokenizer_is_cut_again(root: Path, tmp_path: Path) -> None:
    """A file that changed is never given its old cut; tokens are those of the tokenizer asked for."""
    place = tmp_path / "cuts"
    read_all(root, CutCache(place, COUNTER.name))
    (root / "src/a.py").write_text("def other():\n    return 1\n", encoding="utf-8")
    found, misses = read_all(root, CutCache(place, COUNTER.name))
    assert misses == 1
    assert found[0].cut.names == ("other",)
    assert read_all(root, CutCache(place, "cl100k_base"))[1] == len(FILES)


def test_a_worker_prepares_what_its_starter_keeps(tmp_path: Path) -> None:
    """A copy of the cache in another process makes the bytes, once for a content."""
    data = FILES["src/key.py"].encode() * 1_000
    source = mask_source(data, Role.SOURCE)
    from workbench.project.extraction import extract_facts

    facts = extract_facts("src/key.py", data)
    cache = CutCache(tmp_path, COUNTER.name)
    worker: CutCache = pickle.loads(pickle.dumps(cache))
    prepared = worker.prepare("digest", data, source, facts)
    assert prepared is not None
    cache.take(prepared)
    assert cache.prepare("digest", data, source, facts) is None
    assert cache.prepare("another", data[:100], source, facts) is None
    kept = cache.get("digest", facts.language, facts.role)
    symbols: tuple[Symbol, ...] = extract_symbols("python", source.data)[0]
    made = make_cut("python", data, source, symbols, COUNTER)
    assert kept is not None
    assert (kept.shown, kept.masked, kept.cut.names) == (made.shown, made.masked, made.cut.names)
    assert role_of("src/key.py") is facts.role


def test_a_plan_reads_each_file_once(root: Path) -> None:
    """Inside the block a file is what it was when it was read first, after it what it is."""
    index: ProjectIndex = build_index([], [], [])
    contents = Contents(root, COUNTER, cap=100_000)
    with contents.once():
        first = contents.read("src/a.py", index, {})
        (root / "src" / "a.py").write_text("changed = True\n", encoding="utf-8")
        assert contents.read("src/a.py", index, {}) is first
    again = contents.read("src/a.py", index, {})
    assert isinstance(again, Content)
    assert again.data == b"changed = True\n"
