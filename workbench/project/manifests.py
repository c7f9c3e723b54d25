"""What a project declares about itself: its name, what it depends on and what it can run, by format.

Manifests are data from strangers: XML with a document type is refused (entities could expand without end),
nothing is evaluated, and a file that cannot be read as what it claims to be is a ParseError with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.etree import ElementTree

from workbench.errors import ParseError
from workbench.project.declared import (
    Dependency,
    Manifest,
    json_table,
    malformed_error,
    manifest_of,
    named_dependencies,
    table_of,
    text_of,
    toml_table,
)
from workbench.project.python_manifests import pyproject, requirements, setup_cfg

_GO_REQUIRE = re.compile(
    r"^\s*(?:require\s+)?((?=[\w.~-]+\.[\w./~-]|[\w-]+/[\w./~-])[\w./~-]+)\s+(v\S+)\s*(//\s*indirect)?"
)
_GEM = re.compile(r"^\s*gem[\s(]+[\"']([\w.-]+)[\"']((?:\s*,\s*[\"'][^\"']+[\"'])*)(.*)")
_GEM_GROUP = re.compile(r"^\s*group[\s(]++(.+?)\)?(?<!\s)\s+do\b")
_GEMSPEC = re.compile(
    r"\.add_(?P<kind>runtime_|development_)?dependency[\s(]+[\"'](?P<name>[\w.-]+)[\"'](?P<rest>(?:\s*,\s*[\"'][^\"']+[\"'])*)"
)
_GEMSPEC_NAME = re.compile(r"\.name\s*=\s*[\"']([\w.-]+)[\"']")
_GRADLE = re.compile(
    r"^[^\S\n]*(\w*(?:implementation|api|compileOnly|runtimeOnly|compile|annotationProcessor|kapt|ksp|classpath))"
    r"[\s(]+(?:platform\()?[\"']([\w.-]+):([\w.-]+)(?::([^\"'@]+))?",
    re.MULTILINE | re.IGNORECASE,
)


def package_json(path: str, text: str) -> Manifest:
    """Read a package.json."""
    data = json_table(path, text)
    found: list[Dependency] = []
    for key, kind in (
        ("dependencies", "runtime"),
        ("devDependencies", "dev"),
        ("peerDependencies", "peer"),
        ("optionalDependencies", "optional"),
    ):
        found += [
            Dependency(name, text_of(value), kind)
            for name, value in table_of(path, data.get(key), key).items()
        ]
    scripts = [
        (name, text_of(command)) for name, command in table_of(path, data.get("scripts"), "scripts").items()
    ]
    binaries = data.get("bin")
    if isinstance(binaries, str):
        scripts.append((text_of(data.get("name")).rsplit("/", 1)[-1], binaries))
    elif isinstance(binaries, Mapping):
        scripts += [(name, text_of(target)) for name, target in binaries.items()]
    if text_of(data.get("main")):
        scripts.append(("main", text_of(data.get("main"))))
    return manifest_of(
        path, "javascript", text_of(data.get("name")), text_of(data.get("version")), found, scripts
    )


def composer(path: str, text: str) -> Manifest:
    """Read a composer.json."""
    data = json_table(path, text)
    found: list[Dependency] = []
    for key, kind in (("require", "runtime"), ("require-dev", "dev")):
        found += [
            Dependency(name, text_of(value), kind)
            for name, value in table_of(path, data.get(key), key).items()
        ]
    return manifest_of(path, "php", text_of(data.get("name")), text_of(data.get("version")), found)


def cargo(path: str, text: str) -> Manifest:
    """Read a Cargo.toml, of a package or a workspace."""
    data = toml_table(path, text)
    package = table_of(path, data.get("package"), "package")
    workspace = table_of(path, data.get("workspace"), "workspace")
    found: list[Dependency] = []
    kinds = (("dependencies", "runtime"), ("dev-dependencies", "dev"), ("build-dependencies", "build"))
    targets = table_of(path, data.get("target"), "target")
    owners = [
        ("", data),
        *((f"target.{name}.", table_of(path, value, name)) for name, value in targets.items()),
    ]
    for prefix, owner in owners:
        for key, kind in kinds:
            found += named_dependencies(path, owner.get(key), prefix + key, kind)
    found += named_dependencies(path, workspace.get("dependencies"), "workspace.dependencies", "runtime")
    binaries = data.get("bin")
    binaries = binaries if isinstance(binaries, list) else []
    scripts = [
        (text_of(item.get("name")), text_of(item.get("path")))
        for item in binaries
        if isinstance(item, Mapping)
    ]
    return manifest_of(
        path, "rust", text_of(package.get("name")), text_of(package.get("version")), found, scripts
    )


def go_mod(path: str, text: str) -> Manifest:
    """Read a go.mod."""
    name, found, block = "", [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("//", 1)[0].split()
        if not words:
            continue
        if words[0] == "module" and len(words) > 1:
            name = words[1].strip('"')
        elif words[-1] == "(":
            block = words[0]
        elif words[0] == ")":
            block = ""
        elif words[0] == "require" or block == "require":
            match = _GO_REQUIRE.match(line.replace('"', ""))
            if match is None:
                raise malformed_error(path, number, f"not a requirement: {line.strip()[:80]}")
            found.append(
                Dependency(match.group(1), match.group(2), "indirect" if match.group(3) else "runtime")
            )
    if not name:
        raise malformed_error(path, 0, "no module line")
    return manifest_of(path, "go", name, "", found)


def pom(path: str, text: str) -> Manifest:
    """Read a pom.xml; one with a document type is refused."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise malformed_error(path, 0, "a document type is not allowed in a manifest")
    try:
        root = ElementTree.fromstring(text.encode("utf-8"))
    except ElementTree.ParseError as error:
        raise malformed_error(path, error.position[0], str(error)) from None
    except ValueError as error:
        raise malformed_error(path, 0, str(error)) from None

    def value(node: ElementTree.Element, tag: str) -> str:
        return next(((child.text or "").strip() for child in node if _local(child) == tag), "")

    found: list[Dependency] = []
    for node in root.iter():
        tag = _local(node)
        if tag == "dependency":
            scope = value(node, "scope")
            kind = {"test": "dev", "provided": "build"}.get(scope, "runtime")
            kind = "optional" if value(node, "optional") == "true" else kind
            name = f"{value(node, 'groupId')}:{value(node, 'artifactId')}"
            found.append(Dependency(name, value(node, "version"), kind))
    name = ":".join(part for part in (value(root, "groupId"), value(root, "artifactId")) if part)
    return manifest_of(path, "jvm", name, value(root, "version"), found)


