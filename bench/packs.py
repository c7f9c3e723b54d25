"""Packs, measured: the places that a commit changed, in the pack made for its task.

For each ceiling: whether a needed source file is shown, the share of the changed places (old-side hunks and a
line around them) of source files that is, precision, recall and F1 of files and of lines, where the gold is
the changed definitions, the tokens used and those until the first right place. The same tasks are given to
BM25 over the same chunks, to the whole first source file, and to a reader that greps the task's rarest words
and reads around the hits. Tasks come with the commit's message and in a user's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as Set
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from bench.pack_tasks import PackTask, tasks_of
from bench.ranking import Say
from bench.reworded import repositories_of
from bench.timeline import repositories
from workbench.plan import cuts
from workbench.plan.compose import compose
from workbench.plan.cuts import FileCut
from workbench.plan.file_candidates import FileOffers, file_candidates, likely_text
from workbench.plan.packing import PRICE, text_limit
from workbench.plan.places import COLUMN, ChunkModel
from workbench.plan.planner import Planner
from workbench.plan.ranking import LEXICAL_MODEL, load_chunk_model, load_model
from workbench.plan.reading import READ
from workbench.plan.render import DEFAULT_STYLE, STYLES, Span
from workbench.plan.representations import Contents
from workbench.plan.touches import ChunkTouches
from workbench.project.languages import role_of
from workbench.records.plan import RankedFile
from workbench.records.project import Role
from workbench.records.worktree import Hunk
from workbench.replay.statistics import bootstrap
from workbench.rules.matching.match import MatchParams
from workbench.text.tokens import TokenCounter, token_counter

CEILINGS = (500, 1000, 2000, 4000)
KINDS = ("messages", "reworded", "reports")
AROUND = 15  # lines that a reader who greps reads on both sides of a hit
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of a pack: the ranges of lines that it shows, its tokens, and the ranges that it only names."""

    path: str
    spans: tuple[Span, ...]
    tokens: int = 0
    named: tuple[Span, ...] = ()


