"""Java, Kotlin, Scala and Groovy imports: a qualified name is the end of a path."""

from __future__ import annotations

from workbench.project.resolve.tree import MAX_PACKAGE, PathTree, Resolve

_SUFFIXES = (".java", ".kt", ".scala", ".groovy")


def resolver(tree: PathTree) -> Resolve:
    """Return the resolver."""

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        if "." not in specifier:
            return _same_package(tree, importer, specifier)
        parts = specifier.split(".")
        if parts[-1] == "*":
            parts = parts[:-1]
            folder = tree.nearest_folder(importer, tree.folders_with_suffix("/".join(parts)))
            if folder is not None and len(parts) > 1:
                inside = [
                    position
                    for position in tree.by_folder[folder]
                    if tree.paths[position].endswith(_SUFFIXES) and position != importer
                ]
                return tuple(inside[:MAX_PACKAGE])
        for length in range(len(parts), max(len(parts) - 3, 1), -1):
            for suffix in _SUFFIXES:
                found = tree.with_suffix("/".join(parts[:length]) + suffix)
                if found:
                    return tree.nearest(importer, found)
        return ()

    return resolve


def _same_package(tree: PathTree, importer: int, name: str) -> tuple[int, ...]:
    """A type of the same package: beside the file, or in the main sources that a test's folder mirrors."""
    folder = tree.folders[importer]
    for place in (folder, folder.replace("/test/", "/main/", 1).replace("/androidTest/", "/main/", 1)):
        for suffix in _SUFFIXES:
            position = tree.files.get(f"{place}/{name}{suffix}" if place else name + suffix)
            if position is not None:
                return (position,)
    return ()
