"""Replays that are kept: the runs of a project, and rows as Parquet. Only `run_replay` makes one.

All else opens no index and no model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workbench.entry.project import (
    OpenedProject,
    find_state,
    list_runs,
    open_run,
    private_dir,
    put_run,
    write_atomic,
)
from workbench.errors import StoreError, UsageError
from workbench.records.replay import ReplayRun
from workbench.replay.runs import (
    RunSummary,
    decode_run,
    decode_summary,
    encode_run,
    find_run,
    row_batches,
    run_of_document,
)

_FILE_SUFFIX = ".json"

TASKS: Final = 150


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A kept run: its id, the size of its file, and what its header says, or why it cannot be read."""

    id: str
    bytes: int
    summary: RunSummary | None
    fault: str = ""


def runs_root(start: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the state directory of the project around a directory. Raises: StoreError."""
    return find_state(start, environment=environment).state


def keep_run(root: Path, run: ReplayRun, *, spare: Collection[str] = ()) -> ReplayRun:
    """Keep a run and return it under its id; `spare` are kept runs that must not be dropped for it.

    Raises: StoreError, StoreBusy.
    """
    identifier, data = encode_run(run)
    known = [one.id for one in list_runs(root)]
    spared = {one for one in known if any(name and one.startswith(name) for name in spare)}
    put_run(root, identifier, data, spare=spared)
    return replace(run, id=identifier)


def list_kept_runs(root: Path) -> list[KeptRun]:
    """Return the runs kept in a state directory, the newest first. Raises: StoreError."""
    found = []
    for one in list_runs(root):
        try:
            with open_run(root, one.id) as file:
                found.append(KeptRun(one.id, one.size, decode_summary(file)))
        except StoreError as error:
            found.append(KeptRun(one.id, one.size, None, error.message))
    return found


def load_run(root: Path, name: str) -> ReplayRun:
    """Return the run that a name means: `last`, `last~1`, an id or its beginning, or a file of JSON.

    Raises: UsageError if there is none; StoreError if it is damaged.
    """
    path = Path(name).expanduser()
    if name.endswith(_FILE_SUFFIX) or (os.sep in name and path.exists()):
        if not path.is_file():
            raise UsageError(f"{name} is not a file", hint="Name a file that `--json` made, or an id.")
        return run_of_document(path.read_bytes(), name)
    with open_run(root, find_run(name, [one.id for one in list_runs(root)])) as file:
        return decode_run(file)


def elsewhere_file(root: Path) -> Path:
    """Return where the last replay of another place is kept as the JSON it printed; it need not exist."""
    return root / "replay" / "elsewhere.json"


def keep_elsewhere(root: Path, document: bytes) -> Path:
    """Keep what a replay of another place printed, which leaves no run here, in place of the last one.

    Returns its file, which `load_run` reads. Raises: StoreError.
    """
    path = elsewhere_file(root)
    private_dir(path.parent)
    write_atomic(path, document)
    return path


def write_parquet(path: Path, run: ReplayRun) -> None:
    """Write the rows of a run as a Parquet file. Raises: StoreError."""
    from workbench.entry.project import write_rows

    write_rows(path, row_batches(run))


def run_replay(  # noqa: PLR0913 - the options of a replay
    project: OpenedProject,
    *,
    source: str = "all",
    tasks: int = TASKS,
    systems: Sequence[str] = (),
    budget: int | None = None,
    packs: int | None = None,
    fresh: bool = False,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> ReplayRun:
    """Replay the newest tasks of a project for some systems, keep the run and return it.

    Raises: ProjectError where there is no past; UsageError for an unknown system or source; GitError,
    StoreError, ModelError.
    """
    from workbench.entry.services.past_project import PACKS, ReplayOptions, open_past
    from workbench.entry.services.replay import replay_past, score_replay
    from workbench.replay.systems import DEFAULT_SYSTEMS, parse_systems
    from workbench.replay.tasks import TaskSource
    from workbench.sessions.episodes_checks import one_of

    config = project.config
    wanted = ReplayOptions(
        source=one_of(TaskSource, source, "source of tasks"),
        tasks=tasks,
        systems=parse_systems(systems or DEFAULT_SYSTEMS),
        budget=budget or config.plan.budget,
        packs=PACKS if packs is None else packs,
        fresh=fresh,
    )

    def report(done: int, total: int, stage: str = "") -> None:
        if progress is not None:
            progress(stage, done, total)

    past = open_past(project.root, project.environment)
    run = score_replay(past, replay_past(past, config, wanted, workers=workers, progress=report))
    try:
        return keep_run(past.state, run, spare=(config.gates.reference,))
    except StoreError as error:
        return replace(run, notes=(*run.notes, f"this run is not kept: {error.message}"))
