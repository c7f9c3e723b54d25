"""What corrections are found in real prompts: `python -m bench.corrections DATA [--show]`.

DATA holds a directory for each repository, `owner+name`: a clone with sessions that the Entire tool recorded
(branch `entire/checkpoints/v1`), or transcripts. Prompts are read as `memory ingest` reads them, a session's
once. The patterns were made on the repositories of the fit half; `--show` prints what is suggested and what
was only noted, to be read by eye, and with `--missed` sentences passed over that hold words of correction.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO

from bench.tasks import CHECKPOINTS
from workbench.comparison.candidates import DuplicateIndex
from workbench.comparison.verdicts import TextVerdict
from workbench.memory.learnings.corrections.extract import MOST_PROMPT, corrections_of
from workbench.memory.learnings.corrections.tally import tally, template_of
from workbench.memory.transcripts import TranscriptReading, read_iterations
from workbench.records.iterations import RawIterationOutput
from workbench.records.learnings import Correction

FIT = frozenset({"entireio+cli"})
_TELLING = re.compile(
    r"\b(?:always|never|from now on|going forward|remember|i told you|i said|stop \w+ing|instead of|"
    r"rather than|every time|prefer|make sure)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Found:
    """What was found in the prompts of one half."""

    prompts: int = 0
    sessions: set[str] = field(default_factory=set)
    strengths: Counter[str] = field(default_factory=Counter)
    said: dict[str, list[Correction]] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)


def streams(place: Path) -> Iterator[IO[bytes]]:
    """Yield the transcripts of a repository's directory."""
    git = next(
        (one for one in (place / "repo", place) if (one / "HEAD").exists() or (one / ".git").exists()), None
    )
    if git is None:
        for path in sorted(place.rglob("*.jsonl")):
            if ".outcome" not in path.name:
                with path.open("rb") as handle:
                    yield handle
        return
    listed = _git(git, "ls-tree", "-r", CHECKPOINTS).decode("utf-8", "replace").splitlines()
    blobs = {line.split()[2]: None for line in listed if line.endswith("full.jsonl")}
    for blob in blobs:
        yield io.BytesIO(_git(git, "cat-file", "blob", blob))


def _git(place: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(place), *arguments], capture_output=True, check=False).stdout


def prompts(place: Path) -> Iterator[RawIterationOutput]:
    """Yield the iterations of a repository that a prompt began, each prompt of a session once."""
    seen: set[tuple[str, str]] = set()
    for stream in streams(place):
        for raw in read_iterations(stream, TranscriptReading()):
            if raw.prompt and (raw.session, raw.prompt) not in seen:
                seen.add((raw.session, raw.prompt))
                yield raw


def take(found: Found, place: Path) -> None:
    """Bring the prompts of a repository into what was found."""
    index, keys = DuplicateIndex(), list[str]()
    for raw in prompts(place):
        found.prompts += 1
        found.sessions.add(raw.session)
        given = corrections_of(raw.prompt, later=raw.place > 0)
        for one in given:
            found.strengths[one.strength.value] += 1
            match = next(
                (m for m in index.matches(one.text) if m.judgement.verdict is TextVerdict.DUPLICATE), None
            )
            if match is None:
                index.add(one.text)
                keys.append(f"{place.name}: {one.text}")
            key = keys[match.index] if match is not None else keys[-1]
            said = Correction(
                raw.started_at, key, one.text, one.quote, raw.session, raw.place + 1, one.strength.value,
                template=template_of(raw.prompt, one.quote),
            )  # fmt: skip
            found.said.setdefault(key, []).append(said)
        if not given and len(raw.prompt) <= MOST_PROMPT:
            found.missed += [line.strip() for line in raw.prompt.splitlines() if _TELLING.search(line)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures as a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m bench.corrections", description=__doc__)
    parser.add_argument("data", type=Path, metavar="DATA", help="directories of repositories, owner+name")
    parser.add_argument("--show", action="store_true", help="print what is suggested and what was noted")
    parser.add_argument("--missed", type=int, default=0, metavar="N", help="print N sentences passed over")
    options = parser.parse_args(arguments)
    halves = {"fit": Found(), "test": Found()}
    for place in sorted(path for path in options.data.iterdir() if path.is_dir()):
        take(halves["fit" if place.name in FIT else "test"], place)
    print("| half | prompts | sessions | standing | correcting | passing | suggested |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, found in halves.items():
        counts = " | ".join(f"{found.strengths[kind]}" for kind in ("standing", "correcting", "passing"))
        suggested = [key for key, said in found.said.items() if tally(said).why]
        print(f"| {name} | {found.prompts:,} | {len(found.sessions):,} | {counts} | {len(suggested)} |")
    for name, found in halves.items():
        if options.show:
            _show(name, found)
        ordered = sorted(set(found.missed), key=lambda line: sha256(line.encode("utf-8", "replace")).digest())
        for line in ordered[: options.missed]:
            print(f"- {name}, passed over: {line[:160]}")
    return 0


def _show(name: str, found: Found) -> None:
    for key, said in sorted(found.said.items(), key=lambda item: (not tally(item[1]).why, item[0])):
        print(f"- {name}, {tally(said).why or 'noted'}: {key}")


if __name__ == "__main__":
    sys.exit(main())
