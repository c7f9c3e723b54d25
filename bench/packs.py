"""Packs, measured: how much of what a commit changed was in the pack made for its message.

Files count as shown when the pack holds lines or the outline of them, lines when the pack shows them: means
over tasks of the share of that task's truth. Next to them: what the tokens went to: bare names, and
files that the commit did change. Tasks are from four ages of each history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from bench import split
from bench.pack_tasks import NAMED, READ, PackTask, pack_tasks
from bench.ranking import Say, rows_of
from bench.timeline import Timeline, repositories
from workbench.plan.compose import FileCandidate, Pack, ViewOffer, compose
from workbench.plan.file_candidates import LEAST_CHANCE
from workbench.plan.ranking import LEXICAL_MODEL, RankingModel, load_chunk_model, load_model
from workbench.plan.render import DEFAULT_STYLE, STYLES, Style
from workbench.plan.representations import Shares, file_offers, name_offer, outline_view
from workbench.plan.snippets import ChunkModel, expected_shares
from workbench.records.plan import Representation
from workbench.replay.statistics import bootstrap
from workbench.text.tokens import TokenCounter, token_counter

BUDGETS = (1000, 2000, 4000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one pack covered, shares in [0, 1]: `used` of the budget, `named` and `hit` of the tokens used."""

    shown: float
    lines: float
    named: float
    names: float
    hit: float
    used: float
    empty: float


_COLUMNS = dict(
    zip(
        (field.name for field in fields(Outcome)),
        ("files shown", "lines", "tokens of names", "names", "tokens of changed files", "used", "empty"),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Packer:
    """What packs are made with."""

    model: ChunkModel
    worth: Shares
    counter: TokenCounter

    def candidates(self, task: PackTask, style: Style) -> list[FileCandidate]:
        """Return the candidates of a task as plans offer them."""
        found = []
        for place, (path, chance) in enumerate(task.ranked[: READ + NAMED]):
            if chance < LEAST_CHANCE:
                continue
            file = task.files.get(path) if place < READ else None
            offers: tuple[ViewOffer, ...]
            if file is None:
                offers = (name_offer(path, chance, style, self.counter, self.worth),)
            else:
                shares = expected_shares(self.model, file.rows)
                offers = file_offers(
                    file.text,
                    chance,
                    shares,
                    outline_view(file.text.path, file.symbols),
                    style,
                    self.counter,
                    self.worth,
                    file.tokens,
                )
            found.append(FileCandidate(path, chance, offers))
        return found

    def outcome(
        self, task: PackTask, candidates: Sequence[FileCandidate], budget: int, style: str
    ) -> Outcome:
        """Make the pack for a task and compare it with what was changed."""
        return self._outcome(
            task, compose([], candidates, budget, STYLES[style], self.counter), STYLES[style]
        )

    def _outcome(self, task: PackTask, pack: Pack, style: Style) -> Outcome:
        views = {candidate.path: offer.view for candidate, offer in pack.files}
        names = [path for path, view in views.items() if view.representation is Representation.PATH]
        shown = [path for path in task.truth if path in views and path not in names]
        covered = sum(
            any(start <= line <= end for start, end in views[path].spans)
            for path in shown
            for line in task.truth[path]
        )
        used = max(1, pack.report.estimated_used)
        return Outcome(
            shown=len(shown) / len(task.truth),
            lines=covered / sum(map(len, task.truth.values())),
            named=self.counter.count(style.paths(names)) / used if names else 0.0,
            names=len(names),
            hit=sum(self.counter.count(style.file(views[path])) for path in shown) / used,
            used=pack.report.estimated_used / pack.report.token_budget,
            empty=float(not pack.text),
        )


def tasks_of(
    folder: Path, name: str, kind: str, count: int, *, cache: Path, ranking: RankingModel, say: Say
) -> list[PackTask]:
    """Return the pack tasks of a repository, `commits` or `ages`; empty, with a message, if it is missing."""
    found = repositories(folder, [name])
    rows = rows_of(folder, name, kind, count, cache=cache, embed=None, say=say)
    if not found or not rows:
        return []
    return list(pack_tasks(Timeline(found[0]), rows, ranking, token_counter()))


def table(groups: Mapping[str, Sequence[Outcome]], first: str, *, mean: bool = True) -> str:
    """Return a Markdown table: a line for each group, their mean with the interval of the lines."""
    lines = [f"| {first} | packs | {' | '.join(_COLUMNS.values())} |", "|---" * (len(_COLUMNS) + 2) + "|"]
    means = {name: _means(found) for name, found in groups.items()}
    lines += [_line(name, len(groups[name]), row) for name, row in means.items()]
    if mean and len(groups) > 1:
        every = [one for found in groups.values() for one in found]
        low, high = bootstrap([one.lines for one in every])
        row = Outcome(*np.mean([astuple(one) for one in means.values()], axis=0).tolist())
        lines.append(_line("**mean**", len(every), row) + f" lines [{low:.3f}, {high:.3f}]")
    return "\n".join(lines)


def _means(found: Iterable[Outcome]) -> Outcome:
    return Outcome(*np.mean([astuple(one) for one in found], axis=0).tolist())


def _line(name: str, count: int, row: Outcome) -> str:
    cells = [f"{value:.1f}" if name == "names" else f"{value:.3f}" for name, value in _pairs(row)]
    return f"| {name} | {count} | {' | '.join(cells)} |"


def _pairs(row: Outcome) -> Iterator[tuple[str, float]]:
    return ((field.name, getattr(row, field.name)) for field in fields(row))


def report(
    folder: Path,
    tasks: int,
    *,
    cache: Path,
    say: Say,
    names: Sequence[str] = split.PACKS_TEST,
    budgets: Sequence[int] = BUDGETS,
    write: Callable[[str], None] = print,
) -> None:
    """Print the tables for every budget. Without any of the named repositories, `folder` itself is used."""
    if not repositories(folder, names):
        folder, names = folder.parent, (folder.name,)
    packer = Packer(*load_chunk_model(), token_counter())
    ranking = load_model(LEXICAL_MODEL)
    outcomes: dict[tuple[int, str], dict[str, list[tuple[int, Outcome]]]] = {}
    for name in names:
        for task in tasks_of(folder, name, "ages", tasks, cache=cache, ranking=ranking, say=say):
            for style in STYLES:
                candidates = packer.candidates(task, STYLES[style])
                for budget in budgets:
                    outcome = packer.outcome(task, candidates, budget, style)
                    outcomes.setdefault((budget, style), {}).setdefault(name, []).append((task.age, outcome))
    for budget in budgets:
        found = outcomes.get((budget, DEFAULT_STYLE))
        if found:
            write(f"\n### Packs at {budget:,} tokens ({packer.counter.name}, {DEFAULT_STYLE})\n")
            write(table({name: [one for _age, one in pairs] for name, pairs in found.items()}, "repository"))
            write("\n" + table(_by_age(found), "% of history", mean=False))
    made = {
        style: [o for (_, s), g in outcomes.items() if s == style for f in g.values() for _, o in f]
        for style in STYLES
    }
    if outcomes:
        write("\n### Packs by style, all budgets\n")
        write(table(made, "style", mean=False))


def _by_age(found: Mapping[str, Sequence[tuple[int, Outcome]]]) -> dict[str, list[Outcome]]:
    """Return the mean of each repository by the age of its tasks."""
    ages = sorted({age for pairs in found.values() for age, _one in pairs})
    return {
        str(age): [
            _means(mine) for pairs in found.values() if (mine := [one for at, one in pairs if at == age])
        ]
        for age in ages
    }
