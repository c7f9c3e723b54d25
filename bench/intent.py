"""What kind of work a task is: `python -m bench.intent REPOS [--issues FILE] [--fit OUT]`.

REPOS holds clones named `<owner>+<name>`. A commit whose head declares its type (`fix(auth): …`) is a text,
the head without that declaration, with a known kind; FILE adds titles of issues as JSON lines, `{text, kind,
repository}`. Weights are fitted on the repositories of FIT and, of the issues, on those whose repository's
name has an even hash; everything else is held out. `--fit` writes new weights, otherwise those of the program
are measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.plan.intent import BIAS, KindModel, classify, kind_features, load_kinds, probabilities
from workbench.records.plan import QueryType
from workbench.replay.statistics import bootstrap
from workbench.text.terms import split_head, stem

FIT = "vitejs+vite vuejs+core commitizen-tools+commitizen goreleaser+goreleaser orhun+git-cliff".split()
KINDS = (QueryType.BUGFIX, QueryType.FEATURE, QueryType.REFACTOR, QueryType.GENERAL)
TYPES = {
    **dict.fromkeys(("fix", "bugfix", "bug"), QueryType.BUGFIX),
    **dict.fromkeys(("feat", "feature"), QueryType.FEATURE),
    **dict.fromkeys(("refactor", "perf", "style"), QueryType.REFACTOR),
    **dict.fromkeys(("docs", "test", "tests", "chore", "ci", "build"), QueryType.GENERAL),
}
ISSUES = "titles of issues"
PRIOR = {QueryType.BUGFIX: 0.4, QueryType.FEATURE: 0.3, QueryType.REFACTOR: 0.2, QueryType.GENERAL: 0.1}
"""How often each kind is assumed to be asked for; documents, tests and builds are rarely tasks."""
MOST = 2_500  # newest commits with a type, of each repository
CUES = Path(__file__).parent / "intent-cues.json"
L2 = 4.0
TRUST = 0.4  # in the weights of the cues
LEAST_WEIGHT = 0.08
LEAST_TEXTS = 50  # of a repository that is measured
SPREAD = 4  # repositories a feature has to occur in
TIMES = 8  # commits or issues it has to occur in
_TYPED = re.compile(
    rf"^(?P<type>{'|'.join(TYPES)})(?:\((?P<scope>[^()]*)\))?!?:\s+(?P<text>.+)$", re.IGNORECASE
)
_CLOSING = re.compile(
    r"[\s,;(]*(?:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see):?)?\s*(?:[\w./-]+)?#\d+\)?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Example:
    """A text whose kind is known."""

    text: str
    kind: QueryType
    repository: str


def commits(repository: Path) -> Iterator[Example]:
    """Yield the newest commits with a type, each head once, without type, scope and closing references."""
    clone = repository / "repo" if (repository / "repo").is_dir() else repository
    git = ["git", "-C", str(clone), "log", "--no-merges", "--format=%s"]
    lines = (
        subprocess.run(git, capture_output=True, check=True).stdout.decode("utf-8", "replace").splitlines()
    )
    seen: set[str] = set()
    for line in lines:
        match = _TYPED.match(line.strip())
        if match is None or (match["scope"] or "").startswith("deps"):
            continue
        text = match["text"].strip()
        while (shorter := _CLOSING.sub("", text)) != text:
            text = shorter
        if text and text.lower() not in seen:
            seen.add(text.lower())
            yield Example(text, TYPES[match["type"].lower()], repository.name)
        if len(seen) >= MOST:
            return


def issues(path: Path) -> list[Example]:
    """Return the titles of a file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Example(row["text"], QueryType(row["kind"]), row["repository"]) for row in rows]


def is_fitted(example: Example) -> bool:
    """Whether an issue belongs to the half that weights are fitted on."""
    return sha256(example.repository.encode()).digest()[0] % 2 == 0


def prior_means() -> dict[str, tuple[float, ...]]:
    """Return what a feature weighs before anything is seen, from cues by hand."""
    means: dict[str, list[float]] = {}
    for kind, words in json.loads(CUES.read_text(encoding="utf-8"))["cues"].items():
        if kind in KINDS:
            for word, weight in words.items():
                name = word if " " in word else f"~{stem(word)}"
                means.setdefault(name, [0.0] * len(KINDS))[KINDS.index(QueryType(kind))] = TRUST * weight
    return {name: tuple(values) for name, values in means.items()}


