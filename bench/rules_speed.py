"""How fast rules are matched: `python -m bench.rules_speed [--data DIR]`.

Rule sets are generated: sentences over a vocabulary whose words are as unequal in frequency as in English,
vectors in clusters, scopes, projects and tools as in real rulebooks. With `--data` rule files below DIR are
imported and matched too. A match filters, compares vectors and words, scores and explains the best ten; it
is timed with the message's vector at hand and with embedding it. Last comes what a new process pays after an
edit of one rule.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.rules_edit import fetch_after_edits, figures
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.records.rules import Authority, Rule
from workbench.rules.curation.ruletype import to_body
from workbench.rules.fetching.facets import column_rules
from workbench.rules.fetching.queries import rule_filter
from workbench.rules.matching.context import make_context
from workbench.rules.matching.lexical import index_words, words_arrays, words_from
from workbench.rules.matching.match import MatchParams, RuleQuery
from workbench.rules.matching.relevance import rule_texts, rule_vectors
from workbench.rules.matching.search import RuleIndex, index_rules, match_message, search_selected
from workbench.rules.matching.texts import RuleTexts

Float32 = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Float32]

SIZES: Final = (1_000, 10_000, 50_000)
LIMITS: Final = {1_000: 10.0, 50_000: 50.0}
MESSAGES: Final = 200
WARM_UP: Final = 20
DIMENSIONS: Final = 384
VOCABULARY: Final = 20_000
_SYLLABLES: Final = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu")


def generated_rules(count: int, random: np.random.Generator, *, examples: int = 0) -> list[Rule]:
    """Return rules by id: a tenth absolute, a third for paths, some for one project or tool."""
    return [
        Rule(
            id=f"rule-{number:06}",
            name="",
            condition_text=sentence(random, 4, 8),
            rule=sentence(random, 8, 24),
            authority=Authority.ABSOLUTE if number % 10 == 0 else Authority.DEFAULT,
            scope=(f"path:src/part{number % 97}/**",) if number % 3 == 0 else (),
            project_id=f"p{number % 5}" if number % 4 == 0 else None,
            tool_targets=("claude",) if number % 7 == 0 else (),
            priority=int(random.integers(0, 101)),
            examples=tuple(sentence(random, 5, 10) for _ in range(examples)),
        )
        for number in range(count)
    ]


def sentence(random: np.random.Generator, least: int, most: int) -> str:
    """Return made-up words, the n-th most frequent 1 / n as often as the first."""
    ranks = np.minimum(random.zipf(1.3, int(random.integers(least, most + 1))), VOCABULARY)
    return " ".join(_word(int(rank)) for rank in ranks)


def generated_vectors(texts: RuleTexts, random: np.random.Generator) -> Float32:
    """Return unit vectors float32 [n, 384] in clusters, as those of texts are."""
    centres = random.standard_normal((200, DIMENSIONS)).astype(np.float32)
    chosen = centres[random.integers(0, len(centres), len(texts.texts))]
    vectors: Float32 = chosen + random.standard_normal(chosen.shape, np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def timed(action: Callable[[int], object], count: int = MESSAGES) -> tuple[float, float]:
    """Return (median, 95th percentile) in milliseconds of an action done `count` times, warmed up."""
    for number in range(WARM_UP):
        action(number)
    taken = []
    for number in range(count):
        started = time.perf_counter()
        action(number)
        taken.append((time.perf_counter() - started) * 1000)
    low, high = np.percentile(taken, [50, 95])
    return float(low), float(high)


def measure(
    name: str, rules: Sequence[Rule], vectors: Float32, random: np.random.Generator, embed: Embed | None
) -> None:
    """Print how long it takes to index and to match."""
    started = time.perf_counter()
    words = index_words(rules)
    indexed = time.perf_counter() - started
    kept = words_arrays(words)
    started = time.perf_counter()
    words_from(kept)
    opened = time.perf_counter() - started
    started = time.perf_counter()
    texts = rule_texts(rules)
    index = index_rules(rules, words, rule_vectors(texts, vectors, "generated"), column_rules(rules))
    columns = time.perf_counter() - started
    size = sum(array.nbytes for array in kept.values()) / 1e6
    print(
        f"\n{name}: {len(rules):,} rules, {len(texts.texts):,} vectors. Once: words {indexed:.2f} s, or from "
        f"{size:.1f} MB of arrays {opened * 1000:.1f} ms; columns and prototypes {columns:.2f} s"
    )
    messages = [sentence(random, 6, 14) for _ in range(MESSAGES)]
    queries = vectors[random.integers(0, len(vectors), MESSAGES)]
    limit = LIMITS.get(len(rules))
    for label, action in _actions(index, messages, queries, embed).items():
        median, high = timed(action)
        aim = f"  (aim: p95 at most {limit:.0f} ms)" if limit and label.startswith("match") else ""
        print(f"  {label:42} p50 {median:6.2f} ms  p95 {high:6.2f} ms{aim}")


def _actions(
    index: RuleIndex, messages: Sequence[str], queries: Float32, embed: Embed | None
) -> dict[str, Callable[[int], object]]:
    params = MatchParams()

    def query(number: int) -> RuleQuery:
        return RuleQuery(
            messages[number % MESSAGES],
            project_id="p1",
            context=make_context(paths=[f"src/part{part}/a.py" for part in range(10)], tool="claude"),
            now=0.0,
        )

    def vector(number: int) -> Float32:
        return np.asarray(queries[number % MESSAGES])

    def search(number: int) -> object:
        text = messages[number % MESSAGES]
        return search_selected(index, text, rule_filter(project_id="p1", scope=("git",)), vector(number))

    def embedded(number: int) -> object:
        asked = query(number)
        fresh = np.zeros(DIMENSIONS, np.float32) if embed is None else embed([asked.text])[0]
        return match_message(index, asked, fresh, params)

    return {
        "match, vectors and words": lambda at: match_message(index, query(at), vector(at), params),
        **({} if embed is None else {"match, embedding the message as well": embedded}),
        "match, vectors alone": lambda at: match_message(index, query(at), vector(at), params, mode="dense"),
        "match, words alone": lambda at: match_message(index, query(at), None, params, mode="sparse"),
        "search, vectors and words": search,
    }


def edited(rules: Sequence[Rule]) -> str:
    """Return how long the next fetch of a new process takes after an edit of one of the rules."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "project"
        root.mkdir()
        environment = {**os.environ, "HOME": scratch, "WORKBENCH_HOME": str(Path(scratch) / "home")}
        opened = open_workspace(root, Config(), environment)
        mine = [replace(rule, project_id=None) for rule in rules]
        opened.journal.append("rules", "rule.put", [to_body(rule) for rule in mine], by="bench")
        whole, own = fetch_after_edits(root, environment, opened.journal, mine)
    median, worst = figures(whole)
    return (
        f"\nedit, then fetch in a new process, {len(rules):,} rules: median {median:.0f} ms, "
        f"worst {worst:.0f} ms; without imports {figures(own)[0]:.0f} ms  (aim: at most 500 ms)"
    )


