"""How the product grows with size: `make bench-scale`, `python -m bench.scale [PART …] [--sizes N …]`.

Each part of each size is measured in processes of its own and added to a file of results, one JSON object a
line; what is in the file is not measured again, so that a run can be ended and gone on with. `--page` draws
the tables and the curves of docs/scale.md from the file alone. A million records take half an hour a kind,
learnings an hour, 8 GB of memory and 12 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench.scale import levels, page, plain, records, repositories
from bench.scale.measuring import Values
from bench.scale.texts import draw, exact_neighbours

SIZES: Final = (10_000, 100_000, 1_000_000)
FILES: Final = (1_000, 10_000, 50_000)
COMMITS: Final = (1_000, 10_000, 100_000)
LEVELS: Final = (1_000, 10_000)
PARTS: Final = ("segments", "rules", "learnings", *plain.ALTERNATIVES, "files", "commits", "levels")
RESULTS: Final = Path(__file__).parent / "results.jsonl"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not in the results yet, and draw the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--sizes", nargs="+", type=int, help="records, files or commits (default: all three)")
    parser.add_argument("--clones", nargs="*", type=Path, default=[], help="repositories to plan in, too")
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="default: bench/scale/results.jsonl, of which docs/scale.md is drawn",
    )
    parser.add_argument("--work", type=Path, default=Path(".bench/scale"), help="texts, vectors and stores")
    parser.add_argument("--again", action="store_true", help="measure what is in the results, too")
    parser.add_argument("--page", action="store_true", help="only draw docs/scale.md, from these results")
    options = parser.parse_args(arguments)
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    options.work = options.work.absolute()
    if not options.page:
        os.nice(10)
        for part, size, measure in _measurements(options):
            if options.again or (part, size) not in _known(options.results):
                _keep(options.results, part, size, measure())
    if options.page or options.results == RESULTS:
        page.write(read_results(options.results))
    return 0


def _measurements(options: argparse.Namespace) -> Iterator[tuple[str, object, Callable[[], Values]]]:
    """Yield (part, size, what measures it), small sizes first."""
    work: Path = options.work
    stores = work / "stores"
    sizes = {"files": FILES, "commits": COMMITS, "levels": LEVELS}
    asked = options.parts or ([] if options.clones else PARTS)
    wanted = [(size, part) for part in asked for size in options.sizes or sizes.get(part, SIZES)]
    for size, part in sorted(wanted, key=lambda one: (one[0], PARTS.index(one[1]))):
        if part in sizes:
            measure = levels.measure if part == "levels" else partial(repositories.measure, part)
            yield part, size, partial(measure, size, stores)
        else:
            kind = records.measure if part in records.COMMANDS else plain.measure
            yield part, size, partial(_with_texts, kind, part, size, work)
    for source in options.clones:
        yield (
            "clone",
            source.parent.name if source.name == "repo" else source.name,
            partial(repositories.measure_clone, source, stores),
        )


def _with_texts(
    measure: Callable[[str, int, Path, Path], Values], part: str, size: int, work: Path
) -> Values:
    # Drawn apart: Linux counts the memory of a process into what it starts.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        texts = pool.submit(draw, work / "texts", size).result()
        pool.submit(exact_neighbours, texts, records.NEAREST).result()
    return measure(part, size, work / "stores", texts)


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return what was measured, in its order; nothing where there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _known(path: Path) -> set[tuple[str, object]]:
    return {(line["part"], line["size"]) for line in read_results(path)}


def _keep(path: Path, part: str, size: object, values: Values) -> None:
    if not values:
        return
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    about = {"part": part, "size": size, "at": datetime.now(UTC).date().isoformat(), "machine": machine}
    about["load"] = os.getloadavg()[1]
    with path.open("a", encoding="utf-8") as file:
        figures = {name: float(f"{value:.4g}") for name, value in values.items()}
        file.write(json.dumps({**about, "values": figures}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
