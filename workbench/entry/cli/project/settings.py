"""`workbench config`: which settings are in force, where each came from, and changing one in its file."""

from __future__ import annotations

from pathlib import Path

import click

from workbench import config_layers as configuration
from workbench.config_file import set_key, to_toml, unset_key
from workbench.entry.cli.frame import command, current
from workbench.entry.project import replace_file
from workbench.errors import ConfigError
from workbench.text.sanitize import without_passwords

_IN_PROJECT = click.option(
    "--in-project", is_flag=True, help="Use the project's shared file instead of the user's."
)


@command
@click.argument("prefix", default="")
def show(prefix: str) -> None:
    """Print every setting with its value and where it came from.

    PREFIX narrows the list: a section (`plan`) or a setting (`plan.budget`). Passwords in URLs are left
    out; `get` prints them.
    """
    here = current()
    settings = here.settings()
    chosen = {
        key: value
        for key, value in configuration.values(settings.config).items()
        if not prefix or key == prefix or key.startswith(prefix + ".")
    }
    if not chosen:
        configuration.check(configuration.Given(prefix, None, configuration.SettingOrigin("flag")))
    if here.flags.json:
        here.out.json(
            {
                key: {
                    "value": without_passwords(value) if isinstance(value, str) else value,
                    "source": settings.origins[key].layer,
                    "where": settings.origins[key].where,
                    "type": configuration.describe(key),
                }
                for key, value in chosen.items()
            }
        )
        return
    width = max(map(len, chosen))
    shown = {key: without_passwords(to_toml(value)) for key, value in chosen.items()}
    column = min(40, max(map(len, shown.values())))
    for key, text in shown.items():
        origin = settings.origins[key]
        source = origin.layer + (f" {origin.where}" if origin.where else "")
        here.out.paint(f"{key:<{width}}  {text:<{column}}  {here.out.style(source, '2')}")


@command
@click.argument("key")
def get(key: str) -> None:
    """Print the value of one setting."""
    here = current()
    value = configuration.values(here.settings().config).get(key)
    if value is None:
        configuration.check(configuration.Given(key, None, configuration.SettingOrigin("flag")))
    if not here.wrote_json(value):
        here.out.data(value if isinstance(value, str) else to_toml(value))


@command
@click.argument("key")
@click.argument("value")
@_IN_PROJECT
def set_(key: str, value: str, in_project: bool) -> None:
    """Write a setting into the user's file, or the project's; the rest of the file stays as it is."""
    here = current()
    path = _file(in_project)
    layer: configuration.Layer = "project" if in_project else "user"
    given = configuration.Given(key, configuration.parse(key, value), configuration.SettingOrigin(layer))
    checked = configuration.check(given)
    if warnings := configuration.merge([given]).warnings:
        raise ConfigError(f"{key} cannot be set in a project's file", hint=warnings[0].strip(": "))
    section, _, name = key.partition(".")
    before = _read(path, in_project)
    _write(path, set_key(_plain(before), section, name, checked), before, in_project)
    here.out.say(f"{key} = {without_passwords(to_toml(checked))} in {path}")


@command
@click.argument("key")
@_IN_PROJECT
def unset(key: str, in_project: bool) -> None:
    """Take a setting out of the user's file, or the project's, so that the layer below decides."""
    here = current()
    if key not in configuration.schema():
        configuration.check(configuration.Given(key, None, configuration.SettingOrigin("flag")))
    path = _file(in_project)
    section, _, name = key.partition(".")
    before = _read(path, in_project)
    after = unset_key(_plain(before), section, name)
    if after == _plain(before):
        here.out.say(f"{key} is not set in {path}")
        return
    _write(path, after, before, in_project)
    here.out.say(f"{key} is no longer set in {path}")


@command
@_IN_PROJECT
def path(in_project: bool) -> None:
    """Print the path of the user's file, or the project's; it need not exist yet."""
    current().out.data(str(_file(in_project)))


def _file(in_project: bool) -> Path:
    return configuration.project_file(current().project) if in_project else configuration.user_file()


def _read(path: Path, in_project: bool) -> str | None:
    """Return a file's text, None where there is none; refuses what is not TOML before it is edited."""
    text = configuration.project_text(current().project) if in_project else configuration.user_text(path)
    list(configuration.given_by(text, path, "user"))
    return text


def _write(path: Path, text: str, before: str | None, in_project: bool) -> None:
    """Replace a file in one step, following links, those of a project only if they stay in it."""
    expected = None if before is None else before.encode()
    inside = current().project if in_project and path.is_relative_to(current().project) else None
    replace_file(path, text.encode(), expected=expected, inside=inside)


def _plain(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n")