def fit(examples: Sequence[Example], base: KindModel, l2: float = L2) -> KindModel:
    """Return a model with weights of the greatest posterior; every repository weighs the same.

    Their prior is normal around the cues that were set by hand, around 0 for all other features.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    cues = prior_means()
    rows = [kind_features(example.text) for example in examples]
    where: dict[str, set[str]] = {}
    times: Counter[str] = Counter()
    for example, row in zip(examples, rows, strict=True):
        for name in row:
            where.setdefault(name, set()).add(example.repository)
        times.update(row)
    common = (name for name in where if len(where[name]) >= SPREAD and times[name] >= TIMES)
    names = sorted({*common, *cues})
    columns = {name: column for column, name in enumerate(names)}
    cells = [
        (number, columns[name], value)
        for number, row in enumerate(rows)
        for name, value in row.items()
        if name in columns
    ]
    down, across, values = zip(*cells, strict=True)
    matrix = csr_matrix((values, (down, across)), shape=(len(rows), len(names)))
    truth, share = targets(examples)
    means = np.asarray([cues.get(name, (0.0,) * len(KINDS)) for name in names])
    penalty = np.full((len(names), 1), l2)
    penalty[columns[BIAS]] = 0

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(len(names), len(KINDS))
        scores = matrix @ weights
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        value = -float((share[:, None] * truth * np.log(chances + 1e-12)).sum())
        value += float((penalty * (weights - means) ** 2).sum()) / 2
        slope = matrix.T @ (share[:, None] * (chances - truth)) + penalty * (weights - means)
        return value, slope.ravel()

    options = {"maxiter": 300}
    found = minimize(loss, means.ravel(), jac=True, method="L-BFGS-B", options=options)
    weights = found.x.reshape(len(names), len(KINDS))
    fitted = {name: tuple(row) for name, row in zip(names, weights.tolist(), strict=True)}
    return replace(base, kinds=KINDS, weights=fitted)


def targets(examples: Sequence[Example]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the truth, one-hot float64 [n, kinds], and what each example weighs, float64 [n] of mean 1."""
    truth = np.zeros((len(examples), len(KINDS)))
    truth[np.arange(len(examples)), [KINDS.index(example.kind) for example in examples]] = 1
    groups = [(one.repository if one.repository in FIT else ISSUES, one.kind) for one in examples]
    sizes = Counter(groups)
    share = np.asarray([PRIOR[kind] / sizes[source, kind] for source, kind in groups])
    return truth, share * len(examples) / share.sum()


