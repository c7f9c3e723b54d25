"""The baseline among readers: it greps for the task's rarest words and reads around the hits.

With a brief it believes that: its answer is what the brief shows, and it asks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.agents.asking import Reading, answer, ask, reading_of
from bench.agents.tasks import NONE
from workbench.project.languages import role_of
from workbench.records.project import Role

SCRIPTED: Final = "scripted"
WORDS: Final = 6
LETTERS: Final = 4
FILES: Final = 3
PLACES: Final = 6
AROUND: Final = 15
_WORD: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{{LETTERS - 1},}}")


def read(place: Path, arm: str) -> Reading:
    """Read a task by rule, unless that was done. With a brief it answers what that shows and asks nothing."""
    reader = f"{SCRIPTED}-{arm}"
    done = reading_of(place, reader)
    if done is not None and done.answer is not None:
        return done

    def do(*words: str) -> list[str]:
        return ask(place, words, reader=reader, arm=arm).splitlines()

    shown = _shown_places(place, do("brief")) if arm != NONE else []
    found = shown or _grep_places(do) or do("ls")[:1]
    return answer(place, found, reader=reader, arm=arm)


def _grep_places(do: Callable[..., list[str]]) -> list[str]:
    """Rank source files by the words of the task they hold, rare ones first, and read around the rarest."""
    words = sorted(
        dict.fromkeys(_WORD.findall(" ".join(do("task")).lower())), key=lambda word: (-len(word), word)
    )
    files = {
        word: [path for path in do("grep", "-i", "-l", "-F", word) if role_of(path) is Role.SOURCE]
        for word in words[:WORDS]
    }
    weights: dict[str, float] = {}
    for word in words[:WORDS]:
        for path in files[word]:
            weights[path] = weights.get(path, 0.0) + 1 / len(files[word])
    rare = [word for word in sorted(files, key=lambda word: (len(files[word]), word)) if files[word]]
    places: list[tuple[str, int, int]] = []
    for path in sorted(weights, key=lambda path: (-weights[path], path))[:FILES]:
        word = next(word for word in rare if path in files[word])
        for hit in do("grep", "-i", "-F", word, path):
            line = int(hit[len(path) + 1 :].split(":", 1)[0])
            if len(places) < PLACES and not any(path == known and a <= line <= b for known, a, b in places):
                places.append((path, max(1, line - AROUND), line + AROUND))
                do("read", path, f"{places[-1][1]}-{places[-1][2]}")
    return [f"{path}:{first}-{last}" for path, first, last in places]


def _shown_places(place: Path, text: list[str]) -> list[str]:
    """Return the places under the headings of a brief: a path, or ranges of its lines."""
    found = []
    for line in text:
        path, _, ranges = line.partition(":")
        if line[:1].strip() and (place / "checkout" / path).is_file():
            spans = [span for span in ranges.split(",") if re.fullmatch(r"\d+-\d+", span)]
            found += [f"{path}:{span}" for span in spans] or [path]
    return found
