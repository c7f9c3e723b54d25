"""A repository of several languages, open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import workbench
from tests.conftest import Work

TERMINAL = """package app

import "fmt"

const width = 80

// Loop reads keys until the end.
func (t *Terminal) Loop() error {
	t.draw(parseKeymap("a:up"))
	return nil
}

func (t *Terminal) draw(keys []string) {
	fmt.Println(keys, width)
}

// Terminal shows things. Its Loop ends with ctrl-c.
type Terminal struct {
	title string
}
"""
KEYS = """package app

import "strings"

func parseKeymap(text string) []string {
	// parseKeymap splits at commas
	return strings.Split(text, ",")
}
"""
SHAPES = '''from base import Shape


class Circle(Shape):
    """A circle; see Shape.area."""

    def area(self):
        return 3 * self.radius**2

    def twice(self):
        return 2 * self.area()


def total(shapes):
    password = "hunter2hunter2hunter2"
    return sum(one.area() for one in shapes)
'''
BASE = """class Shape:
    def area(self):
        raise NotImplementedError

    def name(self):
        return 'shape'
"""
GUIDE = "# Guide\n\nWelcome.\n\n## Key bindings\n\nctrl-c ends.\n\n## Themes\n\nDark.\n"


@pytest.fixture
def repository(work: Work) -> Work:
    """Go, Python, Markdown, TOML and a test."""
    work.write("app/terminal.go", TERMINAL)
    work.write("app/keys.go", KEYS)
    work.write(
        "app/keys_test.go",
        'package app\n\nfunc TestKeys(t *T) {\n\tparseKeymap("a")\n\tparseKeymap("b")\n}\n',
    )
    work.write("shapes.py", SHAPES)
    work.write("base.py", BASE)
    work.write("docs/guide.md", GUIDE)
    work.write("settings.toml", "name = 'x'\n\n[tool.ruff]\nline = 100\n\n[tool.mypy]\nstrict = true\n")
    work.write(".env", "SECRET=abcdefgh\n")
    work.commit("Add all")
    return work


@pytest.fixture
def project(repository: Work) -> Iterator[workbench.Project]:
    with workbench.open_project(repository.root) as found:
        yield found
