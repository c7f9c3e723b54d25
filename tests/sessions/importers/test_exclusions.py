"""What tools told of excluded paths is taken out of iterations and of copies of transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.archive import Archive, ArchiveSource
from workbench.config import PrivacyConfig
from workbench.memory.iterations import WITHHELD as DROPPED
from workbench.memory.iterations import digest_output
from workbench.records.iterations import RawIterationOutput, ToolUseEvent
from workbench.sessions.importers.exclusions import Withholder, path_filter, withhold

ROOT = "/srv/shop"
FILE = f"{ROOT}/.env"
EXCLUDED = path_filter(PrivacyConfig().exclude, (ROOT,))
SAID = "the plain word nobody may keep"


def iteration(tool: str, given: dict[str, Any], told: str = SAID) -> RawIterationOutput:
    return RawIterationOutput(cwd=ROOT, tool_uses=(ToolUseEvent(tool, given, "t1", result=told),))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": f"{ROOT}/.env"}),
        ("Read", {"file_path": f"{ROOT}/secrets/x.pem"}),
        ("Read", {"file_path": "/somewhere/else/.ssh/id_rsa"}),
        ("Write", {"file_path": f"{ROOT}/.env.local", "content": SAID}),
        ("Edit", {"file_path": f"{ROOT}/certs/a.key", "old_string": SAID, "new_string": SAID}),
        ("Bash", {"command": "cat .env | sort"}),
        ("Bash", {"command": "cat secrets/prod.txt"}),
        ("Bash", {"command": f"cat > .env <<EOF\n{SAID}\nEOF"}),
        ("shell", {"command": ["bash", "-lc", "sed -n 1,20p config/.env.production"]}),
        ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: .env\n+{SAID}\n*** End Patch"}),
    ],
)
def test_a_call_about_an_excluded_path_keeps_its_path_alone(tool: str, given: dict[str, Any]) -> None:
    """Neither what it was answered nor what it wrote is left."""
    safe, count = withhold(iteration(tool, given), EXCLUDED)
    assert (SAID in repr(safe), count) == (False, 1)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": f"{ROOT}/src/env.py"}),
        ("Read", {"file_path": f"{ROOT}/.env.example"}),
        ("Bash", {"command": "set -a; source .env && pytest -q tests/auth"}),
        ("Bash", {"command": "docker run --env-file .env shop pytest"}),
        ("Bash", {"command": "cat src/secrets.py"}),
    ],
)
def test_other_calls_are_left_alone(tool: str, given: dict[str, Any]) -> None:
    """Templates, names that only look alike, and files a program is merely started with."""
    raw = iteration(tool, given)
    assert withhold(raw, EXCLUDED) == (raw, 0)


def test_of_a_search_only_the_lines_about_excluded_paths_go() -> None:
    """The other hits stay, as do the other files of a diff."""
    hits = f".env:{SAID}\nsrc/a.py:3: token\n./secrets/x:1:{SAID}"
    safe, _ = withhold(iteration("Grep", {"pattern": "token"}, hits), EXCLUDED)
    assert safe.tool_uses[0].result == "src/a.py:3: token"
    diff = f"diff --git a/.env b/.env\n+{SAID}\ndiff --git a/a.py b/a.py\n+x = 1"
    safe, _ = withhold(iteration("Bash", {"command": "git diff"}, diff), EXCLUDED)
    assert safe.tool_uses[0].result == "diff --git a/a.py b/a.py\n+x = 1"


def test_what_is_extracted_has_nothing_of_it_and_counts_it() -> None:
    """An error that the answer would show is none; the fingerprint is that of the whole output."""
    raw = iteration(
        "Bash", {"command": "cat .env"}, f"Traceback (most recent call last):\nKeyError: '{SAID}'"
    )
    output = digest_output(raw, (ROOT,), excluded=EXCLUDED)
    assert SAID not in repr(output)
    assert (output.extraction.dropped[DROPPED], digest_output(raw, (ROOT,)).fingerprint) == (
        1,
        output.fingerprint,
    )


def claude(kind: str, block: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": [block]}, **more}


TRANSCRIPT = (
    claude(
        "assistant", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": f"{ROOT}/.env"}}
    ),
    claude(
        "user",
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": SAID}]},
        toolUseResult={"file": {"filePath": f"{ROOT}/.env", "content": SAID}},
    ),
    {
        "type": "attachment",
        "attachment": {"type": "file", "filename": f"{ROOT}/.env", "content": {"x": SAID}},
    },
    {
        "payload": {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command":["cat",".env"]}',
            "call_id": "c",
        }
    },
    {"payload": {"type": "function_call_output", "call_id": "c", "output": SAID}},
    claude("assistant", {"type": "text", "text": "the `.env` has a token"}),
)


def test_a_copied_transcript_has_nothing_of_it(tmp_path: Path) -> None:
    """The archive keeps the calls and the words; what the tools told of excluded paths is not in it."""
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in TRANSCRIPT), encoding="utf-8")
    archive = Archive(tmp_path, 1 << 20, cleaning=lambda: Withholder(EXCLUDED).line)
    archive.keep([ArchiveSource(str(path), path.stat().st_size, 1, lambda: path.open("rb"))])
    with archive.open(archive.copies()[0]) as handle:
        copied = handle.read().decode()
    assert (SAID in copied, copied.count("\n")) == (False, len(TRANSCRIPT))
    assert json.loads(copied.splitlines()[-1]) == TRANSCRIPT[-1]


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.text(max_size=8) | st.sampled_from(["tool_use", "tool_result", ".env"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "id", "input", "command", "content", "tool_use_id", "output", "file_path"]),
        inner, max_size=4),
    max_leaves=12,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_no_line_breaks_the_copying(line: bytes) -> None:
    """Whatever a line is, one comes out, and cleaning it again changes nothing more."""
    once = Withholder(EXCLUDED).line(line)
    assert Withholder(EXCLUDED).line(once) == once
