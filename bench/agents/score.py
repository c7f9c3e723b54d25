"""What readers found and what it cost them: means with bootstrap intervals by reader and arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from bench.agents.asking import Place, Reading, reading_of
from bench.agents.scripted import SCRIPTED
from bench.agents.tasks import ARMS, NONE, ReadingTask, read_tasks
from bench.packs import changed_places
from bench.timeline import repositories
from store.git_diff import diff_hunks
from store.git_repository import find_repository
from workbench.errors import UsageError
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.project import Role
from workbench.records.worktree import Hunk
from workbench.replay.statistics import bootstrap, mean_difference


@dataclass(frozen=True, slots=True)
class ReadingOutcome:
    """One reading. Shares in [0, 1]; files and places are of source, all_files with tests and documents."""

    first_file: float
    file_recall: float
    file_precision: float
    place_recall: float
    place_precision: float
    all_files: float
    commands: float
    characters: float


def outcome_of(reading: Reading, task: ReadingTask, hunks: Mapping[str, Sequence[Hunk]]) -> ReadingOutcome:
    """Compare an answer with what the commit changed in the files that it modified."""
    modified = {path: hunks[path] for path in task.modified if path in hunks}
    places = changed_places(modified)
    needed = {path for path, _first, _last in places}
    answer = reading.answer or ()
    source = [place for place in answer if role_of(place.path) is Role.SOURCE]
    files = {place.path for place in source}
    found = sum(any(_meets(place, one) for place in source) for one in places)
    right = sum(any(_meets(place, one) for one in places) for place in source)
    return ReadingOutcome(
        first_file=float(bool(answer) and answer[0].path in needed),
        file_recall=len(files & needed) / len(needed),
        file_precision=len(files & needed) / max(1, len(files)),
        place_recall=found / len(places),
        place_precision=right / max(1, len(source)),
        all_files=len({place.path for place in answer} & set(modified)) / len(modified),
        commands=float(reading.commands),
        characters=float(reading.characters),
    )


def _meets(place: Place, changed: tuple[str, int, int]) -> bool:
    path, first, last = changed
    return place.path == path and place.first <= last and place.last >= first


def outcomes(folder: Path, repos: Path) -> list[tuple[ReadingTask, Reading, ReadingOutcome]]:
    found = []
    for task in read_tasks(folder):
        paths = repositories(repos, [task.repository])
        repository = find_repository(paths[0]) if paths else None
        if repository is None:
            raise UsageError(
                f"no clone of {task.repository} in {repos}", hint="Give the folder of `prepare`."
            )
        hunks = diff_hunks(repository, task.revision, task.commit)
        for kept in sorted((folder / task.id).glob("*.reading.json")):
            reading = reading_of(folder / task.id, kept.name.removesuffix(".reading.json"))
            if reading is not None and reading.answer is not None:
                found.append((task, reading, outcome_of(reading, task, hunks)))
    return found


def report(folder: Path, repos: Path, write: Callable[[str], None] = print) -> None:
    """Print what readers found by arm and width, what the baseline did, the differences, and each task."""
    every = outcomes(folder, repos)
    readers = [one for one in every if not one[1].reader.startswith(SCRIPTED)]
    groups: dict[str, list[ReadingOutcome]] = {}
    for arm in ARMS:
        mine = [(task, outcome) for task, reading, outcome in readers if reading.arm == arm]
        groups[arm] = [outcome for _task, outcome in mine]
        for width, wide in (("wide", True), ("narrow", False)):
            groups[f"{arm}, {width}"] = [outcome for task, outcome in mine if task.wide == wide]
    for arm in ARMS:
        groups[f"{SCRIPTED}, {arm}"] = [
            outcome for _task, reading, outcome in every if reading.reader == f"{SCRIPTED}-{arm}"
        ]
    write(_table({name: rows for name, rows in groups.items() if rows}))
    for arm in [arm for arm in ARMS if arm != NONE]:
        pairs = _pairs(readers, arm)
        write(f"\n{arm} - {NONE} on the same {len(pairs)} tasks, 95 % interval, p of exchanged labels\n")
        for number, label in enumerate(_NAMES):
            gap = mean_difference([with_[number] for with_, _ in pairs], [bare[number] for _, bare in pairs])
            value, low, high = (_plain(label, part) for part in (gap.value, gap.low, gap.high))
            write(f"- {label}: {value} [{low}, {high}], p = {gap.p:.3f}")
    write(f"\n| task | arm | reader | files | {' | '.join(_NAMES)} |\n{'|---' * (len(_NAMES) + 4)}|")
    for task, reading, outcome in readers:
        cells = " | ".join(
            _plain(label, value) for label, value in zip(_NAMES, astuple(outcome), strict=True)
        )
        write(f"| {task.id} | {reading.arm} | {reading.reader} | {task.files} | {cells} |")


def _pairs(
    readings: Sequence[tuple[ReadingTask, Reading, ReadingOutcome]], arm: str
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Return the outcomes of tasks that were read in an arm and without a brief."""
    by = {(task.id, reading.arm): astuple(outcome) for task, reading, outcome in readings}
    names = dict.fromkeys(task.id for task, _reading, _outcome in readings)
    return [(by[name, arm], by[name, NONE]) for name in names if {(name, arm), (name, NONE)} <= by.keys()]


_NAMES = [field.name.replace("_", " ") for field in fields(ReadingOutcome)]


def _table(groups: Mapping[str, Sequence[ReadingOutcome]]) -> str:
    lines = [f"| reader | tasks | {' | '.join(_NAMES)} |", "|---" + "|--:" * (len(_NAMES) + 1) + "|"]
    for name, rows in groups.items():
        cells = []
        for label, values in zip(_NAMES, zip(*map(astuple, rows), strict=True), strict=True):
            low, high = bootstrap(values)
            mean = _plain(label, sum(values) / len(values))
            cells.append(f"{mean} [{_plain(label, low)}, {_plain(label, high)}]")
        lines.append(f"| {name} | {len(rows)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _plain(label: str, value: float) -> str:
    if label == "characters":
        return f"{value:,.0f}"
    return f"{value:.1f}" if label == "commands" else f"{value:.2f}"
