"""A day of agent sessions as a list of events: recorded in transcripts, or made up with a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

SHELL = "shell"
DAY = 86_400.0


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something a session does. `at` is in seconds of the day; `kind` is start, prompt or tool.

    `file` is the path a tool call touches, relative to the project, and SHELL for a shell command.
    """

    at: float
    session: str
    kind: str
    project: str = ""
    file: str = ""
    by_path: bool = False

    @property
    def scope(self) -> str:
        """What a tool call's rules are asked for by: its context, or with `by_path` the file itself."""
        if not self.file or self.file == SHELL:
            return self.file
        return f"path:{self.file}" if self.by_path else Path(self.file).suffix.lstrip(".") or "file"


def recorded_day(folder: Path) -> list[Event]:
    """Return the events of all Claude Code transcripts below a folder, laid onto one by the time of day.

    A sub-agent's transcript is a session of its own. Lines that are no events are left out.
    """
    events: list[Event] = []
    for path in sorted(folder.rglob("*.jsonl")):
        found = list(_events(path))
        if found:
            first = min(found)
            events += [Event(first.at, first.session, "start", first.project), *found]
    return sorted(events)


def _events(path: Path) -> Iterator[Event]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
                at = datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00"))
                project, kind = str(entry["cwd"]), entry["type"]
                content = entry["message"]["content"]
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            seconds = at.timestamp() % DAY
            blocks = content if isinstance(content, list) else [{"type": "text"}]
            for block in blocks:
                if not isinstance(block, dict):
                    continue
                if kind == "assistant" and block.get("type") == "tool_use":
                    yield Event(seconds, str(path), "tool", project, _file(block, project))
                elif kind == "user" and block.get("type") == "text" and not entry.get("isMeta"):
                    yield Event(seconds, str(path), "prompt", project)


def _file(block: dict[str, Any], project: str) -> str:
    given = block.get("input")
    file = given.get("file_path") if isinstance(given, dict) else None
    if isinstance(file, str):
        return file.removeprefix(project).lstrip("/")
    return SHELL if block.get("name") == "Bash" else ""


def made_up_day(seed: int = 7) -> list[Event]:
    """Return a day of twelve sessions in three projects, of which two often run side by side.

    A session has 3 to 25 prompts, three minutes apart in the mean, and eight tool calls a prompt in the mean,
    ten seconds apart. 40 % of the calls are shell commands, 45 % touch a file, small files of a project often
    and the others rarely (Zipf), 15 % touch nothing.
    """
    chance = random.Random(seed)
    events = []
    for number in range(12):
        session, project = f"s{number}", f"project-{chance.choice((0, 0, 0, 1, 1, 2))}"
        at = 9 * 3600 + chance.random() * 8 * 3600
        events.append(Event(at, session, "start", project))
        for _ in range(chance.randint(3, 25)):
            events.append(Event(at, session, "prompt", project))
            for _ in range(int(chance.expovariate(1 / 8))):
                at += chance.expovariate(1 / 10)
                kind = chance.random()
                suffix = chance.choice(("py", "py", "py", "ts", "md", "toml"))
                path = f"src/module{int(chance.paretovariate(1.0)) % 200}.{suffix}"
                file = SHELL if kind < 0.40 else path if kind < 0.85 else ""
                events.append(Event(at, session, "tool", project, file))
            at += chance.expovariate(1 / 180)
    return sorted(events)
