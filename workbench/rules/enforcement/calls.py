"""Tool calls of agents, and what they touch: the texts, the paths and the shell commands in their input.

Inputs of Claude Code, Codex and MCP tools are read by the names of their keys, so that a tool nobody has
heard of is understood as well as one that everybody knows.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from workbench.errors import UsageError
from workbench.records.dataclass import dataclass
from workbench.rules.enforcement.commands import Commands, index_commands
from workbench.rules.enforcement.files import FileUse, Form, files_of, forms
from workbench.shell.lines import ShellLine, join_path, read_shell, run_words

MAX_TEXT = 2_000_000  # characters of all texts of an input together
_MAX_DEPTH = 20
_SHELL_KEYS = ("command", "cmd", "chars", "script", "code")
_SHELL_TOOLS = re.compile(r"bash|shell|exec|command|terminal|process|run|stdin", re.IGNORECASE)
_DIRECTORY_KEYS = ("workdir", "cwd", "working_directory", "workingDirectory")
_REPLACED = frozenset({"old_string", "old_str", "oldString", "oldText", "old_text"})
_PATH_KEY = re.compile(
    r"(?:^|_)(?:paths?|files?|filenames?|dir|directory|folder|notebook|source|destination|target|uri)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_DIFFED = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)
_WRITING = re.compile(
    r"write|edit|create|delete|remove|rename|move|patch|replace|insert|update|save|append|put|modify|copy",
    re.IGNORECASE,
)
_READING = frozenset("read view glob grep ls notebookread search find list get fetch open cat".split())
_READ_ACTIONS = frozenset({"view", "read", "list"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What an agent is about to run, or ran.

    `cwd` is where it runs and `root` the project's root, both absolute and empty where unknown; `home` is the
    user's. `agent` is the agent's name (`claude`, `codex`), for rules with tool targets.
    """

    tool: str
    input: Mapping[str, Any]
    cwd: str = ""
    root: str = ""
    home: str = ""
    agent: str = ""


def parse_call(
    tool: str, value: object, *, cwd: str = "", root: str = "", home: str = "", agent: str = ""
) -> ToolCall:
    """Return the call of a tool with a decoded JSON input. Raises: UsageError if it is not an object."""
    if not tool.strip():
        raise UsageError("the tool has no name", hint="Give one, such as --tool Bash.")
    if isinstance(value, str):
        value = {"input": value}  # Codex' free-form tools take a text
    if not isinstance(value, Mapping):
        raise UsageError(
            f"the input of {tool} is {_kind(value)}, not an object",
            hint='Give an object of the tool\'s arguments, such as {"command": "ls"}.',
        )
    return ToolCall(tool.strip(), value, cwd, root, home, agent)


def _kind(value: object) -> str:
    names = {type(None): "null", bool: "a truth value", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), type(value).__name__)


@dataclass(frozen=True)
class Facts:
    """What a call contains, found out once for all checks."""

    call: ToolCall
    disk: bool = True
    _forms: dict[FileUse, tuple[Form, ...]] = field(default_factory=dict, compare=False, repr=False)

    def forms(self, use: FileUse) -> tuple[Form, ...]:
        """Return a used path as globs are compared with it; links and wildcards are followed with `disk`."""
        known = self._forms.get(use)
        if known is None:
            call = self.call
            known = tuple(
                dict.fromkeys(forms(use, cwd=self.directory, root=call.root, home=call.home, disk=self.disk))
            )
            self._forms[use] = known
        return known

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts anywhere in the input, in order."""
        return tuple(_texts(self.call.input, 0))

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The texts without those that an edit replaces."""
        return tuple(_texts(self.call.input, 0, _REPLACED))

    @cached_property
    def too_long(self) -> bool:
        """Whether the texts are more than can be searched."""
        return sum(map(len, self.texts)) > MAX_TEXT

    @cached_property
    def directory(self) -> str:
        """Where the call runs: its own working directory, or the session's."""
        for key in _DIRECTORY_KEYS:
            own = self.call.input.get(key)
            if isinstance(own, str) and own:
                return join_path(self.call.cwd, own)
        return self.call.cwd

    @cached_property
    def lines(self) -> tuple[ShellLine, ...]:
        """The shell lines in the input."""
        return tuple(_shell_lines(self.call))

    @cached_property
    def commands(self) -> Commands:
        """The commands of all shell lines."""
        return index_commands(self.lines)

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """Why shell lines could not be read whole."""
        return tuple(line.fault for line in self.lines if line.fault)

    @cached_property
    def named(self) -> tuple[FileUse, ...]:
        """The paths that the input names outside of shell lines."""
        writes = writes_files(self.call.tool, self.call.input)
        found = [FileUse(path, writes) for path in _paths(self.call.input, 0)]
        for text in self.texts:
            found += [FileUse(path, True) for path in patched_paths(text)]
        return tuple(dict.fromkeys(found))

    @cached_property
    def ran(self) -> tuple[FileUse, ...]:
        """The paths that the commands of all shell lines use."""
        found = [use for line in self.lines for command in line.commands for use in files_of(command)]
        return tuple(dict.fromkeys(found))


def writes_files(tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool changes the files it names; one that nothing is known of is taken to do so."""
    action = arguments.get("command")
    if isinstance(action, str) and action in _READ_ACTIONS:
        return False
    name = tool.rpartition("__")[2]
    if _WRITING.search(name):
        return True
    words = _CAMEL.sub("_", name).casefold().split("_")
    return not any(word in _READING for word in words)


def patched_paths(text: str) -> tuple[str, ...]:
    """Return the files that a patch changes: Codex' own form, or a unified diff."""
    found = _PATCHED.findall(text) if "*** " in text else []
    if _HUNK.search(text):
        found += [path for path in _DIFFED.findall(text) if path != "/dev/null"]
    return tuple(dict.fromkeys(path.strip() for path in found))


def _texts(value: object, depth: int, without: Container[object] = ()) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if key not in without:
                    yield from _texts(inner, depth + 1, without)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                yield from _texts(inner, depth + 1, without)


def _paths(value: object, depth: int) -> Iterator[str]:
    """Yield the texts under keys that name paths."""
    if depth >= _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _DIRECTORY_KEYS:
                continue
            if isinstance(key, str) and _PATH_KEY.search(_CAMEL.sub("_", key)):
                yield from (text.removeprefix("file://") for text in _own_texts(inner) if text)
            yield from _paths(inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _paths(inner, depth + 1)


def _own_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (inner for inner in value if isinstance(inner, str))


def _shell_lines(call: ToolCall) -> Iterator[ShellLine]:
    shell = _SHELL_TOOLS.search(call.tool) is not None
    for key in _SHELL_KEYS:
        value = call.input.get(key)
        if not shell and key != "command":
            continue
        if isinstance(value, str) and value:
            yield read_shell(value)
        elif isinstance(value, Sequence) and value and all(isinstance(word, str) for word in value):
            yield run_words([str(word) for word in value])
