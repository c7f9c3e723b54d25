"""Manifests of Python projects: pyproject.toml, setup.cfg and requirements files."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable

from workbench.project.declared import (
    Dependency,
    Manifest,
    malformed_error,
    manifest_of,
    named_dependencies,
    strings_of,
    table_of,
    text_of,
    toml_table,
)

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*(.*)$", re.DOTALL)


def _requirement(source: str, kind: str) -> Dependency | None:
    match = _REQUIREMENT.match(source.split("#", 1)[0])
    if match is None:
        return None
    return Dependency(match.group(1), " ".join(match.group(3).split(";", 1)[0].split()).strip("()"), kind)


def _requirements_of(sources: Iterable[str], kind: str) -> list[Dependency]:
    return [dependency for source in sources if (dependency := _requirement(source, kind)) is not None]


def pyproject(path: str, text: str) -> Manifest:
    """Read a pyproject.toml: the standard tables and those of Poetry."""
    data = toml_table(path, text)
    project = table_of(path, data.get("project"), "project")
    tool = table_of(path, data.get("tool"), "tool")
    poetry = table_of(path, tool.get("poetry"), "tool.poetry")
    found = _requirements_of(strings_of(path, project.get("dependencies"), "project.dependencies"), "runtime")
    extras = table_of(path, project.get("optional-dependencies"), "project.optional-dependencies")
    for group, items in extras.items():
        found += _requirements_of(
            strings_of(path, items, f"project.optional-dependencies.{group}"), "optional"
        )
    groups = table_of(path, data.get("dependency-groups"), "dependency-groups")
    for group, items in groups.items():
        found += _requirements_of(strings_of(path, items, f"dependency-groups.{group}"), "dev")
    build = table_of(path, data.get("build-system"), "build-system")
    found += _requirements_of(strings_of(path, build.get("requires"), "build-system.requires"), "build")
    found += named_dependencies(path, poetry.get("dependencies"), "tool.poetry.dependencies", "runtime")
    found += named_dependencies(path, poetry.get("dev-dependencies"), "tool.poetry.dev-dependencies", "dev")
    for group, table in table_of(path, poetry.get("group"), "tool.poetry.group").items():
        inner = table_of(path, table, f"tool.poetry.group.{group}")
        found += named_dependencies(
            path, inner.get("dependencies"), f"tool.poetry.group.{group}.dependencies", "dev"
        )
    scripts: list[tuple[str, str]] = []
    for owner, key in ((project, "scripts"), (project, "gui-scripts"), (poetry, "scripts")):
        scripts += [(name, text_of(target)) for name, target in table_of(path, owner.get(key), key).items()]
    entry_points = table_of(path, project.get("entry-points"), "project.entry-points")
    for group, table in entry_points.items():
        inner = table_of(path, table, f"project.entry-points.{group}")
        scripts += [(f"{group}:{name}", text_of(target)) for name, target in inner.items()]
    name = text_of(project.get("name")) or text_of(poetry.get("name"))
    version = text_of(project.get("version")) or text_of(poetry.get("version"))
    return manifest_of(path, "python", name, version, found, scripts)


def setup_cfg(path: str, text: str) -> Manifest:
    """Read a setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text, source=path)
    except configparser.Error as error:
        line = getattr(error, "lineno", 0) or (
            error.errors[0][0] if isinstance(error, configparser.ParsingError) else 0
        )
        raise malformed_error(path, int(line), str(error).splitlines()[0]) from None
    found = _requirements_of(_cfg_lines(parser, "options", "install_requires"), "runtime")
    if parser.has_section("options.extras_require"):
        for extra in parser.options("options.extras_require"):
            found += _requirements_of(_cfg_lines(parser, "options.extras_require", extra), "optional")
    found += _requirements_of(_cfg_lines(parser, "options", "setup_requires"), "build")
    scripts = []
    for group in parser.options("options.entry_points") if parser.has_section("options.entry_points") else ():
        for line in _cfg_lines(parser, "options.entry_points", group):
            name, _, target = line.partition("=")
            label = name.strip() if group == "console_scripts" else f"{group}:{name.strip()}"
            scripts.append((label, target.strip()))
    name = parser.get("metadata", "name", fallback="")
    return manifest_of(path, "python", name, parser.get("metadata", "version", fallback=""), found, scripts)


def _cfg_lines(parser: configparser.ConfigParser, section: str, option: str) -> list[str]:
    value = parser.get(section, option, fallback="") or ""
    return [line.strip() for line in value.replace(";\n", "\n").splitlines() if line.strip()]


def requirements(path: str, text: str) -> Manifest:
    """Read a requirements file; options and links are left out."""
    name = path.rsplit("/", 1)[-1].lower()
    kind = "dev" if any(word in name for word in ("dev", "test", "doc", "lint", "ci")) else "runtime"
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    wanted = [
        line.split(" --", 1)[0] for line in lines if line.strip() and not line.lstrip().startswith(("#", "-"))
    ]
    return manifest_of(
        path,
        "python",
        "",
        "",
        _requirements_of((line for line in wanted if "://" not in line.split("@")[0]), kind),
    )
