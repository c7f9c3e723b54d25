"""History as memory: past tasks and the files they touched, as arrays that a plan can weigh in milliseconds.

Commit 0 is the newest. Renames are followed, so that a file keeps what was learned under its old names.

An edit of a success counts more and one of a failure less than one that nobody judged, within bounds. It
needs several judged tasks about the same file and wears off with time; verdicts that the rest of the history
contradicts are not believed, so that noise and malice move little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from workbench.project.arrays import open_arrays, write_arrays
from workbench.records.dataclass import dataclass
from workbench.records.episodes import Episode, FileChange, Outcome
from workbench.sessions.episodes_fold import COMMITS
from workbench.text.postings import Postings, build_postings, pack_postings, unpack_postings

MAX_FILES_PER_TASK = 60  # sweeping changes (reformatting, licence years) teach nothing about tasks

FILE = "history.arrays"
_ARRAYS = ("times", "sizes", "fixes", "tasks", "files", "edits", "trust")

_DAY = 86_400.0
_WORTH: dict[Outcome | None, float] = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: -0.5, Outcome.FAILED: -1.0}
_PRIOR = 0.5  # reliability of verdicts before there are enough
_PRIOR_VERDICTS = 20  # so many verdicts weigh as much as the prior
_SLOPE = 5.0  # verdicts with an AUC of 0.7 are believed in full


@dataclass(frozen=True, slots=True)
class PastTask:
    """One finished task: when, its terms, what it touched and which issues it named.

    `verdict` is somebody's judgement of its outcome, None without one. Of a prompt `shingles` are the hashes
    of its runs of words, by which templates are found, and `session` is the one it was given in.
    """

    at: int
    terms: dict[str, int]
    changes: tuple[FileChange, ...]
    issue_refs: tuple[str, ...] = ()
    fix: bool = False
    verdict: Outcome | None = None
    shingles: tuple[int, ...] = ()
    session: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """n past tasks, newest first, over p paths and e (task, file) pairs.

    times: int64 [n] seconds; sizes: int32 [n] files touched; fixes: bool [n]; messages: postings over tasks
    tasks, files: int32 [e] pair ends; edits: float32 [e] lines changed; trust: float32 [e], what a
    pair counts by what is known of the task's outcome (1: as much as any); issues: reference → task numbers
    """

    paths: tuple[str, ...]
    times: NDArray[np.int64]
    sizes: NDArray[np.int32]
    fixes: NDArray[np.bool_]
    messages: Postings
    tasks: NDArray[np.int32]
    files: NDArray[np.int32]
    edits: NDArray[np.float32]
    trust: NDArray[np.float32]
    issues: dict[str, tuple[int, ...]]
    weighed: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)
    """What `signals.task_weights` keeps."""

    @property
    def size(self) -> int:
        """Number of past tasks."""
        return len(self.times)


def build_history(past: Iterable[PastTask], trust: Trust | None = None) -> History:
    """Build the arrays from past tasks, newest first. `trust` says how far verdicts count."""
    numbers: dict[str, int] = {}
    alias: dict[str, str] = {}
    times: list[int] = []
    sizes: list[int] = []
    fixes: list[bool] = []
    verdicts: list[Outcome | None] = []
    messages: list[dict[str, int]] = []
    tasks: list[int] = []
    files: list[int] = []
    edits: list[float] = []
    issues: dict[str, list[int]] = {}
    for task in past:
        number = len(times)
        times.append(task.at)
        sizes.append(len(task.changes))
        fixes.append(task.fix)
        verdicts.append(task.verdict)
        messages.append(task.terms)
        for reference in task.issue_refs:
            issues.setdefault(reference, []).append(number)
        today = [alias.get(change.path, change.path) for change in task.changes]
        if len(task.changes) <= MAX_FILES_PER_TASK:
            for change, current in zip(task.changes, today, strict=True):
                tasks.append(number)
                files.append(numbers.setdefault(current, len(numbers)))
                edits.append(change.added + change.removed)
        _rename_back(alias, task.changes, today)
    moments = np.asarray(times, dtype=np.int64)
    pairs = (np.asarray(tasks, dtype=np.int32), np.asarray(files, dtype=np.int32))
    return History(
        paths=tuple(numbers),
        times=moments,
        sizes=np.asarray(sizes, dtype=np.int32),
        fixes=np.asarray(fixes, dtype=np.bool_),
        messages=build_postings(messages),
        tasks=pairs[0],
        files=pairs[1],
        edits=np.asarray(edits, dtype=np.float32),
        trust=pair_trust(verdicts, messages, moments, *pairs, trust or Trust()),
        issues={reference: tuple(issue) for reference, issue in issues.items()},
    )


def _rename_back(alias: dict[str, str], changes: Sequence[FileChange], today: Sequence[str]) -> None:
    """Let `alias` give today's names for the time before a task; its renames happened at once."""
    renames = [(change, name) for change, name in zip(changes, today, strict=True) if change.old_path]
    for change, _ in renames:
        alias.pop(change.path, None)  # who bore the new name earlier was another file
    for change, name in renames:
        alias[change.old_path] = name


