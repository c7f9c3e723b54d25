"""Two checkouts measured in turns: `python -m bench.paired --before DIR --after DIR [--rounds N] BENCH ...`.

Runs `python -m BENCH ...` in each of them (`.venv/bin/python` of a checkout if it has one), one after the
other, so that what else the machine does falls on both. Lines that differ in their figures alone are one
series; prints for each figure the medians of both and their ratio, below 1 where it became smaller.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

FIGURE: Final = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")

Series = Mapping[tuple[str, int, int], Sequence[float]]
"""Figures by line (its text without them, how many such came before) and by place in it, a round each."""


def main(arguments: list[str] | None = None) -> int:
    """Run a bench in two checkouts in turns, and print what changed."""
    parser = argparse.ArgumentParser(prog="python -m bench.paired", description=__doc__)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("bench", help="a module, such as bench.startup")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    outputs: dict[Path, list[str]] = {options.before: [], options.after: []}
    for turn in range(options.rounds):
        for place, output in outputs.items():
            print(f"\rround {turn + 1} of {options.rounds}: {place.name}", end="", file=sys.stderr)
            output.append(run(place.absolute(), options.bench, options.rest))
    print(file=sys.stderr)
    print("\n".join(table(series(outputs[options.before]), series(outputs[options.after]))))
    return 0


def run(place: Path, bench: str, rest: Sequence[str]) -> str:
    """Return what a bench of a checkout prints. Raises: subprocess.CalledProcessError."""
    python = place / ".venv" / "bin" / "python"
    command = [str(python) if python.exists() else sys.executable, "-m", bench, *rest]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def series(outputs: Sequence[str]) -> Series:
    """Return the figures of several runs of one bench."""
    found: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for output in outputs:
        seen: Counter[str] = Counter()
        for line in output.splitlines():
            label = FIGURE.sub("#", line).strip()
            for at, figure in enumerate(FIGURE.findall(line)):
                found[label, seen[label], at].append(float(figure.replace(",", "")))
            seen[label] += 1
    return found


def table(before: Series, after: Series) -> list[str]:
    """Return lines of medians and ratios, of the figures that both have."""
    lines = [f"{'before':>12}  {'after':>12}  {'ratio':>6}  figure"]
    for key, old in before.items():
        if key not in after:
            continue
        label, _, at = key
        first, second = statistics.median(old), statistics.median(after[key])
        ratio = f"{second / first:.3f}" if first else "-"
        lines.append(f"{first:>12,.4g}  {second:>12,.4g}  {ratio:>6}  {label} [{at + 1}]")
    return lines


if __name__ == "__main__":
    sys.exit(main())
