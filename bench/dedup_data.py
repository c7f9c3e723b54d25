"""The labelled pairs that deduplication is fitted on and measured with, read from their published formats.

Hand-written pairs are in `sample_data/dedup_benchmark` and `tests/rules`; SICK (Marelli et al. 2014), MRPC
(Dolan and Brockett 2005) and the negated inference pairs (Hossain et al. 2020) are given as files.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "sample_data" / "dedup_benchmark" / "pairs.tsv"
RULES = ROOT / "tests" / "rules" / "conflict_pairs.tsv"
RULES_HELD = ROOT / "tests" / "rules" / "conflict_pairs_held.tsv"
INFERENCE = Path("pairs") / "negation_nli.jsonl"

CONFLICT, DUPLICATE, OTHER = "conflict", "duplicate", "unique"
UNDECIDED = "undecided"
"""A pair that is measured for neither: one side says more than the other, or "does not follow"."""

_RULE_KINDS = {
    "exact": DUPLICATE,
    "near": DUPLICATE,
    "subsumed": UNDECIDED,
    "contradictory": CONFLICT,
    "none": OTHER,
}
_JUDGEMENTS = {"contradiction": CONFLICT, "entailment": OTHER, "neutral": OTHER, "not_entailment": UNDECIDED}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A pair and its gold verdict; `grade` is SICK's relatedness from 1 to 5, 0 elsewhere."""

    left: str
    right: str
    gold: str
    grade: float = 0.0

    @property
    def held(self) -> bool:
        """Whether the pair is in the half that nothing is fitted on, by a hash of its text."""
        digest = hashlib.sha256(f"{self.left}\0{self.right}".encode()).digest()
        return digest[0] % 2 == 1


def written(path: Path = WRITTEN) -> list[Labelled]:
    """Return the pairs of a file of (verdict or kind of conflict, left, right) in columns."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return [Labelled(left, right, _RULE_KINDS.get(kind, kind)) for kind, left, right in rows]


def inference(path: Path) -> list[Labelled]:
    """Return the pairs of natural language inference with negations."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Labelled(row["Text"], row["Hypothesis"], _JUDGEMENTS[row["gold_label"]]) for row in rows]


def sick(path: Path) -> list[Labelled]:
    """Return the pairs of a SICK file. An entailment of high relatedness is a paraphrase: a duplicate."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        _, left, right, grade, judgement = line.split("\t")[:5]
        relatedness = float(grade)
        alike = judgement == "ENTAILMENT" and relatedness >= 4.5
        gold = DUPLICATE if alike else _JUDGEMENTS[judgement.lower()]
        if gold == OTHER and judgement == "ENTAILMENT":
            gold = UNDECIDED
        found.append(Labelled(left, right, gold, relatedness))
    return found


def mrpc(path: Path) -> list[Labelled]:
    """Return the pairs of an MRPC file: a paraphrase is a duplicate."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8-sig").split("\n"))
    return [
        Labelled(row[3].strip(), row[4].strip(), DUPLICATE if row[0] == "1" else OTHER)
        for row in rows
        if len(row) >= 5 and row[0] in ("0", "1")
    ]
