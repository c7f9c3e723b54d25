"""`workbench --replay PATH`: how well the program does on a dataset of messages with known answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from workbench.entry.bootstrap import match_params, ready_embedder
from workbench.entry.cli.frame import Invocation
from workbench.replay import benchmark, report
from workbench.replay.datasets import DatasetKind, detect, read_rules
from workbench.replay.systems import rule_systems


def replay(here: Invocation, path: str) -> None:
    """Replay a dataset and print what was found. Raises: UsageError, ParseError, ModelError."""
    folder = Path(path).expanduser()
    _REPLAYS[detect(folder)](here, folder)


def _rules(here: Invocation, folder: Path) -> None:
    dataset = read_rules(folder)
    config = here.settings().config
    with here.out.progress("Loading the model") as line:
        line(0)
        embedder, missing = ready_embedder(config)
        note = missing or ("" if embedder is not None else NO_MODEL)
        embed = None if embedder is None else embedder.embed
        model = "" if embedder is None else embedder.model
        systems = rule_systems(dataset.rules, embed, model=model, params=match_params(config.rules))
        found = benchmark.run(
            dataset,
            systems,
            embed,
            time.perf_counter,
            model=model,
            note=note,
            progress=lambda stage, done, total: line(done, total, stage),
        )
    if found.degraded:
        here.out.warn(f"without embeddings, {note}")
    if here.flags.json:
        here.out.json(report.as_json(found))
    else:
        here.out.data(report.as_text(found))


NO_MODEL = "there is no embedding model: `workbench model list` says what can be had"

_REPLAYS: dict[DatasetKind, Callable[[Invocation, Path], None]] = {DatasetKind.RULES: _rules}