def save_history(history: History, directory: Path) -> None:
    """Write a history into a directory; `load_history` opens it memory-mapped."""
    document = {
        "paths": [path.encode("utf-8", "surrogateescape") for path in history.paths],
        "issues": history.issues,
    }
    arrays: dict[str, NDArray[Any] | bytes] = {name: getattr(history, name) for name in _ARRAYS}
    arrays |= pack_postings(history.messages, "messages")
    arrays["document"] = msgspec.msgpack.encode(document)
    write_arrays(directory / FILE, arrays)


def load_history(directory: Path) -> History:
    """Open what `save_history` wrote.

    Raises: OSError, ValueError, KeyError or MsgspecError if it is damaged.
    """
    arrays = open_arrays(directory / FILE)
    document = msgspec.msgpack.decode(arrays["document"].data)
    return History(
        paths=tuple(path.decode("utf-8", "surrogateescape") for path in document["paths"]),
        messages=unpack_postings(arrays, "messages"),
        issues={reference: tuple(found) for reference, found in document["issues"].items()},
        **{name: arrays[name] for name in _ARRAYS},
    )


def path_numbers(history: History, positions: Mapping[str, int]) -> NDArray[np.int64]:
    """Map the history's paths to positions in a project index; -1 for paths that are gone."""
    return np.fromiter(
        (positions.get(path, -1) for path in history.paths), dtype=np.int64, count=len(history.paths)
    )


def empty_history() -> History:
    """Return a history without tasks, for projects without a past."""
    return build_history(())


@dataclass(frozen=True, slots=True)
class Trust:
    """What an outcome is worth at most, and how soon.

    `success` and `failed` are weights of an edit relative to one of an unknown outcome, 1; a partial success
    is halfway between unknown and failed. `half_life` is in days. Below `min_samples` judged tasks about
    a file no verdict counts for it; at so many, half of each does.
    """

    success: float = 1.25
    failed: float = 0.5
    half_life: float = 90.0
    min_samples: int = 3


def verdict_of(episode: Episode) -> Outcome | None:
    """Return what is known of an episode's outcome, None where nobody judged it.

    That a commit was made is true of every commit: only feedback on it is a verdict.
    """
    if episode.outcome is Outcome.UNKNOWN or (episode.source == COMMITS and not episode.judged):
        return None
    return episode.outcome


