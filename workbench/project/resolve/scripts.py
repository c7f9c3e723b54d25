"""Imports of Python, absolute, relative and re-exported, and of JavaScript and TypeScript."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workbench.project.resolve.tree import PathTree, Resolve, join_path, shared_folders

_SUFFIXES = (".py", ".pyi", ".pyx")
_ROOTS = frozenset({"", "src", "lib", "python"})
_MAX_HOPS = 3


def python_resolver(tree: PathTree, imports: Sequence[Sequence[str]]) -> Resolve:
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
            names[_module_name(stem, root)] = (root, True)
        if folder not in packages:
            names.setdefault(_module_name(stem, folder), (folder, False))
        first = folder.partition("/")[0]
        if first in _ROOTS:
            names.setdefault(_module_name(stem, first), (first, True))
        names.setdefault(_module_name(stem, ""), ("", True))
        for name, found in names.items():
            if name:
                modules.setdefault(name, []).append((position, found))
    return modules


def _module_name(stem: str, root: str) -> str:
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


_EXTENSIONS = tuple(".ts .tsx .js .jsx .mjs .cjs .mts .cts .d.ts .vue .svelte .json .astro".split())
_SCRIPTS = (".js", ".ts", ".mjs", ".cjs")
_COMPILED = {".js": (".ts", ".tsx", ".d.ts"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}
_ENTRIES = ("src/index", "index", "src/main", "lib/index", "src/lib", "main")
_ALIASES = ("@/", "~/", "#/", "@@/", "~~/", "$lib/", "src/", "app/", "#")
_SOURCE_ROOTS = ("src", "app", "lib", "")


def javascript_resolver(tree: PathTree) -> Resolve:
    """Return the javascript_resolver."""
    packages: dict[str, list[str]] = {}
    for path in tree.paths:
        if path.endswith("/package.json"):
            folder = path.rpartition("/")[0]
            packages.setdefault(folder.rpartition("/")[2], []).append(folder)

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        specifier = specifier.split("?", 1)[0]
        if specifier.startswith("."):
            path = join_path(tree.folders[importer], specifier)
            return _find_script(tree, path) if path is not None else ()
        if specifier.startswith("/"):
            return _find_script(tree, specifier.lstrip("/"))
        for alias in _ALIASES:
            if specifier.startswith(alias):
                found = _find_alias(tree, importer, specifier, specifier[len(alias) :])
                if found:
                    return found
        return _workspace(tree, importer, specifier, packages)

    return resolve


def _find_script(tree: PathTree, path: str) -> tuple[int, ...]:
    """The file a path without a sure extension means: itself, with an extension, or the index of a folder."""
    position = tree.files.get(path)
    if position is not None:
        return (position,)
    for suffix, sources in _COMPILED.items():
        if path.endswith(suffix):
            for source in sources:
                position = tree.files.get(path.removesuffix(suffix) + source)
                if position is not None:
                    return (position,)
    for base in (path, f"{path}/index" if path not in ("", ".") else "index"):
        for extension in _EXTENSIONS:
            position = tree.files.get(base + extension)
            if position is not None:
                return (position,)
    return _entry(tree, path)


def _entry(tree: PathTree, folder: str) -> tuple[int, ...]:
    """The main file of a package without an index: the one script beside its manifest that is no tool's."""
    folder = "" if folder == "." else folder
    if (f"{folder}/package.json" if folder else "package.json") not in tree.files:
        return ()
    scripts = [
        position
        for position in tree.by_folder.get(folder, ())
        if tree.paths[position].endswith(_SCRIPTS) and tree.paths[position].rpartition("/")[2].count(".") == 1
    ]
    typed = [
        position for position in scripts if tree.paths[position].rpartition(".")[0] + ".d.ts" in tree.files
    ]
    return tuple(typed) if len(typed) == 1 else tuple(scripts) if len(scripts) == 1 else ()


def _find_alias(tree: PathTree, importer: int, whole: str, rest: str) -> tuple[int, ...]:
    """An alias means the source root of the importer's package: try the folders above, nearest first."""
    folder = tree.folders[importer]
    while True:
        for path in (rest, whole):
            for root in _SOURCE_ROOTS:
                base = "/".join(part for part in (folder, root, path) if part)
                script = _find_script(tree, base)
                if script and script[0] != importer:
                    return script
        if not folder:
            return ()
        folder = folder.rpartition("/")[0]


def _workspace(
    tree: PathTree, importer: int, specifier: str, packages: dict[str, list[str]]
) -> tuple[int, ...]:
    """A package of the same repository, known by its folder's name."""
    parts = specifier.split("/")
    scoped = specifier.startswith("@") and len(parts) > 1
    rest = "/".join(parts[2 if scoped else 1 :])
    names = (parts[1], f"{parts[0][1:]}-{parts[1]}") if scoped else (parts[0],)
    for name in names:
        folders = packages.get(name, [])
        base = tree.paths[importer]
        for folder in sorted(folders, key=lambda folder: (-shared_folders(base, folder + "/"), folder)):
            paths = [f"{folder}/{rest}", f"{folder}/src/{rest}", f"{folder}/lib/{rest}"] if rest else []
            paths = paths or [f"{folder}/{entry}" for entry in _ENTRIES]
            for path in paths:
                script = _find_script(tree, path)
                if script and script[0] != importer:
                    return script
    return ()
