"""The import graph from paths and specifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.languages import language_of
from workbench.project.relations import resolve_imports


def edges(files: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Imported paths by importer, those without imports left out."""
    paths = list(files)
    imports = resolve_imports(paths, [language_of(path) for path in paths], list(files.values()))
    result: dict[str, list[str]] = {}
    for importer, imported in imports.tolist():
        result.setdefault(paths[importer], []).append(paths[imported])
    return result


def test_python_absolute_imports_from_any_source_root() -> None:
    """Packages are found in src layouts and monorepos; the longest module wins over its package."""
    files = {
        "src/app/__init__.py": [],
        "src/app/store.py": [],
        "libs/tool/tool/__init__.py": [],
        "libs/tool/tool/io/read.py": [],
        "tests/test_app.py": ["app.store.Journal", "app", "tool.io.read", "os.path"],
    }
    assert edges(files) == {
        "tests/test_app.py": ["src/app/__init__.py", "src/app/store.py", "libs/tool/tool/io/read.py"]
    }


def test_python_relative_imports() -> None:
    """Dots climb, names that are modules are modules, and none leaves the project."""
    files = {
        "app/__init__.py": [],
        "app/a/__init__.py": [],
        "app/a/one.py": [".two", "..base.Base", "...outside", ".", ".missing"],
        "app/a/two.py": [],
        "app/base.py": [".a.one.f"],
    }
    assert edges(files) == {
        "app/a/one.py": ["app/a/__init__.py", "app/a/two.py", "app/base.py"],
        "app/base.py": ["app/a/one.py"],
    }


def test_python_names_that_a_package_passes_on_lead_to_their_module() -> None:
    """An import from a package reaches the file the package imports the name from."""
    files = {
        "app/__init__.py": [".store.Journal"],
        "app/store.py": [],
        "main.py": ["app.Journal"],
    }
    assert edges(files)["main.py"] == ["app/__init__.py", "app/store.py"]


def test_python_standard_library_names_are_not_the_projects() -> None:
    """A module deep in the project that bears a standard name is not what `import logging` means."""
    files = {
        "app/__init__.py": [],
        "app/logging.py": [],
        "tests/types.py": [],
        "app/main.py": ["logging", "types"],
        "tests/test_a.py": ["types"],
    }
    assert edges(files) == {"tests/test_a.py": ["tests/types.py"]}


def test_javascript_relative_imports() -> None:
    """Extensions are tried, compiled names mean their sources, folders mean their index."""
    files = {
        "src/a.ts": ["./b", "./c.js", "./dir", "../data.json", "./gone", "react"],
        "src/b.tsx": [],
        "src/c.ts": [],
        "src/dir/index.ts": ["..", "../a"],
        "data.json": [],
    }
    assert edges(files) == {
        "src/a.ts": ["src/b.tsx", "src/c.ts", "src/dir/index.ts", "data.json"],
        "src/dir/index.ts": ["src/a.ts"],
    }


def test_javascript_workspace_packages_and_aliases() -> None:
    """A scoped name means the package's folder; `@/` means the source root of the importer's package."""
    files = {
        "packages/core/package.json": [],
        "packages/core/src/index.ts": [],
        "packages/core/src/io/read.ts": [],
        "apps/web/package.json": [],
        "apps/web/src/store.ts": [],
        "apps/web/src/pages/home.tsx": ["@acme/core", "@acme/core/io/read", "@/store", "@acme/none"],
        "package.json": [],
        "main.js": [],
        "main.d.ts": [],
        "build.js": [],
        "test/a.js": [".."],
    }
    assert edges(files) == {
        "apps/web/src/pages/home.tsx": [
            "packages/core/src/index.ts",
            "packages/core/src/io/read.ts",
            "apps/web/src/store.ts",
        ],
        "test/a.js": ["main.js"],
    }


def test_rust_paths() -> None:
    """`crate`, `self`, `super`, declared modules, workspace crates, and a crate's own name in its tests."""
    files = {
        "Cargo.toml": [],
        "src/lib.rs": ["self::net", "self::error"],
        "src/error.rs": [],
        "src/net/mod.rs": ["self::tcp", "crate::error::Error", "std::io"],
        "src/net/tcp.rs": ["super::Port", "super::super::error", "crate::missing", "macros::derive_it"],
        "macros/Cargo.toml": [],
        "macros/src/lib.rs": [],
        "tests/it.rs": ["thecrate::net::tcp::Stream", "self::common", "serde::Serialize"],
        "tests/common/mod.rs": [],
    }
    assert edges(files) == {
        "src/lib.rs": ["src/error.rs", "src/net/mod.rs"],
        "src/net/mod.rs": ["src/error.rs", "src/net/tcp.rs"],
        "src/net/tcp.rs": ["src/lib.rs", "src/error.rs", "src/net/mod.rs", "macros/src/lib.rs"],
        "tests/it.rs": ["src/net/tcp.rs", "tests/common/mod.rs"],
    }


def test_go_packages() -> None:
    """An import means the non-test files of a folder; others' modules with like endings are not taken."""
    files = {
        "go.mod": [],
        "main.go": ["example.org/me/tool/store", "example.org/me/tool/net", "fmt", "net"],
        "store/store.go": ["example.org/me/tool/net", "example.org/me/tool/util"],
        "store/a.go": [],
        "store/store_test.go": ["example.org/me/tool/net"],
        "net/net.go": ["golang.org/x/term"],
        "util/util.go": [],
    }
    assert edges(files) == {
        "main.go": ["store/store.go", "store/a.go", "net/net.go"],
        "store/store.go": ["net/net.go", "util/util.go"],
        "store/store_test.go": ["net/net.go"],
    }


