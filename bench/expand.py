"""Where a name is defined, where it is used, what a file depends on: one call of `expand` against grep.

    python -m bench.expand --tasks DIR --repos DIR

`--tasks` is the folder `tasks` of sverklo-bench, or `benchmark/src/ground-truth/seed` of sverklo, which
has flask, too. The tasks and the scoring are theirs: a definition within three lines, uses within two,
imports and importers as sets; F1 by task and its mean. `--repos` holds checkouts named as the data sets are,
`sverklo` (v0.20.2), `requests` (v2.32.3), `flask` (3.0.3); those that are missing are left out, and so is
dead code, which no reader asks for by name. As there, the uses and importers of the Python data sets are what
grep finds below `src/`, comments included, and tokens are characters / 3.5. Answers are read from their text
alone. Beside it is `git grep`: a word's lines for names; for files a file's head and who names it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import workbench
from workbench.records.dataclass import dataclass

_DEFINING: Final = r"(?:function|class|interface|type|const|let|var|def|async def)\s+{name}\b"
_HEAD: Final = 4_000  # characters of a file that grep's reader reads
_BUDGETS: Final = {"P1": 300, "P2": 1_500, "P4": 1_200}
_NAMES: Final = {"P1": "defined", "P2": "used", "P4": "depends on"}


@dataclass(frozen=True, slots=True)
class Task:
    """A question with what is right: places of a definition or of uses, or imports and importers."""

    dataset: str
    category: str
    query: str
    places: tuple[tuple[str, int], ...] = ()
    imports: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader takes from what it read."""

    text: str
    calls: int
    places: tuple[tuple[str, int], ...] = ()
    imports: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()


def read_tasks(tasks: Path, repos: Path) -> Iterator[Task]:
    """Yield the tasks of the data sets that are there."""
    if (repos / "sverklo").is_dir():
        for line in (tasks / "sverklo.jsonl").read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            expected = one["expected"]
            places = tuple((each["file"], each["line"]) for each in expected.get("locations", ()))
            if one["category"] in _BUDGETS:
                sides = tuple(expected.get("imports", ())), tuple(expected.get("importers", ()))
                yield Task("sverklo", one["category"], one["query"], places, *sides)
    for name, generator in (("requests", "requests.gen.ts"), ("flask", "flask.gen.ts")):
        if (repos / name).is_dir() and (tasks / generator).is_file():
            yield from _generated(name, (tasks / generator).read_text(encoding="utf-8"), repos / name)


def _generated(dataset: str, source: str, root: Path) -> Iterator[Task]:
    """Yield what a generator makes: names and files are in its text, the rest is found by its patterns."""
    package = f"src/{dataset}"
    places = re.findall(r'\{ name: "(\w+)", file: "([^"]+)", line: (\d+) \}', source)
    for name, file, line in places:
        yield Task(dataset, "P1", name, ((file, int(line)),))
    field = r"|^\s*{name}\s*:" if dataset == "flask" else ""
    for name in re.findall(r'"(\w+)",', source.partition("P2_SYMBOLS")[2].partition("];")[0]):
        declared = re.compile(rf"^\s*(?:def|class)\s+{name}\b{field.format(name=name)}")
        yield Task(
            dataset,
            "P2",
            name,
            tuple(
                (path.relative_to(root).as_posix(), number)
                for path, number, line in _lines(root / package)
                if re.search(rf"\b{name}\b", line) and not declared.search(line)
            ),
        )
    for file in re.findall(r'"(src/[\w/.]+)",', source.partition("P4_FILES")[2].partition("];")[0]):
        folder = file.rpartition("/")[0]
        content = (root / file).read_text(encoding="utf-8")
        imports = {
            f"{folder}/{dotted[1:].replace('.', '/')}.py"
            for dotted in re.findall(r"^from\s+(\.[\w.]*)\s+import", content, re.M)
            if dotted[1:].replace(".", "/")
        }
        base = Path(file).stem
        naming = re.compile(rf"from \.\.?{base} import|from \.\.?[a-zA-Z_]+\.{base} import")
        importers = {
            path.relative_to(root).as_posix()
            for path, _, line in _lines(root / package)
            if naming.search(line)
        } - {file}
        yield Task(dataset, "P4", file, (), tuple(sorted(imports)), tuple(sorted(importers)))


