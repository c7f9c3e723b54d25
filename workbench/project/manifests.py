"""What a project declares about itself: its name, what it depends on and what it can run.

Manifests are data from strangers: XML with a document type is refused (entities could expand without end),
nothing is evaluated, and a file that cannot be read as what it claims to be is a ParseError with its line.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.errors import ParseError
from workbench.project.declared import packages, python
from workbench.project.declared.shape import Dependency, Manifest

__all__ = ["Dependency", "Manifest", "is_manifest", "parse_manifest"]

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
        return packages.gemspec
    folder = path.rsplit("/", 2)[-2].lower() if "/" in path else ""
    if name.endswith((".txt", ".in")) and (
        name.startswith(("requirements", "dev-requirements", "test-requirements")) or folder == "requirements"
    ):
        return python.requirements
    return None


def is_manifest(path: str) -> bool:
    """Whether `parse_manifest` knows the format of a path."""
    return _parser_for(path) is not None


_PARSERS: dict[str, Callable[[str, str], Manifest]] = {
    "pyproject.toml": python.pyproject,
    "setup.cfg": python.setup_cfg,
    "package.json": packages.package_json,
    "composer.json": packages.composer,
    "cargo.toml": packages.cargo,
    "go.mod": packages.go_mod,
    "pom.xml": packages.pom,
    "gemfile": packages.gemfile,
    "build.gradle": packages.gradle,
    "build.gradle.kts": packages.gradle,
}
