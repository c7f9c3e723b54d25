"""Replays of several repositories as one table: `workbench --replay REPO --json > REPO.json`, then this.

python -m bench.replays httpx.json datasette.json …
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.records.replay import BASELINE, ReplayRun, SystemScore, run_from_json

OURS = "hybrid"


def table(runs: Mapping[str, ReplayRun]) -> str:
    """Return a Markdown table: P@10 and nDCG@10 of every system, and hybrid's gap to the baseline."""
    systems = [score.system for score in next(iter(runs.values())).systems if "@" not in score.system]
    lines = [
        "| repository | tasks | " + " | ".join(systems) + " | hybrid − baseline nDCG@10 |",
        "|---" * (len(systems) + 3) + "|",
    ]
    for name, run in runs.items():
        scores = {score.system: score for score in run.systems}
        cells = [
            f"{scores[system].precision_at_10:.3f} / {scores[system].ndcg_at_10:.3f}" for system in systems
        ]
        lines.append(f"| {name} | {scores[OURS].tasks} | {' | '.join(cells)} | {_gap(scores[OURS])} |")
    return "\n".join(lines)


def packs(runs: Mapping[str, ReplayRun]) -> str:
    """Return a Markdown table of what packs held, for runs that made some; '' if none did."""
    lines = []
    for name, run in runs.items():
        for score in run.systems:
            if score.packed_recall is None or score.context_tokens_median is None:
                continue
            lines.append(
                f"| {name} | {score.system} | {score.packed_recall:.3f} | {score.line_coverage or 0:.3f} "
                f"| {score.first_pass_success or 0:.3f} | {score.context_tokens_median:,.0f} |"
            )
    head = "| repository | system | files shown | changed lines | first pass | median tokens |"
    return "\n".join([head, "|---" * 6 + "|", *lines]) if lines else ""


def _gap(score: SystemScore) -> str:
    gap = score.gaps.get("ndcg_at_10")
    return "" if gap is None else f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"


def verdicts(runs: Mapping[str, ReplayRun]) -> str:
    """Say how far hybrid is above the baseline at least, and where another system is above it."""
    gains, losses = [], []
    for name, run in runs.items():
        scores = {score.system: score for score in run.systems}
        ours = scores[OURS]
        if BASELINE in scores:
            base = scores[BASELINE]
            gains.append(
                (
                    ours.precision_at_10 / max(base.precision_at_10, 1e-9) - 1,
                    ours.ndcg_at_10 / max(base.ndcg_at_10, 1e-9) - 1,
                )
            )
        losses += [
            f"{name}: {system} {score.ndcg_at_10:.3f} > {ours.ndcg_at_10:.3f}"
            for system, score in scores.items()
            if score.ndcg_at_10 > ours.ndcg_at_10
        ]
    least = [f"at least {min(column):+.0%}" for column in zip(*gains, strict=True)]
    above = "; ".join(losses) or "nowhere"
    return f"hybrid over baseline: P@10 {least[0]}, nDCG@10 {least[1]}. Above hybrid in nDCG@10: {above}."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="files made by workbench --replay REPO --json")
    given = parser.parse_args(arguments)
    runs = {path.stem: run_from_json(json.loads(path.read_text(encoding="utf-8"))) for path in given.runs}
    print("\n\n".join(part for part in (table(runs), verdicts(runs), packs(runs)) if part))


if __name__ == "__main__":
    main()
