"""C includes, Ruby requires, and languages whose imports are ends of paths."""

from __future__ import annotations

import re
from collections.abc import Callable

from workbench.project.resolve.tree import PathTree, Resolve, join_path

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUBY_ROOTS = frozenset({"", "lib", "spec", "test", "tests", "app", "features", "ext"})
_INCLUDE_ROOTS = frozenset({"include", "inc", "includes", "public"})


def includes(tree: PathTree) -> Resolve:
    """C and C++: next to the includer, else the nearest path with that end; `<x.h>` in include folders."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        system = specifier.startswith("<")
        name = specifier.strip("<>")
        if not system:
            near = join_path(tree.folders[importer], name)
            if near in tree.files:
                return (tree.files[near],)
        found = tree.with_suffix(name.replace("../", ""))
        if system and "/" not in name:
            found = [
                position
                for position in found
                if any(part in _INCLUDE_ROOTS for part in tree.folders[position].split("/"))
            ]
        return tree.nearest(importer, found)

    return resolve


def ruby(tree: PathTree) -> Resolve:
    """Ruby: relative, or from a load path (lib, spec, test, app)."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        if specifier[0].isupper():
            return _ruby_constant(tree, importer, specifier)
        name = specifier if specifier.endswith(".rb") else specifier + ".rb"
        if name.startswith("."):
            path = join_path(tree.folders[importer], name)
            return (tree.files[path],) if path in tree.files else ()
        found = [
            position
            for position in tree.with_suffix(name)
            if tree.paths[position][: -len(name)].rstrip("/").rpartition("/")[2] in _RUBY_ROOTS
        ]
        return tree.nearest(importer, found)

    return resolve


def _ruby_constant(tree: PathTree, importer: int, specifier: str) -> tuple[int, ...]:
    """The file an autoloader would look for: `Cop::Style::IfUnless` in `cop/style/if_unless.rb`."""
    parts = ["_".join(_CAMEL.split(part)).lower() for part in specifier.split("::")]
    for length in (len(parts), len(parts) - 1):
        for start in range(length):
            ending = "/".join(parts[start:length]) + ".rb"
            found = _in_scope(tree, importer, tree.with_suffix(ending), lone=length - start == 1)
            if found:
                return found
    return ()


def _in_scope(tree: PathTree, importer: int, found: list[int], *, lone: bool) -> tuple[int, ...]:
    """A lone name means the file of a folder above, or the only one of that name; a path the nearest."""
    found = [position for position in found if position != importer]
    folder = tree.folders[importer] + "/"
    above = [position for position in found if folder.startswith(tree.folders[position] + "/")]
    if above:
        return (max(above, key=lambda position: (len(tree.folders[position]), tree.paths[position])),)
    return tree.nearest(importer, found) if not lone or len(found) == 1 else ()


def type_files(tree: PathTree, suffix: str) -> Resolve:
    """C# and Swift: a type lies in the file that bears its name, in whatever folder."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        found = [position for position in tree.by_name.get(specifier + suffix, ()) if position != importer]
        return tree.nearest(importer, found)

    return resolve


def by_suffix(tree: PathTree, endings: Callable[[str], list[str]]) -> Resolve:
    """A resolver that tries the path endings a specifier may mean, relative ones first."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        candidates = endings(specifier)
        for ending in candidates:
            path = join_path(tree.folders[importer], ending)
            if path in tree.files and tree.files[path] != importer:
                return (tree.files[path],)
        for ending in candidates:
            if not ending.startswith("."):
                found = [position for position in tree.with_suffix(ending.strip("/")) if position != importer]
                if found:
                    return tree.nearest(importer, found)
        return ()

    return resolve


def relative_only(tree: PathTree) -> Resolve:
    """Links and inclusions that are paths from the file itself or from the root."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        name = specifier.split("#", 1)[0].split("?", 1)[0]
        if name.startswith("/"):  # from the root of the site, wherever its sources lie
            return tree.nearest(importer, tree.with_suffix(name.lstrip("/")))
        path = join_path(tree.folders[importer], name)
        return (tree.files[path],) if path in tree.files else ()

    return resolve


def _php(specifier: str) -> list[str]:
    if "\\" not in specifier:
        return [specifier.lstrip("/")]
    parts = specifier.strip("\\").split("\\")
    return ["/".join(parts[start:]) + ".php" for start in range(max(1, len(parts) - 1))]


def _dotted_endings(suffix: str, *, index: str = "") -> Callable[[str], list[str]]:
    def endings(specifier: str) -> list[str]:
        path = specifier.replace("::", ".").replace(".", "/")
        return [path + suffix, *([f"{path}/{index}"] if index else [])]

    return endings


def _elixir(specifier: str) -> list[str]:
    parts = ["_".join(_CAMEL.split(part)).lower() for part in specifier.split(".")]
    if len(parts) < 2:
        return []
    return (
        ["/".join(parts) + ".ex", "/".join(parts[1:]) + ".ex"]
        if len(parts) > 2
        else ["/".join(parts) + ".ex"]
    )


def _dart(specifier: str) -> list[str]:
    if specifier.startswith("dart:"):
        return []
    if specifier.startswith("package:"):
        return ["lib/" + specifier.partition("/")[2]]
    return [specifier]


def _scss(specifier: str) -> list[str]:
    folder, slash, name = specifier.rpartition("/")
    stem = name.removesuffix(".scss")
    return [specifier, *(f"{folder}{slash}{prefix}{stem}{suffix}" for prefix in ("", "_")
                         for suffix in (".scss", ".sass", ".less", ".css"))]  # fmt: skip


def _plain(specifier: str) -> list[str]:
    return [specifier] if "$" not in specifier else [specifier.rpartition("}")[2].lstrip("/")]


def _template(specifier: str) -> list[str]:
    return [] if specifier.startswith(("http:", "https:", "//")) else [specifier.lstrip("/")]


ENDINGS: dict[str, Callable[[str], list[str]]] = {
    "php": _php,
    "lua": _dotted_endings(".lua", index="init.lua"),
    "elixir": _elixir,
    "dart": _dart,
    "protobuf": _plain,
    "thrift": _plain,
    "haskell": _dotted_endings(".hs"),
    "perl": _dotted_endings(".pm"),
    "css": _scss,
    "scss": _scss,
    "html": _template,
    "jinja": _template,
    "shell": _plain,
    "make": _plain,
    "julia": _plain,
    "r": _plain,
    "zig": _plain,
    "nix": _plain,
    "solidity": _plain,
}
