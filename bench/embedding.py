"""Does hybrid search do at least as well as the better of cosine and BM25? `python -m bench.embedding DATA`.

DATA holds `code/functions.jsonl` {id, code} and `code/queries.jsonl` {query, gold} (CoSQA), and
`intents/clinc150.jsonl` {text, intent, split} (CLINC150). Parameters of the fusion are fixed on the queries
whose hash is even (`--fit` prints the grid); the table reports the odd ones, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import CachedEmbedder, cache_embeddings
from store.lexical import build_index
from workbench.places import user_cache
from workbench.replay.metrics import auroc
from workbench.text import fusion
from workbench.text.terms import is_identifier

Matrix = NDArray[np.float32]
Values = NDArray[np.float64]
System = Callable[["Scores"], Matrix]

FILES: Final = ("code/functions.jsonl", "code/queries.jsonl", "intents/clinc150.jsonl")
IDENTIFIERS: Final = 400
EXAMPLES: Final = 5
ROUNDS: Final = 1000

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of queries × documents, and the bound of each query's BM25."""

    cosine: Matrix
    bm25: Matrix
    names: Matrix
    bounds: Values


@dataclass(frozen=True, slots=True)
class Task:
    """Scores, the right group of each query (-1: none), each document's group, and the half of each query."""

    scores: Scores
    gold: NDArray[np.int64]
    groups: NDArray[np.int64]
    odd: NDArray[np.bool_]

    def half(self, odd: bool) -> Task:
        rows = np.flatnonzero(self.odd == odd)
        scores = Scores(
            self.scores.cosine[rows],
            self.scores.bm25[rows],
            self.scores.names[rows],
            self.scores.bounds[rows],
        )
        return Task(scores, self.gold[rows], self.groups, self.odd[rows])

    def ranked(self, system: System) -> Matrix:
        """Scores of queries × groups: a group's best document."""
        scores = system(self.scores)
        if len(np.unique(self.groups)) == len(self.groups):
            return scores
        return np.stack([scores[:, self.groups == g].max(1) for g in range(self.groups.max() + 1)], 1)


def cosine_alone(scores: Scores) -> Matrix:
    return scores.cosine


def bm25_alone(scores: Scores) -> Matrix:
    return scores.bm25


def plain(scores: Scores) -> Matrix:
    """0.7 · cosine + 0.3 · BM25 / maximum, the scales unmatched."""
    most = np.maximum(scores.bm25.max(axis=1, keepdims=True), 1e-9)
    return np.asarray(0.7 * scores.cosine + 0.3 * scores.bm25 / most, np.float32)


def ours(scores: Scores) -> Matrix:
    """`workbench.text.fusion`."""
    rows = zip(scores.cosine, scores.bm25, scores.bounds, scores.names, strict=True)
    return np.stack([fusion.fuse(c, b, float(bound), names=names) for c, b, bound, names in rows])


SYSTEMS: Final[dict[str, System]] = {
    "BM25": bm25_alone,
    "cosine": cosine_alone,
    "0.7 cos + 0.3 BM25/max": plain,
    "workbench": ours,
}


def ranks(task: Task, scores: Matrix) -> Values:
    """Rank of the right group of each query from 0; among equals, their middle."""
    right = scores[np.arange(len(task.gold)), task.gold][:, None]
    return np.asarray((scores > right).sum(1) + ((scores == right).sum(1) - 1) / 2, np.float64)


def reciprocal(task: Task, scores: Matrix) -> Values:
    """Reciprocal rank of each query, 0 beyond the tenth."""
    found = ranks(task, scores)
    return np.where(found < 10, 1 / (found + 1), 0.0)


def first(task: Task, scores: Matrix) -> Values:
    return (ranks(task, scores) < 0.5).astype(np.float64)


def first_five(task: Task, scores: Matrix) -> Values:
    """Whether the right group is among the first five."""
    return (ranks(task, scores) < 5).astype(np.float64)


def load(data: Path) -> dict[str, Task]:
    """Read the sets and score every query against every document. Exits with a message if one is missing."""
    missing = [name for name in FILES if not (data / name).is_file()]
    if missing:
        sys.exit(
            f"{data} lacks {', '.join(missing)}. See the docstring of bench/embedding.py for the format."
        )
    functions, queries, intents = (_lines(data / name) for name in FILES)
    embedder, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if embedder is None:
        sys.exit("No embedding model: " + "; ".join(f"{o.source}: {o.reason}" for o in report.options))
    print(f"model {report.model} ({report.source})")
    embed = cache_embeddings(embedder, user_cache() / "embeddings")
    code = [row["code"] for row in functions]
    names = sorted({row["intent"] for row in intents} - {"oos"})
    known = [row for row in intents if row["split"] == "val"]
    unknown = [row["text"] for row in intents if row["split"] == "oos_val"]
    messages = [row["text"] for row in known] + unknown
    labels = [names.index(row["intent"]) for row in known] + [-1] * len(unknown)
    examples = [(text, group) for group, name in enumerate(names) for text in _examples(intents, name)]
    identifiers = _rare_identifiers(code)
    return {
        "code": _task(embed, [row["query"] for row in queries], [row["gold"] for row in queries], code),
        "identifier": _task(
            embed, [f"why does {name} fail" for name, _ in identifiers], [at for _, at in identifiers], code
        ),
        "name": _task(
            embed, messages[: len(known)], labels[: len(known)], [name.replace("_", " ") for name in names]
        ),
        "examples": _task(
            embed, messages, labels, [text for text, _ in examples], [group for _, group in examples]
        ),
    }


