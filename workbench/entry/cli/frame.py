"""What every command shares: the global options, help with examples, and commands imported when invoked.

Global options may stand before or after the command's name; the later one wins. A command finds them, the
settings and the output in its `Invocation`. Which commands and groups there are, with their lines in lists
and their examples, is in `commands.json`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from workbench.entry.cli.output import Output, wants_color
from workbench.entry.services.opening import find_project
from workbench.records.dataclass import dataclass

if TYPE_CHECKING:
    from workbench.config_layers import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

USED: Final[list[Path]] = []
"""The projects that this run of the program worked on."""

_META = "workbench.flags"
_OPENING_WORDS = re.compile(r"-[^\s=]*\s")  # dashes and then words, where an option ends or takes a value


@dataclass(frozen=True, slots=True)
class Flags:
    """The global options as given."""

    project: str = ""
    json: bool = False
    debug: bool = False
    quiet: bool = False
    no_color: bool = False


class Invocation:
    """One run of the program: its global options and what follows from them, made when first asked for."""

    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self._noted: set[str] = set()

    @cached_property
    def out(self) -> Output:
        """The output streams."""
        return Output(quiet=self.flags.quiet, color=wants_color(no_color=self.flags.no_color))

    @cached_property
    def project(self) -> Path:
        """The project's root; an unusual place of its state is reported. Raises ProjectError."""
        from workbench.entry.project import announce_waits, state_notes

        announce_waits(self.note)
        found = find_project(self.flags.project)
        for note in state_notes(found):
            self.note(note)
        USED.append(found)
        return found

    def note(self, note: str) -> None:
        """Print a sentence on stderr, only once."""
        if note not in self._noted:
            self._noted.add(note)
            self.out.say(note)

    def wrote_json(self, value: object) -> bool:
        """Print a value as JSON where `--json` asks for it; whether it does: then no text is printed."""
        if self.flags.json:
            self.out.json(value)
        return self.flags.json

    def settings(self, **flags: object) -> Settings:
        """Return the settings with a command's flags on top (`plan__budget=3000`); warnings are printed."""
        from workbench.config_layers import load

        settings = load(
            project=self.project, flags={key.replace("__", "."): value for key, value in flags.items()}
        )
        for warning in settings.warnings:
            if warning not in self._noted:
                self._noted.add(warning)
                self.out.warn(warning)
        return settings


def current() -> Invocation:
    """Return the invocation of the command that is running."""
    context = click.get_current_context()
    known: Invocation | None = context.meta.get(_META)
    if known is None:
        known = Invocation(Flags())
        context.meta[_META] = known
    return known


def in_project(place: str) -> Invocation:
    """Return the invocation of the command that is running with another project from now on."""
    known = Invocation(replace(current().flags, project=place))
    click.get_current_context().meta[_META] = known
    return known


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> Any:  # noqa: ANN401 - of
    if value and parameter.name:
        known: Invocation = context.meta.get(_META) or Invocation(Flags())
        name = parameter.name.removeprefix("global_")
        context.meta[_META] = Invocation(replace(known.flags, **{name: value}))
    return value


