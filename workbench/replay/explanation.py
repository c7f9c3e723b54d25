"""What features add to the files of one replayed task: the first ones of a ranking, and the right ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.records.replay import ReplayRun, TaskRow
from workbench.replay.run_report import table
from workbench.replay.systems import SystemRanking
from workbench.suggest import did_you_mean
from workbench.text.sanitize import visible_line

_FEATURES = 6  # of a file in the text


@dataclass(frozen=True, slots=True)
class ExplainedFile:
    """A file at its place; `contributions` add up to its score, but for a constant. Empty without weights."""

    path: str
    place: int
    score: float
    relevant: bool
    contributions: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The files of a task that are looked at; `same` is whether the run ranked its first files alike."""

    run: str
    task: str
    head: str
    system: str
    same: bool
    files: tuple[ExplainedFile, ...]


def find_task(run: ReplayRun, name: str) -> TaskRow:
    """Return the task of a run with an id or its beginning. Raises: UsageError."""
    found = [row for row in run.rows if row.id == name] or [
        row for row in run.rows if row.id.startswith(name) or row.commit.startswith(name)
    ]
    if len(found) == 1 and name:
        return found[0]
    if len(found) > 1:
        raise UsageError(f"{name!r} begins {len(found)} tasks", hint="Give more of it.")
    hint = did_you_mean(name, [row.id for row in run.rows], "See `workbench runs show RUN --json`.")
    raise UsageError(f"the run has no task {name!r}", hint=hint)


def weigh_files(run: ReplayRun, row: TaskRow, system: str, ranking: SystemRanking) -> Explanation:
    """Return the files that the run keeps of a task, and its right ones, as they are weighed now."""
    kept = row.systems[system].ranking if system in row.systems else ()
    wanted = {*kept, *row.truth}
    now = tuple(file.path for file in ranking.files[: len(kept)])
    files = tuple(
        ExplainedFile(
            file.path,
            place,
            file.score,
            file.path in row.truth,
            _largest_first(file.contributions) if ranking.weighed else {},
        )
        for place, file in enumerate(ranking.files, 1)
        if file.path in wanted
    )
    return Explanation(run.id, row.id, row.head, system, now == tuple(kept), files)


def explanation_text(found: Explanation) -> str:
    """Return a table of files with the features that matter most for each."""
    rows = [
        [visible_line(file.path), str(file.place), "*" if file.relevant else "", f"{file.score:+.3f}"]
        for file in found.files
    ]
    head, *lines = table(["", "place", "", "score"], rows).split("\n")
    lines = [
        f"{line}  {_first(file.contributions)}".rstrip()
        for line, file in zip(lines, found.files, strict=True)
    ]
    title = f"{visible_line(found.system)} for {visible_line(found.head)} (* right)"
    return "\n".join([title, head, *lines])


def _first(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.2f}" for name, value in list(parts.items())[:_FEATURES])


def _largest_first(parts: Mapping[str, float]) -> dict[str, float]:
    order = sorted(parts, key=lambda name: (-abs(parts[name]), name))
    return {name: parts[name] for name in order if parts[name]}
