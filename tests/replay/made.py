"""Made-up runs of a replay: figures that follow from a seed, and texts that a test gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import mean, median

from workbench.records.replay import Gap, ReplayRun, SystemRow, SystemScore, TaskRow

SYSTEMS = ("baseline", "bm25", "hybrid")
FEATURES = ("affinity", "affinity_semantic", "recency_12", "imported_by_seed", "tests_seed", "bm25_path")
_SKILL = {"baseline": 0.1, "bm25": 0.3}


def made_row(
    number: int,
    random: Random,
    *,
    systems: Sequence[str] = SYSTEMS,
    session: str = "",
    head: str = "",
    path: str = "pkg/module_{}.py",
) -> TaskRow:
    """Return a task with two relevant files of forty."""
    files = [path.format(one) for one in range(40)]
    truth = tuple(sorted(Random(number).sample(files, 2)))
    done = {}
    for name in systems:
        skill = _SKILL.get(name, 0.6)
        order = sorted(files, key=lambda one: (random.random() - (skill if one in truth else 0.0), one))
        top = order[:10]
        hits = sum(one in truth for one in top)
        missed = {one: f"ranked {order.index(one) + 1}th" for one in truth if one not in top}
        weighed = name not in ("baseline", "bm25")
        done[name] = SystemRow(
            ranking=tuple(order[:20]),
            measures={
                "precision_at_10": hits / 10,
                "recall_at_5": sum(one in truth for one in order[:5]) / 2,
                "recall_at_10": hits / 2,
                "mrr": next((1 / rank for rank, one in enumerate(order, 1) if one in truth), 0.0),
                "ndcg_at_10": hits / 2 * (0.6 + 0.4 * random.random()),
                "context_tokens": 3000.0 if name == "baseline" else 1500.0,
                "latency_ms": 20 + 10 * random.random(),
            },
            packed=dict.fromkeys(order[:5], "snippets"),
            tokens=3000 if name == "baseline" else 1500,
            contributions={
                one: {feature: round(random.uniform(-0.2, 1.0), 4) for feature in FEATURES}
                for one in (*top, *missed)
            }
            if weighed
            else {},
            missed=missed,
            reasons=dict.fromkeys((*top, *missed), (f"contains “{number}”", "a first estimate"))
            if weighed
            else {},
        )
    identifier = f"task-{number:05d}"
    return TaskRow(
        identifier,
        session or identifier,
        "session" if session else "commit",
        head or f"fix: thing {number} fails on {truth[0]}",
        f"{number:040x}",
        f"{number + 1:040x}",
        1_700_000_000 + number * 86_400,
        "bugfix",
        truth,
        done,
    )


def scored(rows: Sequence[TaskRow]) -> tuple[SystemScore, ...]:
    """Return the scores of the systems in the rows, with a gap to the baseline that is taken as shown."""
    names = list(dict.fromkeys(name for row in rows for name in row.systems))
    found: list[SystemScore] = []
    for name in names:
        did = [row.systems[name] for row in rows if name in row.systems]
        means = {
            key: mean(one.measures[key] for one in did)
            for key in ("precision_at_10", "recall_at_5", "recall_at_10", "mrr", "ndcg_at_10")
        }
        score = SystemScore(
            name,
            len(did),
            means["precision_at_10"],
            means["recall_at_5"],
            means["recall_at_10"],
            means["mrr"],
            means["ndcg_at_10"],
            packed_tasks=len(did),
            packed_recall=0.3 if name == "baseline" else 0.5,
            context_tokens_median=median(one.tokens or 0 for one in did),
            latency_p50_ms=25.0,
            latency_p95_ms=29.5,
            intervals={key: (value * 0.9, value * 1.1) for key, value in means.items()},
            explored_recall=0.3 if name == "baseline" else None,
            explored_tokens_median=3000.0 if name == "baseline" else None,
        )
        if found and name != "baseline":
            gaps = {
                key: Gap(value - getattr(found[0], key), 0.05, 0.3, 0.0002) for key, value in means.items()
            }
            score = replace(score, gaps=gaps)
        found.append(score)
    return tuple(found)


def made_run(tasks: int = 24, *, seed: int = 1, per_session: int = 3, **row: object) -> ReplayRun:
    """Return a run of so many tasks, so many to a session (0: each a commit of its own)."""
    random = Random(seed)
    rows = tuple(
        made_row(
            number,
            random,
            session=f"session-{number // per_session}" if per_session else "",
            **row,  # type: ignore[arg-type]
        )
        for number in range(tasks)
    )
    settings = {"source": "history", "tasks": tasks, "budget": 4000}
    return ReplayRun(
        "r1",
        "2026-01-02T03:04:05Z",
        "demo",
        "0.1",
        settings,
        scored(rows),
        rows,
        ("a note",),
        ("embeddings",),
    )
