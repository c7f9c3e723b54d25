"""What readers found and what it cost them: means with bootstrap intervals by reader and arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from bench.agents.asking import Place, Reading, reading_of
from bench.agents.tasks import ReadingTask, read_tasks
from bench.packs import changed_places
from bench.timeline import repositories
from store.git_diff import diff_hunks
from store.git_repository import find_repository
from workbench.errors import UsageError
from workbench.project.languages import role_of
from workbench.records.dataclass import dataclass
from workbench.records.project import Role
from workbench.records.worktree import Hunk
from workbench.replay.statistics import bootstrap, sample_difference

BASELINES = ("scripted", "scripted-brief")


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


def outcomes(folder: Path, repos: Path) -> dict[str, dict[str, tuple[ReadingTask, ReadingOutcome]]]:
    """Return the outcome of every answered reading by reader and task."""
    found: dict[str, dict[str, tuple[ReadingTask, ReadingOutcome]]] = {}
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
                outcome = outcome_of(reading, task, hunks)
                found.setdefault(reading.reader, {})[task.id] = (task, outcome)
    return found


def report(folder: Path, repos: Path, write: Callable[[str], None] = print) -> None:
    """Print what each reader found by arm and width, the baseline on the same tasks, and each task."""
    found = outcomes(folder, repos)
    groups: dict[str, list[ReadingOutcome]] = {}
    readers = [name for name in sorted(found) if name not in BASELINES]
    for name in readers:
        arms = {
            arm: [pair for pair in found[name].values() if pair[0].brief == brief]
            for arm, brief in (("with a brief", True), ("without", False))
        }
        for arm, pairs in arms.items():
            groups[f"{name}, {arm}"] = [outcome for _task, outcome in pairs]
            for width, wide in (("wide", True), ("narrow", False)):
                groups[f"{name}, {arm}, {width}"] = [outcome for task, outcome in pairs if task.wide == wide]
        for base in BASELINES:
            for arm, pairs in arms.items():
                same = [found[base][task.id][1] for task, _ in pairs if task.id in found.get(base, {})]
                groups[f"{base} on the tasks of {name}, {arm}"] = same
    for base in BASELINES:
        groups[f"{base}, all tasks"] = [outcome for _task, outcome in found.get(base, {}).values()]
    write(_table({name: rows for name, rows in groups.items() if rows}))
    for name in readers:
        write(f"\n{name}: with a brief - without, 95 % interval, p of exchanged labels\n")
        for line in _differences(list(found[name].values())):
            write(line)
        write(
            f"\n{name} by task\n\n"
            f"| task | arm | files | {' | '.join(_NAMES)} |\n{'|---' * (len(_NAMES) + 3)}|"
        )
        for task, outcome in found[name].values():
            cells = " | ".join(
                _plain(label, value) for label, value in zip(_NAMES, astuple(outcome), strict=True)
            )
            write(f"| {task.id} | {'brief' if task.brief else 'none'} | {task.files} | {cells} |")


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


def _differences(pairs: Sequence[tuple[ReadingTask, ReadingOutcome]]) -> list[str]:
    lines = []
    for number, label in enumerate(_NAMES):
        arms = [
            [astuple(outcome)[number] for task, outcome in pairs if task.brief == brief]
            for brief in (True, False)
        ]
        gap = sample_difference(*arms)
        value, low, high = (_plain(label, part) for part in (gap.value, gap.low, gap.high))
        lines.append(f"- {label}: {value} [{low}, {high}], p = {gap.p:.3f}")
    return lines


def _plain(label: str, value: float) -> str:
    if label == "characters":
        return f"{value:,.0f}"
    return f"{value:.1f}" if label == "commands" else f"{value:.2f}"
