"""What a user asks a replay for, the command line it is, and the systems there are to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ALL: Final = "commits and prompts"
COMMITS: Final = "commits"
PROMPTS: Final = "prompts of sessions"
SOURCES: Final = (ALL, COMMITS, PROMPTS)
_OPTION: Final = {ALL: "all", COMMITS: "commits", PROMPTS: "sessions"}

TASKS: Final = 150
_ABOUT: Final = {
    "baseline": "the kind of task alone, layers L0 to L6; every gap is to it",
    "bm25": "the words of the task in the words of files",
    "vector": "what past tasks of like meaning touched; needs embeddings",
    "hybrid": "what `workbench plan` does",
}


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """A system that can be replayed, and what it is."""

    name: str
    about: str
    usual: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """A replay to start. `systems` empty means the usual ones; `budget` None is that of the settings.

    `path` is another repository, transcripts or a rules benchmark, empty for this project; `dataset` says
    that it is a rules benchmark, which takes no options.
    """

    source: str = ALL
    path: str = ""
    tasks: int = TASKS
    systems: tuple[str, ...] = ()
    budget: int | None = None
    packs: bool = True
    gate: bool = False
    dataset: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether it is not this project that is replayed."""
        return bool(self.path.strip())


def arguments(wish: Wish) -> list[str]:
    """Return the words after `workbench` that start it."""
    found = ["replay"]
    if wish.elsewhere:
        place = str(Path(wish.path.strip()).expanduser())
        found.append(f"./{place}" if place.startswith("-") else place)
    if wish.dataset:
        return found
    if wish.source in (COMMITS, PROMPTS):
        found += ["--source", _OPTION[wish.source]]
    found += ["--tasks", str(wish.tasks)]
    if wish.systems:
        found += ["--systems", ",".join(wish.systems)]
    if wish.budget is not None:
        found += ["--budget", str(wish.budget)]
    found += [] if wish.packs else ["--no-packs"]
    return found + (["--gate"] if wish.gate else [])


def system_choices() -> tuple[SystemChoice, ...]:
    """Return the systems by name: the usual ones, then without a group of features, then of less budget.

    Imports the rankers: for a job.
    """
    from workbench.replay.systems import DEFAULT_SYSTEMS, GROUPS, HYBRID

    usual = [
        SystemChoice(name, _ABOUT.get(name, "hybrid with another model: without embeddings"), usual=True)
        for name in DEFAULT_SYSTEMS
    ]
    without = [
        SystemChoice(f"{HYBRID}-{group}", f"hybrid without what is {group}: what is that worth?")
        for group in GROUPS
    ]
    share = SystemChoice(f"{HYBRID}@0.65", "hybrid with 65 % of the budget for its packs")
    return (*usual, *without, share)


def chosen_systems(choices: Sequence[SystemChoice], marked: frozenset[str]) -> tuple[str, ...]:
    """Return the marked systems in the order they are listed; empty if they are just the usual ones."""
    names = tuple(one.name for one in choices if one.name in marked)
    return () if names == tuple(one.name for one in choices if one.usual) else names


def wrong_with(wish: Wish, marked: frozenset[str], root: Path) -> str:
    """Return why a wish cannot be granted in the project at `root`, or ''. Looks at the disk alone."""
    if wish.elsewhere and not (root / Path(wish.path.strip()).expanduser()).exists():
        return f"{wish.path} does not exist"
    if not marked and not wish.dataset:
        return "mark at least one system with space"
    return ""


def is_dataset(path: str, root: Path) -> bool:
    """Whether a path, as seen from `root`, is the folder of a rules benchmark."""
    from workbench.replay.datasets import holds_dataset

    return bool(path.strip()) and holds_dataset(root / Path(path.strip()).expanduser())
