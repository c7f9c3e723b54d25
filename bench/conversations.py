"""Public long conversations with questions, as the stash imports them.

`python -m bench.conversations CLONE OUT`. CLONE is a checkout of REALTALK (chats of two people over 21 days;
Lee et al. 2025) or of BEAM (an assistant's work over months; Tavakoli et al. 2025). OUT gets `choose/` and
`report/`, halves by whole conversations: parameters are chosen on the first, figures reported on the second.
A conversation is a folder of `turns.jsonl` (what `workbench stash import` reads) and `questions.jsonl`
(`query`, the `segment_ids` and `session_ids` that hold its answer, `kind`). Nothing of the data is kept here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

TURNS: Final = "turns.jsonl"
QUESTIONS: Final = "questions.jsonl"
CHOOSE: Final = "choose"
REPORT: Final = "report"

_EVIDENCE: Final = re.compile(r"D(\d+):(\d+)")
_MARK: Final = re.compile(r"\s*->->\s*[\d,\s]*$")
_KINDS: Final = {1: "several turns", 2: "time", 3: "common sense"}
"""What REALTALK's categories of questions are."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said, as a segment; `timestamp` is ISO 8601 in UTC."""

    segment_id: str
    session_id: str
    text: str
    timestamp: str
    type: str = "message"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, and where its answer is."""

    query: str
    session_ids: tuple[str, ...]
    segment_ids: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in the order they were said, and questions to ask when all is said."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def read_conversations(folder: Path) -> list[Conversation]:
    """Read a folder of folders of `turns.jsonl` and `questions.jsonl`, or one of them. Raises: OSError."""
    places = sorted(path.parent for path in folder.rglob(TURNS))
    return [
        Conversation(
            str(place.relative_to(folder)) if place != folder else place.name,
            tuple(Turn(**_known(Turn, line)) for line in _lines(place / TURNS)),
            tuple(
                Question(
                    line["query"],
                    tuple(line["session_ids"]),
                    tuple(line["segment_ids"]),
                    line.get("kind", ""),
                )
                for line in _lines(place / QUESTIONS)
            ),
        )
        for place in places
    ]


def convert_realtalk(checkout: Path) -> Iterator[Conversation]:
    """Yield the chats of REALTALK; a picture is what its caption says."""
    for path in sorted((checkout / "data").glob("Chat_*.json")):
        content = json.loads(path.read_text("utf-8"))
        name = f"realtalk-{path.stem.split('_')[1]}"
        turns: dict[str, Turn] = {}
        numbers = sorted(int(key.split("_")[1]) for key in content if re.fullmatch(r"session_\d+", key))
        for number in numbers:
            for said in content[f"session_{number}"]:
                at = datetime.strptime(said["date_time"], "%d.%m.%Y, %H:%M:%S").replace(tzinfo=UTC)
                caption = f" [picture: {said['blip_caption']}]" if said.get("blip_caption") else ""
                text = f"{said['speaker']}: {said['clean_text']}{caption}"
                turns[said["dia_id"]] = Turn(
                    f"{name}/{said['dia_id']}", f"{name}/{number}", text, at.isoformat()
                )
        asked = (
            (one["question"], _references(one["evidence"]), _KINDS.get(one["category"], ""))
            for one in content["qa"]
        )
        yield Conversation(name, tuple(turns.values()), _questions(turns, asked))


def convert_beam(checkout: Path, scales: Iterable[str] = ("100K", "500K")) -> Iterator[Conversation]:
    """Yield the chats of BEAM of some sizes; a session is what was said on a day."""
    for scale in scales:
        chats = [path.parent for path in (checkout / "chats" / scale).glob("*/chat.json")]
        for folder in sorted(chats, key=lambda path: path.name.zfill(4)):
            name = f"beam-{scale}-{folder.name}"
            turns: dict[str, Turn] = {}
            for batch in json.loads((folder / "chat.json").read_text("utf-8")):
                anchors = [batch.get("time_anchor"), *(said.get("time_anchor") for said in _said(batch))]
                day = next(anchor for anchor in anchors if anchor)
                at = datetime.strptime(day, "%B-%d-%Y").replace(tzinfo=UTC)
                for minute, said in enumerate(_said(batch)):
                    text = f"{said['role']}: {_MARK.sub('', said['content'])}"
                    turns[str(said["id"])] = Turn(
                        f"{name}/{said['id']}",
                        f"{name}/{batch['batch_number']}",
                        text,
                        (at + timedelta(minutes=minute)).isoformat(),
                    )
            probes = json.loads((folder / "probing_questions" / "probing_questions.json").read_text("utf-8"))
            asked = (
                (one["question"], [str(id) for id in _numbers(one.get("source_chat_ids"))], kind)
                for kind, several in probes.items()
                for one in several
            )
            yield Conversation(name, tuple(turns.values()), _questions(turns, asked))


def write_halves(conversations: Iterable[Conversation], out: Path) -> dict[str, int]:
    """Write conversations into two halves, every other one by the digest of its name; return their sizes."""
    ordered = sorted(conversations, key=lambda one: hashlib.sha256(one.name.encode()).digest())
    sizes = {CHOOSE: 0, REPORT: 0}
    for number, conversation in enumerate(ordered):
        half = (CHOOSE, REPORT)[number % 2]
        sizes[half] += 1
        folder = out / half / conversation.name
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / TURNS, conversation.turns)
        _write(folder / QUESTIONS, conversation.questions)
    return sizes


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clone", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--scales", nargs="*", default=["100K", "500K"], help="sizes of BEAM (default: 100K 500K)"
    )
    options = parser.parse_args()
    is_beam = (options.clone / "chats").is_dir()
    found = convert_beam(options.clone, options.scales) if is_beam else convert_realtalk(options.clone)
    for half, size in write_halves(found, options.out).items():
        print(f"{options.out / half}: {size} conversations")


def _questions(turns: dict[str, Turn], asked: Iterable[tuple[str, list[str], str]]) -> tuple[Question, ...]:
    """Return the questions whose evidence is known; those without are left out."""
    found = []
    for query, evidence, kind in asked:
        known = [turns[id] for id in dict.fromkeys(evidence) if id in turns]
        if known:
            sessions = tuple(dict.fromkeys(turn.session_id for turn in known))
            found.append(Question(query, sessions, tuple(turn.segment_id for turn in known), kind))
    return tuple(found)


def _references(evidence: Iterable[str]) -> list[str]:
    return [f"D{int(found[1])}:{int(found[2])}" for one in evidence for found in _EVIDENCE.finditer(one)]


def _said(batch: dict[str, Any]) -> list[dict[str, Any]]:
    return [said for turn in batch["turns"] for said in turn]


def _numbers(value: object) -> Iterator[int]:
    """Yield the numbers in a value of lists and objects, in order."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _known(kind: type[Turn], line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name in kind.__slots__}


def _write(path: Path, records: Iterable[Turn | Question]) -> None:
    text = "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
