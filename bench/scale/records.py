"""Segments, rules and learnings of many records, kept and asked through the product's own services.

Each step is a process of its own: `python -m bench.scale.records KIND STEP PROJECT TEXTS`. Vectors are those
of the drawn texts; a query is embedded by the packaged model, as it is for a user.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.scale.measuring import Values, Work, apart, command, disk, named
from bench.scale.texts import DrawnVectors, read_queries, read_texts, real_embedder, recall
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_project
from workbench.records.learnings import FeatureLearning, LearningSource
from workbench.records.rules import Authority, Rule
from workbench.records.segments import ContextSegment, text_digest

if TYPE_CHECKING:
    from workbench.ports import Embedder

BATCH: Final = 1_000
SESSION: Final = 200
FEATURES: Final = 50
TOKENS: Final = 30
NEAREST: Final = 10
START: Final = datetime.now(UTC) - timedelta(days=30)
WORDS: Final = "raise error"
"""What lists are filtered by."""


def measure(kind: str, size: int, work: Path, texts: Path) -> Values:
    """Return what so many records of a kind cost, from the first to the last step."""
    root, home = work / f"{kind}-{size}", work / f"{kind}-{size}-home"
    for left in (root, home):
        shutil.rmtree(left, ignore_errors=True)  # of a run that was ended
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)  # where a project ends
    (root / "CLAUDE.md").write_text("- Never log a token.\n", encoding="utf-8")
    found: Values = {}
    for step in ("build", "index", "tables", "ask"):
        print(f"{kind} {size:,}: {step}", file=sys.stderr)
        found |= named(step, apart(home, "records", kind, step, str(root), str(texts)))
    queries, _ = read_queries(texts)
    for name, arguments in COMMANDS[kind].items():
        print(f"{kind} {size:,}: {name}", file=sys.stderr)
        given = [queries[0] if part == "QUERY" else part for part in arguments]
        found |= named(name, command(root, home, *given))
    return found | {"disk MB": disk(root / ".workbench") + disk(home)}


COMMANDS: Final = {
    "segments": {
        "command search": ("stash", "search", "QUERY", "--json"),
        "command list": ("stash", "list", "--json"),
        "command add": ("stash", "add", "We keep NUMBER sessions in Redis", "--type", "decision"),
    },
    "rules": {
        "command match": ("rules", "match", "QUERY", "--json"),
        "command fetch": ("rules", "list", "--limit", "100", "--json"),
        "command list": ("rules", "list", WORDS, "--json"),
        "command add": ("rules", "add", "Run linter NUMBER before each commit."),
        "command fetch after an edit": ("rules", "list", "--limit", "100", "--json"),
    },
    "learnings": {
        "command prompt": ("memory", "prompt", "--feature", "feature-7"),
        "command list": ("memory", "list", WORDS, "--json"),
        "command queue": ("memory", "queue", "--json"),
        "command add": (
            "memory",
            "add",
            "Tests have to clear cache NUMBER.",
            "--feature",
            "feature-7",
            "--reason",
            "seen",
        ),
    },
}


def batches(texts: Path) -> Iterator[list[tuple[int, str]]]:
    lines = enumerate(read_texts(texts))
    while batch := list(islice(lines, BATCH)):
        yield batch


def build(kind: str, project: OpenedProject, texts: Path) -> None:
    """Write the records of all texts into the journal, as the services do after their checks."""
    from workbench.memory.journal import feature_stream
    from workbench.memory.learnings.learningtype import LEARNINGS
    from workbench.rules.curation.ruletype import RULES
    from workbench.stash.segmenttype import PUT, SEGMENTS, STREAM

    for batch in batches(texts):
        if kind == "segments":
            given = [segment(*one) for one in batch]
            facts = {"tokens": TOKENS, "stashed_at": START.isoformat()}
            bodies = [SEGMENTS.to_body(one) | facts | {"digest": text_digest(one.text)} for one in given]
            project.journal.append(STREAM, PUT, bodies, by="bench", sync=False)
        elif kind == "rules":
            bodies = [RULES.to_body(rule(number, text, project.project_id)) for number, text in batch]
            project.journal.append("rules", RULES.put, bodies, by="bench", sync=False)
        else:
            feature = f"feature-{batch[0][0] // BATCH % FEATURES}"
            made = [learning(number, text, feature, project.project_id) for number, text in batch]
            bodies = [LEARNINGS.to_body(one) for one in made]
            project.journal.append(feature_stream(feature), LEARNINGS.put, bodies, by="bench", sync=False)


def index(kind: str, project: OpenedProject, texts: Path) -> None:
    """Bring indexes and vectors up to the journals, as the first plan and `workbench model prepare` do."""
    from workbench.plan.matching import LEARNINGS, RULES
    from workbench.rules.matching.relevance import rule_texts

    vectors, _ = project.text_vectors
    assert vectors is not None
    if kind == "segments":
        from workbench.entry.services.stash_search import renew_stash_index

        renew_stash_index(project, vectors)
        return
    if kind == "rules":
        named_texts = RULES
        rules: Sequence[Rule] = project.workspace.sync_rules()[0].rules
    else:
        kept = project.workspace.learnings()
        assert kept is not None
        named_texts, rules = LEARNINGS, kept.rules
    wanted = rule_texts(rules).texts
    vectors.complete(named_texts, wanted)
    vectors.keep(named_texts, wanted)


def tables(kind: str, project: OpenedProject, texts: Path) -> None:
    """Bring the tables that lists are read from up to the journals."""
    del kind, texts
    project.kept_tables.catch_up()


def ask(kind: str, project: OpenedProject, texts: Path, work: Work) -> None:
    queries, vectors = read_queries(texts)
    answers = {"segments": search_segments, "rules": match_rules, "learnings": recall_about}[kind](project)
    with work.timed("first answer"):
        answers(queries[0])
    work.spread("answer", [partial(answers, query) for query in queries])
    pages = {"segments": "segment_list", "rules": "rule_list", "learnings": "learning_list"}[kind]
    listed = getattr(project, pages)
    with work.timed("first page"):
        listed.page(listed_query(kind, ""))
    work.spread("page", [partial(listed.page, listed_query(kind, "")) for _ in range(10)])
    work.spread("filter", [partial(listed.page, listed_query(kind, WORDS)) for _ in range(3)])
    if kind == "segments":
        found = project.segment_index
        everything = np.ones(len(found), np.bool_)
        near = [found.nearest(vector, NEAREST, everything) for vector in vectors]
        ours = [[number_of(found.record(row).id) for row in some.tolist()] for some in near]
        work.values["recall"] = recall(texts, ours, NEAREST)
    else:
        requests = fetch_rules(project) if kind == "rules" else []
        if requests:
            work.spread("fetch", [requests[number % len(requests)] for number in range(200)])


def search_segments(project: OpenedProject) -> Callable[[str], object]:
    from workbench.entry.services.stash_search import search_stash

    return lambda query: search_stash(project, query, top_k=NEAREST)


def match_rules(project: OpenedProject) -> Callable[[str], object]:
    from workbench.entry.services.rules import ready_to_search
    from workbench.rules.matching.match import MatchParams, RuleQuery
    from workbench.rules.matching.search import match_message

    def answer(query: str) -> object:
        book = project.workspace.sync_rules()[0]
        ready = ready_to_search(project.planner.matcher, book.rules, book.words, query, "hybrid", project)
        asked = RuleQuery(query, project.project_id, None, 0.0)
        return match_message(ready.index, asked, ready.vector, MatchParams()).matches

    return answer


def fetch_rules(project: OpenedProject) -> Sequence[Callable[[], object]]:
    """Return fetches of rules by filters from the store, nothing cached."""
    from dataclasses import replace

    from store.clock import SystemClock
    from workbench.config import CacheConfig
    from workbench.entry.services.rules import rule_fetcher
    from workbench.rules.fetching.queries import RuleRequest, rule_filter

    config = replace(Config(), cache=CacheConfig(seconds=0))
    fetcher = rule_fetcher(project.workspace, config, SystemClock())
    scopes = [["path:src/part3/a.py"], ["path:src/part9/b.py"], []]
    return [
        partial(fetcher.fetch, RuleRequest(rule_filter(scope=scope, authority=authority)))
        for scope in scopes
        for authority in (None, "absolute")
    ]


def recall_about(project: OpenedProject) -> Callable[[str], object]:
    """Return what finds the learnings about a text."""
    from workbench.entry.services.learnings import recall_learnings

    return lambda query: recall_learnings(project, query)


def listed_query(kind: str, text: str) -> object:
    from workbench.lists.learnings import LEARNINGS
    from workbench.lists.rules import RULES
    from workbench.lists.segments import SEGMENTS

    return {"segments": SEGMENTS, "rules": RULES, "learnings": LEARNINGS}[kind].query(text)


def segment(number: int, text: str) -> ContextSegment:
    """Return a segment; so many are a session."""
    return ContextSegment(
        segment_id=f"seg-{number:09}",
        session_id=f"session-{number // SESSION}",
        text=text,
        timestamp=(START + timedelta(seconds=number)).isoformat(),
    )


def number_of(identifier: str) -> int:
    """Return the number of the text that a segment was made of, -1 for one that is of another."""
    digits = identifier.removeprefix("seg-")
    return int(digits) if len(digits) == 9 and digits.isdigit() else -1


def rule(number: int, text: str, project: str) -> Rule:
    """Return a rule: a hundredth absolute, a third for paths, some for one tool."""
    return Rule(
        id=f"rule-{number:09}",
        name="",
        rule=text,
        authority=Authority.ABSOLUTE if number % 100 == 0 else Authority.DEFAULT,
        scope=(f"path:src/part{number % 97}/**",) if number % 3 == 0 else (),
        tool_targets=("claude",) if number % 7 == 0 else (),
        priority=number % 101,
        project_id=project,
        token_cost=12,
    )


def learning(number: int, text: str, feature: str, project: str) -> FeatureLearning:
    return FeatureLearning(
        id=f"learning-{number:09}",
        feature=feature,
        text=text,
        reason="the run failed until it was done",
        timestamp=(START + timedelta(seconds=number)).isoformat(),
        source=(LearningSource.AUTO, LearningSource.AGENT)[number % 2],
        hit_count=number % 5 + 1,
        reviewed=number % 3 == 0,
        session_id=f"s-{number // SESSION}",
        project_id=project,
    )


def main(kind: str, step: str, root: str, folder: str) -> None:
    """Do one step, and print what it took."""
    texts, work = Path(folder), Work()
    project = open_project(Path(root), Config())
    real: Embedder = real_embedder()
    drawn = project.vectors_by(DrawnVectors(texts, real), "")
    vars(project)["text_vectors"] = (drawn, "")
    if step == "ask":
        ask(kind, project, texts, work)
    else:
        with work.timed("all"):
            {"build": build, "index": index, "tables": tables}[step](kind, project, texts)
    project.close()
    work.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
