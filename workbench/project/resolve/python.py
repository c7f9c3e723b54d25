"""Python imports: absolute from any source root, relative, and names that packages re-export."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workbench.project.resolve.tree import PathTree, Resolve

_SUFFIXES = (".py", ".pyi", ".pyx")
_ROOTS = frozenset({"", "src", "lib", "python"})
_MAX_HOPS = 3


def resolver(tree: PathTree, imports: Sequence[Sequence[str]]) -> Resolve:
    """Return the resolver; `imports` are all files' specifiers, for names that an `__init__` passes on."""
    modules = _modules(tree)
    own = {name.partition(".")[0] for name in modules}
    exports: dict[int, dict[str, str]] = {}

    def module(importer: int, specifier: str) -> tuple[tuple[int, ...], str]:
        """Return (the file, the first name left over)."""
        if specifier.startswith("."):
            return _relative(tree, importer, specifier)
        top = specifier.partition(".")[0]
        if top not in own:
            return (), ""
        folder = tree.folders[importer]
        name, rest = specifier, ""
        while name:
            found = [position for position, root in modules.get(name, ()) if _visible(root, folder, top)]
            if found:
                return tree.nearest(importer, found), rest
            name, _, rest = name.rpartition(".")
        return (), ""

    def exported(package: int) -> dict[str, str]:
        if package not in exports:
            exports[package] = {spec.rpartition(".")[2]: spec for spec in imports[package]}
        return exports[package]

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        found, name = module(importer, specifier)
        result = list(found)
        for _ in range(_MAX_HOPS):
            if not found or not name or not _is_package(tree.paths[found[0]]):
                break
            passed_on = exported(found[0]).get(name)
            if passed_on is None or found[0] == importer:
                break
            found, rest = module(found[0], passed_on)
            name = rest
            result.extend(found)
        return tuple(result)

    return resolve


_Root = tuple[str, bool]  # the folder a dotted name starts from, and whether a package lies in it


def _modules(tree: PathTree) -> dict[str, list[tuple[int, _Root]]]:
    """Return the positions that a dotted name can mean, with the source root each is found from."""
    packages = {
        folder for position, folder in enumerate(tree.folders) if _is_package(tree.paths[position]) and folder
    }
    modules: dict[str, list[tuple[int, _Root]]] = {}
    for position, path in enumerate(tree.paths):
        stem, dot, suffix = path.rpartition(".")
        if dot + suffix not in _SUFFIXES:
            continue
        folder = tree.folders[position]
        package = folder
        while package and package not in packages:
            package = package.rpartition("/")[0]
        root = package
        while root in packages:
            root = root.rpartition("/")[0]
        names: dict[str, _Root] = {}
        if package:
            names[_dotted(stem, root)] = (root, True)
        if folder not in packages:
            names.setdefault(_dotted(stem, folder), (folder, False))
        first = folder.partition("/")[0]
        if first in _ROOTS:
            names.setdefault(_dotted(stem, first), (first, True))
        names.setdefault(_dotted(stem, ""), ("", True))
        for name, found in names.items():
            if name:
                modules.setdefault(name, []).append((position, found))
    return modules


def _dotted(stem: str, root: str) -> str:
    relative = stem[len(root) + 1 :] if root else stem
    return relative.removesuffix("__init__").rstrip("/").replace("/", ".")


def _visible(root: _Root, folder: str, top: str) -> bool:
    """Whether a module that a name could mean is on the importer's path.

    Packages and modules of the usual roots are; a loose script is for its neighbours and those below; a name
    of the standard library means that library unless the module lies at a root or next to the importer.
    """
    base, packaged = root
    near = base in _ROOTS or base == folder
    if top in sys.stdlib_module_names:
        return near
    return packaged or near or folder.startswith(base + "/")


def _relative(tree: PathTree, importer: int, specifier: str) -> tuple[tuple[int, ...], str]:
    name = specifier.lstrip(".")
    base = tree.folders[importer]
    for _ in range(len(specifier) - len(name) - 1):
        if not base:
            return (), ""
        base = base.rpartition("/")[0]
    rest = ""
    parts = name.split(".") if name else []
    while True:
        path = "/".join([*([base] if base else []), *parts])
        found = _file(tree, path)
        if found is not None and found != importer:
            return (found,), rest
        if not parts:
            return (), ""
        rest = parts.pop()


def _file(tree: PathTree, path: str) -> int | None:
    for candidate in (
        path + ".py",
        path + "/__init__.py",
        path + ".pyi",
        path + "/__init__.pyi",
        path + ".pyx",
    ):
        position = tree.files.get(candidate.lstrip("/"))
        if position is not None:
            return position
    return None


def _is_package(path: str) -> bool:
    return path.endswith(("/__init__.py", "/__init__.pyi")) or path in ("__init__.py", "__init__.pyi")
