"""Are repeated and contradictory rules found, and nothing else? `python -m bench.conflicts DATA`.

DATA holds `pairs/negation_nli.jsonl` {Text, Hypothesis, gold_label} and `rules/`, a folder of rule files for
each repository. Pairs of coding rules written by hand are in tests/rules. Thresholds of the baselines are
fitted on the pairs whose hash is even, figures are for the odd ones, with 95 % bootstrap intervals.
`--sample N` prints pairs found among the rules, for judging by eye; `--speed` times 1,000 to 50,000 rules;
`--exhaustive N` compares all pairs of N rules to find what the search misses.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from store.embedding import EmbeddingSettings, resolve_embedder
from store.embedding_cache import cache_embeddings
from store.vectors import build_index
from workbench.comparison.negation import DENIALS, spell_out
from workbench.comparison.similarity import jaccard
from workbench.places import user_cache
from workbench.records.conflicts import Conflict, ConflictKind
from workbench.records.rules import Rule
from workbench.replay.statistics import paired_permutation
from workbench.rules.conflicts.compare import compare
from workbench.rules.conflicts.detection import find_conflicts, judge_pair
from workbench.rules.conflicts.readings import reaches_overlap, read_rule
from workbench.rules.formats.families import family_of
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import import_rules
from workbench.text.terms import count_terms

Flags = NDArray[np.bool_]
Values = NDArray[np.float64]

TESTS: Final = Path(__file__).parents[1] / "tests" / "rules"
ROUNDS: Final = 2000
SIZES: Final = (1000, 7000, 50_000)
REPEATS: Final = frozenset({"exact", "near", "subsumed"})


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts and what they are to each other: a conflict's kind, `none`, or a label of inference."""

    left: str
    right: str
    label: str

    @property
    def odd(self) -> bool:
        """Whether the pair is in the half that is reported."""
        return hashlib.sha256(f"{self.left}\0{self.right}".encode()).digest()[0] % 2 == 1


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="pairs of each kind to print")
    parser.add_argument("--speed", action="store_true", help="time large collections only")
    parser.add_argument("--exhaustive", type=int, default=0, help="rules to compare in all pairs")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    options = parser.parse_args()
    rules = imported(options.data / "rules")
    if options.speed:
        speed(rules)
        return
    if options.exhaustive:
        exhaustive(rules, options.exhaustive)
        return
    embed = embedder(options.cache)
    if not options.sample:
        hand = labelled(TESTS / "conflict_pairs.tsv")
        held = labelled(TESTS / "conflict_pairs_held.tsv")
        natural = inference(options.data / "pairs" / "negation_nli.jsonl")
        report("Pairs of coding rules, odd half", [p for p in hand if p.odd], hand, embed)
        report("Pairs of coding rules, held out", held, hand, embed)
        sure = [pair for pair in natural if pair.label != "not_entailment"]
        report("Natural inference, odd half", [p for p in sure if p.odd], sure, embed)
        merges(natural, embed)
    collection(rules, embed, options.sample)


def labelled(path: Path) -> list[Pair]:
    """Return the pairs of a file of (kind, left, right) in columns."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return [Pair(left, right, kind) for kind, left, right in rows]


def inference(path: Path) -> list[Pair]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Pair(row["Text"], row["Hypothesis"], row["gold_label"]) for row in rows]


def imported(folder: Path) -> list[Rule]:
    """Return the rules of all repositories below a folder as if they were one project's, ids distinct."""
    found: dict[str, Rule] = {}
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        sources = [source(repository, path) for path in sorted(repository.rglob("*")) if path.is_file()]
        result = import_rules(
            sources, lambda item: Path(item.location).read_bytes(), project_id=repository.name
        )
        for rule in result.rules:
            found.setdefault(rule.id, replace(rule, project_id="p"))
    return list(found.values())


def source(repository: Path, path: Path) -> RuleSource:
    name = path.relative_to(repository).as_posix()
    family = family_of(name)
    if family:
        return RuleSource(name, family[0].name, str(path), family[1])
    kinds = {".mdc": "cursor", ".md": "copilot" if name.endswith(".instructions.md") else "plain"}
    return RuleSource(name, kinds.get(path.suffix, "plain"), str(path))


Embed = Callable[[Sequence[str]], Any]


def embedder(cache: Path) -> Embed:
    """Return the embedder of the machine, its vectors kept in a folder."""
    found, resolved = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if found is None:
        sys.exit(f"no embedding model: {', '.join(resolved.degraded)}")
    return cache_embeddings(found, cache / "embeddings").embed


