"""How files relate: which file each import specifier means, and which tests cover which sources.

A change of one file's content asks for that file's imports alone; a path that appears or disappears can
redirect other files' imports.

Tests are mapped by naming conventions: `test_x.py`, `x_test.go`, `XTest.java`, `x.spec.ts`, `spec/x_spec.rb`
and a test folder's `x.js` all mean a source called x; among several the one whose folders mirror the test's
wins. Imports add what names leave open, except of modules that a large share of all tests import, for those
say nothing about any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.project.resolve import compiled, others, scripts
from workbench.project.resolve.tree import PathTree, Resolve
from workbench.records.project import Role
from workbench.text.terms import count_shared

Int32 = NDArray[np.int32]
Imports = Sequence[Sequence[str]]

_LANGUAGES = {
    "python": "python cython",
    "javascript": "javascript typescript tsx vue svelte astro",
    "rust": "rust",
    "go": "go",
    "jvm": "java kotlin scala groovy",
    "c": "c cpp objective-c",
    "ruby": "ruby",
    "csharp": "csharp",
    "swift": "swift",
    "links": "markdown rst",
}
_IMPORT_FAMILIES = {
    **{language: family for family, languages in _LANGUAGES.items() for language in languages.split()},
    **{language: language for language in others.ENDINGS},
}
_BUILDERS: dict[str, Callable[[PathTree, Imports], Resolve]] = {
    "python": scripts.python_resolver,
    "javascript": lambda tree, _: scripts.javascript_resolver(tree),
    "rust": lambda tree, _: compiled.rust_resolver(tree),
    "go": compiled.go_resolver,
    "jvm": lambda tree, _: compiled.jvm_resolver(tree),
    "c": lambda tree, _: others.includes(tree),
    "ruby": lambda tree, _: others.ruby(tree),
    "csharp": lambda tree, _: others.type_files(tree, ".cs"),
    "swift": lambda tree, _: others.type_files(tree, ".swift"),
    "links": lambda tree, _: others.relative_only(tree),
}


def resolve_imports(paths: Sequence[str], languages: Sequence[str], imports: Imports) -> Int32:
    """Return the import graph as int32 [m, 2] (importer, imported), positions in `paths`; sorted, unique.

    imports: per file, specifiers as `extract_symbols` gives them. Specifiers that lead outside the project
    give no edge. Files with no specifiers cost nothing, and lookups are built only for the languages that
    import.
    """
    tree = PathTree(paths, languages)
    resolvers: dict[str, Resolve] = {}
    known: dict[tuple[str, str, str], tuple[int, ...]] = {}
    edges: set[tuple[int, int]] = set()
    for importer, specifiers in enumerate(imports):
        family = _IMPORT_FAMILIES.get(languages[importer])
        if not specifiers or family is None:
            continue
        if family not in resolvers:
            resolvers[family] = _resolver(family, tree, imports)
        resolve = resolvers[family]
        # In one folder a specifier means one file, except in Rust, where every file is a folder of its own.
        place = paths[importer] if family == "rust" else tree.folders[importer]
        for specifier in specifiers:
            key = (family, place, specifier)
            found = known.get(key)
            if found is None:
                found = known[key] = resolve(importer, specifier)
            for imported in found:
                if imported != importer:
                    edges.add((importer, imported))
    return np.asarray(sorted(edges), dtype=np.int32).reshape(-1, 2)


def _resolver(family: str, tree: PathTree, imports: Imports) -> Resolve:
    if family in _BUILDERS:
        return _BUILDERS[family](tree, imports)
    return others.by_suffix(tree, others.ENDINGS[family])


MAX_IMPORTED = 8  # sources a test is mapped to for importing them, the least imported first
HUB_TESTS = 10  # a source imported by more tests than this, and
HUB_SHARE = 0.2  # by more than this share of all tests, is a hub
_MIN_STEM = 3

_AFFIX = re.compile(
    r"""(?x)
    ^tests?[_-] | ^Tests?(?=[A-Z])
    | [._-](?:tests?|spec|specs|e2e|cy|unittests?|integration|bench|test-d)$
    | (?<=[a-z0-9])(?:Tests?|TestCase|TestSuite|Specs?|ITCase|IT|UnitTest)$
    """
)
_WORDS = re.compile(r"[._-]+|(?<=[a-z0-9])(?=[A-Z])")
_PACKAGE_STEMS = frozenset({"__init__", "index", "mod", "lib", "main"})
_PLAIN_FOLDERS = frozenset(
    """
    test tests __tests__ spec specs src main java kotlin scala groovy lib unit integration functional python
    app e2e packages testing
    """.split()
)
_ASIDE = frozenset(
    {"benchmark", "benchmarks", "bench", "examples", "example", "scripts", "tools", "docs", "doc", "demo"}
)
_FAMILIES = {
    suffix: family
    for family, suffixes in {
        "python": "py pyi pyx",
        "javascript": "js jsx mjs cjs ts tsx mts cts vue svelte",
        "jvm": "java kt kts scala groovy",
        "c": "c h cc cpp cxx hpp hh hxx m mm",
        "ruby": "rb",
        "go": "go",
        "rust": "rs",
        "csharp": "cs",
        "php": "php",
        "swift": "swift",
        "elixir": "ex exs",
        "dart": "dart",
        "lua": "lua",
        "shell": "sh bash bats",
    }.items()
    for suffix in suffixes.split()
}


def map_tests(paths: Sequence[str], roles: Sequence[Role], edges: Int32) -> Int32:
    """Return int32 [t, 2] of (test, source) positions, sorted and unique.

    edges: int32 [m, 2] (importer, imported), as `resolve_imports` gives them.
    """
    sources: dict[tuple[str, str], list[int]] = {}
    for position, path in enumerate(paths):
        family = _family(path)
        if roles[position] is Role.SOURCE and family:
            for stem in _source_stems(path):
                sources.setdefault((family, stem), []).append(position)
    pairs: set[tuple[int, int]] = set()
    for position, path in enumerate(paths):
        if roles[position] is Role.TEST:
            found = _named_source(path, paths, sources)
            if found is not None:
                pairs.add((position, found))
    pairs.update(_map_imports(paths, roles, edges))
    return np.asarray(sorted(pairs), dtype=np.int32).reshape(-1, 2)


def _family(path: str) -> str:
    return _FAMILIES.get(path.rpartition(".")[2].lower(), "")


def _plain(stem: str) -> str:
    """A stem without case and separators, so that `GsonBuilder`, `gson_builder` and `gson-builder` agree."""
    return re.sub(r"[._-]", "", stem).lower()


def _source_stems(path: str) -> set[str]:
    parts = path.split("/")
    stem = parts[-1].rpartition(".")[0].removesuffix(".d")
    stems = {_plain(stem)}
    if stem in _PACKAGE_STEMS and len(parts) > 1:
        folder = parts[-2] if parts[-2] != "src" or len(parts) < 3 else parts[-3]
        stems = {_plain(folder)}
    return stems - {""}


def _named_source(path: str, paths: Sequence[str], sources: dict[tuple[str, str], list[int]]) -> int | None:
    """The source a test's name means: its whole stem first, then with words dropped from the end."""
    family = _family(path)
    name = path.rpartition("/")[2].rpartition(".")[0]
    stem = _AFFIX.sub("", _AFFIX.sub("", name))
    words = [word for word in _WORDS.split(stem) if word]
    if stem == name and name.lower() in ("conftest", "helper", "helpers", "utils", "util", "common", "setup"):
        return None
    for length in range(len(words), 0, -1):
        plain = _plain("".join(words[:length]))
        if len(plain) < _MIN_STEM and length < len(words):
            break
        found = sources.get((family, plain))
        if found:
            base = _folders(path)
            return min(found, key=lambda position: (*_distance(base, paths[position]), paths[position]))
    return None


