"""Files become facts in order, by one process or by several, and what is not text is named."""

from __future__ import annotations

import os
import signal
import sys
from multiprocessing import active_children
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project import extraction
from workbench.project.extraction import extract_all, extract_facts, extract_file
from workbench.project.languages import language_of
from workbench.project.scan import MAX_TERMS_BYTES
from workbench.project.snapshot import content_hash
from workbench.records.project import FileFacts, Role, Skipped
from workbench.text.source_secrets import MaskedSource

CAP = 10_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with more files than one process is asked to read."""
    for number in range(200):
        place = tmp_path / f"d{number % 5}" / f"file_{number}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"def name_{number}(): ...\n", encoding="utf-8")
    return tmp_path


def paths_of(root: Path) -> list[str]:
    """Return the names of all files, sorted."""
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize("workers", [1, 2])
def test_every_file_is_read_once_and_in_order(tree: Path, workers: int) -> None:
    """Facts, stats and hashes are those of the files, in the order asked, whoever reads them."""
    paths = paths_of(tree)[::-1]
    seen: list[tuple[int, int]] = []
    found = extract_all(tree, paths, cap=CAP, workers=workers, progress=lambda *at: seen.append(at))
    assert list(found.facts) == list(found.stats) == list(found.hashes) == paths
    for path in paths:
        data = (tree / path).read_bytes()
        assert found.hashes[path] == content_hash(data)
        assert found.stats[path].size == len(data)
        assert found.facts[path] == extraction.extract_facts(path, data)
    assert found.skipped == []
    assert seen[-1] == (200, 200)
    assert active_children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_facts_can_be_handed_over_instead_of_kept(tree: Path, workers: int) -> None:
    """With a taker nothing piles up: each file is handed over in order, with its size."""
    taken: list[tuple[str, FileFacts, int]] = []
    found = extract_all(tree, paths_of(tree), cap=CAP, workers=workers, take=lambda *file: taken.append(file))
    assert found.facts == {}
    assert [path for path, _, _ in taken] == paths_of(tree)
    assert all(size == (tree / path).stat().st_size for path, _, size in taken)


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    """Binary, oversized, linked, missing and special files have a reason; the others have facts."""
    (tmp_path / "good.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "binary.py").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "large.py").write_bytes(b"x" * (CAP + 1))
    (tmp_path / "link.py").symlink_to("good.py")
    os.mkfifo(tmp_path / "pipe.py")
    found = extract_all(
        tmp_path,
        ["binary.py", "good.py", "large.py", "link.py", "missing.py", "pipe.py", "../outside.py"],
        cap=CAP,
    )
    assert list(found.facts) == ["good.py"]
    reasons = {skipped.path: skipped.reason for skipped in found.skipped}
    assert set(reasons) == {"binary.py", "large.py", "link.py", "missing.py", "pipe.py", "../outside.py"}
    assert reasons["large.py"] == "large"
    assert reasons["missing.py"] == "missing"
    assert set(found.hashes) >= {"good.py", "binary.py", "large.py"}
    assert found.hashes["large.py"] == ""


def test_a_file_that_kills_its_reader_is_passed_over(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that dies takes its file with it and nothing else."""
    if sys.platform != "linux":
        pytest.skip("only a forked worker inherits the deadly parser")
    inner = extraction.extract_facts

    def deadly(path: str, data: bytes, *rest: MaskedSource) -> FileFacts:
        if path == "d3/file_13.py":
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(path, data)

    monkeypatch.setattr(extraction, "extract_facts", deadly)
    # Idle threads that other tests left would make the workers start anew, without what is patched here.
    monkeypatch.setattr("workbench.project.workers.threading.active_count", lambda: 1)
    found = extract_all(tree, paths_of(tree), cap=CAP, workers=2)
    assert found.skipped == [Skipped("d3/file_13.py", "its parser died")]
    assert len(found.facts) == 199
    assert "d3/file_13.py" in found.stats


def test_the_stat_is_from_before_the_read(tmp_path: Path) -> None:
    """A file that grows while it is read is seen as older than its content, never as newer."""
    place = tmp_path / "a.py"
    place.write_text("x = 1\n", encoding="utf-8")
    found = extract_file(os.fspath(tmp_path), CAP, None, "a.py")
    assert not isinstance(found, Skipped)
    assert found.stat.mtime_ns == place.stat().st_mtime_ns
    assert found.digest == content_hash(b"x = 1\n")


SUFFIXES = st.sampled_from(
    [".py", ".js", ".ts", ".rs", ".go", ".java", ".c", ".cpp", ".rb", ".md", ".txt", ""]
)


def test_facts_of_a_source_file() -> None:
    """Language, role, lines, symbols, imports and terms of a file are what it says."""
    facts = extract_facts("src/auth.py", b"import os\n\n\ndef refresh_token(value):\n    return value\n")
    assert (facts.language, facts.role, facts.lines) == ("python", Role.SOURCE, 5)
    assert [(symbol.name, symbol.line, symbol.end_line) for symbol in facts.symbols] == [
        ("refresh_token", 4, 5)
    ]
    assert facts.imports == ("os",)
    assert facts.name_terms == {"refresh": 1, "token": 1, "=refreshtoken": 1}
    assert facts.body_terms["=refreshtoken"] == 1


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n", 1), (b"a\r\nb\r\n", 2)]
)
def test_lines_are_counted_as_editors_do(data: bytes, lines: int) -> None:
    """A last line counts with or without its newline; an empty file has none."""
    assert extract_facts("a.txt", data).lines == lines


@given(SUFFIXES, st.binary(max_size=300))
def test_any_bytes_have_facts(suffix: str, data: bytes) -> None:
    """Nothing raises, symbols lie inside the file, and the same bytes give the same facts."""
    facts = extract_facts(f"x/file{suffix}", data)
    assert facts == extract_facts(f"x/file{suffix}", data)
    for symbol in facts.symbols:
        assert 1 <= symbol.line <= symbol.end_line <= max(facts.lines, 1) + 1


@given(SUFFIXES, st.text(alphabet="{}()[]<>\"'`#/*\\ \n\tdefclassimport=;:_aZ0", max_size=400))
def test_broken_code_has_facts(suffix: str, text: str) -> None:
    """Code cut off or scrambled anywhere is no error."""
    extract_facts(f"x/file{suffix}", text.encode())


def test_the_language_of_a_script_is_in_its_first_line() -> None:
    """A file without an ending is known by its interpreter line."""
    assert extract_facts("bin/tool", b"#!/usr/bin/env python3\nimport os\n").language == "python"
    assert language_of("bin/tool", "#!/usr/bin/env python3") == "python"


def test_of_a_long_file_the_beginning_counts() -> None:
    """Words beyond the limit are not counted, however long the file."""
    data = b"alpha " * (MAX_TERMS_BYTES // 6) + b" omega" * 1000
    terms = extract_facts("a.txt", data).body_terms
    assert "omega" not in terms
    assert terms["alpha"] > 60_000
