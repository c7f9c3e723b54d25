"""What of a task matched a file: words, definitions, past tasks and files near it, each by name.

The ranking weighs numbers; this looks up again, for the few files that somebody reads about, what they were
made of. Words are compared as the index does, by their stems, and written as the task has them, inflected
ones by what their forms begin with, without the task's secrets. A word that is in most files, or in many
past tasks, tells no file from another and is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.plan.signals import ROLE_CUES, points_to, prepare_query, task_weights
from workbench.plan.view import ROLES, RankingView, file_stem
from workbench.records.dataclass import dataclass
from workbench.records.plan import Intent
from workbench.text.postings import inverse_document_frequency
from workbench.text.redact import redact
from workbench.text.terms import parts, stem, word_terms, words_of

CLOSEST: Final = 20  # past tasks that are close to a task in meaning
LEADERS: Final = 8  # files of a ranking beside which others are looked at
_USUAL: Final = 0.5  # share of the files that hold a word which tells none from another
_USUAL_TASK: Final = 0.2  # the same of past tasks
_FEW: Final = 20  # files or past tasks below which no word is usual

Bool = NDArray[np.bool_]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class MatchedWord:
    """A word of the task that a file has, and how many files have it."""

    word: str
    files: int


@dataclass(frozen=True, slots=True)
class MatchedDefinition:
    """A definition with words of the task in its name: how many of its parts; `whole` if it is named."""

    name: str
    matched: int
    parts: int
    whole: bool


@dataclass(frozen=True, slots=True)
class MatchedTasks:
    """How many past tasks that have some words of the task changed a file, and the one most like it."""

    words: tuple[str, ...]
    count: int
    task: int


class FileEvidence:
    """What a task and a project have in common, looked up by the position of a file.

    heads: first lines of the past tasks, newest first, or none; leaders: paths, the first files of the
    ranking; semantic: returns float32 [tasks], cosines of the task to past ones, or None.
    """

    def __init__(
        self,
        view: RankingView,
        intent: Intent,
        leaders: Sequence[str],
        heads: Sequence[str] = (),
        semantic: Callable[[], Float32 | None] = lambda: None,
    ) -> None:
        self.view, self.intent = view, intent
        self._heads, self._semantic = heads, semantic
        positions = view.index.positions
        self._leaders = [positions[path] for path in leaders if path in positions]
        self._telling: dict[str, tuple[tuple[MatchedWord, ...], Bool]] = {}
        self._tasks: dict[int, frozenset[int]] = {}
        self._matched: dict[int, MatchedTasks | None] = {}

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The task's words by the terms that they are known by; what a secret is made of is not among them.

        A word's parts are written by themselves: `parse` and `config` of `parse_config`.
        """
        text = redact(f"{self.intent.task.head}\n{self.intent.task.body}").text
        found: dict[str, str] = {}
        for word in words_of(text):
            pieces = parts(word)
            for piece in pieces:
                found.setdefault(stem(piece), form(piece) if len(pieces) > 1 else form(word))
            found.setdefault("=" + "".join(pieces), word)
        return found

    @cached_property
    def _weights(self) -> Mapping[str, float]:
        return {term: weight for term, weight in self.intent.terms if term in self.words}

    def _telling_words(self, field: str) -> tuple[tuple[MatchedWord, ...], Bool]:
        """Return the task's words that few files have in a field, the most telling first, and which files.

        These are bool [words, n].
        """
        if field not in self._telling:
            index = self.view.index
            found: list[tuple[float, str, MatchedWord, Bool]] = []
            for term, weight in self._weights.items():
                holding = index.holding(field, term)
                count = int(holding.sum())
                if 0 < count <= max(_FEW, _USUAL * index.count):
                    rarity = inverse_document_frequency(count, index.count) * weight
                    found.append((-round(rarity, 6), term, MatchedWord(self.words[term], count), holding))
            found.sort(key=lambda one: one[:2])
            held = np.asarray([one[3] for one in found], np.bool_).reshape(len(found), index.count)
            self._telling[field] = tuple(one[2] for one in found), held
        return self._telling[field]

    def matched_words(self, position: int, field: str, most: int) -> list[MatchedWord]:
        """Return the rarest of the task's words that a file has in a field, the most telling first."""
        words, held = self._telling_words(field)
        chosen: list[MatchedWord] = []
        for number in np.flatnonzero(held[:, position]).tolist():
            one = words[number].word.lower()
            if not any(one in word or word in one for word in (known.word.lower() for known in chosen)):
                chosen.append(words[number])
                if len(chosen) == most:
                    break
        return chosen

    @cached_property
    def _rarity_in_names(self) -> Mapping[str, tuple[float, Bool]]:
        """How rare each of the task's terms is among names, and which files, bool [n], have it in one."""
        index = self.view.index
        held = {term: index.holding("name", term) for term in self._weights}
        return {
            term: (inverse_document_frequency(int(files.sum()), index.count) * self._weights[term], files)
            for term, files in held.items()
            if files.any()
        }

    def matched_definition(self, position: int) -> MatchedDefinition | None:
        """Return the definition of a file whose name has the most telling words of the task."""
        rarity = {term: value for term, (value, files) in self._rarity_in_names.items() if files[position]}
        if not rarity:
            return None
        best: tuple[float, int, str] | None = None
        for symbol in self.view.index.record(position)[0]:
            terms = {*word_terms(symbol.name)}
            value = sum(rarity[term] for term in terms & rarity.keys())
            key = (-round(value, 6), len(symbol.name), symbol.name)
            if value and (best is None or key < best):
                best = key
        if best is None:
            return None
        name = best[2]
        pieces = dict.fromkeys(map(stem, parts(name)))
        return MatchedDefinition(
            name,
            sum(piece in self.words for piece in pieces),
            len(pieces),
            "=" + "".join(parts(name)) in self.words if len(pieces) > 1 else len(pieces) == 1,
        )

    def tasks_of(self, position: int) -> frozenset[int]:
        """Return the past tasks that changed a file; the newest is 0."""
        if position not in self._tasks:
            changed = self.view.pairs_task[self.view.pairs_file == position]
            self._tasks[position] = frozenset(changed.tolist())
        return self._tasks[position]

    @cached_property
    def _likeness(self) -> Float32:
        return task_weights(self.view.history, self._weights)[0]

    def matched_tasks(self, position: int) -> MatchedTasks | None:
        """Return the past tasks that changed a file and have the most telling words of the one most alike."""
        if position not in self._matched:
            self._matched[position] = self._match_tasks(self.tasks_of(position))
        return self._matched[position]

    @cached_property
    def _messages(self) -> Mapping[str, tuple[float, frozenset[int]]]:
        """How telling each of the task's words is that is not usual in past tasks, and which ones have it."""
        messages, size = self.view.history.messages, self.view.history.size
        found = {term: messages.posting(term)[0].tolist() for term in self._weights}
        return {
            term: (inverse_document_frequency(len(docs), size) * self._weights[term], frozenset(docs))
            for term, docs in found.items()
            if len(docs) <= max(_FEW, _USUAL_TASK * size)
        }

    def _match_tasks(self, tasks: frozenset[int]) -> MatchedTasks | None:
        best = self._first_of(tasks, self._likeness)
        if best is None:
            return None
        shared = [(-rarity, term, docs) for term, (rarity, docs) in self._messages.items() if best in docs]
        words: dict[str, None] = {}
        for _, term, docs in sorted(shared, key=lambda one: one[:2]):
            word = self.words[term]
            if len(words) < 2 and not any(
                word.lower() in one.lower() or one.lower() in word.lower() for one in words
            ):
                words[word] = None
                tasks &= docs
        return MatchedTasks((*words,), len(tasks), best) if words else None

    def closest_task(self, position: int) -> int | None:
        """Return the past task closest in meaning that changed a file, if it is among the closest of all."""
        if not self._closest:
            return None
        near = self.tasks_of(position).intersection(self._closest)
        return min(near, key=self._closest.__getitem__, default=None)

    @cached_property
    def _closest(self) -> Mapping[int, int]:
        """The past tasks closest in meaning with their places."""
        cosines = self._semantic()
        if cosines is None:
            return {}
        order = np.argsort(-cosines, kind="stable")[:CLOSEST].tolist()
        return {task: place for place, task in enumerate(order) if cosines[task] > 0}

    @staticmethod
    def _first_of(tasks: frozenset[int], values: Float32) -> int | None:
        """Return the task of the largest value, the newest where several have it; None if all are zero."""
        numbers = np.fromiter(sorted(tasks), dtype=np.int64, count=len(tasks))
        if not len(numbers) or not values[numbers].any():
            return None
        return int(numbers[int(np.argmax(values[numbers]))])

    def head(self, task: int) -> str:
        """Return the first line of a past task without its secrets, empty where it is not known."""
        return redact(self._heads[task]).text if task < len(self._heads) else ""

    def named_issue(self, position: int) -> str:
        """Return the issue of the task for which a file was changed before, empty if there is none."""
        issues, tasks = self.view.history.issues, self.tasks_of(position)
        references = self.intent.entities.issue_refs
        return next((one for one in references if tasks.intersection(issues.get(one, ()))), "")

    def frame_line(self, position: int) -> int | None:
        """Return the line at which the task's stack trace is in a file."""
        for path, line, _ in self.intent.entities.frames:
            if any(position == found for found, _ in points_to(self.view, path)):
                return line
        return None

    def named_path(self, position: int) -> str:
        """Return what the task calls a file by its path or file name, empty if it does not."""
        paths = self.intent.entities.paths
        return next(
            (path for path in paths if any(position == found for found, _ in points_to(self.view, path))), ""
        )

    def matched_name(self, position: int) -> str:
        """Return a file's bare name if the task has it, written together or apart: `textarea`."""
        name = file_stem(self.view.index.paths[position])
        return name if name in self._joined else ""

    def matched_folder(self, position: int) -> str:
        """Return the innermost folder of a file that the task names, empty if it names none."""
        folders = self.view.index.paths[position].split("/")[:-1]
        return next((one for one in reversed(folders) if "".join(parts(one)) in self._joined), "")

    @cached_property
    def _joined(self) -> Mapping[str, float]:
        joined = prepare_query(self.intent).words
        return {word: weight for word, weight in joined.items() if len(word) > 2}

    def called_role(self, position: int) -> str:
        """Return the word of the task that asks for files of a file's kind, empty if none does."""
        cues = ROLE_CUES.get(ROLES[int(self.view.places.roles[position])], frozenset())
        words = words_of(self.intent.task.head)
        return next((word for word in words if stem(word.lower()) in cues), "")

    def others(self, position: int) -> Iterator[tuple[int, int]]:
        """Yield (place from 1, position) of the leading files but for one."""
        return ((place, one) for place, one in enumerate(self._leaders, 1) if one != position)

    def neighbour(self, position: int, kind: str) -> int | None:
        """Return the first leading file that is beside a file in a way, one of `NEIGHBOURS`."""
        beside = NEIGHBOURS[kind](self, position)
        return next((one for _, one in self.others(position) if one in beside), None)

    def companion(self, position: int) -> tuple[int, int, int] | None:
        """Return (leading file, common, tasks): with which a file changed most often, of how many tasks."""
        tasks = self.tasks_of(position)
        common = [(-len(tasks & self.tasks_of(one)), place, one) for place, one in self.others(position)]
        best = min(common, default=(0, 0, 0))
        return (best[2], -best[0], len(tasks)) if best[0] else None

    def unique_name(self, position: int) -> str:
        """Return a file's name, with its folders where others have the same."""
        path = self.view.index.paths[position]
        name = path.rpartition("/")[2]
        return name if len(self.view.places.names.get(name.lower(), ())) == 1 else path


