"""Which layer decided each setting: defaults < the user's file < the project's < environment < flags.

`load` merges them into a frozen `Config` and remembers a `SettingOrigin` per value, so that
`workbench config show` can say where each came from. A project's file is shared with everyone who clones it
and may be hostile: it cannot set what reaches outside the project or starts anything (`USER_ONLY`), can only
add to what privacy excludes, never take away, and what is wrong in it is ignored with a warning, where the
user's own mistakes are errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from workbench.beneath import open_beneath
from workbench.config import Config
from workbench.config_file import key_line, read_text
from workbench.errors import ConfigError
from workbench.places import platform_directory
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass

Layer = Literal["default", "user", "project", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class SettingOrigin:
    """Which layer decided a value, and where in it: a file and line, a variable or a flag."""

    layer: Layer
    where: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """A merged configuration. `origins` has one entry for each `section.key`; `warnings` are sentences."""

    config: Config
    origins: Mapping[str, SettingOrigin]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A value some layer gives for a key, before types are checked."""

    key: str
    value: object
    origin: SettingOrigin


USER_ONLY = frozenset(
    """
    app.theme app.keys app.mouse models.embedding models.embedding_path models.download
    models.background models.ranking models.llm models.llm_url plan.ml_mode
    rerank.top rerank.weight rerank.timeout rerank.cross_encoder rerank.intent
    grepai.search grepai.timeout clipboard.mode clipboard.file
    store.metrics store.keep_days store.tables sessions.archive sessions.archive_mb rules.home
    rules.recheck rules.recheck_top rules.recheck_timeout rules.propose rules.variant rules.variant_share
    cache.redis_url cache.redis_seconds cache.redis_rules cache.redis_retry
    stash.keep_days stash.max_segments stash.max_tokens stash.collect
    stash.models stash.summary_tokens stash.summary_timeout
    hooks.session_chars hooks.prompt_chars hooks.task_chars hooks.threshold hooks.deadline
    hooks.stash
    vectors.store vectors.qdrant_url vectors.kinds vectors.here vectors.timeout vectors.retry
    vectors.m vectors.ef
    """.split()
)


ADDING = frozenset({"privacy.exclude", "rules.tags"})


ENVIRONMENT_PREFIX = "WORKBENCH_"


PROJECT_FILE = Path(".workbench") / "config.toml"


_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def user_file(env: Mapping[str, str] = os.environ) -> Path:
    """Return the user's configuration file, which need not exist."""
    if home := env.get("WORKBENCH_HOME"):
        return Path(home).expanduser() / "config.toml"
    return platform_directory("config") / "config.toml"


def project_file(project: Path) -> Path:
    """Return the project's configuration file, which need not exist."""
    return project / PROJECT_FILE


@cache
def schema() -> Mapping[str, Any]:
    """Return {`section.key`: type} in the order of declaration."""
    types: dict[str, Any] = {}
    for section, section_type in get_type_hints(Config).items():
        hints = get_type_hints(section_type, include_extras=True)
        types.update({f"{section}.{item.name}": hints[item.name] for item in fields(section_type)})
    return types


def values(config: Config) -> dict[str, Any]:
    """Return {`section.key`: value} of a configuration, in the order of declaration."""
    return {key: getattr(getattr(config, section), name) for key, section, name in _split_keys()}


def load(
    *,
    project: Path | None = None,
    env: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
    user: Path | None = None,
) -> Settings:
    """Merge all layers. `flags` maps `section.key` to a typed value; None values count as not given.

    Raises: ConfigError for unknown keys and values of the wrong type, naming the file and line, but for those
    of the project's file: they are ignored with a warning.
    """
    given = [*read_file(user or user_file(env), "user")]
    ignored = ""
    if project is not None:
        try:
            given += given_by(project_text(project), project_file(project), "project")
        except ConfigError as error:
            ignored = f"the project's settings are ignored: {error.message}"
    given += read_environment(env)
    for key, value in (flags or {}).items():
        if value is not None:
            given.append(
                Given(key, value, SettingOrigin("flag", "--" + key.partition(".")[2].replace("_", "-")))
            )
    settings = merge(given)
    return replace(settings, warnings=(ignored, *settings.warnings)) if ignored else settings


def merge(given: list[Given]) -> Settings:
    """Lay the given values over the defaults in order, checking names and types."""
    config = Config()
    merged = values(config)
    origins = {key: SettingOrigin("default") for key in merged}
    warnings: list[str] = []
    for item in given:
        try:
            value = check(item)
        except ConfigError as error:
            if item.origin.layer != "project":
                raise
            warnings.append(f"{error.message}; the project's setting is ignored")
            continue
        if item.origin.layer == "project":
            if item.key in USER_ONLY:
                warnings.append(
                    f"{item.origin.where}: {item.key} is ignored, because a project's file "
                    "cannot set it; use the user's file, the environment or a flag"
                )
                continue
            if item.key in ADDING and any(pattern.startswith("!") for pattern in value):
                warnings.append(f"{item.origin.where}: patterns with ! are ignored in a project's {item.key}")
                value = tuple(pattern for pattern in value if not pattern.startswith("!"))
        if item.key in ADDING:
            value = tuple(dict.fromkeys((*merged[item.key], *value)))
        merged[item.key] = value
        origins[item.key] = item.origin
    return Settings(_assemble(config, merged), origins, tuple(warnings))


