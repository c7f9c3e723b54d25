"""What hooks would have given to recorded sessions, and what became of it: `stats --usage` on transcripts.

Each session is replayed in a clone that knows the commits before it and nothing later. Its prompts go through
the hook of its agent, the hand-overs are dated as the prompts were, and the transcript is imported last.

    python -m bench.usage REPO --root '/home/*/project' SESSION.jsonl...
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.hooks import git
from workbench.entry.hooks.handlers import respond
from workbench.sessions.importers.fold import PromptTask
from workbench.sessions.importers.places import TranscriptFile, group_files, transcript
from workbench.sessions.importers.readers import read_session


def prompts(path: Path) -> tuple[str, str, list[PromptTask]]:
    """Return a transcript's session, its agent and its prompts."""
    file: TranscriptFile = transcript(path)
    groups, _ = group_files([file], lambda _: "", lambda _: "")
    reading = read_session(groups[0], "p")
    agent = "codex" if reading.source == "codex" else "claude"
    return reading.story.session, agent, reading.story.tasks


def program(root: Path, *arguments: str) -> str:
    """Run the program in a project and return what it prints."""
    line = [sys.executable, "-m", "workbench", *arguments]
    return subprocess.run(line, cwd=root, capture_output=True, check=True, text=True).stdout


def replay(source: Path, path: Path, roots: list[str], place: Path) -> dict[str, Any]:
    """Return what `stats --usage --json` counts of a session that is replayed in a clone."""
    session, agent, tasks = prompts(path)
    began = datetime.fromtimestamp(tasks[0].started, UTC).isoformat()
    base = git(source, "rev-list", "-1", f"--before={began}", "HEAD").strip()
    git(place.parent, "clone", "-q", "--no-checkout", str(source.absolute()), str(place))
    git(place, "checkout", "-q", "-B", "past", base)
    program(place, "index", "-q")
    journal = place / ".workbench" / "journal" / "handovers.jsonl"
    for task in tasks:
        payload = {"session_id": session, "cwd": str(place), "prompt": task.text}
        event = "UserPromptSubmit"
        respond(json.dumps({**payload, "hook_event_name": event}).encode(), event, agent).then()
        *before, last = journal.read_text(encoding="utf-8").splitlines()
        entry = json.loads(last)
        entry["at"] = datetime.fromtimestamp(task.started, UTC).isoformat().replace("+00:00", "Z")
        journal.write_text("\n".join([*before, json.dumps(entry), ""]), encoding="utf-8")
    more = [part for root in roots for part in ("--root", root)]
    program(place, "import", "sessions", str(path), *more)
    print(program(place, "stats", "--usage", "--since", "5000d"))
    found: dict[str, Any] = json.loads(program(place, "stats", "--usage", "--since", "5000d", "--json"))
    return found


def main() -> None:
    """Replay sessions and add up what was counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("sessions", nargs="+", type=Path)
    parser.add_argument("--root", action="append", default=[])
    given = parser.parse_args()
    names = ("calls", "silent", "tokens", "files", "opened", "changed", "edited", "missed")
    totals = dict.fromkeys((*names, "nearby", "elsewhere"), 0)
    with tempfile.TemporaryDirectory() as scratch:
        for number, path in enumerate(given.sessions):
            found = replay(given.repository, path, given.root, Path(scratch) / str(number))
            for door in found["hooks"]:
                for name in totals:
                    totals[name] += door[name]
    print(", ".join(f"{name} {count:,}" for name, count in totals.items()))


if __name__ == "__main__":
    main()
