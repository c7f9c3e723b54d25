"""The replayed tasks that ranking models are trained on, what each weighs, and models that do not know them.

Tasks are commits of every age of a repository in the shapes of `bench/shapes.py`, prompts, and the commits of
`bench/reworded.py` with their messages, in a user's words and as the issue they close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench import split
from bench.collect import Row
from bench.ranking import Say, rows_of
from bench.reworded import repositories_of
from workbench.plan.ranking import RankingModel

FOLDS: Final = 3
SHARES: Final[Mapping[str, float]] = {
    "ages": 0.27,
    "life": 0.27,
    "prompts": 0.04,
    "messages": 0.1,
    "reworded": 0.2,
    "reports": 0.12,
}
"""How much the tasks of each kind weigh together; within a kind every repository weighs the same."""
_TASKS: Final = {"ages": 40, "life": 40, "prompts": 200}
_ALL: Final = 24  # more than any repository has commits in other words

Replayed = Mapping[tuple[str, str], Sequence[Row]]
"""Replayed tasks by repository and kind."""


def training_rows(
    folder: Path,
    *,
    cache: Path,
    say: Say,
    models: Mapping[str, RankingModel] | None = None,
) -> Replayed:
    """Return the tasks of the training repositories.

    models: for each repository what ranks the files that are read; none are without.
    """
    worded = repositories_of("train")
    names = {"ages": split.TRAIN, "life": split.TRAIN_LIFE, "prompts": split.PROMPTS_TRAIN}
    rows = {
        (name, kind): rows_of(
            *(folder, name, kind, _TASKS.get(kind, _ALL)),
            cache=cache,
            embed=None,
            say=say,
            models=() if models is None else (models[name],),
        )
        for kind in SHARES
        for name in names.get(kind, worded)
    }
    return {key: replayed for key, replayed in rows.items() if replayed}


def task_weights(rows: Replayed) -> dict[tuple[str, str], float]:
    """Return what a task of each repository and kind weighs."""
    kinds = [kind for _, kind in rows]
    return {key: SHARES[key[1]] / kinds.count(key[1]) / len(replayed) for key, replayed in rows.items()}


def fold_of(rows: Replayed) -> dict[str, int]:
    """Return the fold of each repository: what is fitted to scores takes those of models without its fold."""
    names = sorted({name for name, _ in rows})
    drawn = np.random.default_rng(3).permutation(len(names)).tolist()
    return {names[place]: number % FOLDS for number, place in enumerate(drawn)}
