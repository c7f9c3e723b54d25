"""Transcripts in which later prompts need what was said before."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.replay.stash_tasks import Recording, record_session
from workbench.stash.reading import TranscriptSegments, read_steps

SESSION = "5f0c2b1e-0000-4000-8000-00000000000a"
CODE = "def charge(card):\n    token = vault.lookup(card)\n    return gateway.charge(token, currency='EUR')\n"
ERROR = (
    "Traceback (most recent call last):\n"
    '  File "shop/pay.py", line 7, in charge\n'
    "KeyError: 'currency of card'"
)
SAID = "The gateway refuses cards without a currency, so every lookup has to name one before it charges."


def line(number: int, kind: str, content: object) -> dict[str, object]:
    return {
        "type": kind,
        "sessionId": SESSION,
        "uuid": f"u{number}",
        "cwd": "/w",
        "timestamp": f"2026-05-01T10:{number:02}:00Z",
        "message": {"role": kind, "content": content},
    }


def call(number: int, name: str, given: dict[str, str], answer: str, *, failed: bool = False) -> list[object]:
    use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": answer, "is_error": failed}
    return [line(number, "assistant", [use]), line(number, "user", [result])]


def said(number: int, text: str) -> dict[str, object]:
    return line(number, "assistant", [{"type": "text", "text": text}])


def write_transcript(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def recorded(path: Path, *lines: object) -> Recording:
    write_transcript(path, *lines)
    with path.open("rb") as handle:
        return record_session(read_steps(handle, TranscriptSegments(), name=path.name))


SHOP = (
    line(1, "user", "Look at how cards are charged in the shop."),
    *call(2, "Read", {"file_path": "/w/shop/pay.py"}, CODE),
    *call(3, "Bash", {"command": "pytest shop"}, ERROR, failed=True),
    said(4, SAID),
    *call(
        5,
        "Read",
        {"file_path": "/w/shop/cart.py"},
        "class Cart:\n    items: list[Item]\n    total: Money\n",
    ),
    said(6, "The cart holds its items and their total in the money of the shop, nothing else is there."),
    said(7, "That is all there is to see of it, and the tests of the cart pass without any change."),
    said(8, "Nothing else of the shop is about money, so that the rest of it can stay as it was before."),
    line(9, "user", "Now repair it."),
    *call(10, "Read", {"file_path": "/w/shop/pay.py"}, CODE),
    *call(11, "Bash", {"command": "pytest shop"}, ERROR.replace("line 7", "line 9"), failed=True),
    said(12, f"As noted: {SAID} I pass it on."),
)
"""A session in which the second prompt needs a file, an error and a finding of the first."""
