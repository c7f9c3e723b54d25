"""What the scan lists, what it leaves out and why, and how it survives hostile trees."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.git_repository import find_repository, lister
from workbench.errors import GitError, ProjectError
from workbench.project.admission import content_refusal, preference, refusal
from workbench.project.directories import walk_lister
from workbench.project.scan import ScanLimits, decode, read_bytes, scan, stat_file
from workbench.records.project import FileStat, Skipped
from workbench.records.worktree import Listing


def write(root: Path, *paths: str, content: bytes = b"x\n") -> None:
    """Write files of the same content, making directories."""
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def names(root: Path, limits: ScanLimits | None = None) -> list[str]:
    """Return the scanned paths of a directory without version control."""
    return [entry.path for entry in scan(root, limits=limits).files]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/app.py", None),
        ("build/webpack.js", None),
        ("bin/run", None),
        (".github/workflows/ci.yml", None),
        (".env.example", None),
        ("distance/vendored.py", None),
        ("Makefile", None),
        (".gitignore", None),
        ("png", None),
        ("a/node_modules/x/index.js", "vendored"),
        ("Vendor/lib.rb", "vendored"),
        ("dist/app.js", "output"),
        ("pkg/__pycache__/x.py", "tooling"),
        (".workbench/journal.jsonl", "tooling"),
        ("x.egg-info/PKG-INFO", "tooling"),
        ("package-lock.json", "lock"),
        ("sub/Cargo.lock", "lock"),
        ("logo.PNG", "binary"),
        ("api/user_pb2.py", "generated"),
        ("api/user.pb.go", "generated"),
        ("static/app.min.js", "minified"),
        ("static/app.css.map", "generated"),
        (".env", "secret"),
        ("conf/.env.production", "secret"),
        ("certs/server.key", "secret"),
    ],
)
def test_names_are_admitted_or_refused_with_a_reason(path: str, reason: str | None) -> None:
    """Code that people wrote is read; what tools, strangers and machines wrote is not."""
    assert refusal(path) == reason


def test_build_directories_count_as_output_only_outside_version_control() -> None:
    """A tracked `build` holds somebody's scripts; one that is just there holds results."""
    assert refusal("build/x.js") is None
    assert refusal("build/x.js", tracked=False) == "output"
    assert refusal("target/debug/x.rs", tracked=False) == "output"


def test_a_git_project_lists_what_git_lists(work: Any) -> None:
    """Tracked and new files are in; ignored ones are unknown; refusals are counted by reason."""
    write(work.root, "a.py", "b/c.py", "package-lock.json", "logo.png", "new.log")
    write(work.root, ".gitignore", content=b"*.log\n")
    work.commit()
    write(work.root, "b/new.py")
    repository = find_repository(work.root)
    assert repository is not None

    found = scan(work.root, lister(repository))

    assert [entry.path for entry in found.files] == [".gitignore", "a.py", "b/c.py", "b/new.py"]
    assert found.files[1] == FileStat("a.py", 2, (work.root / "a.py").stat().st_mtime_ns)
    assert found.skipped == (Skipped("logo.png", "binary"), Skipped("package-lock.json", "lock"))
    assert found.skipped_counts == {"binary": 1, "lock": 1}
    assert found.tracked
    assert not found.capped
    assert found.notes == ()


