"""The program `workbench`: finds the command, runs it, and turns failures into a sentence and a code."""

from __future__ import annotations

import os
import signal
import sys

import click

from workbench import __version__
from workbench.entry.cli import exits
from workbench.entry.cli.frame import USED, LazyGroup, is_debugging, lazy_commands
from workbench.entry.cli.output import Output
from workbench.entry.os.terminal import can_show_app
from workbench.errors import ParseError, Unasked, WorkbenchError
from workbench.places import STATE

_COMMAND_FLAGS = frozenset({"--replay", "--serve-web"})

_WITHOUT_EXCHANGE = frozenset({"store", "hook", "mcp", "serve", "grpc", "serve-web"})
"""Commands that do it themselves, or whose end an agent waits for."""

COMMANDS = lazy_commands("workbench")


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    examples=(
        'workbench plan "jwt token is not refreshed on 401" --budget 3000',
        'workbench rank "jwt token is not refreshed on 401" --top 5',
        "workbench config show",
        "workbench --replay",
    ),
)
@click.version_option(__version__, message="workbench %(version)s")
@click.option(
    "--replay",
    is_flag=True,
    expose_value=False,  # `as_command` has made it a command before it is read
    help="Measure the program on this project's own past, or on a dataset: `workbench --replay [PATH]`, "
    "with the options of `workbench replay`.",
)
@click.option(
    "--serve-web",
    is_flag=True,
    expose_value=False,
    help="Serve the app to browsers of this machine, with the options of `workbench serve-web`.",
)
@click.pass_context
def cli(context: click.Context) -> int | None:
    """Decide what a coding agent should read for a task, and show why.

    Works in any git repository with no set-up. Alone in a terminal it opens the app. Data goes to stdout,
    narration to stderr.
    """
    if context.invoked_subcommand is not None:
        return None
    if not can_show_app(os.environ, sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty()):
        from workbench.entry.cli.project.app import open_app

        return open_app("")
    click.echo(context.get_help())
    return None


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit with its code."""
    # Started in the background by nohup, a script or CI it ignores what would end it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the program and return its exit code (see `exits`); errors go to stderr."""
    try:
        result = cli.main(args=as_command(arguments), prog_name="workbench", standalone_mode=False)
        sys.stdout.flush()
        _exchange_afterwards(arguments)
        return result if isinstance(result, int) else exits.OK
    except (BrokenPipeError, SystemExit):
        # Outside its standalone mode click exits by itself only for a broken pipe; no command exits.
        return _end_unread()
    except (KeyboardInterrupt, click.Abort):
        Output().fail("interrupted", "Nothing acknowledged is lost; run it again to go on.")
        return exits.INTERRUPTED
    except Exception as error:  # the outermost boundary: whatever happens, the user gets a sentence
        if isinstance(error, Unasked) and _ask_consent(error):
            return run(arguments)
        if is_debugging(arguments):
            import traceback

            traceback.print_exc()
        return explain(error)


def _exchange_afterwards(arguments: list[str]) -> None:
    """Send what the command wrote to the team of its project, and receive: the answer is out by now."""
    used = [root for root in dict.fromkeys(USED) if (root / STATE / "team" / "team.json").is_file()]
    USED.clear()
    if used and not _WITHOUT_EXCHANGE.intersection(arguments):
        from workbench.entry.services.team_exchange import exchange_briefly

        for root in used:
            for sentence in exchange_briefly(root):
                Output(quiet="--quiet" in arguments or "-q" in arguments).say(sentence)


def _ask_consent(unasked: Unasked) -> bool:
    """Ask a person at a terminal whether all of a directory is to be indexed, and note a yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        if not click.confirm(f"{unasked.message}. Index all of it?", err=True):
            return False
    except click.Abort:
        return False
    from workbench.entry.project import give_consent

    give_consent(unasked.root)
    return True


def as_command(arguments: list[str]) -> list[str]:
    """Return the arguments with `--replay` or `--serve-web` before any command as that command."""
    valued = False
    for place, argument in enumerate(arguments):
        name, given, value = argument.partition("=")
        if name in _COMMAND_FLAGS:
            rest = [*([value] if given else []), *arguments[place + 1 :]]
            return [*arguments[:place], name.removeprefix("--"), *rest]
        if not valued and not argument.startswith("-"):
            break
        valued = argument == "--project"
    return arguments


def _end_unread() -> int:
    """Give stdout a place that takes what the interpreter still flushes on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.__stdout__ or sys.stdout).fileno())
    return exits.BROKEN_PIPE


def _usage_hint(error: click.UsageError) -> str:
    """Return what to type next; a word that begins with dashes may have been meant as text."""
    context = error.ctx
    where = context.command_path if context else "workbench"
    hint = f"`{where} --help` shows what it takes."
    texts = context is not None and any(
        isinstance(parameter, click.Argument) for parameter in context.command.params
    )
    if isinstance(error, click.NoSuchOption) and texts:
        hint += f" If {error.option_name} is text, put -- before it: `{where} -- {error.option_name} …`."
    return hint


def explain(error: Exception) -> int:
    """Print an error on stderr and return its exit code."""
    out = Output()
    match error:
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return exits.USAGE
        case click.UsageError():
            out.fail(error.format_message(), _usage_hint(error))
            return exits.USAGE
        case click.ClickException():
            out.fail(error.format_message())
            return exits.ERROR
        case ParseError(path=path, line=line) if path:
            place = f"{path}:{line}" if line else path
            out.fail(f"{place}: {error.message}", error.hint)
            return error.exit_code
        case WorkbenchError():
            out.fail(error.message, error.hint)
            return error.exit_code
        case OSError() if error.strerror:
            place = f"{error.filename}: " if error.filename else ""
            out.fail(f"{place}{error.strerror}", "`--debug` shows where it happened.")
        case MemoryError():
            out.fail("out of memory", "Lower index.max_files or exclude large folders (index.exclude).")
        case _:
            out.fail(
                f"{type(error).__name__}: {error}",
                "This is a defect of the workbench: run it again with --debug and report what it prints.",
            )
    return exits.ERROR


if __name__ == "__main__":
    main()
