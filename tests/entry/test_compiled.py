"""Compiled expressions are kept between processes: they find the same, and nothing a user wrote is kept."""

from __future__ import annotations

import os
import re
import re._compiler as compiler  # type: ignore[import-not-found]
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.entry.compiled import CompiledExpressions, compiled_path

SOURCES: list[tuple[Any, int]] = [
    (r"(?P<year>\d{4})-(?P<month>\d\d)?|[\u0400-\u04ff]+", re.IGNORECASE),
    (rb"(?s)a.*?(b)\1", 0),
    (r"(?x) ^ \w+ (?= \s ) # a word", re.MULTILINE),
]
TEXT = "2026-11 Привет abb\nword next"
COMPILE = compiler.compile
MODULE = "import re; FOUND = [re.compile(source, flags) for source, flags in SOURCES]"


@pytest.fixture
def own_compiler() -> Iterator[None]:
    """Python's compiler is in its place again afterwards."""
    re.purge()
    yield
    compiler.compile = COMPILE
    re.purge()


def compiled(expressions: CompiledExpressions) -> list[re.Pattern[Any]]:
    re.purge()
    compiler.compile = COMPILE
    expressions.install()
    names: dict[str, Any] = {"SOURCES": SOURCES, "__name__": "some.module"}
    exec(compile(MODULE, "module", "exec"), names)
    found: list[re.Pattern[Any]] = names["FOUND"]
    return found


def spans(pattern: re.Pattern[Any]) -> list[Any]:
    text = TEXT.encode() if isinstance(pattern.pattern, bytes) else TEXT
    return [(match.span(), match.groups(), match.groupdict()) for match in pattern.finditer(text)]


@pytest.mark.usefixtures("own_compiler")
@pytest.mark.parametrize("damage", [None, b"", b"expressions 1\n", b"no"])
def test_what_is_kept_is_what_python_compiles(tmp_path: Path, damage: bytes | None) -> None:
    """Patterns of a second process are equal to those of the first; a damaged file is no reason to fail."""
    path = compiled_path(tmp_path)
    expected = [re.compile(source, flags) for source, flags in SOURCES]
    first = CompiledExpressions(path)
    found = [compiled(first)]
    first.keep()
    if damage is not None:
        path.write_bytes(damage)
    second = CompiledExpressions(path)
    found.append(compiled(second))
    second.keep()

    for patterns in found:
        assert [(p.pattern, p.flags, p.groups, p.groupindex) for p in patterns] == [
            (p.pattern, p.flags, p.groups, p.groupindex) for p in expected
        ]
        assert list(map(spans, patterns)) == list(map(spans, expected))
    assert len(CompiledExpressions(path)._kept) >= len(SOURCES)


@pytest.mark.usefixtures("own_compiler")
def test_what_a_function_puts_together_is_not_kept(tmp_path: Path) -> None:
    """A task's words are in no file of the cache."""
    path = compiled_path(tmp_path)
    expressions = CompiledExpressions(path)
    expressions.install()
    assert re.compile(re.escape("my secret plan")).search("my secret plan")
    expressions.keep()
    assert not path.exists()


@pytest.mark.usefixtures("own_compiler")
def test_what_is_written_out_in_a_function_is_kept(tmp_path: Path) -> None:
    """An expression that is a constant of the code around it is of the program, whenever it is compiled."""
    path = compiled_path(tmp_path)
    expressions = CompiledExpressions(path)
    expressions.install()
    assert [re.sub(r"[^a-z]+written", "", one) for one in ("1 written out",)] == [" out"]
    expressions.keep()
    assert [key[1] for key in CompiledExpressions(path)._kept] == [r"[^a-z]+written"]


@pytest.mark.usefixtures("own_compiler")
def test_a_wrong_expression_is_the_same_error(tmp_path: Path) -> None:
    """The compiler of Python says what is wrong."""
    CompiledExpressions(compiled_path(tmp_path)).install()
    with pytest.raises(re.error, match="unterminated"):
        re.compile("(")


def test_a_command_keeps_what_it_compiled(tmp_path: Path) -> None:
    """The first process writes the file, the second one nothing."""
    environment = {**os.environ, "WORKBENCH_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-P", "-m", "workbench", "hook", "SessionStart"]
    times = []
    for _ in range(2):
        subprocess.run(command, input=b"{}", env=environment, cwd=tmp_path, check=True, capture_output=True)
        times.append(compiled_path(tmp_path).stat().st_mtime_ns)
    assert times[0] == times[1]
