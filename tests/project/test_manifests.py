"""What manifests declare, and what malformed ones do."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ParseError
from workbench.project.declared import Dependency, Manifest
from workbench.project.manifests import is_manifest, parse_manifest


def read(path: str, text: str) -> Manifest:
    manifest = parse_manifest(path, text)
    assert manifest is not None
    return manifest


def test_pyproject() -> None:
    """Standard tables, groups and entry points are read."""
    manifest = read(
        "pyproject.toml",
        """
[project]
name = "tool"
version = "1.2"
dependencies = ["click>=8.2", "numpy[x] >=2; python_version < '3.14'", "other @ https://example.org/x.whl"]
[project.optional-dependencies]
web = ["fastapi"]
[project.scripts]
tool = "tool.cli:main"
[project.entry-points."pytest11"]
tool = "tool.plugin"
[dependency-groups]
dev = ["pytest", {include-group = "lint"}]
[build-system]
requires = ["hatchling>=1"]
""",
    )
    assert (manifest.name, manifest.version, manifest.ecosystem) == ("tool", "1.2", "python")
    assert manifest.dependencies == (
        Dependency("click", ">=8.2"),
        Dependency("numpy", ">=2"),
        Dependency("other", "@ https://example.org/x.whl"),
        Dependency("fastapi", "", "optional"),
        Dependency("pytest", "", "dev"),
        Dependency("hatchling", ">=1", "build"),
    )
    assert manifest.scripts == (("tool", "tool.cli:main"), ("pytest11:tool", "tool.plugin"))


def test_poetry() -> None:
    """Poetry's tables are read; the interpreter is no dependency."""
    manifest = read(
        "a/pyproject.toml",
        '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\npython = "^3.11"\nrich = {version = "^13", '
        'optional = true}\n[tool.poetry.group.dev.dependencies]\npytest = "*"\n',
    )
    assert manifest.dependencies == (Dependency("rich", "^13", "optional"), Dependency("pytest", "*", "dev"))


def test_setup_cfg() -> None:
    """Requirements, extras and console scripts are read."""
    manifest = read(
        "setup.cfg",
        "[metadata]\nname = tool\n[options]\ninstall_requires =\n    click>=8\n    attrs\n"
        "[options.extras_require]\nweb = flask\n[options.entry_points]\n"
        "console_scripts =\n    tool = tool:main\n",
    )
    assert [d.name for d in manifest.dependencies] == ["click", "attrs", "flask"]
    assert manifest.scripts == (("tool", "tool:main"),)


def test_package_json() -> None:
    """All kinds of dependencies, scripts and binaries are read."""
    manifest = read(
        "package.json",
        '{"name": "@a/b", "version": "1.0.0", "main": "lib.js", "bin": "cli.js",'
        '"scripts": {"test": "vitest"}, "dependencies": {"x": "^1"}, "devDependencies": {"y": "*"},'
        '"peerDependencies": {"z": "1"}}',
    )
    assert manifest.dependencies == (
        Dependency("x", "^1"),
        Dependency("y", "*", "dev"),
        Dependency("z", "1", "peer"),
    )
    assert manifest.scripts == (("test", "vitest"), ("b", "cli.js"), ("main", "lib.js"))


def test_cargo() -> None:
    """Dependencies of all kinds and targets and binaries are read."""
    manifest = read(
        "Cargo.toml",
        '[package]\nname = "bat"\nversion.workspace = true\n[workspace]\nmembers = ["x"]\n[dependencies]\n'
        'serde = { version = "1", features = [] }\nlocal = { path = "../local" }\n[dev-dependencies]\n'
        'insta = "1"\n'
        '[target."cfg(unix)".dependencies]\nnix = "0.2"\n[[bin]]\nname = "bat"\npath = "src/main.rs"\n',
    )
    assert (manifest.name, manifest.version) == ("bat", "")
    assert manifest.dependencies == (
        Dependency("serde", "1"),
        Dependency("local", "../local"),
        Dependency("insta", "1", "dev"),
        Dependency("nix", "0.2"),
    )
    assert manifest.scripts == (("bat", "src/main.rs"),)


def test_go_mod() -> None:
    """Blocks and single lines are read, indirect requirements are marked."""
    manifest = read(
        "go.mod",
        "module example.org/tool // a tool\n\ngo 1.23\n\nrequire github.com/a/b v1.0.0\nrequire (\n"
        "\tgolang.org/x/term v0.2.0 // indirect\n)\nreplace (\n\ta => ../a\n)\n",
    )
    assert manifest.name == "example.org/tool"
    assert manifest.dependencies == (
        Dependency("github.com/a/b", "v1.0.0"),
        Dependency("golang.org/x/term", "v0.2.0", "indirect"),
    )


