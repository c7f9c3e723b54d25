"""The contents of layers L0-L6, each from the columns of a project, and which a kind of task is shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from workbench.project.layers import (
    LIMITS,
    Int32,
    LayerEntry,
    LayerLimits,
    LayerSection,
    LayerSource,
    LayerView,
    PathChange,
    route,
)
from workbench.records.plan import Detail, QueryType
from workbench.records.project import Layer, Role, Symbol
from workbench.text.counts import plural


def _project_map(
    view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits
) -> LayerSection:
    """L0: the project in numbers, then its folders with what they hold, then what it can run."""
    roles = Counter(str(role) for role in view.roles)
    languages = Counter(view.languages[position] for position in order if view.languages[position])
    summary = LayerEntry(
        "",
        f"{plural(len(view.paths), 'file')}: "
        + ", ".join(f"{count} {role}" for role, count in _commonest(roles)),
        (", ".join(f"{language} {count}" for language, count in _commonest(languages)[:6]),)
        if languages
        else (),
    )
    folders: dict[str, Counter[str]] = {}
    for position in order:
        folders.setdefault(_top_folder(view.paths[position]), Counter())[view.languages[position]] += 1
    ranked = sorted(folders.items(), key=lambda item: (-item[1].total(), item[0]))
    entries = [summary]
    entries += [
        LayerEntry(
            "", f"{folder or '.'}/  {plural(counts.total(), 'file')}, {_commonest(counts)[0][0] or 'other'}"
        )
        for folder, counts in ranked[: limits.modules]
    ]
    scripts = [
        f"{name} = {target}"[:120]
        for manifest in view.manifests
        for name, target in manifest.scripts
        if manifest.ecosystem != "javascript" or name == "main"
    ]
    if scripts:
        entries.append(LayerEntry("", "entry points", tuple(scripts[: limits.symbols])))
    return LayerSection(Layer.L0, tuple(entries), len(folders))


def _commonest(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _top_folder(path: str) -> str:
    """Two levels where the first is only a container of packages."""
    parts = path.split("/")[:-1]
    deep = (
        2
        if parts[:1] and parts[0] in ("src", "packages", "apps", "crates", "libs", "lib", "cmd", "pkg")
        else 1
    )
    return "/".join(parts[:deep])


def _module_index(
    view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits
) -> LayerSection:
    """L1: source files with how many import them and what they define first."""
    entries = []
    for position in order[: limits.modules]:
        names = [
            s.name for s in view.symbols(position) if not s.parent and s.exported and s.kind != "constant"
        ]
        text = f"imported by {int(degrees[position])}"
        shown = ", ".join(dict.fromkeys(names[: limits.symbols]))
        entries.append(LayerEntry(view.paths[position], text, (shown,) if shown else ()))
    return LayerSection(Layer.L1, tuple(entries), len(order))


def _type_graph(view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits) -> LayerSection:
    """L2: types with what they extend or implement."""
    entries: list[LayerEntry] = []
    for position in order:
        if len(entries) == limits.files:
            break
        types = [symbol for symbol in view.symbols(position) if symbol.kind in ("class", "type", "impl")]
        if types:
            lines = dict.fromkeys(_type_line(symbol) for symbol in types)
            entries.append(
                LayerEntry(view.paths[position], f"{len(types)} types", tuple(lines)[: limits.symbols])
            )
    return LayerSection(Layer.L2, tuple(entries), len(order))


def _type_line(symbol: Symbol) -> str:
    above = find_bases(symbol)
    name = f"{symbol.parent}.{symbol.name}" if symbol.parent else symbol.name
    return f"{name} → {', '.join(above)}" if above else name


def _api_surface(
    view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits
) -> LayerSection:
    """L3: exported signatures of the most imported files."""
    entries: list[LayerEntry] = []
    for position in order:
        if len(entries) == limits.files:
            break
        exported = [
            s for s in view.symbols(position) if s.exported and s.kind not in ("constant", "impl", "test")
        ]
        if exported:
            lines = tuple(f"{symbol.line}: {symbol.signature}" for symbol in exported[: limits.symbols])
            entries.append(LayerEntry(view.paths[position], f"{len(exported)} exported", lines))
    return LayerSection(Layer.L3, tuple(entries), len(order))


def _dependencies(
    view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits
) -> LayerSection:
    """L4: manifests, nearest the root first, with their dependencies; fixtures are left out."""
    roles = dict(zip(view.paths, view.roles, strict=True))
    own = [item for item in view.manifests if roles.get(item.path) not in (Role.TEST, Role.DATA)]
    ordered = sorted(own, key=lambda manifest: (manifest.path.count("/"), manifest.path))
    entries = []
    for manifest in ordered[: limits.files]:
        shown = [
            f"{dependency.name} {dependency.constraint}".strip()
            + (f" ({dependency.kind})" if dependency.kind != "runtime" else "")
            for dependency in sorted(manifest.dependencies, key=lambda item: item.kind != "runtime")
            if dependency.kind != "indirect"
        ]
        text = f"{manifest.name or manifest.ecosystem} {manifest.version}".strip()
        entries.append(LayerEntry(manifest.path, text, tuple(shown[: limits.symbols])))
    return LayerSection(Layer.L4, tuple(entries), len(ordered))


def _test_map(view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits) -> LayerSection:
    """L5: sources with the tests that cover them; the tests are files of the layer as well."""
    covering: dict[int, list[int]] = {}
    breadth: Counter[int] = Counter()
    for test, source in view.tests.tolist():
        covering.setdefault(source, []).append(test)
        breadth[test] += 1
    covered = [position for position in order if position in covering]
    entries = []
    for position in covered[: limits.modules]:
        source = view.paths[position]
        ranked = sorted(
            _test_distance(view.paths[test], source, breadth[test]) for test in covering[position]
        )
        shown = tuple(path for *_, path in ranked[: limits.symbols])
        entries.append(LayerEntry(shown[0], f"covers {source}", shown[1:]))
    return LayerSection(Layer.L5, tuple(entries), len(covered))


def _test_distance(test: str, source: str, breadth: int) -> tuple[int, int, int, str]:
    """Tests that bear the source's name first, then those that cover little else, then near ones."""
    stem = source.rpartition("/")[2].split(".", 1)[0].lower()
    name = test.rpartition("/")[2].lower()
    foreign = len(name) - len(stem) if stem in name else len(name) + 100
    shared = sum(left == right for left, right in zip(test.split("/"), source.split("/"), strict=False))
    return foreign, breadth, -shared, test


