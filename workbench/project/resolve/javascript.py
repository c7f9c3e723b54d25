"""JavaScript and TypeScript imports: relative, by workspace package, by the usual aliases."""

from __future__ import annotations

from workbench.project.resolve.tree import PathTree, Resolve, join_path, shared_folders

_EXTENSIONS = tuple(".ts .tsx .js .jsx .mjs .cjs .mts .cts .d.ts .vue .svelte .json .astro".split())
_SCRIPTS = (".js", ".ts", ".mjs", ".cjs")
_COMPILED = {".js": (".ts", ".tsx", ".d.ts"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}
_ENTRIES = ("src/index", "index", "src/main", "lib/index", "src/lib", "main")
_ALIASES = ("@/", "~/", "#/", "@@/", "~~/", "$lib/", "src/", "app/", "#")
_SOURCE_ROOTS = ("src", "app", "lib", "")


def resolver(tree: PathTree) -> Resolve:
    """Return the resolver."""
    packages: dict[str, list[str]] = {}
    for path in tree.paths:
        if path.endswith("/package.json"):
            folder = path.rpartition("/")[0]
            packages.setdefault(folder.rpartition("/")[2], []).append(folder)

    def resolve(importer: int, specifier: str) -> tuple[int, ...]:
        specifier = specifier.split("?", 1)[0]
        if specifier.startswith("."):
            path = join_path(tree.folders[importer], specifier)
            return _found(tree, path) if path is not None else ()
        if specifier.startswith("/"):
            return _found(tree, specifier.lstrip("/"))
        for alias in _ALIASES:
            if specifier.startswith(alias):
                found = _aliased(tree, importer, specifier, specifier[len(alias) :])
                if found:
                    return found
        return _workspace(tree, importer, specifier, packages)

    return resolve


def _found(tree: PathTree, path: str) -> tuple[int, ...]:
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


def _aliased(tree: PathTree, importer: int, whole: str, rest: str) -> tuple[int, ...]:
    """An alias means the source root of the importer's package: try the folders above, nearest first."""
    folder = tree.folders[importer]
    while True:
        for path in (rest, whole):
            for root in _SOURCE_ROOTS:
                base = "/".join(part for part in (folder, root, path) if part)
                found = _found(tree, base)
                if found and found[0] != importer:
                    return found
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
                found = _found(tree, path)
                if found and found[0] != importer:
                    return found
    return ()