def _task(
    embed: CachedEmbedder,
    queries: Sequence[str],
    gold: Sequence[int],
    documents: Sequence[str],
    groups: Sequence[int] | None = None,
) -> Task:
    index = build_index(documents)
    cosine = embed.embed(queries) @ embed.embed(documents, progress=_progress).T
    scores = Scores(
        cosine=cosine,
        bm25=np.stack([index.scores(query) for query in queries]),
        names=np.stack([index.names(query) for query in queries]),
        bounds=np.array([index.upper_bound(query) for query in queries]),
    )
    return Task(
        scores=scores,
        gold=np.array(gold),
        groups=np.arange(len(documents)) if groups is None else np.array(groups),
        odd=np.array([_hash(query) % 2 == 1 for query in queries]),
    )


def _rare_identifiers(code: Sequence[str]) -> list[tuple[str, int]]:
    """Compound names that at most two functions hold, one a function, with the function's position."""
    words = [list(dict.fromkeys(_WORD.findall(text))) for text in code]
    spread = Counter(word for found in words for word in found)
    rare = [
        (min(names, key=_hash), position)
        for position, found in enumerate(words)
        if (names := [word for word in found[2:] if is_identifier(word) and spread[word] <= 2])
    ]
    return sorted(rare, key=lambda pair: (_hash(pair[0]), pair[1]))[:IDENTIFIERS]


def _examples(intents: Sequence[Any], name: str) -> list[str]:
    texts = {row["text"] for row in intents if row["split"] == "train" and row["intent"] == name}
    return sorted(texts, key=_hash)[:EXAMPLES]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def _lines(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _progress(done: int, total: int) -> None:
    print(f"\rembedded {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


COLUMNS: Final[dict[str, tuple[str, Callable[[Task, Matrix], Values]]]] = {
    "CoSQA MRR@10": ("code", reciprocal),
    "identifier MRR@10": ("identifier", reciprocal),
    "CLINC name R@1": ("name", first),
    "CLINC name R@5": ("name", first_five),
    "CLINC 5 examples R@1": ("examples", first),
}
OUT_OF_SCOPE: Final = "out of scope AUROC"


def measure(tasks: dict[str, Task], system: System) -> dict[str, Values]:
    """Return the value of each query by column; for the last, the best score of each message."""
    scores = {name: task.ranked(system) for name, task in tasks.items()}
    result = {}
    for column, (name, metric) in COLUMNS.items():
        known = np.flatnonzero(tasks[name].gold >= 0)
        result[column] = metric(tasks[name], scores[name])[known]
    result[OUT_OF_SCOPE] = scores["examples"].max(1).astype(np.float64)
    return result


def summary(column: str, values: Values, known: NDArray[np.bool_]) -> float:
    return auroc(values[known], values[~known]) if column == OUT_OF_SCOPE else float(values.mean())


def resampled(column: str, values: Sequence[Values], known: NDArray[np.bool_]) -> Values:
    """Return figures [systems, rounds] over bootstrap samples, the same sample for all systems."""
    random = np.random.default_rng(7)
    figures = np.empty((len(values), ROUNDS))
    for round_ in range(ROUNDS):
        if column == OUT_OF_SCOPE:
            inside, outside = (random.choice(np.flatnonzero(part), part.sum()) for part in (known, ~known))
            figures[:, round_] = [auroc(v[inside], v[outside]) for v in values]
        else:
            rows = random.integers(0, len(values[0]), len(values[0]))
            figures[:, round_] = [v[rows].mean() for v in values]
    return figures


def table(tasks: dict[str, Task]) -> None:
    """Print the figures with intervals, and for each column whether hybrid reaches the better single one."""
    known = tasks["examples"].gold >= 0
    found = {name: measure(tasks, system) for name, system in SYSTEMS.items()}
    for column in (*COLUMNS, OUT_OF_SCOPE):
        values = [found[name][column] for name in SYSTEMS]
        figures = [summary(column, value, known) for value in values]
        samples = resampled(column, values, known)
        print(f"\n{column} ({len(values[0])} queries)")
        for name, figure, sample in zip(SYSTEMS, figures, samples, strict=True):
            low, high = np.percentile(sample, [2.5, 97.5])
            print(f"  {name:24} {figure:.3f}  [{low:.3f}, {high:.3f}]")
        better = int(np.argmax(figures[:2]))
        low, high = np.percentile(samples[3] - samples[better], [2.5, 97.5])
        gain = figures[3] - figures[better]
        verdict = "yes" if gain >= 0 else "within noise" if high >= 0 else "NO"
        alone = list(SYSTEMS)[better]
        print(f"  at least the better single ({alone})? {verdict}: {gain:+.3f} [{low:+.3f}, {high:+.3f}]")


def fit(tasks: dict[str, Task]) -> None:
    """Print the figures of each parameter combination, for choosing on the half this is given."""
    known = tasks["examples"].gold >= 0
    columns = (*COLUMNS, OUT_OF_SCOPE)
    print("prominence, steepness, others: " + ", ".join(columns))
    for at, steep, others in itertools.product((0.25, 0.3, 0.35, 0.4), (3.0, 4.0, 6.0), (10, 20)):
        vars(fusion).update(STANDING_OUT=at, STEEPNESS=steep, OTHERS=others)
        found = measure(tasks, ours)
        figures = "  ".join(f"{summary(column, found[column], known):.3f}" for column in columns)
        print(f"{at:.2f} {steep:.0f} {others:2d}  {figures}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="directory with code/ and intents/")
    parser.add_argument("--fit", action="store_true", help="print the parameter grid on the fitting half")
    arguments = parser.parse_args()
    tasks = load(arguments.data)
    if arguments.fit:
        fit({name: task.half(odd=False) for name, task in tasks.items()})
    else:
        table({name: task.half(odd=True) for name, task in tasks.items()})


if __name__ == "__main__":
    main()