def _change_digest(
    view: LayerSource, order: Sequence[int], degrees: Int32, limits: LayerLimits
) -> LayerSection:
    """L6: files by their last change, latest first."""
    living = set(view.paths)
    latest: dict[str, PathChange] = {}
    for change in sorted(view.changes, key=lambda change: (-change.at, change.path)):
        latest.setdefault(change.path, change)
    shown = list(latest.values())
    entries = tuple(
        LayerEntry(change.path if change.path in living else "", _change_line(change, change.path in living))
        for change in shown[: limits.changes]
    )
    return LayerSection(Layer.L6, entries, len(shown))


def _change_line(change: PathChange, living: bool) -> str:
    text = f"{change.kind}: {change.note}" if change.note else change.kind
    return text if living else f"{change.path} {text}"


Section = Callable[[LayerSource, Sequence[int], Int32, LayerLimits], LayerSection]
SECTIONS: dict[Layer, Section] = {
    Layer.L0: _project_map,
    Layer.L1: _module_index,
    Layer.L2: _type_graph,
    Layer.L3: _api_surface,
    Layer.L4: _dependencies,
    Layer.L5: _test_map,
    Layer.L6: _change_digest,
}


_PAREN_BASES = re.compile(r"\bclass\s{1,9}\w{1,200}\s{0,9}(?:\[[^\]]{0,200}\]\s{0,9})?\((.{0,200})\)\s*$")
_WORD_BASES = re.compile(
    r"\b(?:extends|implements|with)\s+(.{1,200}?)(?=\b(?:extends|implements|with|where|permits)\b|$)"
)
_FOR_BASES = re.compile(r"^(?:unsafe\s+)?impl(?:<.{0,200}?>)?\s+!?([\w:]{1,200})(?:<.{0,200}>)?\s+for\s")
_COLON_BASES = re.compile(
    r"\b(?:class|struct|interface|object|enum|trait|protocol|record|actor)\s{1,9}[\w.:]{1,200}[^:]{0,200}?(?<!:):(?!:)(.+)"
)
_LESS_BASES = re.compile(r"^class\s+[\w:]+\s*<\s*([\w:]+)")
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)")
_BASE_NAME = re.compile(r"[A-Za-z_][\w.:]*")
_NOT_BASES = frozenset(
    {"public", "private", "protected", "virtual", "metaclass", "Sized", "typename", "where"}
)