def judged(pairs: Sequence[Pair], cosines: Values) -> list[str]:
    found = []
    for pair, cosine in zip(pairs, cosines, strict=True):
        sides = (read_rule(Rule("a", "", pair.left)), read_rule(Rule("b", "", pair.right)))
        conflict = judge_pair(*sides, float(cosine))
        found.append(conflict.kind.value if conflict else "none")
    return found


def cosines_of(pairs: Sequence[Pair], embed: Embed) -> Values:
    left, right = (np.asarray(embed([getattr(p, side) for p in pairs])) for side in ("left", "right"))
    return np.asarray((left * right).sum(axis=1), np.float64)


def overlaps_of(pairs: Sequence[Pair]) -> Values:
    """Return the Jaccard index of each pair's terms."""
    sets = [(frozenset(count_terms(p.left)), frozenset(count_terms(p.right))) for p in pairs]
    return np.asarray([jaccard(*both) for both in sets])


def mismatched(pairs: Sequence[Pair]) -> Flags:
    """Return whether exactly one side of each pair holds a word of denial."""
    sides = [[not DENIALS.isdisjoint(spell_out(t).split()) for t in (p.left, p.right)] for p in pairs]
    return np.asarray([one != other for one, other in sides], bool)


def contradictory(pairs: Sequence[Pair]) -> Flags:
    return np.asarray([pair.label in ("contradictory", "contradiction") for pair in pairs], bool)


def fitted(scores: Values, allowed: Flags, gold: Flags) -> float:
    """Return the threshold of the best F1."""
    steps: list[float] = sorted(set(scores.round(2).tolist()))
    return max(steps, key=lambda t: measure((scores >= t) & allowed, gold)[2])


