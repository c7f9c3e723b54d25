"""What a tool is for, and what its call and its answer are worth: the words of tools as facts of segments."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from workbench.sessions.importers.touches import patch_touches, shell_commands, touches
from workbench.sessions.importers.transcripts import ToolUse, mapping, text
from workbench.shell.wrappers import program_name

_MOST_COMMAND: Final = 400  # characters of a command that are shown
_MOST_COMPARED: Final = 20_000  # characters of an edit whose lines are compared


class Purpose(Enum):
    """What a tool is for."""

    READ = auto()
    SHELL = auto()
    WRITE = auto()
    EDIT = auto()
    PATCH = auto()
    TASKS = auto()
    PLAN = auto()
    RESEARCH = auto()
    HELPER = auto()
    QUESTION = auto()
    SILENT = auto()
    OTHER = auto()


_PURPOSES: Final = {
    Purpose.READ: "read notebookread read_file view_file view",
    Purpose.SHELL: "bash shell local_shell exec_command container.exec unified_exec run_shell_command "
    "bashoutput taskoutput write_stdin",
    Purpose.WRITE: "write write_file create_file",
    Purpose.EDIT: "edit multiedit notebookedit replace str_replace_editor str_replace_based_edit_tool",
    Purpose.PATCH: "apply_patch",
    Purpose.TASKS: "todowrite update_plan todo_write write_todos taskcreate",
    Purpose.PLAN: "exitplanmode exit_plan_mode",
    Purpose.RESEARCH: "websearch webfetch web_search web_fetch google_web_search fetch_url browse",
    Purpose.HELPER: "task agent spawn_agent",
    Purpose.QUESTION: "askuserquestion ask_user_question request_user_input",
    Purpose.SILENT: "enterplanmode skill killshell taskstop todoread taskupdate tasklist taskget toolsearch",
}
_BY_NAME: Final = {name: purpose for purpose, names in _PURPOSES.items() for name in names.split()}
_LOOKUP: Final = re.compile(r"search|fetch|crawl|browse|docs|wiki|scrape", re.IGNORECASE)
_SUBJECTS: Final = (
    "query",
    "url",
    "pattern",
    "command",
    "cmd",
    "path",
    "file_path",
    "description",
    "prompt",
    "id",
)


def purpose_of(use: ToolUse) -> Purpose:
    """Return what a call's tool is for; tools of servers that look things up are research."""
    server, _, name = use.tool.rpartition("__")
    purpose = _BY_NAME.get(name.casefold())
    if purpose is Purpose.EDIT and use.input.get("command") in ("view", "create"):
        return Purpose.READ if use.input["command"] == "view" else Purpose.WRITE
    if purpose is not None:
        return purpose
    return Purpose.RESEARCH if server and _LOOKUP.search(use.tool) else Purpose.OTHER


def command_of(use: ToolUse) -> str:
    """Return the command line of a shell call, empty for other tools."""
    given = next((use.input[key] for key in ("command", "cmd", "script") if use.input.get(key)), "")
    if isinstance(given, list):
        words = [word for word in given if isinstance(word, str)]
        given = words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return text(given) if purpose_of(use) is Purpose.SHELL else ""


def headline(use: ToolUse) -> str:
    """Return what was called in a line: `$ make test`, `Grep pattern src`."""
    command = command_of(use)
    if command:
        line = " ".join(command.split())
        return f"$ {line[:_MOST_COMMAND]}{'…' if len(line) > _MOST_COMMAND else ''}"
    words = [text(use.input.get(key)) for key in _SUBJECTS]
    subject = " ".join(next((word for word in words if word.strip()), "").split())[:_MOST_COMMAND]
    if use.input.get("pattern") and text(use.input.get("path")):
        subject = f"{subject} {text(use.input['path'])}"
    return f"{use.tool.rpartition('__')[2]} {subject}".strip()


def read_path(use: ToolUse) -> str:
    """Return the one file whose content a call shows, empty if it shows anything else."""
    found = touches(use)
    paths = {touch.path for touch in found}
    if len(paths) != 1 or any(touch.kind is not None for touch in found):
        return ""
    if purpose_of(use) is Purpose.SHELL:
        commands, _ = shell_commands(use)
        shown = [one for one in commands if one.words and program_name(one.words[0]) not in _AROUND]
        if len(shown) != 1 or program_name(shown[0].words[0]) not in _SHOWERS:
            return ""
    return paths.pop()


_AROUND: Final = frozenset("cd bash sh zsh".split())
_SHOWERS: Final = frozenset("cat bat batcat nl sed head tail less more".split())


@dataclass(frozen=True, slots=True)
class WrittenCode:
    """What a call writes: a whole file, or the change of one as lines with `+` and `-`."""

    path: str
    text: str
    whole: bool


def written_code(use: ToolUse) -> Iterator[WrittenCode]:
    """Yield what a call writes to each file, in order."""
    given = use.input
    path = text(given.get("file_path")) or text(given.get("path")) or text(given.get("notebook_path"))
    match purpose_of(use):
        case Purpose.WRITE if path:
            yield WrittenCode(path, text(given.get("content")) or text(given.get("file_text")), whole=True)
        case Purpose.EDIT if path:
            edits = given.get("edits")
            parts = [mapping(edit) for edit in edits] if isinstance(edits, list) else [given]
            changes = (_change(part) for part in parts)
            yield WrittenCode(path, "\n".join(change for change in changes if change), whole=False)
        case Purpose.PATCH:
            yield from _patched_code(text(given.get("input")) or text(given.get("patch")), use.cwd)


def _change(part: Mapping[str, Any]) -> str:
    old, new = (
        next((value for key in keys if (value := text(part.get(key)))), "")
        for keys in (("old_string", "old_str"), ("new_string", "new_str", "new_source", "insert_text"))
    )
    if not old or len(old) + len(new) > _MOST_COMPARED:
        return new
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _patched_code(patch: str, cwd: str) -> Iterator[WrittenCode]:
    for part in re.split(r"(?m)^(?=\*\*\* (?:Add|Update|Delete) File: )", patch)[1:]:
        touch = next(patch_touches(part, cwd), None)
        body = part.partition("\n")[2].partition("*** End Patch")[0].rstrip("\n")
        if touch is not None and body:
            added = part.startswith("*** Add File")
            lines = (line[1:] for line in body.split("\n")) if added else body.split("\n")
            yield WrittenCode(touch.path, "\n".join(lines), whole=added)


def is_plan_file(path: str) -> bool:
    """Whether a file holds an agent's plan."""
    path = path.lower()
    name = path.rpartition("/")[2]
    return (name.endswith(".md") and "plan" in name[:-3]) or "/.claude/plans/" in path


def todo_items(use: ToolUse) -> list[tuple[str, str]]:
    """Return the (item, mark) of a call that writes a list of tasks; the mark is one of `x`, `>`, blank."""
    given = use.input.get("todos", use.input.get("plan", use.input.get("tasks")))
    if not isinstance(given, list):
        given = [use.input] if use.input.get("subject") else []
    marks = {"completed": "x", "done": "x", "in_progress": ">"}
    found = []
    for one in map(mapping, given):
        parts = (text(one.get(key)) for key in ("content", "step", "subject", "description", "title"))
        said = ": ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if said:
            found.append((said, marks.get(text(one.get("status")), " ")))
    return found