def message_embedder() -> tuple[Embed | None, str]:
    """Return what embeds a message with the configured model, and its name, or why there is none."""
    from store.embedding import EmbeddingSettings, resolve_embedder
    from workbench.places import user_cache

    found, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if found is None:
        return None, "embedding is not measured: " + ", ".join(report.degraded)
    if found.dimensions != DIMENSIONS:
        return None, f"embedding is not measured: {found.model} has {found.dimensions} dimensions"
    return found.embed, f"messages are embedded by {found.model}"


def imported(folder: Path) -> list[Rule]:
    """Return the rules of all rule files below a folder, by id."""
    from workbench.rules.formats.families import family_of
    from workbench.rules.reading.discovery import RuleSource
    from workbench.rules.reading.imports import import_rules

    sources, contents = [], {}
    for path in sorted(found for found in folder.rglob("*") if found.is_file()):
        name = path.relative_to(folder).as_posix()
        family = family_of(name)
        kind = family[0].name if family else {".mdc": "cursor"}.get(path.suffix, "plain")
        sources.append(RuleSource(name, kind, name, family[1] if family else ""))
        contents[name] = path.read_bytes()
    found = import_rules(sources, lambda source: contents[source.path], project_id="p1").rules
    return sorted(found, key=lambda rule: rule.id)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="rule files to import and match as well")
    options = parser.parse_args()
    random = np.random.default_rng(7)
    embed, name = message_embedder()
    print(name)
    for count in SIZES:
        rules = generated_rules(count, random)
        measure("generated", rules, generated_vectors(rule_texts(rules), random), random, embed)
    rules = generated_rules(SIZES[-1], random, examples=5)
    measure(
        "generated, five examples each", rules, generated_vectors(rule_texts(rules), random), random, embed
    )
    print(edited(rules))
    if options.data is not None:
        rules = imported(options.data)
        measure(options.data.name, rules, generated_vectors(rule_texts(rules), random), random, embed)


def _word(rank: int) -> str:
    letters = []
    rank += len(_SYLLABLES)
    while rank:
        rank, place = divmod(rank, len(_SYLLABLES))
        letters.append(_SYLLABLES[place])
    return "".join(letters)


if __name__ == "__main__":
    main()
