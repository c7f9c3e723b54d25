"""How well rules are matched and messages left alone: `python -m bench.rules_matching DATA [--fit]`.

DATA holds `intents/clinc150.jsonl` {text, intent, split} (CLINC150). A rule is the name of an intent and k of
its train messages; the held-back messages ask, against the rules of all intents. What is fitted (`--fit`
writes `workbench/models/data/rules-match-v1.json`) has seen the intents whose hash is even and the fit half
of the project's own benchmark; figures are of the messages of the other intents, with 95 % intervals.
`--attempts` prints what else was tried, on the fit half; `--bm25s` what that library's scores would bring in
place of the words' own, fitted alike.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from bench.rules_cases import (
    Case,
    Embedding,
    Intents,
    benchmark_case,
    embedding,
    held_back,
    make_case,
    read_intents,
    sampled,
)
from bench.rules_fit import background, fit_cases, hybrids, refit, write_model
from bench.rules_speed import imported
from bench.rules_systems import (
    CALIBRATED,
    HYBRID,
    SINGLE,
    SYSTEMS,
    THRESHOLD,
    Float64,
    answers,
    aurocs,
    f1,
    first,
    ours,
    part,
)
from store.lexical import K1, index_terms
from workbench.replay.datasets import Split
from workbench.replay.metrics import auroc
from workbench.replay.statistics import bootstrap, micro_f1_difference, micro_f1_interval, paired_permutation
from workbench.rules.matching.calibration import MatchModel, load_match_model
from workbench.rules.matching.lexical import _parts
from workbench.text.postings import Postings

BENCHMARK: Final = Path(__file__).resolve().parents[1] / "sample_data" / "rules_benchmark"
EXAMPLES: Final = (0, 1, 5)


WORD_VARIANTS: Final[dict[str, tuple[float, ...]]] = {
    "even": (1.4, 2.2),
    "steepness": (1.0, 2.0, 6.0),
    "others": (0.0, 1.0, 3.0),
    "pivot": (0.0, 0.5),
    "saturation": (0.0, 1.0),
}


def table(intents: Intents, embed: Embedding) -> None:
    """Print the figures for every number of examples."""
    test = set(intents.names(fit=False))
    for examples in EXAMPLES:
        case = held_back(intents, examples, embed)
        scores = {name: system(case) for name, system in SYSTEMS.items()}
        seen = np.array([not row.any() or case.rules[int(row.argmax())].id in test for row in case.right])
        print(f"\n## k = {examples}: {len(case.rules)} rules\n")
        print("messages of intents no parameter has seen, and all messages of no intent")
        _figures(*part(case, seen, scores))
        print("\nall messages (recall@1, recall@5)")
        for name, score in scores.items():
            print(f"  {name:28} {first(case, score, 1).mean():.3f}  {first(case, score, 5).mean():.3f}")


def _figures(case: Case, scores: dict[str, Float64]) -> None:
    inside, outside = int(case.inside.sum()), int((~case.inside).sum())
    figures, samples = aurocs(case, list(scores.values()))
    print(f"  {inside} with an intent, {outside} without" + " " * 4 + "recall@1, recall@5, AUROC, F1 at 0.5")
    for (name, found), area, sample in zip(scores.items(), figures, samples, strict=True):
        cells = [_cell(first(case, found, k)) for k in (1, 5)]
        low, high = np.percentile(sample, [2.5, 97.5])
        cells.append(f"{area:.3f} [{low:.3f}, {high:.3f}]")
        if name in CALIBRATED:
            counts = answers(case, found, THRESHOLD)
            low, high = micro_f1_interval(counts)
            alone = 1 - counts[~case.inside, 1].mean()
            cells.append(f"{f1(counts):.3f} [{low:.3f}, {high:.3f}], {alone:.0%} left alone")
        print(f"  {name:28} " + "  ".join(cells))
    names = list(scores)
    for single in SINGLE:
        for k in (1, 5):
            mine, theirs = first(case, scores[HYBRID], k), first(case, scores[single], k)
            p = paired_permutation(mine.tolist(), theirs.tolist())
            print(f"  hybrid - {single}: recall@{k} {mine.mean() - theirs.mean():+.3f}, p = {p:.4f}")
        at, other = names.index(HYBRID), names.index(single)
        low, high = np.percentile(samples[at] - samples[other], [2.5, 97.5])
        print(f"  hybrid - {single}: AUROC {figures[at] - figures[other]:+.3f} [{low:+.3f}, {high:+.3f}]")


def abstaining(intents: Intents, embed: Embedding) -> None:
    """Print what 0.5 means on rule sets of several sizes, where messages of other intents match none."""
    print("\n## Threshold 0.5 by size: rules of unseen intents, messages of those and of left-out intents\n")
    print(
        "  rules  k  precision  recall  left alone   right among answers of relevance 0.4-0.6, 0.6-0.8, 0.8-1"
    )
    names = intents.names(fit=False)
    for rules in (10, 30, 60):
        for examples in EXAMPLES:
            case = sampled(intents, names, rules, examples, 3, embed)
            scores = ours("hybrid")(case)
            right, wrong, missed = answers(case, scores, THRESHOLD).sum(axis=0).tolist()
            alone = float((scores[~case.inside].max(axis=1) < THRESHOLD).mean())
            precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
            print(
                f"  {rules:5}  {examples}  {precision:9.2f}  {recall:6.2f}"
                f"  {alone:10.2f}   {', '.join(_reliability(case, scores))}"
            )


def own_benchmark(embed: Embedding) -> None:
    """Print F1 on both halves of the project's benchmark at 0.5, every rule above it an answer."""
    print("\n## The project's own benchmark: micro F1 over all matched rules at relevance 0.5\n")
    for split in Split:
        case = benchmark_case(BENCHMARK, split, embed)
        counts = {}
        for name, mode in zip(CALIBRATED, ("dense", "sparse", "hybrid"), strict=True):
            scores = ours(mode)(case)  # type: ignore[arg-type]
            given = scores >= THRESHOLD
            counts[name] = np.stack(
                [(given & case.right).sum(1), (given & ~case.right).sum(1), (~given & case.right).sum(1)], 1
            )
            low, high = micro_f1_interval(counts[name])
            alone = float((~given[~case.inside].any(axis=1)).mean())
            area = auroc(scores[case.inside].max(axis=1), scores[~case.inside].max(axis=1))
            print(
                f"  {split}: {name:26} F1 {f1(counts[name]):.3f} [{low:.3f}, {high:.3f}], {alone:.0%} of "
                f"messages about nothing left alone, AUROC {area:.3f}, "
                f"recall@1 {first(case, scores, 1).mean():.3f}"
            )
        for name in CALIBRATED[:2]:
            gap = micro_f1_difference(counts[HYBRID], counts[name])
            interval = f"[{gap.low:+.3f}, {gap.high:+.3f}]"
            print(f"  {split}: hybrid - {name}: {gap.value:+.3f} {interval}, p = {gap.p:.4f}")


