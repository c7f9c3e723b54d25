"""What a replay records of a task: the measures of each system, the head of its ranking, what it missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.plan.compose import Pack
from workbench.plan.reasons import FileReasons, by_phrase
from workbench.records.plan import AFFINITIES, Intent, RankedFile
from workbench.records.replay import ReplayRun, SystemRow, TaskRow
from workbench.replay.metrics import ndcg, precision, recall, reciprocal_rank
from workbench.replay.packs import Truth, pack_measures, packed_files
from workbench.replay.run_report import table
from workbench.replay.systems import Models, Situation, SystemRanking
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import Moment
from workbench.suggest import did_you_mean
from workbench.text.sanitize import visible_line

NOTHING = "nothing that was modified was indexed when it began"
TOP = 20  # files of a ranking that are kept
LOOKED_AT = 10
_FEATURES = 8  # contributions that are kept of a file


def failed_row(task: ReplayTask, why: str) -> TaskRow:
    """Return the row of a task that could not be replayed."""
    return TaskRow(*_facts(task), query_type="", truth=(), systems={}, fault=why)


def build_row(
    task: ReplayTask,
    intent: Intent,
    truth: tuple[str, ...],
    missing: tuple[str, ...],
    systems: Mapping[str, SystemRow],
    fault: str = "",
) -> TaskRow:
    """Return the row of a replayed task; `fault` is why there is nothing to measure."""
    return TaskRow(*_facts(task), str(intent.predicted), truth, systems, missing, fault)


def _facts(task: ReplayTask) -> tuple[str, str, str, str, str, str, int]:
    return task.id, task.session, task.source, task.head, task.revision, task.commit, task.at


def backed_files(situation: Situation, models: Models) -> frozenset[str]:
    """Return the files that past tasks suggest, whatever a system makes of that."""
    candidates = situation.candidates(models.used_model(situation.semantic))
    columns = [number for number, name in enumerate(candidates.names) if name in AFFINITIES]
    suggested = (candidates.values[:, columns] > 0).any(axis=1)
    paths = situation.moment.view.index.paths
    return frozenset(paths[position] for position in candidates.positions[suggested].tolist())


def measure_system(
    ranking: SystemRanking,
    reasons: FileReasons,
    pack: Pack | None,
    truth: Truth,
    moment: Moment,
    backed: frozenset[str],
    milliseconds: float,
) -> SystemRow:
    """Return what a system did and how good it was.

    `milliseconds` is the time for ranking and packing, `backed` as `backed_files` returns it.
    """
    paths = [file.path for file in ranking.files]
    hits = [path in truth.files for path in paths]
    count = len(truth.files)
    right = {path for path in paths[:LOOKED_AT] if path in truth.files}
    measures = {
        "precision_at_10": precision(hits, 10),
        "recall_at_5": recall(hits, count, 5),
        "recall_at_10": recall(hits, count, 10),
        "mrr": reciprocal_rank(hits),
        "ndcg_at_10": ndcg(hits, count, 10),
        **({} if pack is None else pack_measures(pack, truth)),
        "affinity_hit_rate": float(bool(right & backed)),
        "rerank_invocation_rate": 0.0,
        "fallback_rate": float(ranking.fallback),
        "cache_hit_ratio": round(moment.reused, 4),
        "latency_ms": round(milliseconds, 3),
    }
    by_path = {file.path: (place, file) for place, file in enumerate(ranking.files, 1)}
    missed = [path for path in truth.files if path not in right]
    explained = [*paths[:LOOKED_AT], *(path for path in missed if path in by_path)] if ranking.weighed else []
    return SystemRow(
        ranking=tuple(paths[:TOP]),
        measures=measures,
        packed={} if pack is None else packed_files(pack),
        tokens=None if pack is None else pack.report.estimated_used,
        contributions={path: _largest(by_path[path][1].contributions) for path in explained},
        missed={path: _why(by_path.get(path), ranking.weighed) for path in missed},
        reasons={path: reasons.of(by_path[path][1]) for path in explained},
    )


def _largest(contributions: Mapping[str, float]) -> dict[str, float]:
    order = sorted(contributions, key=lambda name: (-abs(contributions[name]), name))
    return {name: contributions[name] for name in order[:_FEATURES]}


def _why(found: tuple[int, RankedFile] | None, weighed: bool) -> str:
    """Return why a relevant file is not among the first ten."""
    if found is None:
        return "no signal proposes it" if weighed else "not in its ranking"
    place, file = found
    lacking = [
        reason
        for reason, names in (
            ("none of the task's words are in it", ("bm25_body", "bm25_path", "bm25_name")),
            ("no similar past task touched it", AFFINITIES),
            ("nothing likely changed together with it", ("cochange",)),
        )
        if weighed and not any(file.features.get(name) for name in names)
    ]
    return f"place {place}" + (f": {', '.join(lacking)}" if lacking else "")


_SHOWN_PARTS = 4  # of a score in the text


@dataclass(frozen=True, slots=True)
class ExplainedFile:
    """A file at its place; `contributions` add up to its score, but for a constant. Empty without weights.

    `reasons` are the sentences that a plan would show, the strongest first.
    """

    path: str
    place: int
    score: float
    relevant: bool
    contributions: Mapping[str, float]
    reasons: tuple[str, ...] = ()


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


def looked_at(row: TaskRow, system: str) -> frozenset[str]:
    """Return the files that a run keeps of a task and its right ones."""
    return frozenset((*(row.systems[system].ranking if system in row.systems else ()), *row.truth))


def weigh_files(
    run: ReplayRun,
    row: TaskRow,
    system: str,
    ranking: SystemRanking,
    reasons: Mapping[str, tuple[str, ...]],
) -> Explanation:
    """Return the files that the run keeps of a task, and its right ones, as they are weighed now."""
    kept = row.systems[system].ranking if system in row.systems else ()
    wanted = looked_at(row, system)
    now = tuple(file.path for file in ranking.files[: len(kept)])
    files = tuple(
        ExplainedFile(
            file.path,
            place,
            file.score,
            file.path in row.truth,
            _largest_first(file.contributions) if ranking.weighed else {},
            reasons.get(file.path, ()) if ranking.weighed else (),
        )
        for place, file in enumerate(ranking.files, 1)
        if file.path in wanted
    )
    return Explanation(run.id, row.id, row.head, system, now == tuple(kept), files)


def explanation_text(found: Explanation) -> str:
    """Return a table of files with their reasons, and under each what its score is made of."""
    rows = [
        [visible_line(file.path), str(file.place), "*" if file.relevant else "", f"{file.score:+.3f}"]
        for file in found.files
    ]
    head, *lines = table(["", "place", "", "score"], rows).split("\n")
    text = [f"{visible_line(found.system)} for {visible_line(found.head)} (* right)", head]
    for line, file in zip(lines, found.files, strict=True):
        text.append(f"{line}  {'; '.join(map(visible_line, file.reasons))}".rstrip())
        text += [f"    {parts}"] if (parts := _largest_parts(file.contributions)) else []
    return "\n".join(text)


def _largest_parts(contributions: Mapping[str, float]) -> str:
    parts = list(by_phrase(contributions).items())[:_SHOWN_PARTS]
    return ", ".join(f"{name} {value:+.2f}" for name, value in parts if value)


def _largest_first(parts: Mapping[str, float]) -> dict[str, float]:
    order = sorted(parts, key=lambda name: (-abs(parts[name]), name))
    return {name: parts[name] for name in order if parts[name]}
