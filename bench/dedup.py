"""How well two texts are judged unique, duplicate or conflict, beside the specification's own rule.

`python -m bench.dedup DATA [--sick FILE] [--mrpc FILE]` prints precision, recall and F1 with bootstrap
intervals on halves that nothing was fitted on, contradictions that would be merged, times, and a scan of
100,000 texts. The floor is [ralph]'s `check_deduplication`: a word Jaccard above 0.7, a conflict if one side
has a negation.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.conflicts import Embed, embedder, imported, measure
from bench.dedup_data import (
    CONFLICT,
    DUPLICATE,
    INFERENCE,
    RULES,
    RULES_HELD,
    UNDECIDED,
    Labelled,
    inference,
    mrpc,
    sick,
    written,
)
from workbench.comparison.candidates import DuplicateIndex, find_duplicates
from workbench.comparison.negation import read_scope
from workbench.comparison.similarity import normal_text, plain
from workbench.comparison.statements import statements
from workbench.comparison.verdicts import judge

ROUNDS: Final = 1000
SCANNED: Final = 100_000
_WORD = re.compile(r"[a-z0-9']+")
_NEGATIONS = frozenset(
    """
    not no never none nothing nobody neither nor without avoid don't doesn't didn't isn't aren't wasn't
    weren't can't cannot won't shouldn't mustn't couldn't wouldn't hasn't haven't hadn't
    """.split()
)

Verdicts = NDArray[np.str_]
System = Callable[[Sequence[Labelled]], Verdicts]


def main() -> None:
    """Print all tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with pairs/negation_nli.jsonl and rules/")
    parser.add_argument("--sick", type=Path, help="a split of SICK, tab-separated")
    parser.add_argument("--mrpc", type=Path, help="a split of MRPC, tab-separated")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="where vectors are kept")
    parser.add_argument("--no-embeddings", action="store_true", help="leave the embedding model out")
    parser.add_argument("--no-scan", action="store_true", help="leave the scan of 100,000 texts out")
    parser.add_argument("--index", action="store_true", help="time an index of 100,000 texts only")
    options = parser.parse_args()
    if options.index:
        incremental(options.data / "rules")
        return
    embed = None if options.no_embeddings else embedder(options.cache)
    systems: dict[str, System] = {"floor": floor, "workbench": ours}
    if embed is not None:
        systems["workbench, with meaning"] = lambda pairs: ours(pairs, cosines(pairs, embed))
    for title, pairs, gold in datasets(options):
        report(title, pairs, gold, systems)
    speed([pair for _, pairs, _ in datasets(options) for pair in pairs])
    if not options.no_scan:
        scan(options.data / "rules")


def datasets(options: argparse.Namespace) -> list[tuple[str, list[Labelled], str]]:
    """Return (title, pairs, the verdict that is measured) of each dataset."""
    hand = [pair for pair in (*written(), *written(RULES)) if pair.held]
    natural = [pair for pair in inference(options.data / INFERENCE) if pair.held]
    found = [
        ("Hand-written, test half: conflicts", hand, CONFLICT),
        ("Hand-written, test half: duplicates", hand, DUPLICATE),
        ("Pairs of rules, held out: conflicts", written(RULES_HELD), CONFLICT),
        ("Negated inference, test half: conflicts", natural, CONFLICT),
    ]
    if options.sick:
        found.append(("SICK: conflicts", sick(options.sick), CONFLICT))
    if options.mrpc:
        found.append(("MRPC: duplicates", mrpc(options.mrpc), DUPLICATE))
    return found


def floor(pairs: Sequence[Labelled]) -> Verdicts:
    """Return what the specification's rule says of each pair."""
    found = []
    for pair in pairs:
        left, right = ([*_WORD.findall(text.lower())] for text in (pair.left, pair.right))
        union = set(left) | set(right)
        near = bool(union) and len(set(left) & set(right)) / len(union) > 0.7
        denied = [not _NEGATIONS.isdisjoint(words) for words in (left, right)]
        found.append("unique" if not near else "conflict" if denied[0] != denied[1] else "duplicate")
    return np.asarray(found)


def ours(pairs: Sequence[Labelled], similar: Sequence[float | None] | None = None) -> Verdicts:
    known = [None] * len(pairs) if similar is None else similar
    return np.asarray(
        [
            judge(pair.left, pair.right, cosine).verdict.value
            for pair, cosine in zip(pairs, known, strict=True)
        ]
    )