def other_rules(folder: Path, intents: Intents, embed: Embedding) -> None:
    """Print how often messages about something else match rules of real rule files, by how many."""
    print(f"\n## Rules of {folder.name}, asked with messages of intents: how many are left alone\n")
    rules = imported(folder)
    asked = [(text, "") for name in intents.names() for text in intents.messages[name]]
    random = np.random.default_rng(7)
    for count in (10, 100, 1_000, len(rules)):
        chosen = [rules[at] for at in np.sort(random.permutation(len(rules))[:count]).tolist()]
        case = make_case(chosen, asked, embed)
        alone = (ours("hybrid")(case).max(axis=1) < THRESHOLD).mean()
        words = (ours("sparse")(case).max(axis=1) < THRESHOLD).mean()
        print(f"  {count:6,} rules: {alone:.1%}, by words alone {words:.1%} of {len(asked):,}")


def attempts(intents: Intents, embed: Embedding) -> None:
    """Print variants of the method on the fit half: CLINC150 and the project's benchmark."""
    model = load_match_model()
    names = intents.names(fit=True)
    cases = [sampled(intents, names, 60, examples, 1, embed) for examples in EXAMPLES]
    own = benchmark_case(BENCHMARK, Split.FIT, embed)
    print("\n## Variants on the fit half: recall@1 and AUROC at k = 0, 1, 5 of 60 rules; own benchmark\n")
    variants: dict[str, tuple[MatchModel, tuple[float, float]]] = {"as shipped": (model, (0.7, 0.3))}
    for share in (0.0, 0.5, 1.0):
        variants[f"prototype {share}"] = (replace(model, prototype=share), (0.7, 0.3))
    for share in (0.1, 0.2, 0.4, 0.5):
        variants[f"weights {1 - share:.1f} + {share}"] = (model, (1 - share, share))
    for number, values in WORD_VARIANTS.items():
        for value in values:
            words = replace(model.words, **{number: value})
            variants[f"words: {number} {value}"] = (replace(model, words=words), (0.7, 0.3))
    for name, (variant, weights) in variants.items():
        cells = []
        for case in (*cases, own):
            indexed = _reindexed(case, variant)
            scores = hybrids(indexed, variant, "hybrid", weights)
            best = scores.max(axis=1)
            cells.append(
                f"{first(case, scores, 1).mean():.3f} {auroc(best[case.inside], best[~case.inside]):.3f}"
            )
        print(f"  {name:24} {'   '.join(cells)}")


