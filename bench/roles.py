"""Whether the first file is right, in the ranked order and with what follows from others later.

`python -m bench.roles --repos DIR` counts on repositories that no model has seen how often the first file was
changed, and how often it is source that was changed, among tasks whose commit changed any.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.collect import Row, order_row
from bench.ranking import rows_of
from bench.reworded import repositories_of
from workbench.plan.intent import parse_intent
from workbench.plan.ranking import LEXICAL_MODEL, load_chunk_model, load_model
from workbench.plan.reading import after_reading
from workbench.plan.roles import order_by_role
from workbench.project.languages import role_of
from workbench.records.plan import RankedFile
from workbench.records.project import Role
from workbench.replay.metrics import ndcg
from workbench.replay.statistics import paired_permutation

KINDS = ("messages", "reworded")
MEASURES = ("first file right", "first file is source and right", "nDCG@10")


@dataclass(frozen=True, slots=True)
class Order:
    """What an order of files is worth for a task; `source` is None for a commit that changed no source."""

    first: float
    source: float | None
    gain: float


def measure_order(paths: Sequence[str], truth: frozenset[str]) -> Order:
    """Measure an order of files by those that a commit changed."""
    sources = {path for path in truth if role_of(path) is Role.SOURCE}
    source = float(paths[0] in sources) if sources else None
    return Order(float(paths[0] in truth), source, ndcg([path in truth for path in paths], len(truth)))


def measure_rows(rows: Sequence[Row]) -> list[tuple[Order, Order]]:
    """Return what the ranked order of each row is worth, and that by role."""
    model, files = load_model(LEXICAL_MODEL), load_chunk_model().files
    assert files is not None
    read = after_reading(model, files)
    measured = []
    for row in rows:
        order, scores = order_row(row, model, files)
        ranked = [RankedFile(row.paths[place], float(scores[place]), {}) for place in order]
        moved = order_by_role(ranked, read, parse_intent(row.task.text))
        before, after = ([file.path for file in files] for files in (ranked, moved))
        measured.append((measure_order(before, row.truth), measure_order(after, row.truth)))
    return measured


def compare(pairs: Sequence[tuple[Order, Order]]) -> list[str]:
    """Return a line for each measure: before, after, p of a paired permutation."""
    lines = []
    for name, field in zip(MEASURES, ("first", "source", "gain"), strict=True):
        values = [(getattr(before, field), getattr(after, field)) for before, after in pairs]
        ranked, moved = zip(*(pair for pair in values if pair[0] is not None), strict=True)
        p = paired_permutation(moved, ranked)
        lines.append(
            f"{name}: {np.mean(ranked):.3f} -> {np.mean(moved):.3f} ({len(ranked)} tasks, p = {p:.3f})"
        )
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Measure both orders on tasks of each kind."""
    parser = argparse.ArgumentParser(prog="python -m bench.roles", description=__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of clones, named owner+name")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="where replayed tasks are kept")
    parser.add_argument("--tasks", type=int, default=40, help="tasks of each repository (default: 40)")
    parser.add_argument("--kinds", nargs="*", default=KINDS, help="messages, reworded, commits, life …")
    options = parser.parse_args(arguments)
    for kind in options.kinds:
        rows: list[Row] = []
        for name in repositories_of("test"):
            rows += rows_of(
                *(options.repos, name, kind, options.tasks), cache=options.cache, embed=None, say=print
            )
        print(f"{kind}:", *compare(measure_rows(rows)), sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