def global_options() -> list[click.Option]:
    """Return fresh instances of the options every command takes."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _remember, "is_eager": True}
    return [
        click.Option(
            ["--project", "global_project"],
            metavar="DIR",
            type=click.Path(),
            help="The project's root (default: found upwards from here).",
            **shared,
        ),
        click.Option(["--json", "global_json"], is_flag=True, help="Print data as JSON.", **shared),
        click.Option(
            ["--quiet", "-q", "global_quiet"], is_flag=True, help="No narration on stderr.", **shared
        ),
        click.Option(
            ["--no-color", "global_no_color"], is_flag=True, help="No colours (also NO_COLOR=1).", **shared
        ),
        click.Option(["--debug", "global_debug"], is_flag=True, help="Show tracebacks.", **shared),
    ]


class Command(click.Command):
    """A click command with the global options and examples under its help."""

    examples: Sequence[str] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        taken = {option for parameter in self.params for option in parameter.opts}
        self.params += [option for option in global_options() if not taken.intersection(option.opts)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; one that begins with dashes and has words, `"--foo is broken"`, is text."""
        return super().parse_args(ctx, _text_last(args, self.get_params(ctx)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        format_examples(self.examples, formatter)


def _text_last(args: Sequence[str], params: Sequence[click.Parameter]) -> list[str]:
    """Return the arguments with texts behind `--` if one of them would be mistaken for an option.

    The order of options, and that of texts, stays.
    """
    if not any(isinstance(parameter, click.Argument) for parameter in params):
        return list(args)
    taking = {
        name: parameter.nargs
        for parameter in params
        if isinstance(parameter, click.Option) and not parameter.is_flag and not parameter.count
        for name in parameter.opts
    }
    options: list[str] = []
    texts: list[str] = []
    mistaken = False
    place = 0
    while place < len(args):
        word = args[place]
        place += 1
        if word == "--":
            texts += args[place:]
            break
        if _OPENING_WORDS.match(word):
            mistaken = True
            texts.append(word)
        elif word.startswith("-") and word != "-":
            end = place + taking.get(word, 0)
            options += [word, *args[place:end]]
            place = end
        else:
            texts.append(word)
    return [*options, "--", *texts] if mistaken else list(args)


@dataclass(frozen=True, slots=True)
class Lazy:
    """A command by name: where it lives, its help in lists, and its examples, so that help imports none."""

    name: str
    target: str  # module:attribute, or :the path of a group
    help: str
    examples: Sequence[str] = ()
    alone: str = ""  # the command of a group that its name alone runs

    @property
    def summary(self) -> str:
        """Its line in a list."""
        return self.help.partition("\n")[0]

    def load(self) -> Command | LazyGroup:
        """Import the command's module and return the command."""
        module, _, attribute = self.target.partition(":")
        if not module:
            lazy = lazy_commands(attribute)
            return LazyGroup(self.name, lazy=lazy, help=self.help, examples=self.examples, alone=self.alone)
        command: Command = copy(getattr(import_module(module), attribute))
        command.name = self.name
        command.examples = self.examples
        return command


def lazy_commands(group: str) -> dict[str, Lazy]:
    """Return the commands of a group, `workbench` or the words of its path, as `commands.json` lists them.

    It maps a command to its module below this package, its line in the list (all of its help for a group) and
    examples. A group's module is empty, or `:` and the command that its name alone runs. A command's function
    has its name, with `_` behind it where Python has a meaning for that, or is given:
    `project.index:import_git`.
    """
    found = {}
    for name, (place, text, *examples) in _registry()[group].items():
        own = f"{name}_" if name in ("import", "list", "set") else name.replace("-", "_")
        target = f"{__package__}.{place if ':' in place else f'{place}:{own}'}"
        alone = place.removeprefix(":") if place.startswith(":") else ""
        if alone or not place:
            target = f":{name if group == 'workbench' else f'{group} {name}'}"
        found[name] = Lazy(name, target, text, examples[0] if examples else (), alone)
    return found


@cache
def _registry() -> dict[str, dict[str, list[Any]]]:
    registry: dict[str, dict[str, list[Any]]] = json.loads(
        Path(__file__).with_name("commands.json").read_text(encoding="utf-8")
    )
    return registry


class LazyGroup(click.Group):
    """A group with the global options and examples under its help, that imports a command when it is run."""

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, Lazy],
        examples: Sequence[str] = (),
        alone: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy
        self.alone = alone
        self.examples = examples
        self.params += global_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; options alone are those of the command that the group's name runs."""
        if self.alone and {"-h", "--help"}.isdisjoint(args) and all(one.startswith("-") for one in args):
            args = [self.alone, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the registry."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or None."""
        entry = self.lazy.get(cmd_name)
        return entry.load() if entry else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, suggesting the nearest name for an unknown one."""
        if args and args[0] not in self.lazy and not args[0].startswith("-"):
            from workbench.suggest import did_you_mean

            hint = did_you_mean(args[0], self.list_commands(ctx))
            ctx.fail(f"No such command {args[0]!r}. {hint}".rstrip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the registry alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.lazy.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        format_examples(self.examples, formatter)


def format_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write examples one a line, unwrapped."""
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def command(function: Callable[..., Any]) -> Command:
    """Make a function a command with the global options; the decorator every command uses."""
    return click.command(cls=Command)(function)


def with_options(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return what gives a command several options, listed in this order."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def is_debugging(arguments: list[str]) -> bool:
    """Whether `--debug` or WORKBENCH_DEBUG asks for tracebacks, known even when parsing fails."""
    return "--debug" in arguments or os.environ.get("WORKBENCH_DEBUG", "") not in ("", "0")