def _local(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def gemfile(path: str, text: str) -> Manifest:
    """Read a Gemfile."""
    found, groups = [], []
    for line in text.splitlines():
        opened = _GEM_GROUP.match(line)
        gem = _GEM.match(line)
        if opened:
            groups.append(opened.group(1))
        elif gem:
            where = " ".join(groups) + gem.group(3)
            kind = (
                "dev" if re.search(r":(?:development|test)|[\"'](?:development|test)", where) else "runtime"
            )
            found.append(Dependency(gem.group(1), _quoted_words(gem.group(2)), kind))
        elif line.strip() == "end" and groups:
            groups.pop()
    return manifest_of(path, "ruby", "", "", found)


def gemspec(path: str, text: str) -> Manifest:
    """Read a gemspec."""
    name = _GEMSPEC_NAME.search(text)
    found = [
        Dependency(
            match["name"],
            _quoted_words(match["rest"]),
            "dev" if match["kind"] == "development_" else "runtime",
        )
        for match in _GEMSPEC.finditer(text)
    ]
    return manifest_of(path, "ruby", name.group(1) if name else "", "", found)


def _quoted_words(text: str) -> str:
    return ", ".join(re.findall(r"[\"']([^\"']+)[\"']", text))


def gradle(path: str, text: str) -> Manifest:
    """Read a Gradle build script, Groovy or Kotlin."""
    found = []
    for match in _GRADLE.finditer(text):
        configuration = match.group(1).lower()
        kind = "dev" if "test" in configuration else "runtime"
        if configuration in ("classpath", "annotationprocessor", "kapt", "ksp", "compileonly"):
            kind = "build"
        found.append(Dependency(f"{match.group(2)}:{match.group(3)}", match.group(4) or "", kind))
    return manifest_of(path, "jvm", "", "", found)


MAX_MANIFEST_CHARS = 2_000_000


def parse_manifest(path: str, text: str) -> Manifest | None:
    """Return what a manifest declares, None if the path is no manifest.

    Raises: ParseError if the content is malformed or of another shape than its format allows.
    """
    parser = _parser_for(path)
    if parser is None:
        return None
    if len(text) > MAX_MANIFEST_CHARS:
        raise ParseError(f"{path} is too large for a manifest ({len(text):,} characters)", path=path)
    try:
        return parser(path, text)
    except RecursionError:
        raise ParseError(f"{path} is nested too deeply", path=path) from None


def _parser_for(path: str) -> Callable[[str, str], Manifest] | None:
    name = path.rsplit("/", 1)[-1].lower()
    if name in _PARSERS:
        return _PARSERS[name]
    if name.endswith(".gemspec"):
        return gemspec
    folder = path.rsplit("/", 2)[-2].lower() if "/" in path else ""
    if name.endswith((".txt", ".in")) and (
        name.startswith(("requirements", "dev-requirements", "test-requirements")) or folder == "requirements"
    ):
        return requirements
    return None


def is_manifest(path: str) -> bool:
    """Whether `parse_manifest` knows the format of a path."""
    return _parser_for(path) is not None


_PARSERS: dict[str, Callable[[str, str], Manifest]] = {
    "pyproject.toml": pyproject,
    "setup.cfg": setup_cfg,
    "package.json": package_json,
    "composer.json": composer,
    "cargo.toml": cargo,
    "go.mod": go_mod,
    "pom.xml": pom,
    "gemfile": gemfile,
    "build.gradle": gradle,
    "build.gradle.kts": gradle,
}
