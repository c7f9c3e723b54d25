"""A case of loading rule files, and the steps an agent takes in it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from workbench.records.rules import Activation
from workbench.rules.precedence.tree import RuleTree

CODEX_BYTES: Final = 32 * 1024
CLAUDE: Final = ("CLAUDE.md", ".claude/CLAUDE.md")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent's own settings change: see `read_settings` of the services.

    `excluded` are globs of absolute paths that Claude Code does not read, `instructions` is its choice
    between CLAUDE.md and AGENTS.md. `fallbacks` are further names that Codex looks for and `most_bytes` how
    much it takes. `names` are those that Gemini CLI looks for.
    """

    excluded: tuple[str, ...] = ()
    instructions: str = "claude-md-or-agents-md"
    fallbacks: tuple[str, ...] = ()
    most_bytes: int = CODEX_BYTES
    names: tuple[str, ...] = ("GEMINI.md",)


@dataclass(frozen=True, slots=True)
class LoadCase:
    """What is asked: an agent started in `cwd` that reads `file`, both project-relative ('' is the root).

    `above` are the absolute directories over the project, the outermost first.
    """

    tree: RuleTree
    file: str
    cwd: str = ""
    above: tuple[str, ...] = ()
    settings: AgentSettings = AgentSettings()

    @property
    def started(self) -> tuple[str, ...]:
        """The directories from the root to where the agent was started."""
        return directory_chain(self.cwd)

    def claude_names(self, place: str) -> tuple[str, ...]:
        """Return the names of CLAUDE.md in a directory; the user's own in the home are read before."""
        return CLAUDE[:1] if place and place == self.tree.home else CLAUDE

    @property
    def nested(self) -> tuple[str, ...]:
        """The directories below `cwd` on the way to the file, none for a file that is elsewhere."""
        chain = directory_chain(posixpath.dirname(self.file))
        return chain[len(self.started) :] if chain[: len(self.started)] == self.started else ()


@dataclass(frozen=True, slots=True)
class LoadStep:
    """A file in the order in which an agent loads it.

    `when` says when, `why` by what; `left_out` is why it does not. `most` bounds the bytes that are read.
    """

    name: str
    when: Activation = Activation.ALWAYS
    why: str = ""
    left_out: str = ""
    most: int | None = None


Steps = Iterator[LoadStep]


def directory_chain(directory: str) -> tuple[str, ...]:
    """Return a directory and those over it, from the root ('') on."""
    parts = [part for part in directory.split("/") if part]
    return tuple("/".join(parts[:count]) for count in range(len(parts) + 1))


def name_in(directory: str, name: str) -> str:
    """Return the name of a file in a directory; that of the root is empty."""
    return f"{directory}/{name}" if directory else name


def directory_name(directory: str) -> str:
    """Return what a directory is called."""
    return directory or "the root"


def shown_globs(globs: tuple[str, ...]) -> str:
    """Return the first few globs as they are shown."""
    shown = ", ".join(glob.strip("/") for glob in globs[:3])
    return f"{shown} and {len(globs) - 3} more" if len(globs) > 3 else shown
