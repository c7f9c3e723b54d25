"""Files that usually change with those a pack shows: tests, documentation, schemas, translations.

History says it by shares (`7 of the last 11 focused edits of sessions.py`, those of few files), names say
which tests are those of a file, and a test or document may share the task's words. A share is of enough
edits, and larger than that of a file that simply changes often. Of a changelog the first section counts,
whatever the rest of it says; files of one name or folder that change alike, such as translations, share a
line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from workbench.plan.brief_lines import ShownFile
from workbench.plan.compose import NAMED_FROM, FileCandidate
from workbench.plan.cuts import FileCut
from workbench.plan.file_candidates import FOLLOWING
from workbench.plan.news import first_section, is_news
from workbench.project.index import ProjectIndex
from workbench.records.answers.plan import NamedPlace
from workbench.records.dataclass import dataclass
from workbench.sessions.history import History
from workbench.text.counts import plural
from workbench.text.distinct import ascending

MOST_COMPANIONS: Final = 5
LATEST_EDITS: Final = 20  # of each file shown
FOCUSED: Final = 10  # files of an edit that says something about two of them
LEAST_COMMON: Final = 3
LEAST_SHARE: Final = 0.25
_PRIOR_EDITS: Final = 2  # a share of few edits counts for less
_ANCHORS: Final = 3  # files shown whose edits are looked at
_LIFT: Final = 2.0  # how much oftener than in all tasks a file changes with another
_LEAST_CHANCE: Final = 0.2  # of a test or document that only the task's words speak for
_PLACES: Final = 2  # definitions named of each
_PLACE_LENGTH: Final = 90
_ALIKE: Final = 3  # files that share a line


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """A file that usually changes with one shown: how surely, why, and how many others are like it."""

    path: str
    strength: float
    why: str = ""
    others: int = 0


def count_common_edits(
    history: History, index: ProjectIndex, shown: Sequence[str]
) -> dict[str, tuple[int, int, str]]:
    """Return {path: (common, edits, file)}: in how many of the last edits of a file that is shown it changed.

    Each path has the file with which it changes most.
    """
    found: dict[str, tuple[float, int, int, str]] = {}
    focused = history.sizes[history.tasks] <= FOCUSED
    tasks_of, files_of = history.tasks[focused], history.files[focused]
    usual = np.bincount(files_of, minlength=len(history.paths)) / max(
        1, int((history.sizes <= FOCUSED).sum())
    )
    for anchor in shown:
        if anchor not in history.paths:
            continue
        number = history.paths.index(anchor)
        tasks = ascending(tasks_of[files_of == number])[:LATEST_EDITS]
        if len(tasks) < LEAST_COMMON:
            continue
        common = np.bincount(files_of[np.isin(tasks_of, tasks)], minlength=len(history.paths))
        shares = common / (len(tasks) + _PRIOR_EDITS)
        for row in np.flatnonzero((common >= LEAST_COMMON) & (shares >= LEAST_SHARE)).tolist():
            path = history.paths[row]
            position = index.positions.get(path)
            if path in shown or position is None or not index.alive[position]:
                continue
            if not is_news(path) and shares[row] < _LIFT * usual[row]:
                continue
            share = float(shares[row])
            if share > found.get(path, (0.0,))[0]:
                found[path] = share, int(common[row]), len(tasks), anchor
    return {path: (common, edits, anchor) for path, (_share, common, edits, anchor) in found.items()}


def find_companions(
    history: History, index: ProjectIndex, shown: Sequence[str], following: Mapping[str, float]
) -> list[CompanionFile]:
    """Return the files that usually change with those shown, the surest first.

    following: chances of tests, documentation and data that the task speaks of by itself.
    """
    roles = {path: index.roles[index.positions[path]] for path in shown}
    anchors = [path for path, role in roles.items() if role not in FOLLOWING][:_ANCHORS]
    edits = count_common_edits(history, index, anchors)
    tests = _tests_of(index, anchors)
    found: dict[str, CompanionFile] = {}
    for path, (common, times, anchor) in edits.items():
        share = common / (times + _PRIOR_EDITS)
        why = f"{common} of the last {plural(times, 'focused edit')} of {_short(anchor, anchors)}"
        found[path] = CompanionFile(path, max(share, following.get(path, 0.0)), why)
    for path, chance in following.items():
        if (
            path not in found
            and path not in shown
            and chance >= (NAMED_FROM if path in tests else _LEAST_CHANCE)
        ):
            why = f"tests {_short(tests[path], anchors)}" if path in tests else "shares words with the task"
            found[path] = CompanionFile(path, chance, why)
    ordered = sorted(found.values(), key=lambda one: (-round(one.strength, 6), one.path))
    return _join_alike(ordered, edits)[:MOST_COMPANIONS]


def _short(path: str, among: Sequence[str]) -> str:
    """Return a file's name, with its folder where another of some files has the same."""
    name = path.rpartition("/")[2]
    same = [one for one in among if one.rpartition("/")[2] == name]
    return "/".join(path.split("/")[-2:]) if len(same) > 1 else name


def _tests_of(index: ProjectIndex, anchors: Sequence[str]) -> dict[str, str]:
    """Return {test: file} of the tests that names and imports map to some files."""
    positions = [index.positions[path] for path in anchors]
    tests = index.tests
    return {
        index.paths[test]: index.paths[source]
        for source in reversed(positions)
        for test in tests[tests[:, 1] == source][:, 0].tolist()
        if index.alive[test]
    }


def _join_alike(
    ordered: Sequence[CompanionFile], edits: Mapping[str, tuple[int, int, str]]
) -> list[CompanionFile]:
    """Return companions with those of one name, or one folder and ending, that changed as often, as one."""
    groups: dict[tuple[object, ...], list[CompanionFile]] = {}
    for key in ((lambda path: path.rpartition("/")[2]), (lambda path: _folder_and_ending(path))):
        groups = {}
        for one in ordered:
            groups.setdefault((key(one.path), edits.get(one.path, one.path)), []).append(one)
        ordered = [
            joined
            for group in groups.values()
            for joined in (
                [replace(group[0], others=sum(one.others + 1 for one in group) - 1)]
                if len(group) >= _ALIKE
                else group
            )
        ]
    return list(ordered)


def _folder_and_ending(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name.rpartition(".")[2]


def named_companions(
    companions: Sequence[CompanionFile],
    candidates: Mapping[str, FileCandidate],
    cut_of: Callable[[str], FileCut | None],
    offer: Callable[[str, Sequence[NamedPlace], str], ShownFile],
) -> tuple[ShownFile, ...]:
    """Return companions as files that are only named, each with the definitions to look at."""
    named = []
    for one in companions:
        known = candidates.get(one.path)
        if known is not None and (known.excluded or known.pinned):
            continue
        places = known.offers[0].view.places if known is not None and known.offers else ()
        places = tuple(place for place in places if len(place.name) <= _PLACE_LENGTH)[:_PLACES]
        if is_news(one.path):
            cut = cut_of(one.path)
            places = places if cut is None else first_section(cut)
        alike = len(known.alike) if known is not None else 0
        others = f"; so do {one.others} like it" if one.others else f"; {alike} are like it" if alike else ""
        named.append(offer(one.path, places, one.why + others))
    return tuple(named)
