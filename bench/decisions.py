"""How many of the decisions that agents state are found: `python -m bench.decisions DATA [--show]`.

`bench/data/decisions.jsonl` has 911 iterations of recorded sessions that were read by eye, as places in
their texts: of each decision the sentences that state it, and sentences that may be one (`open`), which
count neither way. Five parts (`half`), each with sessions of its own: the forms were chosen on `fit`, `fit-2`
and `test-2`; `test` and `test-3` were labelled after them. DATA holds clones (`owner+name`, branch
`entire/checkpoints/v1`) and, as `sessions`, a directory of transcripts.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from workbench.memory.extraction.decisions import find_decisions
from workbench.memory.transcripts import TranscriptReading, read_iterations
from workbench.records.iterations import DecisionEntry

LABELS: Final = Path(__file__).parent / "data" / "decisions.jsonl"


def main(arguments: list[str] | None = None) -> int:
    """Print recall and precision of each part, by repository."""
    parser = argparse.ArgumentParser(prog="python -m bench.decisions", description=__doc__)
    parser.add_argument("data", type=Path, metavar="DATA", help="clones with recorded sessions")
    parser.add_argument("--show", action="store_true", help="print what is missed and what is no decision")
    options = parser.parse_args(arguments)
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for label in map(json.loads, LABELS.read_text(encoding="utf-8").splitlines()):
        texts = iteration_texts(options.data, label)
        for name in (label["from"], "all"):
            counts[label["half"], name]["absent" if texts is None else "iterations"] += 1
            if texts is not None:
                counts[label["half"], name] += judge(texts, label, show=options.show and name == "all")
    columns = ("iterations", "decisions", "recall", "precision", "reasons kept")
    print(f"| part | from | {' | '.join(columns)} |\n|---|---|{'--:|' * len(columns)}")
    for (half, name), count in sorted(counts.items()):
        rates = (("hits", "decisions"), ("right", "judged"), ("reasons", "reasoned"))
        shares = (f"{count[part] / count[whole]:.3f}" if count[whole] else "" for part, whole in rates)
        print(f"| {half} | {name} | {count['iterations']} | {count['decisions']} | {' | '.join(shares)} |")
        if count["absent"]:
            print(f"\n{count['absent']} iterations of {name} are not in DATA\n", file=sys.stderr)
    return 0


def iteration_texts(data: Path, label: Mapping[str, Any]) -> Sequence[str] | None:
    """Return an agent's texts in a labelled iteration, None where its session is not in DATA."""
    place = data / label["from"]
    if (place / ".git").exists() or (place / "HEAD").exists():
        git = ["git", "-C", str(place), "cat-file", "blob", label["at"]]
        content = subprocess.run(git, capture_output=True, check=False).stdout
    else:
        path = place / label["at"]
        content = path.read_bytes() if path.is_file() else b""
    for raw in read_iterations(io.BytesIO(content), TranscriptReading()):
        if (raw.session, raw.anchor) == (label["session"], label["anchor"]):
            return raw.texts
    return None


def judge(texts: Sequence[str], label: Mapping[str, Any], *, show: bool) -> Counter[str]:
    """Count what of an iteration's labelled decisions is found, and what is found that is none."""

    def sentences(places: Sequence[Sequence[int]]) -> list[str]:
        return [_words(texts[text][at : at + length]) for text, at, length in places]

    decisions = [sentences(decision["said"]) for decision in label["decisions"]]
    unsure = sentences(label["open"])
    count = Counter(decisions=len(decisions))
    entries: dict[int, list[DecisionEntry]] = defaultdict(list)
    for entry in find_decisions(texts):
        stated = [at for at, said in enumerate(decisions) if _is_one_of(entry, said)]
        for at in stated:
            entries[at].append(entry)
        if stated or not _is_one_of(entry, unsure):
            count.update(judged=1, right=bool(stated))
            if show and not stated:
                print(f"none: {entry.description}")
    for at, decision in enumerate(label["decisions"]):
        count["hits"] += bool(entries[at])
        if decision.get("reason") and entries[at]:
            count.update(reasoned=1, reasons=any(entry.rationale for entry in entries[at]))
        if show and not entries[at]:
            text, start, length = decision["said"][0]
            print(f"missed: {texts[text][start : start + length]}")
    return count


def _is_one_of(entry: DecisionEntry, said: Sequence[str]) -> bool:
    words = _words(entry.description)
    return any(words in sentence or (len(sentence) > 15 and sentence in words) for sentence in said)


def _words(text: str) -> str:
    return re.sub(r"\W+", " ", text.replace("\u2019", "'")).casefold().strip()


if __name__ == "__main__":
    sys.exit(main())