def test_without_the_git_program_the_directory_is_walked(
    work: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same files are found without git, and a note says how."""
    write(work.root, "a.py", "new.log", "sub/b.py", "sub/keep.log", "mine/c.py")
    write(work.root, ".gitignore", content=b"*.log\n")
    write(work.root, "sub/.gitignore", content=b"!keep.log\n")
    write(work.root, ".git/info/exclude", content=b"/mine/\n")
    work.commit()
    repository = find_repository(work.root)
    assert repository is not None
    with_git = scan(work.root, lister(repository))
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "nothing"))

    found = scan(work.root, lister(repository))

    assert found.files == with_git.files
    assert "sub/keep.log" in [entry.path for entry in found.files]
    assert not found.tracked
    assert "without git" in found.notes[0]


def test_what_git_refuses_is_noted_with_the_next_step(tmp_path: Path) -> None:
    """As for a repository of somebody else, which is in every container."""
    (tmp_path / "a.py").write_text("1")

    def refuse(only: Sequence[str] | None = None) -> Listing:
        raise GitError("git cannot read it", hint="Trust it.")

    found = scan(tmp_path, refuse)
    assert [entry.path for entry in found.files] == ["a.py"]
    assert found.notes == ("files are listed without git: git cannot read it. Trust it.",)


def test_a_plain_directory_is_walked_with_its_ignore_files(tmp_path: Path) -> None:
    """Nested ignore files, negation and anchored patterns work as git has them."""
    write(tmp_path, "a.txt", "x.tmp", "d/x.tmp", "d/keep.tmp", "d/only/y", "only/z", "build/out.js")
    write(tmp_path, ".gitignore", content=b"*.tmp\n/only/\n")
    write(tmp_path, "d/.gitignore", content=b"!keep.tmp\n")

    assert names(tmp_path) == [".gitignore", "a.txt", "d/.gitignore", "d/keep.tmp", "d/only/y"]
    lists = walk_lister(tmp_path)
    assert lists(["d", "x.tmp", "only/z", "a.txt", "missing", "build/out.js"]).paths == (
        "a.txt",
        "d/.gitignore",
        "d/keep.tmp",
        "d/only/y",
    )


def test_malformed_ignore_lines_match_nothing(tmp_path: Path) -> None:
    """A line that is no pattern costs itself, not the lines around it."""
    write(tmp_path, "a.py", "b.tmp", "c.log")
    write(tmp_path, ".gitignore", content=b"*.tmp\n!\n[z-a]\n\\\n[[:foo:]]\n\xff[\n*.log\n")

    assert names(tmp_path) == [".gitignore", "a.py"]


@given(st.lists(st.binary(max_size=12), max_size=4))
def test_any_ignore_file_can_be_read(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    """Whatever an ignore file holds, the walk ends without an error."""
    root = tmp_path_factory.mktemp("walked")
    write(root, "a/b.py")
    write(root, ".gitignore", content=b"\n".join(lines))

    assert scan(root).notes == ()


def test_links_are_never_followed(tmp_path: Path) -> None:
    """Loops, links out of the project and links to files inside are skipped, each with its reason."""
    outside = tmp_path / "outside"
    write(outside, "secret.txt")
    root = tmp_path / "project"
    write(root, "real/a.py")
    (root / "loop").symlink_to(".")
    (root / "self").symlink_to("self")
    (root / "out").symlink_to(outside)
    (root / "alias.py").symlink_to("real/a.py")

    found = scan(root)

    assert [entry.path for entry in found.files] == ["real/a.py"]
    assert found.skipped_counts == {"symlink": 4}
    assert read_bytes(root, "out/secret.txt") == Skipped("out/secret.txt", "symlink")
    assert read_bytes(root, "alias.py") == Skipped("alias.py", "symlink")
    assert read_bytes(root, "self") == Skipped("self", "symlink")


def test_a_directory_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    """Names that git still lists below a directory are not read through a link that took its place."""
    write(tmp_path / "outside", "passwd")
    root = tmp_path / "project"
    root.mkdir()
    (root / "etc").symlink_to(tmp_path / "outside")

    found = scan(root, lambda only: Listing(("etc/passwd",)))

    assert found.files == ()
    assert found.skipped == (Skipped("etc/passwd", "symlink"),)


def test_names_that_leave_the_project_are_refused(tmp_path: Path) -> None:
    """Absolute names and names with `..` are data, not places."""
    found = scan(tmp_path, lambda only: Listing(("../x", "/etc/passwd", "a/../../x")))

    assert found.skipped_counts == {"unsafe name": 3}
    assert read_bytes(tmp_path, "../x") == Skipped("../x", "unsafe name")


def test_special_files_do_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes and sockets are skipped without being opened for reading."""
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    assert scan(tmp_path).skipped_counts == {"special": 2}
    assert read_bytes(tmp_path, "pipe") == Skipped("pipe", "special")


def test_an_ignore_file_that_is_a_pipe_or_a_link_is_none(tmp_path: Path) -> None:
    """The walk neither waits for a pipe nor reads rules from outside."""
    write(tmp_path, "outside/rules", content=b"*.py\n")
    write(tmp_path, "p/a.py", "p/sub/b.py")
    os.mkfifo(tmp_path / "p" / ".gitignore")
    (tmp_path / "p" / "sub" / ".gitignore").symlink_to(tmp_path / "outside" / "rules")

    assert names(tmp_path / "p") == ["a.py", "sub/b.py"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_things_are_recorded(tmp_path: Path) -> None:
    """A directory and a file without permission are reported, the rest is scanned."""
    write(tmp_path, "ok.py", "closed/x.py", "closed.py")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "closed.py").chmod(0)

    found = scan(tmp_path)

    assert [entry.path for entry in found.files] == ["closed.py", "ok.py"]
    assert found.skipped == (Skipped("closed", "unreadable"),)
    assert read_bytes(tmp_path, "closed.py") == Skipped("closed.py", "unreadable")
    (tmp_path / "closed").chmod(0o700)


def test_a_directory_that_cannot_be_listed_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure of one directory's listing costs that directory only."""
    write(tmp_path, "ok.py", "closed/x.py")
    real = os.scandir

    def refuse(path: Any) -> Any:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(path)
        return real(path)

    with monkeypatch.context() as patch:  # of all of os, so not while directories are removed
        patch.setattr("workbench.project.directories.os.scandir", refuse)
        found = scan(tmp_path)

    assert [entry.path for entry in found.files] == ["ok.py"]
    assert found.skipped == (Skipped("closed", "unreadable"),)


def test_large_files_are_watched_but_not_read(tmp_path: Path) -> None:
    """A file over the limit is skipped as large, also when it is a hole of 200 MB."""
    write(tmp_path, "ok.py")
    with open(tmp_path / "huge.txt", "wb") as file:
        file.truncate(200 << 20)

    found = scan(tmp_path)

    assert [entry.path for entry in found.files] == ["ok.py"]
    assert [entry.size for entry in found.large] == [200 << 20]
    assert found.skipped == (Skipped("huge.txt", "large"),)
    assert read_bytes(tmp_path, "huge.txt") == Skipped("huge.txt", "large")
    assert read_bytes(tmp_path, "ok.py", cap=1) == Skipped("ok.py", "large")


def test_deleted_files_are_missing(tmp_path: Path) -> None:
    """A name that git still tracks but the disk lacks is counted, not listed."""
    found = scan(tmp_path, lambda only: Listing(("gone.py", "file/below")))

    assert found.skipped_counts == {"missing": 2}
    assert stat_file(tmp_path, "gone.py") == "missing"


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    """A name of any bytes can be scanned and read."""
    raw = os.fsencode(tmp_path) + b"/caf\xe9\x1b[31m.py"
    with open(raw, "wb") as file:
        file.write(b"x = 1\n")

    (entry,) = scan(tmp_path).files

    assert entry.path == "caf\udce9\x1b[31m.py"
    assert read_bytes(tmp_path, entry.path) == b"x = 1\n"


def test_the_cap_keeps_code_before_prose_before_data_and_shallow_before_deep(tmp_path: Path) -> None:
    """What is left out under a cap is the least useful, the same every time, and said."""
    write(tmp_path, "z.py", "a/deep/er/b.py", "a.md", "a.json", "b/c.go")

    found = scan(tmp_path, limits=ScanLimits(max_files=3))

    assert [entry.path for entry in found.files] == ["a/deep/er/b.py", "b/c.go", "z.py"]
    assert found.capped
    assert found.skipped_counts == {"cap": 2}
    assert found.notes == ("only 3 of 5 files are indexed (project.max_files)",)
    assert found == scan_again(tmp_path, found.started_ns)


def scan_again(root: Path, started_ns: int) -> Any:
    """Scan once more and give the result the same start, so that both can be compared."""
    from dataclasses import replace

    return replace(scan(root, limits=ScanLimits(max_files=3)), started_ns=started_ns)


def test_a_tree_of_5000_files_stays_bounded(tmp_path: Path) -> None:
    """A cap bounds the files and the list of skipped names; progress reaches the end."""
    for directory in range(50):
        place = tmp_path / f"d{directory:02}"
        place.mkdir()
        for number in range(100):
            (place / f"f{number:02}.py").touch()
    seen: list[tuple[int, int]] = []
    limits = ScanLimits(max_files=1000, max_skipped=100)

    found = scan(tmp_path, limits=limits, progress=lambda done, total: seen.append((done, total)))

    assert len(found.files) == 1000
    assert len(found.skipped) == 100
    assert found.skipped_counts == {"cap": 4000}
    assert seen[:2] == [(5000, 0), (0, 5000)]
    assert seen[-1] == (5000, 5000)
    assert len(seen) == 7


def test_the_walk_itself_is_bounded(tmp_path: Path) -> None:
    """A walk ends at its bound, level by level, and says so."""
    write(tmp_path, "a", "b", "d/e/f", "c")

    assert walk_lister(tmp_path, max_names=3)(None) == Listing(("a", "b", "c"), (Skipped(".", "walk cap"),))


def test_no_directory_is_an_error(tmp_path: Path) -> None:
    """A root that is missing or a file is named in the error."""
    with pytest.raises(ProjectError, match="not a directory"):
        scan(tmp_path / "missing")


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.py", b"x = 1\n", None),
        ("a.py", b"x\0y", "binary"),
        ("a.txt", "Grüße\n".encode("utf-16"), None),
        ("a.txt", b"x" * 9000 + b"\0", None),
        ("a.go", b"// Code generated by protoc-gen-go. DO NOT EDIT.\npackage x\n", "generated"),
        ("a.rs", b"//! @generated by tool\n", "generated"),
        ("a.py", b"PATTERN = '@generated'\n", None),
        ("a.py", b"# finds code generated by tools\n", None),
        ("a.js", b"var a=1;" * 1000, "minified"),
        ("a.js", b"var a = 1;\n" * 1000, None),
        ("a.json", b"[1,2,3]," * 1000, None),
        ("empty.py", b"", None),
    ],
)
def test_contents_are_admitted_or_refused_with_a_reason(path: str, data: bytes, reason: str | None) -> None:
    """Binary, generated and minified contents are recognised by what is in them."""
    assert content_refusal(path, data) == reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_text_is_decoded_by_its_mark_or_as_utf8_or_latin1(encoding: str) -> None:
    """The usual encodings come out as the same text, without a byte order mark."""
    assert decode("Grüße\n".encode(encoding)) == "Grüße\n"


@given(st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    """Decoding never fails."""
    assert isinstance(decode(data), str)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1)))
def test_the_cap_prefers_in_a_total_order(paths: list[str]) -> None:
    """Any two different paths have a definite order, so a cap always keeps the same files."""
    assert sorted(paths, key=preference) == sorted(paths, key=preference)