BM25S_WORDS: Final = {"even": (0.6, 0.9, 1.2, 1.5, 1.8, 2.2), "others": (1.0, 2.0), "steepness": (2.0, 3.0)}


def with_bm25s(case: Case) -> Case:
    """Return the case with words weighed by bm25s, a rule's parts as its document."""
    index = index_terms([list(Counter(_parts(rule)).elements()) for rule in case.rules])
    held = np.diff(index.starts)
    idf = np.log1p((len(case.rules) - held + 0.5) / (held + 0.5))
    ones = np.ones(len(index.documents), np.int32)
    lengths = np.zeros(len(case.rules), np.int32)
    postings = Postings(index.terms, index.starts, index.documents, ones, lengths)
    weights = (index.values / np.repeat(idf, held) * (1 + K1)).astype(np.float32)
    words = replace(case.index.words, postings=postings, weights=weights)
    return replace(case, index=replace(case.index, words=words))


def instead_of_words(intents: Intents, embed: Embedding) -> None:
    """Print figures with bm25s's scores in place of the words' own, its numbers chosen on the fit half."""
    names = intents.names(fit=True)
    fit = [sampled(intents, names, 60, examples, 1, embed) for examples in EXAMPLES]
    fit = [with_bm25s(case) for case in (*fit, benchmark_case(BENCHMARK, Split.FIT, embed))]
    shipped, chosen, most = load_match_model(), load_match_model(), 0.0
    for values in product(*BM25S_WORDS.values()):
        words = replace(shipped.words, **dict(zip(BM25S_WORDS, values, strict=True)))
        model = replace(shipped, words=words)
        found = 0.0
        for case in fit:
            scores = hybrids(case, model, "hybrid")
            best = scores.max(axis=1)
            found += first(case, scores, 1).mean() + auroc(best[case.inside], best[~case.inside])
        if found > most:
            chosen, most = model, found
    sources = [[with_bm25s(case) for case in one] for one in fit_cases(intents, BENCHMARK, embed)]
    chosen = refit(chosen, sources)
    test = set(intents.names(fit=False))
    cases = {f"CLINC150, k = {examples}": held_back(intents, examples, embed) for examples in EXAMPLES}
    for name, case in cases.items():
        seen = np.array([not row.any() or case.rules[int(row.argmax())].id in test for row in case.right])
        cases[name], _ = part(case, seen, {})
    cases |= {f"own benchmark, {split}": benchmark_case(BENCHMARK, split, embed) for split in Split}
    print("\n## bm25s in place of the words: recall@1, AUROC, F1 at 0.5 of all answers\n")
    for name, case in cases.items():
        for mode in ("sparse", "hybrid"):
            ranks = []
            for label, one, model in (("words", case, shipped), ("bm25s", with_bm25s(case), chosen)):
                scores = ours(mode, model)(one)
                best, given = scores.max(axis=1), scores >= THRESHOLD
                sets = (given & case.right, given & ~case.right, ~given & case.right)
                counts = np.stack([found.sum(1) for found in sets], 1)
                ranks.append(first(case, scores, 1))
                area = auroc(best[case.inside], best[~case.inside])
                print(f"  {name:24} {mode:6} {label}  {ranks[-1].mean():.3f}  {area:.3f}  {f1(counts):.3f}")
            p = paired_permutation(ranks[0].tolist(), ranks[1].tolist())
            ahead = ranks[0].mean() - ranks[1].mean()
            print(f"  {'':24} {mode:6} words - bm25s: recall@1 {ahead:+.3f}, p = {p:.3f}")


