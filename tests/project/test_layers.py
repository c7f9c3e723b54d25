"""Layers L0-L6, routing and the baseline's order."""

from __future__ import annotations

import json

import numpy as np
import pytest

from workbench.entry.cli.output import to_json
from workbench.project.languages import language_of, role_of
from workbench.project.layers import LIMITS, LayerSource, PathChange, explore_response, render, route
from workbench.project.manifests import parse_manifest
from workbench.project.relations import map_tests, resolve_imports
from workbench.project.sections import baseline_ranking, explore, find_bases
from workbench.project.symbols import extract_symbols
from workbench.records.plan import Detail, QueryType
from workbench.records.project import Layer, Symbol

FILES = {
    "pyproject.toml": '[project]\nname = "tool"\ndependencies = ["click"]\n[project.scripts]\n'
    'tool = "app.cli:main"\n',
    "app/__init__.py": "",
    "app/core.py": "class Port(Protocol):\n    def open(self): ...\n\ndef _hidden(): ...\n",
    "app/store.py": "from app.core import Port\nclass Store(Port):\n    pass\n",
    "app/cli.py": "from app.core import Port\nfrom app.store import Store\ndef main(): ...\n",
    "tests/test_store.py": "from app.store import Store\ndef test_open(): ...\n",
    "README.md": "# Tool\n",
}


def project(changes: tuple[PathChange, ...] = ()) -> LayerSource:
    paths = list(FILES)
    languages = [language_of(path) for path in paths]
    roles = [role_of(path) for path in paths]
    extracted = [
        extract_symbols(language, text.encode())
        for language, text in zip(languages, FILES.values(), strict=True)
    ]
    edges = resolve_imports(paths, languages, [imports for _, imports in extracted])
    manifests = [manifest for path in paths if (manifest := parse_manifest(path, FILES[path])) is not None]
    return LayerSource(
        paths=paths,
        languages=languages,
        roles=roles,
        symbols=lambda position: extracted[position][0],
        edges=edges,
        tests=map_tests(paths, roles, edges),
        manifests=manifests,
        changes=changes,
    )


CHANGES = (
    PathChange("app/cli.py", "modified", 10.0, "Fix the flag"),
    PathChange("app/store.py", "modified", 30.0, "Close the store"),
    PathChange("app/cli.py", "added", 5.0, "Start"),
    PathChange("gone.py", "removed", 20.0),
)


@pytest.mark.parametrize(
    ("query_type", "layers"),
    [
        (QueryType.GENERAL, "L0 L1 L2 L3 L4 L5 L6"),
        (QueryType.UNKNOWN, "L0 L1 L2 L3 L4 L5 L6"),
        (QueryType.BUGFIX, "L1 L3 L5 L6"),
        (QueryType.FEATURE, "L0 L1 L2 L3 L4 L5"),
        (QueryType.REFACTOR, "L1 L2 L3 L5"),
        (QueryType.INCIDENT, "L3 L4 L6"),
    ],
)
def test_routing_follows_the_table(query_type: QueryType, layers: str) -> None:
    """Each kind of task is routed to its layers, in order."""
    assert [str(layer) for layer in route(query_type)] == layers.split()


def test_limits_follow_the_specification() -> None:
    """Files × symbols, modules and changes per detail."""
    table = {
        detail: (limit.files, limit.symbols, limit.modules, limit.changes) for detail, limit in LIMITS.items()
    }
    assert table == {
        Detail.COMPACT: (5, 8, 10, 8),
        Detail.NORMAL: (10, 16, 20, 32),
        Detail.VERBOSE: (30, 32, 50, 100),
    }


def test_every_layer_shows_its_part() -> None:
    """The text holds each layer with files in the order of their in-degree."""
    assert render(explore(project(CHANGES), QueryType.GENERAL)) == (
        "L0 project map\n"
        "  7 files: 4 source, 1 build, 1 docs, 1 test\n"
        "    python 4\n"
        "  app/  4 files, python\n"
        "  entry points\n"
        "    tool = app.cli:main\n"
        "L1 module index\n"
        "  app/core.py  imported by 2\n"
        "    Port\n"
        "  app/store.py  imported by 2\n"
        "    Store\n"
        "  app/__init__.py  imported by 0\n"
        "  app/cli.py  imported by 0\n"
        "    main\n"
        "L2 type graph\n"
        "  app/core.py  1 types\n"
        "    Port → Protocol\n"
        "  app/store.py  1 types\n"
        "    Store → Port\n"
        "L3 API surface\n"
        "  app/core.py  2 exported\n"
        "    1: class Port(Protocol)\n"
        "    2: def open(self)\n"
        "  app/store.py  1 exported\n"
        "    2: class Store(Port)\n"
        "  app/cli.py  1 exported\n"
        "    3: def main()\n"
        "L4 dependency manifest\n"
        "  pyproject.toml  tool\n"
        "    click\n"
        "L5 test map\n"
        "  tests/test_store.py  covers app/store.py\n"
        "L6 change digest\n"
        "  app/store.py  modified: Close the store\n"
        "  gone.py removed\n"
        "  app/cli.py  modified: Fix the flag\n"
    )


