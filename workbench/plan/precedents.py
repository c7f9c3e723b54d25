"""The model to follow: past tasks most like this one with their files, and where the nearest sibling appears.

A past task counts by the words that it shares with this one, each by how rare it is; words that history does
not know count against the likeness of all. Where the task adds something, its nearest sibling is a name in
the lines shown that shares a word with the task and appears in several kinds of files, as an option does in
source, schema, documentation and tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from workbench.plan.brief_lines import ShownFile
from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.intent import query_terms
from workbench.plan.render import MODELS, BriefLine
from workbench.plan.signals import task_weights
from workbench.project.index import ProjectIndex
from workbench.records.plan import Intent
from workbench.records.project import Role
from workbench.sessions.history import History
from workbench.text.postings import inverse_document_frequency
from workbench.text.sanitize import shorten, visible_line
from workbench.text.terms import parts, stem, word_terms

MOST_TASKS: Final = 3
LEAST_LIKENESS: Final = 0.42
_LEAST_WORDS: Final = 2  # of the task in a past one: one word is a coincidence
_HEAD: Final = 70  # characters of a past task's first line
_LEAST_FILES: Final = 2  # one of a single file says nothing of what else belongs to it
_FILES: Final = 4
_ALIKE: Final = 3  # files that are named by the first of them
_SHARED: Final = 25  # files of a past task beyond which it is no model
_ADDS: Final = frozenset(
    map(stem, "add adds added adding new support supports implement introduce allow".split())
)
_SIBLING_FILES: Final = (3, 14)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,60}")
_MOST_NAMES: Final = 400


def find_likeness(history: History, terms: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return (likeness, words) of every past task: float [n] in [0, 1], how many terms of the task it has.

    Terms that no past task has count against all of them.
    """
    size = history.size
    words = np.zeros(size, np.int32)
    said = heard = 0.0
    for term, weight in terms.items():
        docs, _counts = history.messages.posting(term)
        value = inverse_document_frequency(len(docs), size) * weight
        said += value
        if len(docs):
            heard += value
            words[docs] += 0 if term.startswith("=") else 1
    similarity = np.minimum(task_weights(history, terms)[0], 1.0)
    return similarity * (heard / said if said else 0.0), words


def list_precedents(
    history: History, heads: Sequence[str], index: ProjectIndex, intent: Intent, shown: Sequence[str]
) -> list[BriefLine]:
    """Return the past tasks most like this one that touched a file shown, and others; the most like first."""
    if not history.size:
        return []
    near = np.zeros(history.size, np.bool_)
    rows = [history.paths.index(path) for path in shown if path in history.paths]
    near[history.tasks[np.isin(history.files, rows)]] = True
    likeness, words = find_likeness(history, query_terms(intent.task.head))
    focused = near & (words >= _LEAST_WORDS) & (history.sizes <= _SHARED) & (likeness >= LEAST_LIKENESS)
    found: list[BriefLine] = []
    seen: set[str] = set()
    for task in sorted(
        np.flatnonzero(focused).tolist(), key=lambda one: (-round(float(likeness[one]), 4), one)
    ):
        head = shorten(heads[task], _HEAD) if task < len(heads) else ""
        files = _living(index, (history.paths[row] for row in history.files[history.tasks == task].tolist()))
        if not head or len(files) < _LEAST_FILES or head in seen:
            continue
        seen.add(head)
        day = datetime.fromtimestamp(int(history.times[task]), UTC).date().isoformat()
        found.append(BriefLine(MODELS, head, f"“{head}” ({day}): {_list_paths(files, _FILES)}"))
        if len(found) == MOST_TASKS:
            break
    return found


def _living(index: ProjectIndex, paths: Iterable[str]) -> list[str]:
    """Return the files that are still there, source before others."""
    alive = [path for path in paths if path in index.positions and index.alive[index.positions[path]]]
    return sorted(alive, key=lambda path: (index.roles[index.positions[path]] is not Role.SOURCE, path))


def find_sibling(index: ProjectIndex, intent: Intent, shown: Sequence[ShownFile]) -> list[BriefLine]:
    """Return where the nearest sibling of what a task adds appears, nothing for a task that adds nothing."""
    words = {stem(word.lower()) for word in re.findall(r"[A-Za-z]+", intent.task.head)}
    if not words & _ADDS:
        return []
    wanted = {
        term: weight for term, weight in query_terms(intent.task.head).items() if not term.startswith("=")
    }
    rarity = {term: inverse_document_frequency(index.frequency("body", term), index.count) for term in wanted}
    best: tuple[tuple[float, int, str], str, list[int]] | None = None
    names = dict.fromkeys(
        name
        for candidate, offer in shown[:2]
        for line in _lines(candidate, offer)
        for name in _NAME.findall(line)
        if len(parts(name)) > 1
    )
    for name in list(names)[:_MOST_NAMES]:
        shared = {stem(part) for part in parts(name)} & wanted.keys() - _ADDS
        value = sum(rarity[term] for term in shared)
        if not shared:
            continue
        holders = index.holders("body", [word_terms(name)[-1]])
        kinds = {index.roles[row] for row in holders}
        if not _SIBLING_FILES[0] <= len(holders) <= _SIBLING_FILES[1] or len(kinds) < 2:
            continue
        key = (-round(value, 4), -len(kinds), name)
        if best is None or key < best[0]:
            best = key, name, holders
    if best is None:
        return []
    _key, name, holders = best
    files = _living(index, (index.paths[row] for row in holders))
    return [BriefLine(MODELS, name, f"{visible_line(name)} is in {_list_paths(files, 2 * _FILES)}")]


def _list_paths(files: Sequence[str], most: int) -> str:
    """Return some files as text; of one folder and ending, as translations are, the first stands for all."""
    groups: dict[tuple[str, str], list[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        groups.setdefault((folder, name.rpartition(".")[2]), []).append(path)
    named: list[str] = []
    for group in groups.values():
        alike = len(group) >= _ALIKE
        named += [f"{group[0]} and {len(group) - 1} like it"] if alike else group
    rest = f", {len(named) - most} more" if len(named) > most else ""
    return ", ".join(map(visible_line, named[:most])) + rest


def _lines(candidate: FileCandidate, offer: ViewOffer) -> Sequence[str]:
    """Return the lines of a view, which it has not yet while packs are tried out."""
    return offer.view.lines or (candidate.fill(offer.view).lines if candidate.fill is not None else ())
