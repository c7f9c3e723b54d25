"""Which tests cover which sources."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.languages import role_of
from workbench.project.relations import HUB_TESTS, map_tests


def mapped(paths: list[str], edges: list[tuple[str, str]] | None = None) -> dict[str, list[str]]:
    pairs = [(paths.index(a), paths.index(b)) for a, b in edges or []]
    graph = np.asarray(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    result: dict[str, list[str]] = {}
    for test, source in map_tests(paths, [role_of(path) for path in paths], graph).tolist():
        result.setdefault(paths[test], []).append(paths[source])
    return result


def test_names_of_all_ecosystems() -> None:
    """Every convention leads from the test to its source."""
    pairs = {
        "tests/test_store.py": "app/store.py",
        "net/tcp_test.go": "net/tcp.go",
        "src/test/java/a/GsonBuilderTest.java": "src/main/java/a/GsonBuilder.java",
        "web/src/card.spec.tsx": "web/src/card.tsx",
        "web/src/__tests__/button.ts": "web/src/button.ts",
        "spec/models/user_spec.rb": "app/models/user.rb",
        "test/test_front_matter.rb": "lib/frontmatter.rb",
        "crates/x/tests/parser.rs": "crates/x/src/parser.rs",
        "tests/test_utils.py": "app/utils/__init__.py",
        "Core.Tests/StoreTests.cs": "Core/Store.cs",
    }
    assert mapped([*pairs, *pairs.values()]) == {test: [source] for test, source in pairs.items()}


def test_the_source_whose_folders_mirror_the_tests_wins() -> None:
    """Of several sources with one name the nearest is covered; examples and benchmarks come last."""
    paths = [
        "tests/views/test_base.py",
        "tests/test_path.py",
        "app/models/base.py",
        "app/views/base.py",
        "benchmark/path.py",
        "lib/app/path.py",
    ]
    assert mapped(paths) == {
        "tests/views/test_base.py": ["app/views/base.py"],
        "tests/test_path.py": ["lib/app/path.py"],
    }


def test_words_at_the_end_of_a_tests_name_may_say_what_is_tested() -> None:
    """`test_cli_install` covers `cli` where there is no `cli_install`."""
    assert mapped(["tests/test_cli_install.py", "cli.py", "install.py"]) == {
        "tests/test_cli_install.py": ["cli.py"]
    }


def test_imports_add_sources_but_not_hubs() -> None:
    """What a test imports it covers, unless most tests import it."""
    tests = [f"tests/test_{letter * 3}.py" for letter in "abcdefghijkl"]
    assert len(tests) > HUB_TESTS
    paths = [*tests, "app/core.py", "app/rare.py"]
    edges = [(test, "app/core.py") for test in tests] + [(tests[0], "app/rare.py")]
    assert mapped(paths, edges) == {tests[0]: ["app/rare.py"]}


def test_languages_do_not_mix_and_helpers_cover_nothing() -> None:
    """A test covers sources of its own language family only; helpers have no source by name."""
    assert mapped(["tests/test_store.py", "src/store.go", "test/helper.js", "lib/helper.js"]) == {}


@given(
    st.lists(
        st.sampled_from(["tests/test_a.py", "a.py", "b.py", "a_test.go", "a.go", "test.py", ".py"]),
        unique=True,
    ),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8),
)
def test_pairs_are_well_formed(paths: list[str], pairs: list[tuple[int, int]]) -> None:
    """Pairs are sorted, unique and go from tests to sources."""
    graph = [pair for pair in sorted(set(pairs)) if max(pair) < len(paths)]
    roles = [role_of(path) for path in paths]
    found = map_tests(paths, roles, np.asarray(graph, dtype=np.int32).reshape(-1, 2))
    listed = [tuple(pair) for pair in found.tolist()]
    assert found.dtype == np.int32
    assert listed == sorted(set(listed))
    assert all(roles[test] == "test" and roles[source] == "source" for test, source in listed)
