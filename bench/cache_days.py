"""How caches warm up over days of real sessions: `python -m bench.cache_days CLONE TRANSCRIPTS`.

The prompts of recorded sessions are given to the hook of a fresh copy of their repository, which was indexed
once: day by day, each in a process of its own, with new caches of the user. A day's share is what of all that
was asked of caches, saved ones too, these answered, as `stats` counts it. The repository stays as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.corrections import prompts

_PROGRAM = [sys.executable, "-P", "-m", "workbench"]
_DEADLINE = "25"  # seconds: a busy machine must not be what is measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a day."""
    parser = argparse.ArgumentParser(prog="python -m bench.cache_days", description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("transcripts", type=Path)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--prompts", type=int, default=8, help="of each day, the first (default: 8)")
    options = parser.parse_args(arguments)
    asked_on = recorded_prompts(options.transcripts)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        root = place / "clone"
        subprocess.run(["git", "clone", "-q", str(options.clone), str(root)], check=True)
        run(place, "config", "set", "hooks.deadline", _DEADLINE)
        run(place, "index")
        print("| day | prompts | asked | answered |\n|---|--:|--:|--:|")
        for day in sorted(asked_on)[: options.days]:
            since, told = time.time(), sorted(asked_on[day])[: options.prompts]
            sessions: set[str] = set()
            for _, session, prompt in told:
                event = {"session_id": session, "cwd": str(root)}
                if session not in sessions:
                    sessions.add(session)
                    run(
                        place, "hook", given={**event, "hook_event_name": "SessionStart", "source": "startup"}
                    )
                run(place, "hook", given={**event, "hook_event_name": "UserPromptSubmit", "prompt": prompt})
            statement = (
                f'select sum(hits) as hits, sum(misses) as misses from cache_stats where "at" >= {since}'
            )
            [row] = json.loads(run(place, "sql", "--json", statement))
            hits, asked = row["hits"], row["hits"] + row["misses"]
            print(f"| {day} | {len(told)} | {asked:,.0f} | {hits / asked:.2f} |", flush=True)
    return 0


def recorded_prompts(transcripts: Path) -> Mapping[str, list[tuple[str, str, str]]]:
    """Return (time, session, text) of what people asked in sessions, by day."""
    days: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for raw in prompts(transcripts):
        if 20 < len(raw.prompt) < 2_000 and raw.started_at:
            days[raw.started_at[:10]].append((raw.started_at, raw.session, raw.prompt))
    return days


def run(place: Path, *arguments: str, given: Mapping[str, str] | None = None) -> str:
    """Run the program in the clone and return what it prints."""
    done = subprocess.run(
        [*_PROGRAM, *arguments],
        cwd=place / "clone",
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
            "WORKBENCH_HOME": str(place / "home"),
            "WORKBENCH_CACHE": str(place / "cache"),
        },
        input=json.dumps(given) if given else "",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
