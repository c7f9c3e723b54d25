"""Tasks for measuring packs: what was ranked, what the files held, and which lines turned out to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.collect import Row
from bench.ranking import order_row
from bench.tasks import age_of
from bench.timeline import Timeline
from store.git_diff import diff_hunks
from store.git_objects import BlobReader, read_tree
from store.git_patches import log_patches
from workbench.errors import GitError
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import RankingModel, log_odds, raise_chances
from workbench.plan.signals import prepare_query, task_weights
from workbench.plan.snippets import FileText, chunk_features, read_file
from workbench.plan.touches import add_touches, find_touches, task_numbers
from workbench.project.admission import content_refusal
from workbench.project.languages import language_of, role_of
from workbench.project.symbols import extract_symbols
from workbench.records.project import Symbol
from workbench.records.worktree import CommitPatch
from workbench.replay.packs import changed_lines
from workbench.sessions.edits import collect_edits
from workbench.text.tokens import TokenCounter

READ = 20
NAMED = 80


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of the tree the task started from; `rows` are the features of its chunks for the task."""

    text: FileText
    symbols: tuple[Symbol, ...]
    tokens: tuple[int, ...]
    rows: Sequence[Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class PackTask:
    """One task. age: per cent of the history that it had; ranked: (path, chance of being needed), best first;
    files: what was read of them, and the changed ones.

    truth: {changed path: old-side lines that were changed or removed, or lie beside an insertion}.
    """

    age: int
    ranked: tuple[tuple[str, float], ...]
    files: Mapping[str, ReadFile]
    truth: Mapping[str, frozenset[int]]


def pack_tasks(
    timeline: Timeline, rows: Sequence[Row], model: RankingModel, counter: TokenCounter, *, read: int = READ
) -> Iterator[PackTask]:
    """Yield a pack task for each replayed task whose changed lines can be read."""
    patches = {patch.sha: patch for patch in log_patches(timeline.repository, until=timeline.tip or "HEAD")}
    texts: dict[tuple[str, str], tuple[FileText, tuple[Symbol, ...], tuple[int, ...]]] = {}
    with BlobReader(timeline.repository, 1 << 20) as reader:
        for row in rows:
            tree = {path: sha for path, sha, _size in read_tree(timeline.repository, row.task.revision)}
            ranked = _ranked(row, model)
            wanted = [path for path, _relevance in ranked[:read]]
            wanted += sorted(path for path in row.truth if path not in wanted)
            found = {}
            for path in wanted:
                key = (path, tree.get(path, ""))
                if key[1] and key not in texts:
                    data = reader.read(key[1])
                    if data is None or content_refusal(path, data) is not None:
                        continue
                    texts[key] = _read(path, data, counter)
                if key in texts:
                    found[path] = texts[key]
            truth = _truth(timeline, row, {path: len(text.lines) for path, (text, _, _) in found.items()})
            if truth:
                yield PackTask(
                    age_of(timeline, row.task), ranked, _featured(timeline, row, found, patches), truth
                )


def _read(
    path: str, data: bytes, counter: TokenCounter
) -> tuple[FileText, tuple[Symbol, ...], tuple[int, ...]]:
    language = language_of(path, data[:200].decode("utf-8", "replace").split("\n", 1)[0])
    symbols, _imports = extract_symbols(language, data)
    text = read_file(path, language, role_of(path), data, symbols)
    tokens = tuple(
        counter.count("\n".join(text.lines[chunk.start - 1 : chunk.end]) + "\n") for chunk in text.chunks
    )
    return text, symbols, tokens


def _truth(timeline: Timeline, row: Row, lines: Mapping[str, int]) -> dict[str, frozenset[int]]:
    try:
        hunks = diff_hunks(timeline.repository, row.task.revision, row.task.commit)
    except GitError:  # a blob that the clone lacks
        return {}
    truth = {
        path: changed_lines(hunks.get(path, ()), lines[path]) for path in sorted(row.truth) if path in lines
    }
    return {path: changed for path, changed in truth.items() if changed}


def _ranked(row: Row, model: RankingModel) -> tuple[tuple[str, float], ...]:
    order, scores = order_row(row, model)
    chances = raise_chances(log_odds(model, scores[order].tolist())).tolist()
    return tuple((row.paths[number], chance) for number, chance in zip(order, chances, strict=True))


def _featured(
    timeline: Timeline,
    row: Row,
    found: Mapping[str, tuple[FileText, tuple[Symbol, ...], tuple[int, ...]]],
    patches: Mapping[str, CommitPatch],
) -> dict[str, ReadFile]:
    """Add chunk features, with the touches that were known when the task began."""
    intent = parse_intent(row.task.text)
    past, history = timeline.history(row.task.revision)
    edits = collect_edits(patches[sha] for sha in past if sha in patches)
    likeness = task_weights(history, prepare_query(intent).terms)[0].tolist()
    tasks = task_numbers(history.times.tolist())
    touches = {path: find_touches(edits.get(path, ()), tasks, likeness) for path in found}
    rows = chunk_features(intent, [text for text, _, _ in found.values()])
    for (path, (text, _, _)), features in zip(found.items(), rows, strict=True):
        add_touches(text, features, touches[path])
    return {
        path: ReadFile(text, symbols, tokens, features)
        for (path, (text, symbols, tokens)), features in zip(found.items(), rows, strict=True)
    }