def check(item: Given) -> Any:  # noqa: ANN401 - as the setting is typed
    """Return the value with its declared type. Raises ConfigError with the place and a suggestion."""
    expected = schema().get(item.key)
    place = f"{item.origin.where}: " if item.origin.where else ""
    if expected is None:
        raise ConfigError(f"{place}unknown setting {item.key!r}", hint=_known_settings(item.key))
    try:
        value = convert(item.value, expected)
        if isinstance(value, float) and not isfinite(value):
            raise msgspec.ValidationError("Expected a finite number")
        return value
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "").split(" - at ")[0]
        raise ConfigError(
            _LOGIN.sub(r"\1://…@", f"{place}{item.key} = {item.value!r}: {reason[0].lower()}{reason[1:]}"),
            hint=f"{item.key} is {describe(item.key)}.",
        ) from None


def describe(key: str) -> str:
    """Return the type of a setting in words: `a whole number >= 1`, `one of text, json`."""
    return _describe_type(schema()[key])


def read_file(path: Path, layer: Layer) -> Iterator[Given]:
    """Yield what the user's file, or one named instead, gives; a missing one nothing. Raises ConfigError."""
    return given_by(user_text(path), path, layer)


def user_text(path: Path) -> str | None:
    """Return the text of a file of the user's, whose links may lead anywhere. Raises ConfigError."""
    return read_text(path, lambda: os.open(path, _OPEN))


def project_text(project: Path) -> str | None:
    """Return the text of the project's file; no link leads out of the project. Raises ConfigError."""
    return read_text(project_file(project), lambda: open_beneath(str(project), PROJECT_FILE.as_posix()))


def given_by(text: str | None, path: Path, layer: Layer) -> Iterator[Given]:
    """Yield what the text of a file gives. Raises ConfigError if it is no TOML."""
    if not text:
        return
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", hint="Correct or move the file.") from error
    for section, table in document.items():
        items = table.items() if isinstance(table, dict) else [("", table)]
        for name, value in items:
            key = f"{section}.{name}" if name else section
            yield Given(key, value, SettingOrigin(layer, f"{path}:{key_line(text, section, name)}"))


def read_environment(env: Mapping[str, str]) -> Iterator[Given]:
    """Yield what variables like `WORKBENCH_PLAN_BUDGET` give, converted from text, in key order.

    Variables that name no section (`WORKBENCH_HOME`) belong to others and are left alone.
    """
    sections = tuple(dict.fromkeys(section for _, section, _ in _split_keys()))
    for variable in sorted(env):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        section, _, name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
        if section in sections and name:
            key = f"{section}.{name}"
            yield Given(key, parse(key, env[variable]), SettingOrigin("environment", variable))


def parse(key: str, text: str) -> object:
    """Turn the text of a variable or of `config set` into a value of the key's type where it can.

    What cannot be turned stays text, and `check` refuses it with the place it came from.
    Lists are written with commas; booleans as true/false, yes/no, on/off or 1/0.
    """
    expected = _bare(schema().get(key, str))
    if expected is bool:
        return _BOOLEANS.get(text.strip().lower(), text)
    if expected in (int, float):
        try:
            return expected(text.strip().replace("_", ""))
        except ValueError:
            return text
    if get_origin(expected) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


_LOGIN = re.compile(r"(?<!\S)(?>(\S*?)://)\S*@")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _bare(expected: Any) -> Any:  # noqa: ANN401 - as the setting is typed
    return get_args(expected)[0] if get_origin(expected) is Annotated else expected


def _split_keys() -> list[tuple[str, str, str]]:
    return [(key, *key.split(".", 1)) for key in schema()]  # type: ignore[misc]


def _assemble(config: Config, merged: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for key, section, name in _split_keys():
        sections.setdefault(section, {})[name] = merged[key]
    return replace(
        config, **{name: replace(getattr(config, name), **part) for name, part in sections.items()}
    )


def _describe_type(expected: Any) -> str:  # noqa: ANN401 - as the setting is typed
    bare = _bare(expected)
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(get_args(bare))
    if get_origin(bare) is tuple:
        return "a list of texts"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[bare]
    if bare is not expected:
        low, high = get_args(expected)[1].ge, get_args(expected)[1].le
        words += f" of at least {low}" if high is None else f" from {low} to {high}"
    return words


def _known_settings(key: str) -> str:
    from workbench.suggest import did_you_mean

    return did_you_mean(key, schema(), "`workbench config show` lists every setting.")
