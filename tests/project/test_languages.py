"""Languages and roles from paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.languages import language_of, role_of
from workbench.records.project import Role


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("stubs/app.pyi", "python"),
        ("web/App.JSX", "javascript"),
        ("web/app.mts", "typescript"),
        ("web/app.tsx", "tsx"),
        ("src/lib.rs", "rust"),
        ("main.go", "go"),
        ("A.java", "java"),
        ("a.h", "c"),
        ("a.hpp", "cpp"),
        ("Gemfile", "ruby"),
        ("x.gemspec", "ruby"),
        ("CMakeLists.txt", "cmake"),
        ("Dockerfile.dev", "dockerfile"),
        ("Makefile.in", "make"),
        ("config.yaml.example", "yaml"),
        (".env.local", "ini"),
        ("go.mod", "gomod"),
        ("LICENSE", "text"),
        ("docs/a.mdx", "markdown"),
        ("picture.png", ""),
        ("noextension", ""),
        ("", ""),
    ],
)
def test_language_is_told_by_the_name(path: str, language: str) -> None:
    """Suffix, whole name or template suffix decide; unknown names give ''."""
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/usr/bin/env python3.11", "python"),
        ("#!/bin/sh -e", "shell"),
        ("#!/usr/bin/env -S node --no-warnings", "javascript"),
        ("#!/usr/bin/ruby", "ruby"),
        ("<?php echo 1;", "php"),
        ("#!", ""),
        ("plain words", ""),
    ],
)
def test_a_shebang_tells_the_language_of_a_bare_name(line: str, language: str) -> None:
    """The interpreter counts only where the name says nothing."""
    assert language_of("bin/tool", line) == language
    assert language_of("bin/tool.go", line) == "go"


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/app.py", Role.SOURCE),
        ("src/_pytest/fixtures.py", Role.SOURCE),
        ("testing.py", Role.SOURCE),
        ("src/latest.go", Role.SOURCE),
        ("src/contest/Contest.java", Role.SOURCE),
        ("docs/conf.py", Role.SOURCE),
        ("tests/test_app.py", Role.TEST),
        ("tests/helpers.py", Role.TEST),
        ("app/conftest.py", Role.TEST),
        ("pkg/app_test.go", Role.TEST),
        ("web/__tests__/app.js", Role.TEST),
        ("web/app.spec.ts", Role.TEST),
        ("src/test/java/a/AppTest.java", Role.TEST),
        ("src/test/java/a/Fixture.java", Role.TEST),
        ("core/AppTests.cs", Role.TEST),
        ("spec/models/user_spec.rb", Role.TEST),
        ("src/main/java/a/Latest.java", Role.SOURCE),
        ("pkg/testdata/input.go", Role.DATA),
        ("tests/fixtures/a.py", Role.DATA),
        ("tests/expected.json", Role.DATA),
        ("src/test/resources/a.xml", Role.DATA),
        ("web/__snapshots__/a.snap", Role.DATA),
        ("package-lock.json", Role.DATA),
        ("data/cities.csv", Role.DATA),
        ("README.md", Role.DOCS),
        ("LICENSE", Role.DOCS),
        ("docs/guide.rst", Role.DOCS),
        ("tests/README.md", Role.DOCS),
        ("pyproject.toml", Role.BUILD),
        ("Makefile", Role.BUILD),
        ("requirements/dev.txt", Role.BUILD),
        ("requirements-test.txt", Role.BUILD),
        ("a.gemspec", Role.BUILD),
        (".github/workflows/ci.yml", Role.CI),
        (".gitlab-ci.yml", Role.CI),
        ("Jenkinsfile", Role.CI),
        (".gitignore", Role.CONFIG),
        ("tsconfig.json", Role.CONFIG),
        ("vitest.config.ts", Role.CONFIG),
        ("logo.png", Role.OTHER),
    ],
)
def test_role_is_told_by_the_path(path: str, role: Role) -> None:
    """The conventions of the common ecosystems hold, and look-alikes are not taken for them."""
    assert role_of(path) is role


@given(st.text(max_size=60), st.text(max_size=40))
def test_any_path_has_a_language_and_a_role(path: str, line: str) -> None:
    """No path makes either function fail, and names are lower-case."""
    language = language_of(path, line)
    assert language == language.lower()
    assert role_of(path) in Role