def test_pom() -> None:
    """Dependencies with their scopes are read, namespaces or not."""
    manifest = read(
        "pom.xml",
        '<?xml version="1.0" encoding="UTF-8"?><project xmlns="http://maven.apache.org/POM/4.0.0">'
        "<groupId>g</groupId><artifactId>a</artifactId><version>1</version>"
        "<modules><module>m</module></modules>"
        "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4</version>"
        "<scope>test</scope></dependency></dependencies></project>",
    )
    assert (manifest.name, manifest.version) == ("g:a", "1")
    assert manifest.dependencies == (Dependency("junit:junit", "4", "dev"),)


def test_requirements() -> None:
    """Options, comments and links are left out, continuation lines joined, names say the kind."""
    manifest = read(
        "requirements/test.txt",
        "# comment\n-r base.txt\nclick==8.2 \\\n    --hash=sha256:00\n"
        "attrs>=1 ; python_version > '3'  # why\n"
        "git+https://example.org/x.git\n\n",
    )
    assert manifest.dependencies == (Dependency("click", "==8.2", "dev"), Dependency("attrs", ">=1", "dev"))


def test_ruby_manifests() -> None:
    """Gemfiles with groups and gemspecs are read."""
    gemfile = read(
        "Gemfile",
        'gemspec\ngem "rake", "~> 13.0"\ngroup :development, :test do\n  gem "rspec"\nend\n'
        'gem "x", group: :test\n',
    )
    assert gemfile.dependencies == (
        Dependency("rake", "~> 13.0"),
        Dependency("rspec", "", "dev"),
        Dependency("x", "", "dev"),
    )
    spec = read(
        "a.gemspec",
        's.name = "a"\ns.add_runtime_dependency "b", ">= 1", "< 3"\ns.add_development_dependency("c")\n',
    )
    assert spec.name == "a"
    assert spec.dependencies == (Dependency("b", ">= 1, < 3"), Dependency("c", "", "dev"))


def test_gradle() -> None:
    """Both dialects are read."""
    manifest = read(
        "build.gradle.kts",
        'dependencies {\n  implementation("a.b:c:1.0")\n  testImplementation \'d:e:2\'\n  kapt("f:g:3")\n}\n',
    )
    assert manifest.dependencies == (
        Dependency("a.b:c", "1.0"),
        Dependency("d:e", "2", "dev"),
        Dependency("f:g", "3", "build"),
    )


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("pyproject.toml", "[project]\nname = \n", 2),
        ("pyproject.toml", 'project = "x"', 0),
        ("pyproject.toml", "[project]\ndependencies = 3", 0),
        ("setup.cfg", "name = 1\n", 1),
        ("package.json", '{\n  "a": ,\n}', 2),
        ("package.json", "[]", 0),
        ("package.json", '{"dependencies": ["x"]}', 0),
        ("package.json", "[" * 100_000, 0),
        ("Cargo.toml", "[dependencies]\nx = {", 2),
        ("go.mod", "module a\nrequire (\n\twhat\n)\n", 3),
        ("go.mod", "", 0),
        ("pom.xml", "<project>\n<a></project>", 2),
        ("pom.xml", '<!DOCTYPE x [<!ENTITY a "b">]><project>&a;</project>', 0),
        ("pom.xml", "", 1),
    ],
)
def test_malformed_manifests_are_reported(path: str, text: str, line: int) -> None:
    """A manifest that is not what it claims to be is a ParseError that names file and line."""
    with pytest.raises(ParseError) as caught:
        parse_manifest(path, text)
    assert caught.value.path == path
    assert caught.value.line == line
    assert path in caught.value.message


def test_other_files_are_no_manifests() -> None:
    """Paths of other files give None."""
    assert parse_manifest("src/app.py", "x = 1") is None
    assert not is_manifest("notes.txt")
    assert is_manifest("requirements-dev.txt")


@given(
    st.sampled_from(
        ["pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "go.mod", "pom.xml", "requirements.txt",
         "Gemfile", "x.gemspec", "build.gradle", "composer.json"]
    ),
    st.one_of(st.text(max_size=200), st.text(alphabet="[]{}<>=\"',:\n ab.-!&%;", max_size=120)),
)  # fmt: skip
def test_any_text_is_read_or_reported(path: str, text: str) -> None:
    """Whatever the text, the outcome is a manifest or a ParseError."""
    with contextlib.suppress(ParseError):
        assert isinstance(parse_manifest(path, text), Manifest)
