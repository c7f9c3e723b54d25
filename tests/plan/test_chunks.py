"""Chunks: every line in exactly one, cut where a reader would cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.chunks import (
    MAX_LINES,
    Chunk,
    ChunkKind,
    cut,
    indentation,
    is_comment,
    is_import,
    substantial,
)
from workbench.records.project import Symbol

PYTHON = '''\
"""Module."""

import os
import sys


class Client:
    """Talks."""

    timeout = 5

    # sends it
    @retry
    def send(self, request):
        return request

    def close(self):
        self.open = False
        self.flush()


def main():
    Client().send(1)
'''.split("\n")[:-1]
SYMBOLS = (
    Symbol("Client", "class", 7, 19, "class Client:"),
    Symbol("send", "method", 13, 15, "def send(self, request):", "Client"),
    Symbol("close", "method", 17, 19, "def close(self):", "Client"),
    Symbol("main", "function", 22, 23, "def main():"),
)
LINES = st.lists(
    st.sampled_from(["", "    x = 1", "def f():", "}", "# note", "import a", "\tcall()", "## Title", "---"])
)


def symbols(lines: int) -> st.SearchStrategy[list[Symbol]]:
    """Draw symbols with any ranges, also ones outside the file or the wrong way round."""
    return st.lists(
        st.builds(
            Symbol,
            st.sampled_from(["a", "b"]),
            st.sampled_from(["class", "method", "key"]),
            st.integers(-1, lines + 2),
            st.integers(-1, lines + 5),
            st.just("a"),
        ),
        max_size=6,
    )


@given(st.data(), LINES, st.sampled_from(["python", "markdown", ""]))
def test_every_line_is_in_exactly_one_chunk(data: st.DataObject, lines: list[str], language: str) -> None:
    """Chunks cover a file from its first to its last line, in order, without gaps or overlaps."""
    found = data.draw(symbols(len(lines)))
    chunks = cut(language, lines, found)
    covered = [number for chunk in chunks for number in range(chunk.start, chunk.end + 1)]
    assert covered == list(range(1, len(lines) + 1))
    for chunk in chunks:
        shown = [bool(line.strip()) for line in lines[chunk.start - 1 : chunk.end]]
        assert len(shown) - shown[::-1].index(True) <= MAX_LINES if any(shown) else chunk.start == 1


def test_code_is_cut_at_definitions() -> None:
    """A class header, each method with its comments and decorators, and module code stand apart."""
    chunks = cut("python", PYTHON, SYMBOLS)
    assert [(chunk.start, chunk.end, chunk.kind, chunk.name, chunk.parent) for chunk in chunks] == [
        (1, 6, ChunkKind.HEAD, "", ""),
        (7, 11, ChunkKind.HEADER, "Client", ""),
        (12, 16, ChunkKind.BODY, "send", "Client"),
        (17, 21, ChunkKind.BODY, "close", "Client"),
        (22, 23, ChunkKind.BODY, "main", ""),
    ]


def test_prose_is_cut_at_headings_outside_fences() -> None:
    """Markdown sections follow headings of both kinds; a comment in a code fence is no heading."""
    text = "# Title\nintro\nmore\n\n## Use\n```\n# no heading\n```\n\nOld\n---\nlast\nline".split("\n")
    assert [(chunk.start, chunk.name) for chunk in cut("markdown", text, ())] == [
        (1, "Title"),
        (5, "Use"),
        (10, "Old"),
    ]


def test_long_definitions_are_split_at_little_indentation() -> None:
    """A function of 60 lines becomes parts that begin after blank lines, numbered from 0."""
    lines = ["def long():"]
    for block in range(10):
        lines += [f"    first_{block} = 1", "    if first:", "        a()", "        b()", "        c()", ""]
    chunks = cut("python", lines, (Symbol("long", "function", 1, len(lines), "def long():"),))
    assert [chunk.part for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) > 1
    assert all(lines[chunk.start - 1].startswith("    first_") for chunk in chunks[1:])


def test_small_neighbours_are_joined() -> None:
    """One-line constants in a row are one chunk."""
    lines = [f"A{number} = {number}" for number in range(8)]
    found = [Symbol(f"A{number}", "constant", number + 1, number + 1, "") for number in range(8)]
    assert len(cut("python", lines, found)) == 1


def test_an_empty_file_has_no_chunks() -> None:
    """Nothing to cut gives nothing."""
    assert cut("python", [], ()) == ()
    assert cut("python", ["x"], ()) == (Chunk(1, 1, ChunkKind.HEAD, substance=1),)


def test_lines_are_recognised() -> None:
    """Imports, comments and indentation are read as the languages write them."""
    imports = [
        "import os",
        "from a import b",
        "use a::b;",
        '#include "x.h"',
        "const a = require('a')",
        "mod a;",
    ]
    assert all(map(is_import, imports))
    assert not any(map(is_import, ["important = 1", "user = 2", "", "x = from_a"]))
    assert all(map(is_comment, ["// a", "  # b", "/** c", '"""d', "@e"]))
    assert [indentation(line) for line in ("a", "  a", "\ta", "")] == [0, 2, 4, 0]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", '"""A module that does\n\nsomething of use.\n"""\n\nfrom a import (\n    b,\n    c,\n)\n'),
        (
            "rust",
            "// Copyright of theirs\n// Licensed\nuse std::{\n    io,\n    fmt,\n};\npub mod other;\n",
        ),
        ("go", 'package main\n\nimport (\n    "fmt"\n    "os"\n)\n'),
        ("javascript", '/*\n * Licence\n */\nimport {\n  a,\n} from "b"\nconst c = require("c")\n'),
        ("markdown", "# Changelog\n\n## Unreleased\n\n"),
        ("rst", "Changes\n=======\n\nUnreleased\n----------\n"),
        ("rust", "}\n\n    }\n});\n"),
    ],
)
def test_crumbs_say_nothing_by_themselves(language: str, text: str) -> None:
    """Imports, headings, licences and lone brackets have no substance."""
    lines = text.split("\n")
    assert not any(substantial(lines, prose=language in ("markdown", "rst")))
    assert all(chunk.is_crumb for chunk in cut(language, lines, ()))


def test_what_is_behind_a_crumb_has_substance() -> None:
    """Code after imports and text under a heading say something."""
    code = ["import a", "from b import (c,", "    d)", "LIMIT = 3", "def f(): # (", "    return LIMIT"]
    assert list(substantial(code, prose=False)) == [False, False, False, True, True, True]
    assert list(substantial(["# Use", "Run it.", "Now.", "---"], prose=True)) == [False, True, False, False]