def test_jvm_names() -> None:
    """Qualified names are ends of paths, stars are folders, bare names neighbours, or what a test mirrors."""
    files = {
        "src/main/java/a/b/Store.java": ["a.c.*", "java.util.List", "Port"],
        "src/main/java/a/b/Port.java": [],
        "src/main/java/a/c/One.java": [],
        "src/main/java/a/c/Two.kt": ["a.b.Store.Inner", "a.b.Store.CONSTANT"],
        "src/test/java/a/b/StoreTest.java": ["Store", "Gone"],
    }
    assert edges(files) == {
        "src/main/java/a/b/Store.java": [
            "src/main/java/a/b/Port.java",
            "src/main/java/a/c/One.java",
            "src/main/java/a/c/Two.kt",
        ],
        "src/main/java/a/c/Two.kt": ["src/main/java/a/b/Store.java"],
        "src/test/java/a/b/StoreTest.java": ["src/main/java/a/b/Store.java"],
    }


def test_c_includes() -> None:
    """Quotes look beside the includer first; angle brackets only where headers are published."""
    files = {
        "src/a.c": ["a.h", "<pub.h>", "<string.h>", "util/log.h"],
        "src/a.h": [],
        "lib/a.h": [],
        "src/string.h": [],
        "include/pub.h": [],
        "src/util/log.h": [],
    }
    assert edges(files) == {"src/a.c": ["src/a.h", "include/pub.h", "src/util/log.h"]}


def test_ruby_requires_and_constants() -> None:
    """Load paths, relative paths, and constants an autoloader would find; core names are no files."""
    files = {
        "lib/app.rb": ["app/store", "json"],
        "lib/app/store.rb": ["./log", "Cop::IfUnless", "Base"],
        "lib/app/log.rb": [],
        "lib/app/base.rb": [],
        "other/json.rb": [],
        "lib/app/cop/if_unless.rb": ["Base"],
    }
    assert edges(files) == {
        "lib/app.rb": ["lib/app/store.rb"],
        "lib/app/store.rb": ["lib/app/log.rb", "lib/app/base.rb", "lib/app/cop/if_unless.rb"],
        "lib/app/cop/if_unless.rb": ["lib/app/base.rb"],
    }


def test_other_languages() -> None:
    """Path-like and name-like specifiers of further languages are ends of paths."""
    files = {
        "app/Http/User.php": ["App\\Models\\Post"],
        "app/Models/Post.php": [],
        "lua/a/init.lua": ["a.b"],
        "lua/a/b.lua": ["a"],
        "lib/my_app/some_store.ex": [],
        "lib/web.ex": ["MyApp.SomeStore"],
        "styles/main.scss": ["./parts/button"],
        "styles/parts/_button.scss": [],
        "docs/a.md": ["../lua/a/b.lua", "#top", "/docs/b.md"],
        "docs/b.md": [],
        "Core/Store.cs": ["Port", "System"],
        "Core/Ports/Port.cs": [],
    }
    assert edges(files) == {
        "app/Http/User.php": ["app/Models/Post.php"],
        "lua/a/init.lua": ["lua/a/b.lua"],
        "lua/a/b.lua": ["lua/a/init.lua"],
        "lib/web.ex": ["lib/my_app/some_store.ex"],
        "styles/main.scss": ["styles/parts/_button.scss"],
        "docs/a.md": ["lua/a/b.lua", "docs/b.md"],
        "Core/Store.cs": ["Core/Ports/Port.cs"],
    }


PATHS = st.lists(
    st.sampled_from(
        """
        a.py a/__init__.py a/b.py b.py src/a.py index.js a/index.ts a/b.tsx src/lib.rs src/a.rs src/a/mod.rs
        Cargo.toml go.mod a/a.go b/b.go a/a_test.go x/A.java x/B.java
        a.h a.c lib/a.rb lib/a/b.rb a.php a.md package.json
        a.cs
        """.split()
    ),
    unique=True,
    max_size=20,
)
SPECIFIERS = st.lists(
    st.one_of(
        st.sampled_from(
            """
            a a.b .b ..b ... . .. ./a ../a ../../.. @/a
            / :: crate::a self super::super::x A A::B x.* a/b a.h <a.h>
            " .rb :: * \\ @ @a/b # #a m/a example.org/a m.org/a/b
            """.split()
        ),
        st.text(min_size=1, max_size=12),
    ),
    max_size=5,
)


@given(PATHS, st.data())
def test_edges_are_well_formed_whatever_is_imported(paths: list[str], data: st.DataObject) -> None:
    """Edges are sorted, unique, inside the project, never from a file to itself, and the same every time."""
    languages = [language_of(path) for path in paths]
    imports = [data.draw(SPECIFIERS) for _ in paths]
    found = resolve_imports(paths, languages, imports)
    pairs = [tuple(pair) for pair in found.tolist()]
    assert found.dtype == np.int32
    assert found.shape == (len(pairs), 2)
    assert pairs == sorted(set(pairs))
    assert all(0 <= a < len(paths) and 0 <= b < len(paths) and a != b for a, b in pairs)
    assert np.array_equal(found, resolve_imports(paths, languages, imports))


def test_no_files_no_edges() -> None:
    """An empty project has an empty graph."""
    assert resolve_imports([], [], []).shape == (0, 2)