def test_the_baseline_shows_files_in_the_order_of_its_layers() -> None:
    """A bug is answered with modules, surface, tests, then changes, each file once."""
    view = project(CHANGES)
    assert baseline_ranking(view, QueryType.BUGFIX) == [
        "app/core.py",
        "app/store.py",
        "app/__init__.py",
        "app/cli.py",
        "tests/test_store.py",
    ]
    assert baseline_ranking(view, QueryType.INCIDENT) == [
        "app/core.py",
        "app/store.py",
        "app/cli.py",
        "pyproject.toml",
    ]


def test_limits_bound_what_is_shown() -> None:
    """A large project shows no more than its detail allows, and a greater detail begins like it."""
    count = 200
    symbols = tuple(Symbol(f"f{n}", "class", n + 1, n + 1, f"class f{n}") for n in range(50))
    edges = [(importer, imported) for imported in range(count) for importer in range(imported + 1, count, 7)]
    paths = [f"src/m{n:03}.py" for n in range(count)]
    view = LayerSource(
        paths=paths,
        languages=["python"] * count,
        roles=[role_of(path) for path in paths],
        symbols=lambda position: symbols,
        edges=np.asarray(edges, dtype=np.int32),
        tests=np.zeros((0, 2), dtype=np.int32),
        changes=[PathChange(path, "modified", float(n)) for n, path in enumerate(paths)],
    )
    for detail in Detail:
        limit = LIMITS[detail]
        shown = {section.layer: section for section in explore(view, QueryType.GENERAL, detail).sections}
        assert len(shown[Layer.L3].entries) == limit.files
        assert {len(entry.details) for entry in shown[Layer.L3].entries} == {limit.symbols}
        assert len(shown[Layer.L1].entries) == limit.modules
        assert len(shown[Layer.L6].entries) == limit.changes
        assert shown[Layer.L6].entries[0].path == "src/m199.py"
        assert shown[Layer.L1].total == count
    compact = explore(view, QueryType.BUGFIX, Detail.COMPACT).paths
    assert baseline_ranking(view, QueryType.BUGFIX)[: len(compact)] == compact


def test_an_empty_project_has_layers_that_say_so() -> None:
    """Nothing known is shown as that, and the data form is plain JSON."""
    empty = np.zeros((0, 2), dtype=np.int32)
    view = explore(LayerSource([], [], [], lambda position: (), empty, empty), QueryType.BUGFIX)
    assert render(view).count("nothing known") == 4
    assert json.loads(to_json(explore_response(view)))["layers"][0] == {
        "layer": "L1",
        "title": "module index",
        "total": 0,
        "entries": [],
    }


@pytest.mark.parametrize(
    ("signature", "above"),
    [
        ("class A(Base[T], metaclass=M, x.Other)", ("Base", "x.Other")),
        ("class A", ()),
        ("export class A<T extends B> extends Base<T> implements Port, x.Other", ("Base", "Port", "x.Other")),
        ("public final class A extends Base<Map<K, V>> implements Port", ("Base", "Port")),
        ("impl<T> fmt::Display for Wrapper<T>", ("fmt::Display",)),
        ("impl Wrapper", ()),
        ("class A < Struct::Base", ("Struct::Base",)),
        ("class A : public ns::Base<T>, private Other", ("ns::Base", "Other")),
        ("class A(val x: Int) : Base(x), Port", ("Base", "Port")),
        ("pub trait A: Send + Sync", ("Send", "Sync")),
        ("type A struct", ()),
    ],
)
def test_bases_are_read_from_signatures(signature: str, above: tuple[str, ...]) -> None:
    """What a type extends or implements, in the spellings of many languages."""
    kind = "impl" if signature.startswith("impl") else "class"
    assert find_bases(Symbol("A", kind, 1, 1, signature)) == above
