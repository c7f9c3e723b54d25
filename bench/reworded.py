"""Commits of public repositories with their tasks in a user's words, as asked for before the change.

A commit's message names files and symbols that the person who asks for the change does not know. For each
commit in `data/reworded.jsonl` there is a sentence without them, so that benches can take the same commits in
either wording. For those in `data/reports.jsonl`, which close an issue, there is the report of a user, as
long and as full of other things as issues are. `python -m bench.reworded --repos DIR` counts sentences and
reports those that name a changed file; `--choose NAME` lists the commits to write sentences for.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from bench.tasks import AGES
from bench.timeline import Timeline, repositories
from store.git_log import log_commits
from store.git_process import run
from workbench.project.admission import refusal
from workbench.project.languages import role_of
from workbench.records.conversion import decode_json
from workbench.records.dataclass import dataclass
from workbench.records.episodes import ChangeKind, Commit
from workbench.records.project import Role
from workbench.replay import tasks as replay
from workbench.replay.tasks import ReplayTask

Wording = Literal["reworded", "reports"]
"""A sentence, or an issue: a title, an empty line and a text. Each has a file of its name in `data`."""

DATA: Final = Path(__file__).parent / "data"
FILES: Final = 15
LINES: Final = 400
WIDE: Final = 3  # files, from which on a commit counts as wide; half of those chosen are
LETTERS: Final = 4  # a shorter name of a file is a word by chance
_MECHANICAL: Final = re.compile(
    r"^(?:merge|revert|release|version|v?\d+\.\d+|prepar\w+ (?:for )?(?:the )?(?:release|v?\d))"
    r"|\b(?:bump\w*|dependabot|dependenc(?:y|ies)|deps|renovate|backport|typos?|spelling|grammar|misspell\w*)\b"
    r"|\b(?:re-?format\w*|formatting|(?:cargo |rust|go)fmt|prettier|eslint|lint\w*|isort|clippy|pre-commit)\b"
    r"|\b(?:whitespace|changelog|copyright|release (?:v?\d|info\w*)|(?:chore: |ready )release|translat\w+)\b"
    r"|\b(?:black|mypy|eclipse|clean[ -]?ups?|maven-release-plugin|formatted code|ruff|rubocop|pyupgrade)\b"
    r"|\b(?:flaky|ci restart)\b|^tests?(?:\(\S*\))?: |^style\b"
    r"|^(?:doc tweak|faqs|fixes build|progress test|sponsor|sponsorship message|superfluous attribute)$"
    r"|^(?:test fixes|(?:remove error )?docstrings?|comments?|remove commented code|ws|ffs)$"
    r"|^(?:\S+: )?(?:update|upgrade) \S+ (?:to |from |requirement)",
    re.IGNORECASE,
)
COMMON: Final = frozenset(
    "build cache client command config connection console context database debug directives error errors"
    " external helpers licenses logger logging multi options package panel progress query readme redirect"
    " reply request response result route server signal style table templates terminal version".split()
)
"""English words that name files, too, and that sentences may use."""
SKIPPED: Final = frozenset(
    "0c3e4a6f3d 0e0e9f2081 11ff6ccb0d 15870cee96 1b5dbae4ac 1d81d2087e 26f1ea2487 28266ee441 2b2e2c9a80"
    " 2bdffb1a34 34dac209ff 356933381f 367879ac2a 37c511f017 3bb33387af 44c2d482f6 44dd8ea4c5 49df8cb0d6"
    " 4be9767a28 50274725cb 507caf5ac8 54175dbe72 5488bcfa30 5949b4a5bb 6ac7f194c4 6d4267ffb7 6e49efa1a1"
    " 6f0a6a4662 73b5215dc7 76beca4d4d 88b30ab89d 8f899aaf8a 91dbcb7ffe 9fa95cce6a a72f962d35 ac48e2d5e4"
    " affab9b4ec b98e8ec24f b99d884e57 baf9591d3b bf39b8d280 c1d0bfea9a c3b51f3a2e c9b8535817 d15519338c"
    " d18c327229 dcaa4296d1 df165a2da4 e2b4cf6e2d e2d3bfec19 e53b4bb439 eb14b88175 ebb1a57b9c edd6c19670"
    " f069950a14 f8d1c787d9 fa2639aafe fb964aa713 fde5d6eee3 fe403025ae".split()
)
"""Commits that do nothing one could ask for in other words, by their first ten digits."""


@dataclass(frozen=True, slots=True)
class Reworded:
    """A commit, and what a user would have asked for before it, in a sentence or as an issue."""

    repository: str
    commit: str
    task: str
    kind: Literal["bugfix", "feature", "refactor", "docs", "chore"]
    split: Literal["train", "test"]


def read_reworded(wording: Wording = "reworded") -> list[Reworded]:
    """Return all texts of a wording, by repository and commit."""
    text = (DATA / f"{wording}.jsonl").read_text(encoding="utf-8")
    return [decode_json(line, Reworded) for line in text.splitlines()]


def repositories_of(part: Literal["train", "test"], wording: Wording = "reworded") -> tuple[str, ...]:
    return tuple(sorted({line.repository for line in read_reworded(wording) if line.split == part}))


def reworded_tasks(
    timeline: Timeline, limit: int | None = None, wording: Wording = "reworded"
) -> list[ReplayTask]:
    """Return the commits of a repository that have a text of a wording, as tasks, the newest first."""
    texts = {line.commit: line.task for line in read_reworded(wording) if line.repository == timeline.name}
    return [
        replace(task, source=wording, text=texts[task.commit])
        for task in message_tasks(timeline, limit, wording)
    ]


def message_tasks(
    timeline: Timeline, limit: int | None = None, wording: Wording = "reworded"
) -> list[ReplayTask]:
    """Return the commits of `reworded_tasks`, in that order, with their messages as tasks."""
    worded = {line.commit for line in read_reworded(wording) if line.repository == timeline.name}
    commits = [commit for commit in timeline.commits if commit.sha in worded]
    return replay.commit_tasks(commits, timeline.reader.line, len(commits) if limit is None else limit)


def choose_commits(timeline: Timeline, count: int) -> list[Commit]:
    """Return commits to write sentences for: from the ends of the four quarters, half of them wide."""
    options = ["rev-list", "--first-parent", timeline.tip, "--"]
    trunk = set(run(timeline.repository.root, options).decode("ascii").split())
    commits = [commit for commit in timeline.commits if commit.sha in trunk]
    chosen: dict[str, Commit] = {}
    for number, age in enumerate(AGES):
        share = count * (number + 1) // len(AGES) - count * number // len(AGES)
        wide = (share + number % 2) // 2
        older = [
            commit for commit in commits[len(commits) * (100 - age) // 100 :] if commit.sha not in chosen
        ]
        for quota, is_wide in ((wide, True), (share - wide, False)):
            fitting = (commit for commit in older if (len(commit.files) >= WIDE) == is_wide)
            fitting = (commit for commit in fitting if _is_fit(timeline, commit))
            chosen |= {commit.sha: commit for commit in islice(fitting, quota)}
    return [commit for commit in commits if commit.sha in chosen]


def _is_fit(timeline: Timeline, commit: Commit) -> bool:
    if len(commit.files) > FILES or _MECHANICAL.search(commit.subject) or commit.sha[:10] in SKIPPED:
        return False
    sources = (
        change
        for change in commit.files
        if change.kind is ChangeKind.MODIFIED
        and refusal(change.path) is None
        and role_of(change.path) is Role.SOURCE
    )
    if not any(sources) or not replay.commit_tasks([commit], timeline.reader.line, 1):
        return False
    counted = log_commits(timeline.repository, since_sha=commit.parents[0], until=commit.sha)
    return 0 < sum(change.added + change.removed for one in counted for change in one.files) <= LINES


def named_files(task: str, paths: Sequence[str]) -> list[str]:
    """Return the paths whose name without extension a task says as a word that is not an everyday one."""
    words = {*re.findall(r"[\w.-]*\w", task.casefold()), *re.findall(r"\w+", task.casefold())} - COMMON
    return [path for path in paths if len(_stem(path)) > LETTERS and _stem(path) in words]


def _stem(path: str) -> str:
    return PurePosixPath(path).name.lstrip(".").split(".")[0].casefold()


def check_sentences(timeline: Timeline) -> Iterator[str]:
    """Yield which sentences name a changed file or belong to a commit that cannot be replayed."""
    product = set(re.split(r"\W+", timeline.name.casefold()))
    replayed = {task.commit for task in message_tasks(timeline)}
    files = {commit.sha: [change.path for change in commit.files] for commit in timeline.commits}
    for line in read_reworded():
        if line.repository != timeline.name:
            continue
        if line.commit not in replayed:
            yield f"{line.repository} {line.commit[:10]}: not among the commits that are replayed"
            continue
        for path in named_files(line.task, files[line.commit]):
            if _stem(path) not in product:
                yield f"{line.repository} {line.commit[:10]}: names {path}: {line.task}"


def main(arguments: list[str] | None = None) -> int:
    """Count the sentences and report faults, or list the commits to write some for."""
    parser = argparse.ArgumentParser(prog="python -m bench.reworded", description=__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of clones, named owner+name")
    parser.add_argument("--choose", nargs="*", metavar="NAME", default=[], help="list commits of these")
    parser.add_argument("--count", type=int, default=20, help="commits of each to list (default: 20)")
    options = parser.parse_args(arguments)
    for path in repositories(options.repos, options.choose):
        timeline = Timeline(path)
        for commit in choose_commits(timeline, options.count):
            print(timeline.name, commit.sha, len(commit.files), commit.subject, sep="\t")
    if options.choose:
        return 0
    lines = read_reworded()
    for (name, kind), count in sorted(Counter((line.repository, line.kind) for line in lines).items()):
        print(name, kind, count, sep="\t")
    timelines = [
        Timeline(path) for path in repositories(options.repos, sorted({line.repository for line in lines}))
    ]
    unread = {line.repository for line in lines} - {timeline.name for timeline in timelines}
    faults = [f"{name}: no clone in {options.repos}, not checked" for name in sorted(unread)]
    faults += [fault for timeline in timelines for fault in check_sentences(timeline)]
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
