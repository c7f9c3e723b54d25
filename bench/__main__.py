"""The benchmarks' command: `python -m bench [ranking|confidence|train|packs|speed] [--repos DIR]`.

Without `--repos` the rankings are measured on this clone alone, which shows that the harness works, not how
good the ranking is. The figures in docs/benchmarks.md come from the public repositories named in
`bench/split.py`, cloned into one folder as `<owner>+<name>`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import split
from bench.collect import Embed, Row
from bench.confidence import PROMPTS, report, tasks_of
from bench.ranking import CEILING, OURS, OURS_LEXICAL, UNREAD, Ranker, rows_of, score, table, tests
from bench.reworded import repositories_of
from bench.train import train
from bench.training import training_rows
from workbench.plan.ranking import LEXICAL_MODEL, load_chunk_model, load_model
from workbench.plan.reading import after_reading

CACHE = Path(".bench")


def main(arguments: list[str] | None = None) -> int:
    """Run a benchmark and print its tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="all",
        choices=["all", "ranking", "confidence", "train", "packs", "speed"],
    )
    parser.add_argument("--repos", type=Path, help="folder of public repositories, named owner+name")
    parser.add_argument(
        "--tasks", type=int, default=150, help="commits of each repository that is measured (default: 150)"
    )
    parser.add_argument(
        "--also", nargs="*", default=[], metavar="MODEL", help="other models, as files-v4, to rank with, too"
    )
    parser.add_argument("--no-embeddings", action="store_true", help="leave the embedding model out")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="where replayed tasks are kept (default: .bench)"
    )
    options = parser.parse_args(arguments)
    if options.what == "train":
        return _train(options)
    embed = None if options.no_embeddings else _embedder(options.cache)
    if options.what == "confidence":
        return _confidence(options, embed)
    if options.what in ("all", "ranking"):
        _ranking(options, embed)
    if options.what in ("all", "packs"):
        from bench.packs import report as packs

        packs(options.repos or _own(), options.tasks, cache=options.cache, say=_say)
    if options.what in ("all", "speed"):
        from bench.speed import report as speed

        speed()
    return 0


def _ranking(options: argparse.Namespace, embed: Embed | None) -> None:
    files = load_chunk_model().files
    models: dict[str, Ranker] = {OURS_LEXICAL: (load_model(LEXICAL_MODEL), files)}
    if embed is not None:
        models[OURS] = (load_model(), files)
    models[UNREAD] = (models[OURS if embed is not None else OURS_LEXICAL][0], None)
    models |= {name: (load_model(name), None) for name in options.also}
    sets = (
        ("commits", split.TEST, "Commits (task = message, tree = parent, truth = files modified)"),
        *(
            (f"age-{age}", split.TEST, f"Commits, histories cut at {age} % of their age")
            for age in (75, 50, 25)
        ),
        ("life", split.TEST, "Commits of a whole history, with other texts and other pasts"),
        ("prompts", split.PROMPTS_TEST, "Prompts of recorded agent sessions"),
        (
            "messages",
            repositories_of("test"),
            "Commits that have a sentence in a user's words, their messages",
        ),
        ("reworded", repositories_of("test"), "The same commits in a user's words"),
        ("reports", repositories_of("test", "reports"), "Commits that close an issue, the issue as the task"),
    )
    for kind, names, title in sets:
        folder, wanted = (options.repos, names) if options.repos else (_own().parent, (_own().name,))
        by: dict[str, list[Row]] = {}
        for name in wanted:
            rows = rows_of(folder, name, kind, options.tasks, cache=options.cache, embed=embed, say=_say)
            for row in rows:
                by.setdefault(row.task.source if kind == "life" else name, []).append(row)
        found = [score(name, rows, models) for name, rows in by.items()]
        if found:
            peers = [name for name in found[0].ndcg if name not in models and name != CEILING]
            systems = [*peers, *models, CEILING]
            best = OURS if OURS in models else OURS_LEXICAL
            print(
                f"\n## {title}\n\nnDCG@10 / R@10; the bracket is the 95 % interval of nDCG@10 over tasks.\n"
            )
            print(table(found, systems))
            print("\n" + tests(found, best, [system for system in systems if system not in (best, CEILING)]))
    seen = sorted({name for model, _ in models.values() for name in model.trained_on})
    print(f"\nTrained on {len(seen)}: {', '.join(seen)}")


def _train(options: argparse.Namespace) -> int:
    if options.repos is None:
        print("training needs --repos", file=sys.stderr)
        return 2
    rows = training_rows(options.repos, cache=options.cache, say=_say)
    train(rows, folder=Path(__file__).parent.parent / "workbench" / "models" / "data", say=_say)
    return 0


def _confidence(options: argparse.Namespace, embed: Embed | None) -> int:
    if options.repos is None:
        print("measuring the confidence needs --repos", file=sys.stderr)
        return 2
    kinds = {"newest": "commits", **{f"{age} %": f"age-{age}" for age in (75, 50, 25)}, PROMPTS: "prompts"}
    rows = {
        label: [
            row
            for name in (split.PROMPTS_TEST if label == PROMPTS else split.TEST)
            for row in rows_of(
                options.repos, name, kind, options.tasks, cache=options.cache, embed=embed, say=_say
            )
        ]
        for label, kind in kinds.items()
    }
    files = load_chunk_model().files
    for model in (load_model(LEXICAL_MODEL), *([] if embed is None else [load_model()])):
        after = model if files is None else after_reading(model, files)
        for line in report(after, {age: tasks_of(model, found, files) for age, found in rows.items()}):
            print(line)
    return 0


def _own() -> Path:
    return Path(__file__).resolve().parent.parent


def _embedder(cache: Path) -> Embed | None:
    from store.embedding import EmbeddingSettings, resolve_embedder
    from store.embedding_cache import cache_embeddings
    from workbench.places import user_cache

    embedder, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if embedder is None:
        _say(f"no embedding model: {', '.join(report.degraded)}")
        return None
    return cache_embeddings(embedder, cache / "embeddings").embed


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