def measure(predicted: Flags, gold: Flags) -> tuple[float, float, float]:
    """Return precision, recall and F1."""
    hits = float((predicted & gold).sum())
    precision, recall = hits / max(predicted.sum(), 1), hits / max(gold.sum(), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def interval(predicted: Flags, gold: Flags) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of F1."""
    draws = np.random.default_rng(7).integers(0, len(gold), (ROUNDS, len(gold)))
    low, high = np.percentile([measure(predicted[d], gold[d])[2] for d in draws], [2.5, 97.5])
    return float(low), float(high)


def report(title: str, pairs: Sequence[Pair], every: Sequence[Pair], embed: Embed) -> None:
    """Print how contradictions are distinguished from everything else, beside baselines."""
    fit = [pair for pair in every if not pair.odd]
    fit_cosine, fit_overlap, fit_gold = cosines_of(fit, embed), overlaps_of(fit), contradictory(fit)
    cosine, overlap, gold = cosines_of(pairs, embed), overlaps_of(pairs), contradictory(pairs)
    predicted = judged(pairs, cosine)
    anything, denial = np.ones(len(fit), bool), mismatched(pairs)
    systems = {
        "denial on one side": denial,
        "cosine": cosine >= fitted(fit_cosine, anything, fit_gold),
        "Jaccard": overlap >= fitted(fit_overlap, anything, fit_gold),
        "denial on one side and cosine": denial & (cosine >= fitted(fit_cosine, mismatched(fit), fit_gold)),
        "workbench": np.asarray([kind == "contradictory" for kind in predicted], bool),
    }
    ours = systems["workbench"] == gold
    print(f"\n## {title}: {len(pairs)} pairs, {int(gold.sum())} contradictory\n")
    print(
        "| system | precision | recall | F1 | reported wrongly | p of accuracy against ours |\n"
        "|---|---|---|---|---|---|"
    )
    for name, flags in systems.items():
        precision, recall, f1 = measure(flags, gold)
        low, high = interval(flags, gold)
        p = paired_permutation(ours.astype(float), (flags == gold).astype(float))
        wrong = f"{int((flags & ~gold).sum())} of {int((~gold).sum())}"
        print(
            f"| {name} | {precision:.2f} | {recall:.2f} | {f1:.2f} [{low:.2f}, {high:.2f}] | {wrong} | "
            f"{'' if name == 'workbench' else f'{p:.4f}'} |"
        )
    table = Counter(zip((pair.label for pair in pairs), predicted, strict=True))
    print("\n" + "; ".join(f"{label} → {kind} {count}" for (label, kind), count in sorted(table.items())))


def merges(pairs: Sequence[Pair], embed: Embed) -> None:
    """Print how many pairs that say different things would be taken for repetitions."""
    cosine, overlap = cosines_of(pairs, embed), overlaps_of(pairs)
    ours = np.asarray([kind in REPEATS for kind in judged(pairs, cosine)], bool)
    print("\n## Taken for repetitions, all pairs of natural inference\n")
    print("| label | pairs | cosine ≥ 0.85 | Jaccard ≥ 0.8 | workbench |\n|---|---|---|---|---|")
    for label in ("contradiction", "neutral", "not_entailment", "entailment"):
        mine = np.asarray([pair.label == label for pair in pairs], bool)
        counts = [int((mine & flags).sum()) for flags in (cosine >= 0.85, overlap >= 0.8, ours)]
        print(f"| {label} | {int(mine.sum())} | " + " | ".join(map(str, counts)) + " |")


def collection(rules: Sequence[Rule], embed: Embed, sample: int) -> None:
    """Print what is found in real rule files, and a sample of it."""
    vectors = np.asarray(embed([rule.action_text[:600] or "." for rule in rules]), np.float32)
    conflicts = find_conflicts(rules, vectors, build_index(vectors, searches=len(vectors)))
    bare = find_conflicts(rules)
    kinds, without = (Counter(item.kind.value for item in some) for some in (conflicts, bare))
    actions = Counter((item.kind.value, item.suggestion.action.value) for item in conflicts)
    print(
        f"\n## {len(rules)} rules of real files\n\n| kind | by words and meaning | by words | suggestions |"
    )
    print("|---|---|---|---|")
    for kind in ConflictKind:
        proposed = ", ".join(
            f"{action} {n}" for (of, action), n in sorted(actions.items()) if of == kind.value
        )
        print(f"| {kind.value} | {kinds[kind.value]} | {without[kind.value]} | {proposed} |")
    by_id = {rule.id: rule for rule in rules}
    for kind in ConflictKind if sample else ():
        mine = [item for item in conflicts if item.kind is kind]
        for item in random.Random(7).sample(mine, min(sample, len(mine))):
            show(item, by_id)


def show(item: Conflict, rules: dict[str, Rule]) -> None:
    """Print a pair for a reader to judge."""
    print(f"\n{item.kind.value} {item.score}: {item.evidence[0].detail}")
    for identifier in (item.left, item.right):
        print(f"  - {' '.join(rules[identifier].rule.split())[:200]}")
    print(f"  {item.suggestion.action.value}: {item.suggestion.why}")


def exhaustive(rules: Sequence[Rule], size: int) -> None:
    """Print what comparing all pairs of some rules finds that the search misses, equal texts left out."""
    texts = {read_rule(rule).normal: rule for rule in reversed(rules)}
    some = random.Random(7).sample(sorted(texts.values(), key=lambda rule: rule.id), min(size, len(texts)))
    found = {(item.left, item.right) for item in find_conflicts(some)}
    readings = sorted((read_rule(rule) for rule in some), key=lambda reading: reading.rule.id)
    every: dict[tuple[str, str], str] = {}
    for left, right in combinations(readings, 2):
        finding = compare(left, right)
        if finding is not None and reaches_overlap(left.reach, right.reach):
            every[left.rule.id, right.rule.id] = finding.kind.value
    missed = Counter(kind for pair, kind in every.items() if pair not in found)
    pairs = len(readings) * (len(readings) - 1) // 2
    print(
        f"{pairs:,} pairs of {len(readings):,} rules: {dict(Counter(every.values()))}, missed {dict(missed)}"
    )


def speed(rules: Sequence[Rule]) -> None:
    """Print how long collections of several sizes take by words alone, and the memory of all of it."""
    print("| rules | CPU seconds | pairs found | 10 rules changed |\n|---|---|---|---|")
    for size in SIZES:
        many = enlarged(rules, size)
        clear()
        started = time.process_time()
        found = find_conflicts(many)
        whole = time.process_time() - started
        changed = {rule.id for rule in many[:10]}
        clear()
        started = time.process_time()
        find_conflicts(many, changed=changed)
        print(f"| {size} | {whole:.1f} | {len(found)} | {time.process_time() - started:.1f} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1024
    )
    print(f"\npeak memory of the process {peak:.0f} MB")


def clear() -> None:
    """Forget what was read before."""
    from workbench.comparison.similarity import normal_text, plain
    from workbench.comparison.statements import statements

    for kept in (plain, normal_text, statements):
        kept.cache_clear()


def enlarged(rules: Sequence[Rule], size: int) -> list[Rule]:
    """Return that many rules: the given ones, then copies with one word in five from another."""
    draw = random.Random(7)
    words = [word for rule in rules for word in rule.rule.split() if word.isalpha()]
    found = list(rules[:size])
    while len(found) < size:
        rule = rules[len(found) % len(rules)]
        text = "".join(
            draw.choice(words) if piece.isalpha() and draw.random() < 0.2 else piece
            for piece in split_words(rule.rule)
        )
        found.append(replace(rule, id=f"rule-{len(found):06}", rule=text, action_text=text))
    return found


def split_words(text: str) -> list[str]:
    """Return a text's words and what is between them."""
    import re

    return re.split(r"(\W+)", text)


if __name__ == "__main__":
    main()
