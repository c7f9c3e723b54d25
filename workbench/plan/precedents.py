"""The model to follow: past tasks most like this one with their files, and where the nearest sibling appears.

A past task counts by the words that it shares with this one, each by how rare it is; words that history does
not know count against the likeness of all. Where the task adds something, its nearest sibling is another flag
for a flag, else a name in the lines shown that shares a word with the task other than that of its kind; it
appears in several kinds of files, as an option does in source, schema, documentation and tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from workbench.expand.sources import Sources
from workbench.plan.brief_lines import ShownFile
from workbench.plan.compose import FileCandidate, ViewOffer
from workbench.plan.intent import query_terms
from workbench.plan.render import MODELS, BriefLine
from workbench.plan.signals import task_weights
from workbench.project.admission import is_generated
from workbench.project.index import ProjectIndex
from workbench.records.plan import Intent, QueryType
from workbench.records.project import Role, Skipped
from workbench.sessions.history import History
from workbench.text.postings import inverse_document_frequency
from workbench.text.sanitize import shorten, visible_line
from workbench.text.terms import count_terms, parts, stem, word_terms

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
_KINDS: Final = frozenset(
    map(stem, "option flag argument parameter setting config command hook keybinding key field value".split())
)
"""What is added is of such a kind: a name that shares nothing else with the task is no sibling."""
_FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{1,40}(?![\w-])")
_QUOTED_FLAG: Final = re.compile(r"[\"'`](--[a-z][a-z0-9-]{1,40})(?=[\"'` =,])")
_TAKES_NUMBER: Final = re.compile(r"[ =]<?(?:N|NUM|NUMBER|COUNT|SECONDS|SIZE|\d+)\b")
_NUMBER: Final = re.compile(r"\b(?:int|float|number|u32|u64|usize)\b|Int|Float|Number")
_LEAST_FLAGS: Final = 4  # in a file that declares flags
_MOST_FLAGS: Final = 80
_AROUND: Final = 8  # lines of a flag's declaration
_GO_ON: Final = frozenset(bytes([code]) for code in b"-_abcdefghijklmnopqrstuvwxyz0123456789")
_OF_A_KIND: Final = 2  # files of each kind before all others
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


def find_sibling(sources: Sources, intent: Intent, shown: Sequence[ShownFile]) -> list[BriefLine]:
    """Return where the nearest sibling of what a task adds appears, nothing for a task that adds nothing.

    That of a flag which a task writes is another flag of the files shown; else a name of the lines shown.
    """
    words = {stem(word.lower()) for word in re.findall(r"[A-Za-z]+", intent.task.head)}
    if not words & _ADDS or intent.predicted is QueryType.BUGFIX:
        return []
    index = sources.index
    terms = query_terms(intent.task.head)
    rarity = {
        term: inverse_document_frequency(index.frequency("body", term), index.count)
        for term in terms.keys() - _ADDS - _KINDS
        if not term.startswith("=")
    }
    best = (
        _nearest_flag(sources, intent.task.head, rarity, shown)
        or _nearest_like(sources, intent.task.head, rarity, shown)
        or _nearest_name(
            sources,
            rarity,
            [line for candidate, offer in shown[:2] for line in _lines(candidate, offer)],
        )
    )
    if best is None:
        return []
    name, places = best
    return [BriefLine(MODELS, name, f"{visible_line(name)} is in {_list_paths(places, 2 * _FILES)}")]


def _nearest_flag(
    sources: Sources, task: str, rarity: Mapping[str, float], shown: Sequence[ShownFile]
) -> tuple[str, dict[str, int]] | None:
    """Return the flag most like the one that a task writes, and the lines of files that have it.

    It is one that source shown declares, likest in the words around it, then in whether it takes a number,
    then by how many kinds of files it is in.
    """
    written = _FLAG.search(task)
    if written is None:
        return None
    number = _TAKES_NUMBER.match(task, written.end()) is not None
    best: tuple[tuple[float, bool, int, int], str, dict[str, int]] | None = None
    for candidate, _offer in shown[:2]:
        row = sources.index.positions.get(candidate.path, -1)
        data = sources.data(candidate.path)
        if isinstance(data, Skipped) or row < 0 or sources.index.roles[row] is not Role.SOURCE:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        declared: dict[str, int] = {}
        for at, line in enumerate(lines):
            for name in _QUOTED_FLAG.findall(line):
                declared.setdefault(name, at)
        if len(declared) < _LEAST_FLAGS:
            continue
        for name, at in list(declared.items())[:_MOST_FLAGS]:
            block = "\n".join(lines[at : at + _AROUND])
            block_terms = count_terms(block).keys()
            value = sum(rarity[term] for term in block_terms & rarity.keys())
            places = _places_of(sources, name)
            kinds = {sources.index.roles[sources.index.positions[path]] for path in places}
            if (
                name != written[0]
                and _SIBLING_FILES[0] <= len(places) <= _SIBLING_FILES[1]
                and len(kinds) > 1
            ):
                key = (-round(value, 4), bool(_NUMBER.search(block)) is not number, -len(kinds), at)
                if best is None or key < best[0]:
                    best = key, name, {candidate.path: at + 1} | _without(places, candidate.path)
    return None if best is None else best[1:]


def _nearest_like(
    sources: Sources, task: str, rarity: Mapping[str, float], shown: Sequence[ShownFile]
) -> tuple[str, dict[str, int]] | None:
    """Return the name of the first file most like a new one that a task writes, by two parts or more."""
    row = sources.index.positions.get(shown[0][0].path, -1) if shown else -1
    data = sources.data(shown[0][0].path) if row >= 0 else b""
    new = [
        word
        for word in _NAME.findall(task)
        if len(parts(word)) > 1 and not sources.index.frequency("name", word_terms(word)[-1])
    ]
    written = {stem(part) for word in new for part in parts(word)}
    if isinstance(data, Skipped) or not written or sources.index.roles[row] is not Role.SOURCE:
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    return _nearest_name(sources, {one: rarity[one] for one in written & rarity.keys()}, lines, least=2)


def _nearest_name(
    sources: Sources, rarity: Mapping[str, float], lines: Iterable[str], *, least: int = 1
) -> tuple[str, dict[str, int]] | None:
    """Return the name of some lines that shares most with a task, and the lines of files that have it."""
    index = sources.index
    names = dict.fromkeys(name for line in lines for name in _NAME.findall(line) if len(parts(name)) > 1)
    shares = ((name, {stem(part) for part in parts(name)} & rarity.keys()) for name in names)
    best: tuple[tuple[float, int, str], str] | None = None
    for name, shared in [(name, shared) for name, shared in shares if len(shared) >= least][:_MOST_NAMES]:
        holders = index.holders("body", [word_terms(name)[-1]])
        kinds = {index.roles[row] for row in holders}
        if not _SIBLING_FILES[0] <= len(holders) <= _SIBLING_FILES[1] or len(kinds) < 2:
            continue
        key = (-round(sum(rarity[term] for term in shared), 4), -len(kinds), name)
        if best is None or key < best[0]:
            best = key, name
    return None if best is None else (best[1], _places_of(sources, best[1]))


def _places_of(sources: Sources, name: str) -> dict[str, int]:
    """Return the first line of each file that has a name in any case: source first, then one of each kind."""
    index = sources.index
    needle = name.lower().encode()
    lines: dict[str, int] = {}
    for row in index.holders("body", word_terms(name.lstrip("-").replace("-", "_"))[-1:]):
        path = index.paths[row]
        data = sources.data(path) if index.alive[row] else Skipped(path, "")
        if isinstance(data, Skipped) or is_generated(data):
            continue
        at = _find_whole(data.lower(), needle)
        if at >= 0:
            lines[path] = data.count(b"\n", 0, at) + 1
    number: dict[Role, int] = {}
    order = []
    for path in _living(index, lines):
        role = index.roles[index.positions[path]]
        number[role] = number.get(role, 0) + 1
        order.append((number[role] > _OF_A_KIND, path))
    return {path: lines[path] for _later, path in sorted(order, key=lambda one: one[0])}


def _find_whole(data: bytes, name: bytes) -> int:
    """Return where a name begins that no hyphen or word goes on, -1 for nowhere."""
    at = data.find(name)
    while at >= 0 and data[at + len(name) : at + len(name) + 1] in _GO_ON:
        at = data.find(name, at + len(name))
    return at


def _without(places: Mapping[str, int], path: str) -> dict[str, int]:
    return {one: line for one, line in places.items() if one != path}


def _list_paths(files: Sequence[str] | Mapping[str, int], most: int) -> str:
    """Return some files as text, with their lines where there are any.

    Of one folder and ending, as translations are, the first stands for all.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        groups.setdefault((folder, name.rpartition(".")[2]), []).append(path)
    named: list[str] = []
    for group in groups.values():
        alike = len(group) >= _ALIKE
        texts = [f"{path}:{files[path]}" if isinstance(files, Mapping) else path for path in group]
        named += [f"{texts[0]} and {len(group) - 1} like it"] if alike else texts
    rest = f", {len(named) - most} more" if len(named) > most else ""
    return ", ".join(map(visible_line, named[:most])) + rest


def _lines(candidate: FileCandidate, offer: ViewOffer) -> Sequence[str]:
    """Return the lines of a view, which it has not yet while packs are tried out."""
    return offer.view.lines or (candidate.fill(offer.view).lines if candidate.fill is not None else ())