def find_bases(symbol: Symbol) -> tuple[str, ...]:
    """Return the types a type extends or implements, read from its signature; () where it names none."""
    signature = symbol.signature
    if symbol.kind not in ("class", "type", "impl"):
        return ()
    for pattern in (_PAREN_BASES, _FOR_BASES, _LESS_BASES):
        match = pattern.search(signature)
        if match:
            return _base_names(match.group(1))
    plain = _without_arguments(signature)
    found = [name for match in _WORD_BASES.finditer(plain) for name in _base_names(match.group(1))]
    if not found:
        match = _COLON_BASES.search(plain)
        found = list(_base_names(match.group(1))) if match else []
    return tuple(dict.fromkeys(found))


def _base_names(text: str) -> tuple[str, ...]:
    """The names of a list of types without their arguments: `Base[T], metaclass=M, ns::Other<K>`."""
    names = []
    for part in re.split(r"[,+&]", _without_arguments(text)):
        if "=" in part:
            continue
        words = [word for word in _BASE_NAME.findall(part) if word not in _NOT_BASES]
        names += words[-1:]
    return tuple(dict.fromkeys(names))


def _without_arguments(text: str) -> str:
    for _ in range(4):
        text = _ARGUMENTS.sub("", text)
    return text


def explore(view: LayerSource, query_type: QueryType, detail: Detail = Detail.COMPACT) -> LayerView:
    """Return the layers of the route, cut to the limits of the detail."""
    limits = LIMITS[detail]
    degrees = in_degrees(view)
    order = _by_degree(view, degrees)
    sections = tuple(SECTIONS[layer](view, order, degrees, limits) for layer in route(query_type))
    return LayerView(query_type, detail, sections)


def baseline_ranking(view: LayerSource, query_type: QueryType) -> list[str]:
    """Return the files in the order the baseline shows them: compact, then what normal and verbose add."""
    found: dict[str, None] = {}
    for detail in (Detail.COMPACT, Detail.NORMAL, Detail.VERBOSE):
        found.update(dict.fromkeys(explore(view, query_type, detail).paths))
    return list(found)


def in_degrees(view: LayerSource) -> Int32:
    """Return int32 [n]: how many files import each file."""
    counts = np.bincount(view.edges[:, 1], minlength=len(view.paths)) if len(view.edges) else None
    return np.zeros(len(view.paths), dtype=np.int32) if counts is None else counts.astype(np.int32)


def _by_degree(view: LayerSource, degrees: Int32) -> list[int]:
    """Positions of source files, most imported first, ties by path."""
    sources = [position for position, role in enumerate(view.roles) if role is Role.SOURCE]
    return sorted(sources, key=lambda position: (-int(degrees[position]), view.paths[position]))
