"""The registry of commands: complete, without clashes, and true about the command line."""

from __future__ import annotations

import re
import shlex
from itertools import combinations
from pathlib import Path

import click
import pytest

from screens.commands import (
    BY_SECTION,
    GROUPS,
    MOVE,
    SECTIONS,
    VERBS,
    VIEW,
    WIDGET_KEYS,
    AppCommand,
    commands_of,
    find_command,
    keymap,
    shown_key,
)
from screens.reference import page
from workbench.entry.cli.main import as_command, cli
from workbench.errors import ConfigError

_ALL = [command for commands in BY_SECTION.values() for command in commands]
_FORBIDDEN = re.compile(r"ctrl\+(enter|j|i|m|h|a|b|o)$")


def test_sections_and_registry_name_each_other() -> None:
    """Every section has commands, every part of the registry is a section or everywhere."""
    assert {"app", *(section.id for section in SECTIONS)} == set(BY_SECTION)


def test_ids_are_unique_and_say_where_a_command_belongs() -> None:
    """An id names one command, `<section>.<verb>`."""
    assert len({command.id for command in _ALL}) == len(_ALL)
    for section, commands in BY_SECTION.items():
        assert all(command.section == section for command in commands)
        assert all(command is find_command(command.id) for command in commands)


@pytest.mark.parametrize("command", _ALL, ids=lambda command: command.id)
def test_a_command_says_what_it_does(command: AppCommand) -> None:
    """Each has a title, a sentence of help and a group; no key is one that terminals or tmux take."""
    assert command.title
    assert command.help.endswith(".")
    assert command.group in GROUPS
    assert not [key for key in command.keys if _FORBIDDEN.fullmatch(key)]


@pytest.mark.parametrize("command", _ALL, ids=lambda command: command.id)
def test_a_command_has_a_command_line_that_exists(command: AppCommand) -> None:
    """What does more than move or show names a command of the program, with options it has."""
    if command.group not in (MOVE, VIEW):
        assert command.cli
    if command.cli.startswith("workbench"):
        check_command_line(command.cli)


def check_command_line(line: str) -> None:
    """Assert that the words of a command line are commands and options of the program."""
    words = as_command(shlex.split(line)[1:])
    found: click.Command = cli
    context = click.Context(cli, info_name="workbench")
    while isinstance(found, click.Group) and words and not words[0].startswith("-"):
        inner = found.get_command(context, words[0])
        assert inner is not None, f"{line}: no command {words[0]!r}"
        found, words = inner, words[1:]
    options = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.partition("=")[0] in options, f"{line}: no option {word}"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.id)
def test_no_key_means_two_things_on_a_screen(section: object) -> None:
    """Commands of a section and those everywhere share no key."""
    identifier = getattr(section, "id", "")
    for one, other in combinations(commands_of(identifier), 2):
        assert not set(one.keys) & set(other.keys), (one.id, other.id)


_VERB_OF = {key: verb.id for verb in VERBS.values() for key in verb.keys}
_DECLARED = [(one.id, one.verb, one.keys) for one in _ALL] + [
    (identifier, *WIDGET_KEYS[identifier]) for identifier in WIDGET_KEYS
]
_UNIVERSAL = {"enter", "escape", "space", "tab", "ctrl+c", "f1"}  # what a dialog's own parts answer to
_ANSWERS = {"confirm.yes", "confirm.no"}


def test_a_key_of_a_verb_means_that_verb_everywhere() -> None:
    """In all sections and dialogs it is the verb's or it is free; who names a verb has all of its keys."""
    for identifier, verb, keys in _DECLARED:
        assert set(VERBS[verb].keys if verb else ()) <= set(keys), identifier
        if identifier not in _ANSWERS:
            assert {_VERB_OF.get(key, verb) for key in keys if key not in _UNIVERSAL} <= {verb}, identifier


def test_no_two_verbs_share_a_key_and_each_is_used() -> None:
    """A key names one verb; a verb without a command or a widget would be a promise that nothing keeps."""
    assert len(_VERB_OF) == sum(len(verb.keys) for verb in VERBS.values())
    assert {verb for _, verb, _ in _DECLARED} - {""} == set(VERBS)


def test_the_page_of_keys_is_what_the_registry_says() -> None:
    """docs/keys.md is what `make docs` writes."""
    place = Path(__file__).parents[2] / "docs" / "keys.md"
    assert page() == place.read_text("utf-8"), "run `make docs`"


def test_keys_can_be_remapped_by_id() -> None:
    """A setting gives a command other keys."""
    assert keymap(["app.undo=ctrl+z, f8"]) == {"app.undo": "ctrl+z,f8"}


@pytest.mark.parametrize("setting", ["app.undo", "app.undo=", "app.udno=z", "=z"])
def test_a_wrong_remapping_is_refused(setting: str) -> None:
    """What names no command or no key is an error with a next step."""
    with pytest.raises(ConfigError) as caught:
        keymap([setting])
    assert caught.value.hint


@pytest.mark.parametrize(("key", "written"), [("ctrl+p", "^p"), ("question_mark", "?"), ("alt+1", "alt+1")])
def test_keys_are_written_for_people(key: str, written: str) -> None:
    """Names of keys become what is printed on them."""
    assert written == shown_key(key)