def pair_trust(
    verdicts: Sequence[Outcome | None],
    terms: Sequence[Mapping[str, int]],
    times: NDArray[np.int64],
    tasks: NDArray[np.int32],
    files: NDArray[np.int32],
    trust: Trust,
) -> NDArray[np.float32]:
    """Return float32 [e], the weight of every pair, between trust.failed and trust.success; 1 is neutral.

    verdicts, terms, times: [n] of the tasks; tasks, files: [e] ends of the pairs. With d the decay of a
    task's age, counted back from the newest task, N the sum of d over the judged tasks of a file, and r how
    reliable verdicts are here, a pair weighs 1 + r · d · N / (N + min_samples) · (w(outcome) - 1): shrinkage
    towards the neutral weight, with bounded influence (Huber, Robust Statistics, 1981).
    """
    weights = np.ones(len(tasks), dtype=np.float32)
    judged = np.asarray([_WORTH.get(verdict) is not None for verdict in verdicts], dtype=np.bool_)
    if not judged.any() or not len(tasks):
        return weights
    partial = (1.0 + trust.failed) / 2.0
    worth = {Outcome.SUCCESS: trust.success, Outcome.PARTIAL: partial, Outcome.FAILED: trust.failed}
    target = np.asarray([1.0 if verdict is None else worth.get(verdict, 1.0) for verdict in verdicts])
    age = (times.max() - times) / _DAY
    decay = np.exp2(-age / trust.half_life) * judged
    count = int(files.max()) + 1
    samples = np.bincount(files, weights=judged[tasks], minlength=count)
    evidence = np.bincount(files, weights=decay[tasks], minlength=count)
    belief = np.where(samples >= trust.min_samples, evidence / (evidence + trust.min_samples), 0.0)
    good = np.asarray([_WORTH.get(verdict, 0.0) for verdict in verdicts])
    sure = reliability(good[tasks], corroboration(terms, tasks, files), int(judged.sum()))
    weights += (sure * decay[tasks] * belief[files] * (target[tasks] - 1.0)).astype(np.float32)
    return weights


def corroboration(
    terms: Sequence[Mapping[str, int]], tasks: NDArray[np.int32], files: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return float64 [e]: how much other tasks support each pair, whatever their verdicts.

    It is the mean over the task's terms of the share of the other tasks with that term that touched the file.
    """
    numbers: dict[str, int] = {}
    words = [
        np.asarray([numbers.setdefault(term, len(numbers)) for term in found], dtype=np.int64)
        for found in terms
    ]
    lengths = np.asarray([len(word) for word in words], dtype=np.int64)
    if not len(numbers):
        return np.zeros(len(tasks))
    frequency = np.bincount(np.concatenate(words), minlength=len(numbers))
    pair = np.repeat(np.arange(len(tasks)), lengths[tasks])
    spoken = np.concatenate([words[task] for task in tasks.tolist()])
    _, place, together = np.unique(
        spoken * (int(files.max()) + 1) + files[pair], return_inverse=True, return_counts=True
    )
    others = (together[place] - 1) / np.maximum(frequency[spoken] - 1, 1)
    total = np.bincount(pair, weights=others, minlength=len(tasks))
    return np.asarray(total / np.maximum(lengths[tasks], 1), dtype=np.float64)


def reliability(good: NDArray[np.float64], support: NDArray[np.float64], judged: int) -> float:
    """Return how far verdicts are to be believed, in [0, 1].

    good: [e], above 0 for a pair of a success, below for one of a failure; support: [e], `corroboration`.
    Verdicts that are true agree with them: a pair of a failure has less support than others have. The chance
    of that (AUC), 0.5 for noise and less for malice, takes the place of a prior as verdicts become many.
    """
    bad, rest = good < 0, good >= 0
    if not bad.any():
        bad, rest = good == 0, good > 0
    if not bad.any() or not rest.any() or support.max() == support.min():
        return _PRIOR  # there is nothing to compare
    agreement = _auc(support[rest], support[bad])
    seen = min(max(_SLOPE * (agreement - 0.5), 0.0), 1.0)
    return (_PRIOR * _PRIOR_VERDICTS + seen * judged) / (_PRIOR_VERDICTS + judged)


def _auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Return the chance that one of `above` exceeds one of `below`, ties counting half (Mann and Whitney)."""
    ordered = np.sort(below)
    less, at_most = np.searchsorted(ordered, above, "left"), np.searchsorted(ordered, above, "right")
    return float((less + at_most).sum() / (2 * len(above) * len(below)))