def _lines(folder: Path) -> Iterator[tuple[Path, int, str]]:
    for path in sorted(folder.rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield path, number, line


def ask_expand(project: workbench.Project, task: Task) -> Reading:
    """Ask once and read the answer as a program that has only its text."""
    handle = {"P1": "{}", "P2": "{}:callers", "P4": "{}:links"}[task.category].format(task.query)
    try:
        text = project.expand(handle, budget=_BUDGETS[task.category]).text
    except workbench.WorkbenchError as error:
        return Reading(f"{error.message} {error.hint}", 1)
    if task.category == "P1":
        return Reading(text, 1, read_definition(text, task.query))
    if task.category == "P2":
        return Reading(text, 1, read_uses(text))
    return Reading(text, 1, (), *read_links(text))


def read_definition(text: str, name: str) -> tuple[tuple[str, int], ...]:
    """Return the first place that an answer names: in a body the first line with the name."""
    head, _, rest = text.partition("\n")
    if (match := re.match(r"(\S+?):(\d+)-?\d*\b", head)) is None:
        match = re.search(r"^\s*(\S+?):(\d+)-", rest, re.M)
        return () if match is None else ((match[1], int(match[2])),)
    for offset, line in enumerate(rest.splitlines()):
        if re.search(rf"\b{name}\b", line) and not line.lstrip().startswith(("//", "*", "/*")):
            return ((match[1], int(match[2]) + offset),)
    return ((match[1], int(match[2])),)


def read_uses(text: str) -> tuple[tuple[str, int], ...]:
    """Return the places of a list of uses: lines below their file, or numbers behind it."""
    found: list[tuple[str, int]] = []
    path = ""
    for line in text.splitlines()[1:]:
        if use := re.match(r"    (\d+): ", line):
            found.append((path, int(use[1])))
        elif numbers := re.match(r"  (?:in comments of )?(\S+): (.*)", line):
            if numbers[1] not in ("tests", "elsewhere"):
                found += [(numbers[1], int(one)) for one in re.findall(r"(?<![\w.])\d+(?![\w.])", numbers[2])]
        elif line.startswith("  "):
            path = line.strip()
    return tuple(found)


def read_links(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (imports, importers) of an answer."""
    sides: dict[str, list[str]] = {}
    side = ""
    for line in text.splitlines()[1:]:
        if line.startswith("    "):
            sides[side].append(line.strip())
        else:
            side = re.sub(r" [\d,]+:?$", "", line.strip())
            sides[side] = []
    return tuple(sides.get("imports", ())), tuple(sides.get("imported by", ()))


def ask_grep(root: Path, task: Task) -> Reading:
    """Answer with `git grep`, as an agent without an index does: every line that it prints is read."""
    if task.category == "P4":
        head = (root / task.query).read_text(encoding="utf-8")[:_HEAD] if (root / task.query).exists() else ""
        naming = _grep(root, "-l", "-w", Path(task.query).stem).splitlines()
        folder = task.query.rpartition("/")[0]
        imports = [
            f"{folder}/{one.lstrip('./').replace('.', '/')}.py"
            for one in re.findall(r"^from\s+(\.\w+)", head, re.M)
        ] + [(Path(folder) / one).as_posix() for one in re.findall(r"from ['\"]\./([\w./-]+)['\"]", head)]
        return Reading(
            head + "\n".join(naming), 2, (), tuple(imports), tuple(one for one in naming if one != task.query)
        )
    text = _grep(root, "-n", "-w", task.query)
    rows = [re.match(r"([^:]+):(\d+):(.*)", line) for line in text.splitlines()]
    hits = [(row[1], int(row[2]), row[3]) for row in rows if row]
    defining = re.compile(_DEFINING.format(name=re.escape(task.query)))
    if task.category == "P1":
        first = [(path, line) for path, line, content in hits if defining.search(content)]
        return Reading(text, 1, tuple(first[:1] or [(path, line) for path, line, _ in hits[:1]]))
    return Reading(
        text, 1, tuple((path, line) for path, line, content in hits if not defining.search(content))
    )


def _grep(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "grep", "-I", *words], cwd=root, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def f1_of(task: Task, read: Reading) -> float:
    """Return the F1 of an answer, as sverklo-bench scores it."""
    if task.category == "P1":
        return float(any(_same(place, right, 3) for place in read.places for right in task.places))
    if task.category == "P2":
        places = set(_plain_places(read.places))
        right = _plain_places(task.places)
        recall = _share(sum(any(_same(one, each, 2) for one in places) for each in right), len(right), 1.0)
        good = sum(any(_same(place, each, 2) for each in right) for place in places)
        return _harmonic(recall, _share(good, len(places), 0.0))
    sides = [_sets(read.imports, task.imports), _sets(read.importers, task.importers)]
    return _harmonic(sum(r for r, _ in sides) / 2, sum(p for _, p in sides) / 2)


def _sets(found: Sequence[str], right: Sequence[str]) -> tuple[float, float]:
    ours, theirs = set(map(_plain, found)), set(map(_plain, right))
    if not ours or not theirs:
        return (1.0, 1.0 if ours == theirs else 0.0) if not theirs else (0.0, 0.0)
    return len(ours & theirs) / len(theirs), len(ours & theirs) / len(ours)


def _plain(path: str) -> str:
    return re.sub(r"\.(ts|tsx|js|jsx|mjs|cjs)$", "", path.removeprefix("./"))


def _plain_places(places: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(_plain(path), line) for path, line in places]


def _same(one: tuple[str, int], other: tuple[str, int], lines: int) -> bool:
    return _plain(one[0]) == _plain(other[0]) and abs(one[1] - other[1]) <= lines


def _share(part: int, whole: int, otherwise: float) -> float:
    return part / whole if whole else otherwise


def _harmonic(recall: float, precision: float) -> float:
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def main(arguments: list[str] | None = None) -> int:
    """Measure and print tables in Markdown; checkouts are copied, so that nothing is written to them."""
    parser = argparse.ArgumentParser(prog="python -m bench.expand", description=__doc__)
    parser.add_argument("--tasks", type=Path, required=True, help="folder of the task files")
    parser.add_argument("--repos", type=Path, required=True, help="folder of checkouts by data set")
    parser.add_argument("--verbose", action="store_true", help="print each task that is not fully right")
    options = parser.parse_args(arguments)
    tasks = list(read_tasks(options.tasks, options.repos))
    rows: dict[tuple[str, str, str], list[tuple[float, float, int]]] = {}
    with tempfile.TemporaryDirectory() as made:
        for dataset in dict.fromkeys(task.dataset for task in tasks):
            root = Path(made) / dataset
            source = options.repos / dataset
            subprocess.run(
                ["git", "-c", "advice.detachedHead=false", "clone", "-q", source, root], check=True
            )
            shutil.rmtree(root / ".workbench", ignore_errors=True)
            with workbench.open_project(root) as project:
                for task in (task for task in tasks if task.dataset == dataset):
                    for name, read in (
                        ("expand", ask_expand(project, task)),
                        ("git grep", ask_grep(root, task)),
                    ):
                        row = (f1_of(task, read), len(read.text) / 3.5, read.calls)
                        for key in ((name, dataset, ""), (name, "", task.category), (name, "", "")):
                            rows.setdefault(key, []).append(row)
                        if options.verbose and name == "expand" and row[0] < 1:
                            print(f"{row[0]:.2f} {row[1]:5.0f} {task.dataset} {task.category} {task.query}")
    print("| reader | of | tasks | F1 | tokens | calls |\n|---|---|--:|--:|--:|--:|")
    for (name, dataset, category), found in sorted(rows.items()):
        f1, tokens, calls = (statistics.mean(column) for column in zip(*found, strict=True))
        of = dataset or _NAMES.get(category, "all")
        print(f"| {name} | {of} | {len(found)} | {f1:.2f} | {tokens:,.0f} | {calls:.1f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
