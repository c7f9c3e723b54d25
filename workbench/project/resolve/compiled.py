"""Imports of compiled languages: the packages of Go, the modules of Rust, the qualified names of the JVM.

A Go package is a folder, and the path of its module follows from the imports that fit its folders. In Rust
`crate`, `self` and `super` and the modules that files declare are names of the same workspace. On the JVM
(Java, Kotlin, Scala, Groovy) a qualified name is the end of a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.project.resolve.tree import MAX_PACKAGE, PathTree, Resolve

_GO_STANDARD = frozenset(
    """
    C archive arena bufio builtin bytes cmp compress container context crypto database debug embed encoding
    errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
    reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique
    unsafe vendor weak
    """.split()
)
_MIN_SHARE = 0.02  # of the commonest module path's imports, for another module of the same repository


def go_resolver(tree: PathTree, imports: Sequence[Sequence[str]]) -> Resolve:
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
            from workbench.project.resolve.tree import join_path

            folder = join_path(tree.folders[importer], specifier)
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
        if spec.partition("/")[0] not in _GO_STANDARD and not spec.startswith(".")
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


_ROOT_FILES = ("lib.rs", "main.rs")
_RUST_STANDARD = frozenset({"std", "core", "alloc", "proc_macro", "test"})


def rust_resolver(tree: PathTree) -> Resolve:
    """Return the resolver."""
    crates: dict[str, list[str]] = {}
    folders: set[str] = set()
    for path in tree.paths:
        if path == "Cargo.toml" or path.endswith("/Cargo.toml"):
            folder = path.rpartition("/")[0]
            folders.add(folder)
            crates.setdefault(folder.rpartition("/")[2].replace("-", "_"), []).append(folder)

    def crate_of(importer: int) -> str:
        folder = tree.folders[importer]
        while folder and folder not in folders:
            folder = folder.rpartition("/")[0]
        return folder

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        parts = [part.removeprefix("r#") for part in specifier.split("::") if part]
        if not parts or parts[0] in _RUST_STANDARD:
            return ()
        head, rest = parts[0], parts[1:]
        own = _own_folder(tree, importer)
        if head == "crate":
            return _below(tree, importer, _source_root(tree, importer, crate_of(importer)), rest, root=True)
        if head == "self":
            return _below(tree, importer, own, rest, root=False)
        if head == "super":
            folder = own.rpartition("/")[0]
            while rest and rest[0] == "super":
                folder, rest = folder.rpartition("/")[0], rest[1:]
            return _below(tree, importer, folder, rest, root=True)
        found = _below(tree, importer, own, parts, root=False)
        if found:
            return found
        crate = tree.nearest_folder(importer, crates.get(head, []))
        if crate is not None and crate != "":
            return _below(tree, importer, _join(crate, "src"), rest, root=True)
        # The name of the crate itself is written in its manifest only: a path that fits its modules decides.
        return _below(tree, importer, _join(crate_of(importer), "src"), rest, root=False)

    return resolve


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _own_folder(tree: PathTree, importer: int) -> str:
    """The folder the children of a file's module lie in."""
    path = tree.paths[importer]
    folder = tree.folders[importer]
    name = path.rpartition("/")[2]
    if name in ("mod.rs", *_ROOT_FILES) or _is_target(folder):
        return folder
    return _join(folder, name.removesuffix(".rs"))


def _is_target(folder: str) -> bool:
    """Whether files of a folder are crates of their own: integration tests, examples, binaries."""
    return folder.rpartition("/")[2] in ("tests", "examples", "benches", "bin")


def _source_root(tree: PathTree, importer: int, crate: str) -> str:
    """The folder `crate::` means: that of the crate's sources, or of the test or example itself."""
    folder = tree.folders[importer]
    source = _join(crate, "src")
    if folder == source or folder.startswith(source + "/"):
        if folder.startswith(source + "/bin/"):
            return "/".join(folder.split("/")[: source.count("/") + 3])
        return source
    below = folder[len(crate) :].strip("/").split("/")
    if len(below) > 1 and _is_target(below[0]):
        return _join(_join(crate, below[0]), below[1])
    return folder


def _below(tree: PathTree, importer: int, folder: str, parts: list[str], *, root: bool) -> tuple[int, ...]:
    """The deepest file that the first parts name below a folder; its own module if none and `root`."""
    position: int | None = None
    for part in parts:
        child = _join(folder, part)
        found = tree.files.get(child + ".rs")
        if found is None:
            found = tree.files.get(child + "/mod.rs")
        if found is None:
            break
        position, folder = found, child
    if position is None and root:
        position = _module_file(tree, folder)
    return (position,) if position is not None and position != importer else ()


def _module_file(tree: PathTree, folder: str) -> int | None:
    for path in (f"{folder}.rs", *(_join(folder, name) for name in ("mod.rs", *_ROOT_FILES))):
        if path in tree.files:
            return tree.files[path]
    return None


_SUFFIXES = (".java", ".kt", ".scala", ".groovy")


def jvm_resolver(tree: PathTree) -> Resolve:
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