Shown = list[ShownFile]
"""Files in the order of a pack."""
System = Callable[[PackTask, int], tuple[Shown, int]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pack shows of a change to source files: shares in [0, 1], and tokens.

    `named` is the share of the changed places that are shown or named with their lines.
    """

    source: float
    places: float
    named: float
    line_precision: float
    line_recall: float
    line_f1: float
    file_precision: float
    file_recall: float
    file_f1: float
    tokens: float
    until_first: float


def places_of(task: PackTask) -> list[tuple[str, int, int]]:
    """Return the changed places of source files: path, first and last line."""
    return changed_places({path: task.hunks[path] for path in task.truth})


def changed_places(hunks: Mapping[str, Sequence[Hunk]]) -> list[tuple[str, int, int]]:
    """Return the places of source files that hunks change, a line wider than they are on both sides."""
    found = []
    for path in hunks:
        if role_of(path) is not Role.SOURCE:
            continue
        for hunk in hunks[path]:
            last = hunk.old_start + max(hunk.old_lines, 2) - 1
            found.append((path, max(1, hunk.old_start - 1), last + 1))
    return found


def outcome_of(task: PackTask, shown: Shown, used: int) -> Outcome:
    """Compare what is shown with what was changed in source files."""
    places = places_of(task)
    gold: set[tuple[str, int]] = set()
    for path in {path for path, _first, _last in places}:
        table = task.contents[path].cut.table
        lines = np.asarray(sorted(task.truth[path]))
        held = np.searchsorted(lines, table[:, cuts.END], "right") > np.searchsorted(
            lines, table[:, cuts.START], "left"
        )
        for start, end in table[held][:, [cuts.START, cuts.END]].tolist():
            gold.update((path, line) for line in range(start, end + 1))
    lines_shown = {(one.path, line) for one in shown for a, b in one.spans for line in range(a, b + 1)}
    files, needed = {one.path for one in shown if one.spans}, {path for path, _first, _last in places}
    line, file = _scores(lines_shown, gold), _scores(files, needed)
    until, spent = float(used), 0
    for one in shown:
        if any(_meets(one.spans, first, last) for where, first, last in places if where == one.path):
            until = spent + one.tokens / 2
            break
        spent += one.tokens
    by_path = {one.path: one for one in shown}
    nothing = ShownFile("", ())
    hits = [_meets(by_path.get(path, nothing).spans, first, last) for path, first, last in places]
    named = [_meets(by_path.get(path, nothing).named, first, last) for path, first, last in places]
    return Outcome(
        source=float(bool(files & needed)),
        places=float(np.mean(hits)),
        named=float(np.mean(np.logical_or(hits, named))),
        line_precision=line[0],
        line_recall=line[1],
        line_f1=line[2],
        file_precision=file[0],
        file_recall=file[1],
        file_f1=file[2],
        tokens=float(used),
        until_first=until,
    )


def _meets(spans: Sequence[Span], first: int, last: int) -> bool:
    return any(start <= last and end >= first for start, end in spans)


def _scores(shown: Set[object], gold: Set[object]) -> tuple[float, float, float]:
    hit = len(shown & gold)
    precision, recall = hit / max(1, len(shown)), hit / max(1, len(gold))
    return precision, recall, 2 * precision * recall / (precision + recall) if hit else 0.0


def candidates_of(task: PackTask, planner: Planner) -> FileOffers:
    files = {file.path: file for file in task.files}

    def touches(path: str, _cut: FileCut) -> ChunkTouches:
        return files[path].touches

    return file_candidates(
        planner,
        task.intent,
        [RankedFile(file.path, file.chance, {}) for file in task.files],
        {file.path: file.chance for file in task.files},
        task.contents.__getitem__,
        STYLES[DEFAULT_STYLE],
        touch=touches,
        project_files=task.project_files,
    )


def pack_system(model: ChunkModel, counter: TokenCounter, price: float | None = None) -> System:
    """Return packs as plans make them, or at one price of a token for all tasks."""
    planner = Planner(
        load_model(LEXICAL_MODEL), model, counter, Contents(Path(), counter, cap=0), MatchParams(), read=READ
    )
    offered: dict[int, FileOffers] = {}

    def shown(task: PackTask, ceiling: int) -> tuple[Shown, int]:
        if id(task) not in offered:
            offered[id(task)] = candidates_of(task, planner)
        candidates = offered[id(task)]
        fair = candidates.price if price is None else price
        most = text_limit(fair, ceiling) if price is None else None
        files = likely_text(candidates.files, task.likeliest)
        pack = compose([], files, ceiling, STYLES[DEFAULT_STYLE], counter, price=fair, most=most)
        return [
            ShownFile(
                one.path,
                offer.view.spans,
                offer.tokens,
                tuple((place.start, place.end) for place in offer.view.places),
            )
            for one, offer in pack.files
        ], pack.report.estimated_used

    return shown


def bm25_system(task: PackTask, ceiling: int) -> tuple[Shown, int]:
    """Fill the ceiling with the chunks of the first files that share most with the task, whatever file."""
    order = np.argsort(-task.rows[:, COLUMN["cover"]], kind="stable").tolist()
    return _fill(task, order, ceiling)


def whole_system(task: PackTask, ceiling: int) -> tuple[Shown, int]:
    """Show the whole first source file, whatever it costs."""
    del ceiling
    for file in task.files:
        if file.role is Role.SOURCE:
            tokens = int(file.cut.table[:, cuts.TOKENS].sum())
            return [ShownFile(file.path, ((1, file.cut.lines),), tokens)], tokens
    return [], 0


def grep_system(task: PackTask, ceiling: int) -> tuple[Shown, int]:
    """Grep the first files for the task's rarest words and read around the hits, until the ceiling."""
    words = {word.lower() for word in _WORD.findall(task.intent.task.raw.encode())}
    held = {
        word: [one for one in task.files if word in one.data.lower()] for word in sorted(words, key=len)[::-1]
    }
    rare = sorted((word for word, files in held.items() if files), key=lambda word: (len(held[word]), word))
    found: dict[str, list[Span]] = {}
    used = 0
    for word in rare:
        for one in held[word]:
            mean = one.cut.table[:, cuts.TOKENS].sum() / max(1, one.cut.lines)
            at = one.data.lower().find(word)
            line = one.data.count(b"\n", 0, at) + 1
            if any(start <= line <= end for start, end in found.get(one.path, ())):
                continue
            span = max(1, line - AROUND), min(one.cut.lines, line + AROUND)
            cost = int(mean * (span[1] - span[0] + 1))
            if used + cost > ceiling:
                return [ShownFile(path, tuple(spans)) for path, spans in found.items()], used
            used += cost
            found.setdefault(one.path, []).append(span)
    return [ShownFile(path, tuple(spans)) for path, spans in found.items()], used


def _fill(task: PackTask, order: Sequence[int], ceiling: int) -> tuple[Shown, int]:
    owner = np.repeat(np.arange(len(task.files)), [file.cut.count for file in task.files])
    found: dict[str, list[Span]] = {}
    used = 0
    for place in order:
        one = task.files[owner[place]]
        start, end = one.cut.table[place - task.starts[owner[place]], [cuts.START, cuts.END]].tolist()
        tokens = int(one.cut.table[place - task.starts[owner[place]], cuts.TOKENS])
        if used + tokens <= ceiling:
            used += tokens
            found.setdefault(one.path, []).append((start, end))
    return [ShownFile(path, tuple(spans)) for path, spans in found.items()], used


def report(
    folder: Path,
    tasks: int,
    *,
    cache: Path,
    say: Say,
    names: Sequence[str] | None = None,
    ceilings: Sequence[int] = CEILINGS,
    kinds: Sequence[str] = KINDS,
    write: Callable[[str], None] = print,
) -> None:
    """Print the tables of each kind of task. Without any of the repositories, `folder` itself is used."""
    names = repositories_of("test") if names is None else names
    if not repositories(folder, names):
        folder, names, kinds = folder.parent, (folder.name,), ("ages",)
    counter = token_counter()
    systems: dict[str, System] = {
        "workbench": pack_system(load_chunk_model(), counter),
        "workbench, one price": pack_system(load_chunk_model(), counter, PRICE),
        "BM25 over chunks": bm25_system,
        "grep and read": grep_system,
        "whole first file": whole_system,
    }
    ranking, files = load_model(LEXICAL_MODEL), load_chunk_model().files
    for kind in kinds:
        by: dict[str, list[PackTask]] = {}
        for name in names:
            found = tasks_of(folder, name, kind, tasks, cache=cache, ranking=ranking, files=files, say=say)
            by[name] = [task for task in found if places_of(task)]
        every = [task for found in by.values() for task in found]
        if not every:
            continue
        write(f"\n### Packs, tasks: {kind} ({len(every)} that change source, {counter.name})\n")
        write(table(_by_system(systems, every, ceilings), "system, ceiling"))
        largest = ceilings[-1]
        own = systems["workbench"]
        groups = {
            name: [outcome_of(one, *own(one, largest)) for one in found]
            for name, found in by.items()
            if found
        }
        write(f"\nworkbench at {largest:,} by repository\n")
        write(table(groups, "repository"))


def _by_system(
    systems: Mapping[str, System], tasks: Sequence[PackTask], ceilings: Sequence[int]
) -> dict[str, list[Outcome]]:
    found = {}
    for name, system in systems.items():
        for ceiling in ceilings if system is not whole_system else (0,):
            label = f"{name}, {ceiling:,}" if ceiling else name
            found[label] = [outcome_of(task, *system(task, ceiling)) for task in tasks]
    return found


def table(groups: Mapping[str, Sequence[Outcome]], first: str) -> str:
    """Return a Markdown table of means, a line for each group, the places with their 95 % interval."""
    names = [field.name.replace("_", " ") for field in fields(Outcome)]
    lines = [f"| {first} | packs | {' | '.join(names)} |", "|---" + "|--:" * (len(names) + 1) + "|"]
    lines += [f"| {name} | {len(group)} | {' | '.join(_cells(group))} |" for name, group in groups.items()]
    return "\n".join(lines)


def _cells(found: Sequence[Outcome]) -> Iterator[str]:
    means = np.mean([astuple(one) for one in found], axis=0).tolist()
    for field, mean in zip(fields(Outcome), means, strict=True):
        if field.name == "places":
            low, high = bootstrap([one.places for one in found])
            yield f"{mean:.3f} [{low:.3f}, {high:.3f}]"
        else:
            yield f"{mean:,.0f}" if field.name in ("tokens", "until_first") else f"{mean:.3f}"