def form(word: str) -> str:
    """Return a word, where it is inflected as what its other forms begin with, too: `refreshing`, refresh…"""
    base = stem(word.lower()).removesuffix("i")
    inflected = word.lower().endswith(("s", "ed", "ing")) and word.lower() not in (base, f"{base}i")
    return f"{word[: len(base)]}…" if inflected and word.lower().startswith(base) else word


def _ends(column: int, of_tests: bool) -> Callable[[FileEvidence, int], set[int]]:
    """Return what leads from a file to those at the other end of its edges."""

    def beside(evidence: FileEvidence, position: int) -> set[int]:
        index = evidence.view.index
        edges = index.tests if of_tests else index.edges
        return {*edges[edges[:, column] == position][:, 1 - column].tolist()}

    return beside


def _in_folder(evidence: FileEvidence, position: int) -> set[int]:
    folders = evidence.view.places.folder_of
    return {*np.flatnonzero(folders == folders[position]).tolist()}


def _of_name(evidence: FileEvidence, position: int) -> set[int]:
    return {*evidence.view.places.stems.get(file_stem(evidence.view.index.paths[position]), ())}


NEIGHBOURS: Final[Mapping[str, Callable[[FileEvidence, int], set[int]]]] = {
    "imports": _ends(0, of_tests=False),
    "imported by": _ends(1, of_tests=False),
    "tests": _ends(0, of_tests=True),
    "tested by": _ends(1, of_tests=True),
    "folder": _in_folder,
    "name": _of_name,
}
"""Ways in which files are beside each other."""