def cooled(examples: Sequence[Example], base: KindModel) -> KindModel:
    """Return a fitted model whose probabilities hold for repositories that were not fitted on.

    Each repository is classified by a model of the others; what all weights are divided by is the temperature
    under which these probabilities are likeliest.
    """
    from scipy.optimize import minimize_scalar

    scores: list[list[float]] = []
    left: list[Example] = []
    for name in FIT:
        model = fit([example for example in examples if example.repository != name], base)
        held = [example for example in examples if example.repository == name]
        scores += [np.log(probabilities(model, kind_features(one.text))).tolist() for one in held]
        left += held
    logits = np.asarray(scores)
    truth, share = targets(left)

    def loss(temperature: float) -> float:
        cold = logits / temperature
        logs = cold - np.log(np.exp(cold - cold.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
        logs -= cold.max(axis=1, keepdims=True)
        return -float((share[:, None] * truth * logs).sum())

    temperature = float(minimize_scalar(loss, bounds=(0.3, 5.0), method="bounded").x)
    model = fit(examples, base)
    weights = {name: [value / temperature for value in values] for name, values in model.weights.items()}
    return replace(model, weights=_rounded(weights))


def _rounded(weights: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
    """Return weights to two places, without features that decide nothing."""
    return {
        name: tuple(round(value, 2) for value in values)
        for name, values in weights.items()
        if name == BIAS or max(map(abs, values)) >= LEAST_WEIGHT
    }


def by_hand(text: str) -> QueryType:
    """Return the kind whose cues, weighted by hand, weigh most, the peer that the model is compared with."""
    head, body = split_head(text)
    cues = _hand()
    scores = dict.fromkeys(cues, 0.0)
    for part, weight in ((head, 1.0), (body, 0.25)):
        words = [stem(word) for word in re.findall(r"[a-z0-9]+", part.lower())]
        seen = {*words, *(f"{first} {second}" for first, second in pairwise(words))}
        for kind, table in cues.items():
            scores[kind] += weight * sum(value for cue, value in table.items() if cue in seen)
            if part is head and words:
                scores[kind] += table.get(words[0], 0.0)
    best = min(scores, key=lambda kind: (-scores[kind], kind.value))
    return best if scores[best] >= 1.0 else QueryType.UNKNOWN


@cache
def _hand() -> dict[QueryType, dict[str, float]]:
    found = json.loads(CUES.read_text(encoding="utf-8"))["cues"]
    return {
        QueryType(kind): {stem(word): weight for word, weight in cues.items()} for kind, cues in found.items()
    }


SYSTEMS: dict[str, Callable[[str], QueryType]] = {
    "cues by hand": by_hand,
    "linear model": lambda text: classify(text)[0],
}


def macro_f1(pairs: Sequence[tuple[QueryType, QueryType]]) -> float:
    """Return the mean F1 over the kinds that are among the truths, of (truth, answer)."""
    found = []
    for kind in sorted({truth for truth, _ in pairs}):
        hits = sum(truth is kind and answer is kind for truth, answer in pairs)
        wrong = sum((truth is kind) != (answer is kind) for truth, answer in pairs)
        found.append(2 * hits / (2 * hits + wrong))
    return float(np.mean(found))


def interval(pairs: Sequence[tuple[QueryType, QueryType]], rounds: int = 500) -> tuple[float, float]:
    """Return a 95 % percentile bootstrap interval of the macro F1, seeded."""
    draw = np.random.default_rng(7)
    found = [
        macro_f1([pairs[place] for place in draw.integers(len(pairs), size=len(pairs)).tolist()])
        for _ in range(rounds)
    ]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def table(held_out: Mapping[str, Sequence[Example]]) -> str:
    """Return a table in Markdown: accuracy and macro F1 of both systems, with intervals, by source."""
    lines = ["| texts | n | system | accuracy | macro F1 |", "|---|--:|---|--:|--:|"]
    for name, examples in held_out.items():
        for system, answer in SYSTEMS.items():
            pairs = [(example.kind, answer(example.text)) for example in examples]
            right = [float(truth is found) for truth, found in pairs]
            cells = (
                f"{measure:.3f} [{low:.3f}, {high:.3f}]"
                for measure, (low, high) in (
                    (float(np.mean(right)), bootstrap(right)),
                    (macro_f1(pairs), interval(pairs)),
                )
            )
            lines.append(f"| {name} | {len(pairs):,} | {system} | {' | '.join(cells)} |")
    return "\n".join(lines)


def reliability(examples: Sequence[Example]) -> str:
    """Return a table in Markdown: how often an answer of some confidence is right."""
    bins: dict[int, list[tuple[float, float]]] = {}
    for example in examples:
        found, confidence = classify(example.text)
        if found is not QueryType.UNKNOWN:
            bins.setdefault(min(int(confidence * 5), 4), []).append(
                (confidence, float(found is example.kind))
            )
    lines = ["| confidence | n | mean confidence | right |", "|---|--:|--:|--:|"]
    for place, rows in sorted(bins.items()):
        mean, right = np.mean(rows, axis=0).tolist()
        lines.append(f"| {place / 5:.1f}–{place / 5 + 0.2:.1f} | {len(rows):,} | {mean:.2f} | {right:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit if asked to, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.intent", description=__doc__)
    parser.add_argument("repos", type=Path, help="folder of clones, named owner+name")
    parser.add_argument("--issues", type=Path, help="titles of issues with their kinds, JSON lines")
    parser.add_argument("--fit", type=Path, metavar="OUT", help="fit weights and write them")
    options = parser.parse_args(arguments)
    found = {
        place.name: list(commits(place)) for place in sorted(options.repos.iterdir()) if "+" in place.name
    }
    titles = issues(options.issues) if options.issues else []
    if options.fit:
        fitted = [one for name in FIT for one in found[name]]
        fitted += [title for title in titles if is_fitted(title) and title.kind in KINDS]
        write(cooled(fitted, load_kinds()), options.fit)
        load_kinds.cache_clear()
    held = {
        name: examples for name, examples in found.items() if name not in FIT and len(examples) >= LEAST_TEXTS
    }
    working = {
        name: [row for row in rows if row.kind is not QueryType.GENERAL] for name, rows in held.items()
    }
    everything = [row for rows in working.values() for row in rows]
    parts = {
        "Fixes, features and refactorings": {**working, "all commits": everything},
        "Issues": {ISSUES: [title for title in titles if not is_fitted(title)]},
        "With documents, tests, builds and chores": {"all commits": list(chain(*held.values()))},
    }
    for title, texts in parts.items():
        measured = {name: rows for name, rows in texts.items() if rows}
        if measured:
            print(f"## {title}\n\n{table(measured)}\n")
    print(f"## Confidence\n\n{reliability(everything)}")
    return 0


def write(model: KindModel, path: Path) -> None:
    """Write a model as the program reads it, one feature a line."""
    document = {
        "model_id": "intent-v2",
        "model_kind": "linear",
        "kinds": list(model.kinds),
        "declared": model.declared,
        "incident": model.incident,
        "least": model.least,
    }
    lines = [
        f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in document.items()
    ]
    rows = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(list(row))}" for name, row in sorted(model.weights.items())
    )
    path.write_text("{\n" + ",\n".join(lines) + ',\n "weights": {\n' + rows + "\n }\n}\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
