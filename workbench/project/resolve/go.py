"""Go imports: a package is a folder; the module's own path follows from the imports that fit its folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.project.resolve.tree import MAX_PACKAGE, PathTree, Resolve

_STANDARD = frozenset(
    """
    C archive arena bufio builtin bytes cmp compress container context crypto database debug embed encoding
    errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
    reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique
    unsafe vendor weak
    """.split()
)
_MIN_SHARE = 0.02  # of the commonest module path's imports, for another module of the same repository


def resolver(tree: PathTree, imports: Sequence[Sequence[str]]) -> Resolve:
    """Return the resolver; `imports` are all files' specifiers."""
    packages: dict[str, list[int]] = {}
    for position, path in enumerate(tree.paths):
        if path.endswith(".go") and not path.endswith("_test.go"):
            packages.setdefault(tree.folders[position], []).append(position)
    for folder, files in packages.items():
        stem = folder.rpartition("/")[2] + ".go"
        files.sort(
            key=lambda position: (tree.paths[position].rpartition("/")[2] != stem, tree.paths[position])
        )
    modules = _module_paths(tree, imports, packages)

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        if specifier.startswith("."):
            from workbench.project.resolve.tree import joined

            folder = joined(tree.folders[importer], specifier)
            return tuple(packages.get(folder or "", ())[:MAX_PACKAGE])
        for module, folder in modules:
            if specifier == module or specifier.startswith(module + "/"):
                rest = specifier[len(module) + 1 :]
                inside = "/".join(part for part in (folder, rest) if part)
                if inside in packages and inside != tree.folders[importer]:
                    return tuple(packages[inside][:MAX_PACKAGE])
        return ()

    return resolve


def _module_paths(
    tree: PathTree, imports: Sequence[Sequence[str]], packages: dict[str, list[int]]
) -> list[tuple[str, str]]:
    """Return (module path, its folder) pairs, longest path first.

    The commonest beginning left when an import ends in a folder of the project is its module path; a folder
    with a go.mod of its own is a module, whose path may differ from where it lies.
    """
    votes: Counter[tuple[str, str]] = Counter()
    roots = {tree.folders[position] for position in tree.by_name.get("go.mod", ())} | {""}
    counts = Counter(
        spec
        for position, specs in enumerate(imports)
        if tree.languages[position] == "go"
        for spec in specs
        if spec.partition("/")[0] not in _STANDARD and not spec.startswith(".")
    )
    for spec, count in counts.items():
        parts = spec.split("/")
        for cut in range(1, len(parts)):
            rest = "/".join(parts[cut:])
            fitting = [root for root in roots if (f"{root}/{rest}" if root else rest) in packages]
            if fitting:
                votes["/".join(parts[:cut]), min(fitting)] += count
                break
    if not votes:
        return []
    most = max(votes.values())
    found = [pair for pair, count in votes.items() if count >= max(1.0, most * _MIN_SHARE)]
    return sorted(found, key=lambda pair: (-len(pair[0]), pair))