def _reindexed(case: Case, model: MatchModel) -> Case:
    """Return the case with words weighed as a variant of the model has it."""
    from workbench.rules.matching.lexical import index_words

    index = replace(case.index, words=index_words(case.rules, model.words))
    return Case(case.rules, index, case.messages, case.vectors, case.right)


def _reliability(case: Case, scores: Float64) -> list[str]:
    best = scores.argmax(axis=1)
    top = scores.max(axis=1)
    inside = case.inside
    # As in fitting: three messages in four are about a rule.
    weight = np.where(inside, 0.75 / max(inside.sum(), 1), 0.25 / max((~inside).sum(), 1))
    right = case.right[np.arange(len(best)), best]
    cells = []
    for low, high in ((0.4, 0.6), (0.6, 0.8), (0.8, 1.01)):
        here = (top >= low) & (top < high)
        total = weight[here].sum()
        cells.append(f"{(weight * right)[here].sum() / total:.2f}" if total else "-")
    return cells


def _cell(values: Float64) -> str:
    low, high = bootstrap(values.tolist())
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--fit", action="store_true", help="fit the calibration and write it, then measure")
    parser.add_argument("--attempts", action="store_true", help="print variants on the fit half instead")
    parser.add_argument("--bm25s", action="store_true", help="measure bm25s in place of the words instead")
    parser.add_argument("--rules", type=Path, metavar="DIR", help="rule files that no message is about")
    options = parser.parse_args()
    intents, embed = read_intents(options.data), embedding()
    print(f"embedding model {embed.model}")
    if options.attempts:
        attempts(intents, embed)
        return
    if options.bm25s:
        instead_of_words(intents, embed)
        return
    if options.fit:
        sources = fit_cases(intents, BENCHMARK if BENCHMARK.is_dir() else None, embed)
        model = load_match_model()
        name = embed.model.partition("@")[0]
        unrelated = round(background(sampled(intents, intents.names(fit=True), 60, 0, 1, embed)), 3)
        model = replace(model, backgrounds={**model.backgrounds, name: unrelated})
        trained = [
            f"CLINC150: {len(intents.names(fit=True))} intents",
            *(["sample_data/rules_benchmark: fit half"] if len(sources) > 1 else []),
        ]
        print(f"wrote {write_model(refit(model, sources), embed.model, trained)}")
        load_match_model.cache_clear()
    table(intents, embed)
    abstaining(intents, embed)
    if BENCHMARK.is_dir():
        own_benchmark(embed)
    if options.rules is not None:
        other_rules(options.rules, intents, embed)


if __name__ == "__main__":
    main()