def _folders(path: str) -> list[str]:
    return [part for part in path.split("/")[:-1] if part not in _PLAIN_FOLDERS]


def _distance(base: list[str], path: str) -> tuple[int, int, int, int]:
    """Lower for sources whose folders, conventional ones aside, mirror those of the test."""
    aside = int(not _ASIDE.isdisjoint(path.split("/")[:-1]))
    other = _folders(path)
    trailing = count_shared(base[::-1], other[::-1])
    leading = count_shared(base, other)
    header = path.endswith((".h", ".hpp", ".hh", ".d.ts", ".pyi"))
    return -2 * max(trailing, leading) - min(trailing, leading), aside, int(header), len(other)


def _names_file(path: str) -> bool:
    return not path.endswith(".go")


def _map_imports(paths: Sequence[str], roles: Sequence[Role], edges: Int32) -> set[tuple[int, int]]:
    """Pairs of tests and the sources they import; hubs, and Go's imports of whole packages, are left out."""
    tests = sum(role is Role.TEST for role in roles)
    imported: dict[int, list[int]] = {}
    fans: dict[int, int] = {}
    for importer, target in edges.tolist():
        if roles[importer] is Role.TEST and roles[target] is Role.SOURCE and _names_file(paths[target]):
            imported.setdefault(importer, []).append(target)
            fans[target] = fans.get(target, 0) + 1
    limit = max(HUB_TESTS, HUB_SHARE * tests)
    pairs: set[tuple[int, int]] = set()
    for test, targets in imported.items():
        kept = sorted((target for target in targets if fans[target] <= limit), key=lambda t: (fans[t], t))
        pairs.update((test, target) for target in kept[:MAX_IMPORTED])
    return pairs