def cosines(pairs: Sequence[Labelled], embed: Embed) -> list[float | None]:
    left, right = (np.asarray(embed([getattr(p, side) or "." for p in pairs])) for side in ("left", "right"))
    return [float(value) for value in (left * right).sum(axis=1)]


def report(title: str, pairs: Sequence[Labelled], gold: str, systems: dict[str, System]) -> None:
    """Print precision, recall and F1 of one verdict, with intervals and merged contradictions."""
    # Whether SICK's entailments are conflicts is decided, only whether they are paraphrases is not.
    scenes = gold == CONFLICT and any(pair.grade for pair in pairs)
    decided = [pair for pair in pairs if pair.gold != UNDECIDED or scenes]
    truth = np.asarray([pair.gold == gold for pair in decided])
    opposed = np.asarray([pair.gold == CONFLICT for pair in decided])
    print(f"\n### {title}: {len(decided)} pairs, {int(truth.sum())} of them\n")
    print("| system | precision | recall | F1 | contradictions merged |\n|---|---|---|---|---|")
    for name, system in systems.items():
        verdicts = system(decided)
        predicted = verdicts == gold
        figures = " | ".join(
            f"{value:.3f} [{low:.2f}, {high:.2f}]"
            for value, (low, high) in zip(measure(predicted, truth), intervals(predicted, truth), strict=True)
        )
        merged = f"{int((opposed & (verdicts == DUPLICATE)).sum())} of {int(opposed.sum())}"
        print(f"| {name} | {figures} | {merged if opposed.any() else ''} |", flush=True)


def intervals(predicted: NDArray[np.bool_], truth: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return 95 % bootstrap intervals of precision, recall and F1."""
    draws = np.random.default_rng(7).integers(0, len(truth), (ROUNDS, len(truth)))
    values = np.asarray([measure(predicted[draw], truth[draw]) for draw in draws])
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def speed(pairs: Sequence[Labelled]) -> None:
    """Print how long a pair takes whose texts were not seen before."""
    for kept in (plain, read_scope, statements, normal_text):
        kept.cache_clear()
    times = []
    for pair in pairs:
        started = time.perf_counter()
        judge(pair.left, pair.right)
        times.append((time.perf_counter() - started) * 1000)
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"\n{len(times):,} pairs: median {statistics.median(times):.2f} ms, p95 {p95:.2f} ms a pair")


def scan(folder: Path) -> None:
    """Print time and memory of finding all repetitions and contradictions among 100,000 texts."""
    texts = enlarged([rule.rule for rule in imported(folder)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    found = find_duplicates(texts)
    took = time.process_time() - started
    scale = 1 << 20 if sys.platform == "darwin" else 1024
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    conflicts = sum(pair.judgement.verdict.value == CONFLICT for pair in found)
    print(
        f"\n{len(texts):,} texts: {took:.0f} s of processor time, {len(found) - conflicts:,} repetitions, "
        f"{conflicts:,} contradictions; peak memory {before / scale:.0f} → {after / scale:.0f} MB"
    )


def incremental(folder: Path) -> None:
    """Print how long an index of 100,000 texts takes to build, and to answer for one new text."""
    texts = enlarged([rule.rule for rule in imported(folder)], SCANNED + 500)
    started = time.process_time()
    index = DuplicateIndex(texts[:SCANNED])
    built = time.process_time() - started
    times = []
    for text in texts[SCANNED:]:
        started = time.perf_counter()
        index.check(text)
        index.add(text)
        times.append((time.perf_counter() - started) * 1000)
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"index of {SCANNED:,} texts: {built:.0f} s of processor time; a new one is checked and added in "
        f"{statistics.median(times):.1f} ms (median), {p95:.1f} ms (p95)"
    )


def enlarged(texts: Sequence[str], size: int = SCANNED) -> list[str]:
    """Return that many texts: the given ones, then copies with two words in five from another."""
    draw = random.Random(7)
    words = [word for text in texts for word in text.split() if word.isalpha()]
    found = list(texts[:size])
    while len(found) < size:
        source = texts[len(found) % len(texts)].split()
        found.append(" ".join(draw.choice(words) if draw.random() < 0.4 else word for word in source[:60]))
    return found


if __name__ == "__main__":
    main()
