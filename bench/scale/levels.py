"""Fetching rules from each level: this process, Redis, rulebook, tables; on one machine and on several."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from bench.rules_fetch import make_rules, queries
from bench.scale.measuring import Values, Work, apart
from store.clock import SystemClock
from workbench.config import CacheConfig, Config
from workbench.entry.project import open_workspace
from workbench.entry.services.rules import rule_fetcher
from workbench.lists.rules import RULES
from workbench.records.rules import Authority
from workbench.rules.curation.ruletype import to_body

CALLS: Final = 500


def measure(size: int, work: Path) -> Values:
    """Return what a fetch takes from each level, in ms."""
    root = work / f"levels-{size}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / "CLAUDE.md").write_text("- Never log a token.\n", encoding="utf-8")
    with redis_server(work) as near:
        print(f"levels {size:,}", file=sys.stderr)
        return apart(work / f"levels-{size}-home", "levels", str(size), str(root), near)


@contextmanager
def redis_server(work: Path) -> Iterator[str]:
    """Run a Redis of our own on a socket, and give its URL; empty where none is installed."""
    program = shutil.which("redis-server")
    if program is None:
        print("redis-server is not installed: that level is left out", file=sys.stderr)
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        socket = f"{folder}/s"
        command = [program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not Path(socket).exists() and process.poll() is None:
                time.sleep(0.01)
            yield f"unix://{socket}"
        finally:
            process.terminate()
            process.wait()


def main(size: str, folder: str, redis: str) -> None:
    """Measure every level, those before it switched off."""
    root, work = Path(folder), Work()
    opened = open_workspace(root, Config())
    bodies = [to_body(replace(rule, project_id=opened.project_id)) for rule in make_rules(int(size))]
    opened.journal.append("rules", "rule.put", bodies, by="bench")
    requests = queries()

    def level(name: str, **cache: object) -> None:
        config = replace(Config(), cache=CacheConfig(**cache))  # type: ignore[arg-type]
        fetcher = rule_fetcher(open_workspace(root, config).workspace, config, SystemClock(), wait=5)
        calls = [partial(fetcher.fetch, ask) for ask in requests[:6]]
        for call in calls * 2:  # fills the level; reading rule files was a write
            call()
        work.spread(name, [calls[number % len(calls)] for number in range(CALLS)])

    level("process")
    level("store", seconds=0)
    if redis:
        level("redis", seconds=0, redis_url=redis)
    listed = opened.rule_list
    asked = [RULES.query(f"enabled:yes authority:{one}") for one in Authority]
    listed.page(asked[0])
    work.spread("tables", [partial(listed.page, asked[number % 2]) for number in range(CALLS // 10)])
    # What another machine pays whose process is new: its rulebook is there, or the first answer is in Redis.
    new = "of a new process"
    for name, url in (("store", ""), ("redis", redis)) if redis else (("store", ""),):
        config = replace(Config(), cache=CacheConfig(redis_url=url))
        calls = []
        for _ in range(10):
            fetcher = rule_fetcher(open_workspace(root, config).workspace, config, SystemClock(), wait=5)
            calls.append(partial(fetcher.fetch, requests[0]))
        work.spread(f"{name} {new}", calls)
    opened.close()
    work.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
