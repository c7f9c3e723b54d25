"""Handles are taken apart by the files that there are; nothing that is written makes them fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.expand.handles import parse_handle, qualified_parts
from workbench.records.expansion import Aspect

FILES = ("src/options.go", "docs/a:b.md", "docs/guide.md")


def find(path: str) -> tuple[str, ...]:
    """Return the files whose path ends so."""
    return tuple(file for file in FILES if path and (file == path or file.endswith(f"/{path}")))


@pytest.mark.parametrize(
    ("text", "paths", "name", "lines", "aspect"),
    [
        ("parseKeymap", (), "parseKeymap", None, Aspect.SHOW),
        ("parseKeymap:callers", (), "parseKeymap", None, Aspect.CALLERS),
        ("Foo::bar", (), "Foo::bar", None, Aspect.SHOW),
        ("std::tests", (), "std::tests", None, Aspect.SHOW),
        ("options.go", ("src/options.go",), "", None, Aspect.SHOW),
        ("./src/options.go", ("src/options.go",), "", None, Aspect.SHOW),
        ("src/options.go:Terminal.Loop", ("src/options.go",), "Terminal.Loop", None, Aspect.SHOW),
        ("src/options.go:Loop:uses", ("src/options.go",), "Loop", None, Aspect.USES),
        ("src/options.go:120-180", ("src/options.go",), "", (120, 180), Aspect.SHOW),
        ("src/options.go:120-", ("src/options.go",), "", (120, 0), Aspect.SHOW),
        ("src/options.go:12:7", ("src/options.go",), "", (12, 12), Aspect.SHOW),
        ("src/options.go#L3-L9", ("src/options.go",), "", (3, 9), Aspect.SHOW),
        ("src/options.go:rest", ("src/options.go",), "", None, Aspect.REST),
        ("docs/a:b.md", ("docs/a:b.md",), "", None, Aspect.SHOW),
        ("docs/guide.md#Key bindings: a list", ("docs/guide.md",), "Key bindings: a list", None, Aspect.SHOW),
    ],
)
def test_a_handle_is_a_name_or_a_file_and_what_is_wanted_of_it(
    text: str, paths: tuple[str, ...], name: str, lines: tuple[int, int] | None, aspect: Aspect
) -> None:
    """Names, files by the end of their path, ranges as people, compilers and forges write them, aspects."""
    handle = parse_handle(text, find, Aspect.SHOW)
    assert (handle.paths, handle.name, handle.lines, handle.aspect) == (paths, name, lines, aspect)


def test_the_aspect_of_a_handle_comes_before_that_of_the_request() -> None:
    """`--callers` is for handles that name nothing of their own."""
    assert parse_handle("a", find, Aspect.CALLERS).aspect is Aspect.CALLERS
    assert parse_handle("a:uses", find, Aspect.CALLERS).aspect is Aspect.USES


def test_qualified_names_are_split_where_languages_do() -> None:
    """A pointer, a call and a heading are no qualifiers."""
    assert qualified_parts("ns::Foo.bar(x, y)") == ("ns", "Foo", "bar")
    assert qualified_parts("*Terminal#Loop") == ("Terminal", "Loop")
    assert qualified_parts("Key bindings in 2.0") == ("Key bindings in 2.0",)


@given(st.text(max_size=60))
def test_any_text_is_a_handle(text: str) -> None:
    """Whatever is written is taken apart, and its parts are made of it."""
    handle = parse_handle(text, find, Aspect.SHOW)
    assert set(handle.paths) <= set(FILES)
    assert handle.name in text
