"""Which lines that have a name use it, and which mean a parameter or variable of the same name."""

from __future__ import annotations

import pytest

import workbench
from tests.conftest import Work

ETAG = """export const etag = (options) => {
  return options.weak
}

function matches(etag: string, other: string) {
  return etag === other
}

export const run = (app) => {
  app.use(etag({}))
}
"""
LOCAL = """export function compress(ctx) {
  const etag = ctx.get('x')
  return etag.length
}
"""
PYTHON = """from limits import limit


def bounded(limit: int = 3) -> int:
    return limit + 1


def counted(items: dict[str, limit]) -> int:
    check(
        items,
        limit=limit,
    )
    return limit(items)


def assigned(items):
    limit = len(items)
    return limit
"""
GO = """package app

func Bound(text string, limit int) int {
	return limit
}

func Short() int {
	limit, err := read()
	return limit
}

func Used() int {
	return limit(3)
}
"""
FIXTURES = "import pytest\n\n\n@pytest.fixture\ndef client():\n    return 1\n"


def used(root: Work, handle: str) -> list[int]:
    """Return the lines that are given as uses of a name."""
    with workbench.open_project(root.root) as project:
        text = project.expand(f"{handle}:callers").text
    lines = [line.split(":")[0].strip() for line in text.splitlines() if line.startswith("    ")]
    return [int(line) for line in lines]


@pytest.mark.parametrize(
    ("files", "name", "lines"),
    [
        ({"etag.ts": ETAG, "compress.ts": LOCAL}, "etag", [10]),
        ({"limits.py": "def limit(x):\n    return x\n", "use.py": PYTHON}, "limit", [1, 8, 11, 13]),
        (
            {"limit.go": "package app\n\nfunc limit(n int) int {\n\treturn n\n}\n", "use.go": GO},
            "limit",
            [13],
        ),
    ],
)
def test_a_parameter_or_variable_of_that_name_is_no_use(
    work: Work, files: dict[str, str], name: str, lines: list[int]
) -> None:
    """Of a function that binds the name no line counts; an argument, a key or a type binds nothing."""
    for path, text in files.items():
        work.write(path, text)
    work.commit("Add all")
    assert used(work, name) == lines


def test_a_fixture_is_used_by_parameters(work: Work) -> None:
    """They ask for it by its name."""
    work.write("tests/test_use.py", FIXTURES + "\n\ndef test_it(client):\n    assert client\n")
    work.commit("Add it")
    with workbench.open_project(work.root) as project:
        assert "tests: tests/test_use.py:9 (2)" in project.expand("client:callers").text
