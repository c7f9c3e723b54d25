"""What the importers make of real transcripts: `python -m bench.transcripts DIR`.

For every session below DIR the share of lines and events that was understood, its tasks, and what is not
understood. Where `<session>.outcome.jsonl` lies beside one (`files_touched`, `commits`), the files that
its tasks changed are compared with those that its commits took. A session's first directory counts as its
project.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from workbench.plan.intent import parse_intent
from workbench.sessions.importers.bodies import episode_bodies
from workbench.sessions.importers.places import SessionFiles, find_files, group_files, transcript
from workbench.sessions.importers.readers import SessionReading, family, read_session
from workbench.sessions.importers.transcripts import ReadTally

_OUTCOME = ".outcome.jsonl"


def main(arguments: list[str] | None = None) -> int:
    """Read the sessions and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.transcripts", description=__doc__)
    parser.add_argument("place", type=Path, metavar="DIR", help="a directory of transcripts")
    place = parser.parse_args(arguments).place
    files = [transcript(path) for path in find_files([place]) if not path.name.endswith(_OUTCOME)]
    known = {file.path: family(file) for file in files}
    groups, _ = group_files(files, lambda file: known[file.path][1], lambda file: known[file.path][0])
    total, began = ReadTally(), time.perf_counter()
    hits = reported = wanted = 0
    print("| session | format | tasks | lines | events | precision | recall |\n|---|---|---|---|---|---|---|")
    for group in groups:
        reading = read_session(group)
        total.add(reading.tally)
        bodies = _bodies(group, reading)
        outcome = _outcome(group)
        figures = " | |"
        if outcome is not None:
            found = {change[0] for body in bodies for change in body["changes"]}
            truth = set(outcome["files_touched"])
            hits, reported, wanted = hits + len(found & truth), reported + len(found), wanted + len(truth)
            figures = (
                f" {_share(len(found & truth), len(found))} | {_share(len(found & truth), len(truth))} |"
            )
        tally = reading.tally
        name = group.main.path.name[:30]
        print(
            f"| {name} | {reading.source} | {len(bodies)} | {tally.share_of_lines:.2%} | "
            f"{tally.share_of_events:.2%} |{figures}"
        )
    seconds = time.perf_counter() - began
    size = sum(file.size for file in files)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\nunderstood: {total.share_of_lines:.2%} of {total.lines:,} lines, {total.share_of_events:.2%} of "
        f"{total.events:,} events\n"
        f"changed files: precision {_share(hits, reported)}, recall {_share(hits, wanted)} of {wanted}\n"
        f"{size / 1e6:.1f} MB in {seconds:.1f} s, {memory:.0f} MB of memory\n"
    )
    for reason, count in total.reasons.most_common():
        print(f"- not understood: {count} × {reason}")
    return 0


def _bodies(group: SessionFiles, reading: SessionReading) -> tuple[dict[str, Any], ...]:
    first = next(iter(reading.story.directories), "")
    return episode_bodies(
        reading.story,
        [first] if first else [],
        project_id="bench",
        source=reading.source,
        understand=partial(parse_intent, project_id="bench"),
        fallback_at=group.main.changed // 1_000_000_000,
        complete=True,
    ).bodies


def _outcome(group: SessionFiles) -> dict[str, Any] | None:
    path = group.main.path.with_name(group.main.path.name.removesuffix(".jsonl") + _OUTCOME)
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    return found


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "none"


if __name__ == "__main__":
    sys.exit(main())
