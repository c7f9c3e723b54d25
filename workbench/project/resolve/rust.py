"""Rust paths: modules declared by files, `crate`, `self` and `super`, and crates of the same workspace."""

from __future__ import annotations

from workbench.project.resolve.tree import PathTree, Resolve

_ROOT_FILES = ("lib.rs", "main.rs")
_STANDARD = frozenset({"std", "core", "alloc", "proc_macro", "test"})


def resolver(tree: PathTree) -> Resolve:
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
        if not parts or parts[0] in _STANDARD:
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
        # The name of the crate itself is written in its manifest only: a path that fits its modules tells.
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
