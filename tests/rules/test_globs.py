"""Globs of rule files mean what Cursor, Copilot and .gitignore mean by them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.rules.globs import (
    anchor,
    compile_globs,
    escape,
    expand_braces,
    first_match,
    narrow,
    split_globs,
)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.ts", "src/deep/a.ts", True),
        ("*.ts", "a.tsx", False),
        ("**/*.{ts,tsx}", "a.tsx", True),
        ("**/*.{ts,tsx}", "src/a.ts", True),
        ("src/*.ts", "src/a.ts", True),
        ("src/*.ts", "src/deep/a.ts", False),
        ("src/**/*.ts", "src/a.ts", True),
        ("src/**", "src/deep/a.ts", True),
        ("src/", "src/deep/a.ts", True),
        ("./src/*.py", "src/a.py", True),
        ("**.cs", "a/b.cs", True),
        ("Makefile", "tools/Makefile", True),
        ("{a,{b,c}}/x", "c/x", True),
        ("[", "x", False),
    ],
)
def test_one_glob(glob: str, path: str, matches: bool) -> None:
    """A leading star reaches any depth, a slash anchors, braces are alternatives."""
    assert (first_match((glob,), [path]) is not None) is matches


def test_comma_lists_keep_braces_together() -> None:
    """Commas separate globs, but not inside braces or brackets, and quotes go."""
    assert split_globs('*.ts, "**/x.{a,b}" ,[ab,]*.c,, ') == ("*.ts", "**/x.{a,b}", "[ab,]*.c")


def test_exclamation_takes_paths_out() -> None:
    """A negated glob removes paths; alone it removes them from everything."""
    assert first_match(("*.ts", "!*.test.ts"), ["a.test.ts"]) is None
    assert first_match(("!docs/",), ["docs/a.md", "src/a.py"]) == "src/a.py"


def test_match_all_globs_limit_nothing() -> None:
    """A list that takes in every path is no limit, unless something is taken out again."""
    assert narrow(("*.md", "**/*")) == ()
    assert narrow(("**", "!docs/")) == ("**", "!docs/")


def test_nested_files_anchor_their_globs() -> None:
    """A glob of a nested rule file holds below that file's directory only."""
    assert first_match((anchor("*.py", "pkg/a"),), ["pkg/a/deep/x.py"]) == "pkg/a/deep/x.py"
    assert first_match((anchor("*.py", "pkg/a"),), ["pkg/b/x.py"]) is None
    assert first_match((anchor("src/*.py", "pkg/a"),), ["pkg/a/src/x.py"]) == "pkg/a/src/x.py"
    assert first_match((anchor("!x.py", "pkg"),), ["pkg/x.py"]) is None


def test_braces_cannot_explode() -> None:
    """A glob with too many alternatives stays as written instead of filling memory."""
    bomb = "{a,b}" * 40
    assert expand_braces(bomb) == (bomb,)
    assert expand_braces("{a,b") == ("{a,b",)
    assert expand_braces("{a}") == ("{a}",)


@given(st.lists(st.text("ab*?[]{}!,/\\#. ", max_size=20), max_size=4), st.text("ab/.", max_size=12))
def test_any_glob_is_safe(globs: list[str], path: str) -> None:
    """No list of globs makes matching fail."""
    first_match(tuple(globs), [path])


@given(st.text("ab*?[]!#\\/.", min_size=1, max_size=12).filter(lambda name: not name.endswith(("/", "\\"))))
def test_escaped_names_match_themselves(name: str) -> None:
    """A path with glob characters, escaped, doesn't match a path without them."""
    assert first_match((f"/{escape(name)}/",), ["zz/other"]) is None


NAMES = st.sampled_from(["a", "b.ts", "*", "**", "*.ts", "a*", "**.ts", "a.*b", "", "a b", "[a]", "?", "A-1"])
GLOB = st.tuples(st.sampled_from(["", "!", "./", "!/", "/"]), st.lists(NAMES, min_size=1, max_size=4)).map(
    lambda pair: pair[0] + "/".join(pair[1])
)
PATH = st.lists(st.sampled_from(["a", "b.ts", "ab", "a.xb", "A-1", "a b", "x"]), min_size=1, max_size=4).map(
    "/".join
)


@given(st.lists(GLOB, min_size=1, max_size=3), PATH, st.booleans())
def test_plain_globs_match_what_pathspec_matches(globs: list[str], path: str, is_directory: bool) -> None:
    """What is matched without pathspec is what it would match, for files and directories."""
    path += "/" if is_directory else ""
    given = tuple(globs)
    all_out = all(glob.startswith("!") for glob in given)
    expected = compile_globs(("**", *given) if all_out else given).match_file(path)
    assert expected == (first_match(given, [path]) is not None)


@pytest.mark.parametrize(
    "glob", ["*.ts", "src/**", "**/*.{py,pyi}", "docs/", "!tests/**/x.py", "a/**/b", "src/*"]
)
def test_usual_globs_are_matched_without_pathspec(glob: str) -> None:
    """Plain names and stars need no import of pathspec."""
    code = (
        f"import sys; from workbench.rules.globs import first_match; first_match(({glob!r},), ['a/b.py']); "
    )
    subprocess.run([sys.executable, "-c", code + "assert 'pathspec' not in sys.modules"], check=True)
