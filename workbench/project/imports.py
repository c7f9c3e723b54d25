"""The import graph: which file of the project each import specifier means.

A change of one file's content asks for that file's edges alone; a path that appears or disappears can
redirect other files' imports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.project.resolve import compiled, javascript, others, python
from workbench.project.resolve.tree import PathTree, Resolve

Int32 = NDArray[np.int32]
Imports = Sequence[Sequence[str]]

_FAMILIES = {
    "python": "python",
    "cython": "python",
    "javascript": "javascript",
    "typescript": "javascript",
    "tsx": "javascript",
    "vue": "javascript",
    "svelte": "javascript",
    "astro": "javascript",
    "rust": "rust",
    "go": "go",
    "java": "jvm",
    "kotlin": "jvm",
    "scala": "jvm",
    "groovy": "jvm",
    "c": "c",
    "cpp": "c",
    "objective-c": "c",
    "ruby": "ruby",
    "csharp": "csharp",
    "swift": "swift",
    "markdown": "links",
    "rst": "links",
    **{language: language for language in others.ENDINGS},
}
_BUILDERS: dict[str, Callable[[PathTree, Imports], Resolve]] = {
    "python": python.resolver,
    "javascript": lambda tree, _: javascript.resolver(tree),
    "rust": lambda tree, _: compiled.rust_resolver(tree),
    "go": compiled.go_resolver,
    "jvm": lambda tree, _: compiled.jvm_resolver(tree),
    "c": lambda tree, _: others.includes(tree),
    "ruby": lambda tree, _: others.ruby(tree),
    "csharp": lambda tree, _: others.type_files(tree, ".cs"),
    "swift": lambda tree, _: others.type_files(tree, ".swift"),
    "links": lambda tree, _: others.relative_only(tree),
}
_INDEX_STEMS = frozenset({"__init__", "index", "mod", "lib", "main", "init"})


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
        family = _FAMILIES.get(languages[importer])
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
