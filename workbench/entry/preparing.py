"""What a plan does not wait for: making the embedding model, embedding past tasks and rules.

It runs in the foreground by `workbench model prepare`, and after a plan that found something missing as a
process of its own with low priority. That process ends when the work is done; only one runs per project.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.config import Config
from workbench.entry.bootstrap import alone, made_embedder, open_workspace
from workbench.errors import ModelError, StoreBusy
from workbench.plan.semantics import head_texts
from workbench.rules.relevance import rule_texts

Progress = Callable[[str, int, int], None]

_NICE = 15


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is ready now: the model in use and how many past tasks and rules have vectors."""

    model: str
    source: str
    build_seconds: float
    tasks: int
    rules: int


def prepare(start: Path, config: Config, *, progress: Progress | None = None) -> Prepared:
    """Make the model if needed and embed what is missing, newest first.

    Raises: ModelError if no model can be used; StoreBusy if another process is preparing this project.
    """
    if progress is not None:
        progress("preparing the embedding model", 0, 1)
    opened = open_workspace(start, config)
    cache, report = made_embedder(config, opened.location.home)
    if cache is None:
        reasons = "; ".join(f"{option.source}: {option.reason}" for option in report.options if option.reason)
        raise ModelError(f"no embedding model can be used ({reasons})", hint="see `workbench doctor`")
    with alone(opened.location, "prepare"):
        opened.workspace.sync(progress=progress)
        heads = head_texts(opened.workspace.task_heads)
        rules = rule_texts(opened.workspace.rulebook.rules)
        for label, texts in (("embedding rules", rules), ("embedding past tasks", heads)):
            told = None if progress is None else _labelled(progress, label)
            cache.embed(texts, progress=told)
    return Prepared(report.model, report.source, report.build_seconds, len(heads), len(rules))


def _labelled(progress: Progress, label: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(label, done, total)


def prepare_in_background(root: Path) -> bool:
    """Start `workbench model prepare` for a project and return at once; False if it could not be started."""
    # -P: the directory it runs in may hold a module of any name, and must not be imported from.
    command = [sys.executable, "-P", "-m", "workbench", "--quiet", "--project", str(root), "model", "prepare"]
    try:
        subprocess.Popen(  # it outlives this process by design, and ends by itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=root.anchor,
            start_new_session=True,
            env={**os.environ, "WORKBENCH_PREPARING": "1"},
        )
    except OSError:
        return False
    return True


def lower_priority() -> None:
    """Let everything else on the machine go first."""
    if hasattr(os, "nice"):
        os.nice(_NICE)


__all__ = ["Prepared", "StoreBusy", "lower_priority", "prepare", "prepare_in_background"]
