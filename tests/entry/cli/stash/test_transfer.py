"""`workbench stash import` and `export`: what goes in comes out, twice is once, and faults are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits

DATA = Path(__file__).parents[4] / "sample_data"


def test_transcripts_are_imported_once_and_undone_as_one(empty: object, run: Run) -> None:
    """All files of an import are one step; a second import adds nothing; removed segments stay removed."""
    place = str(DATA / "sessions" / "stream_json")
    first = run("stash", "import", place, "--expires-in", "14", "--json").json()
    assert first["added"] == sum(first["types"].values()) > 100
    assert first["left_out"]["confirmations of a call"] > 10
    listed = run("stash", "list", "--limit", "3", "--json").json()
    assert listed["total_count"] == first["added"]
    assert all(one["expires_at"] for one in listed["segments"])
    again = run("stash", "import", place)
    assert f"0 segments added, {first['added']} known" in again.out
    undone = run("stash", "undo")
    assert f"and {first['added'] - 50} more" in undone.out
    assert "the stash is empty" in run("stash", "list").err
    assert f"{first['added']} removed before" in run("stash", "import", place).out
    assert f"{first['added']} segments added" in run("stash", "import", place, "--again").out


def test_json_lines_come_back_as_they_were(empty: object, run: Run, tmp_path: Path) -> None:
    """Given ids are kept, an export is what an import reads, and filters choose of it."""
    source = DATA / "stash.jsonl"
    assert run("stash", "import", str(source)).code == exits.OK
    wanted = {one["segment_id"]: one for one in map(json.loads, source.read_text().splitlines())}
    exported = {one["segment_id"]: one for one in map(json.loads, run("stash", "export").out.splitlines())}
    assert exported.keys() == wanted.keys()
    for name, one in exported.items():
        same = ("session_id", "text", "type", "topic", "source", "references", "protected")
        assert {key: one[key] for key in same} == {key: wanted[name][key] for key in same}
    target = tmp_path / "out.jsonl"
    run("stash", "export", "--type", "decision", "--out", str(target))
    assert len(target.read_text().splitlines()) == 7
    assert "0 segments added, 7 known" in run("stash", "import", str(target)).out


def test_malformed_lines_and_files_are_named(empty: object, run: Run, tmp_path: Path) -> None:
    """Good lines are kept, the others named by line and reason; the exit code says that some were not."""
    lines = b'{"session_id": "s", "text": "good", "segment_id": "a"}\nnonsense\n{"text": "x"}\n'
    mixed = run(
        "stash", "import", "-", given=lines + b'{"session_id": "s", "text": "bad", "segment_id": "a"}\n'
    )
    assert mixed.code == exits.ERROR
    assert "1 segment added" in mixed.out
    for words in ("line 2: it is not JSON", "line 3: it has no session_id", "line 4: the id a is that of"):
        assert words in mixed.err
    (tmp_path / "notes.jsonl").write_text('{"a": 1}\n')
    named = run("stash", "import", str(tmp_path / "notes.jsonl"))
    assert (named.code, "neither a transcript" in named.err) == (exits.ERROR, True)
    assert run("stash", "import", str(tmp_path)).code == exits.OK  # found in a directory, not asked for
    assert run("stash", "import", str(tmp_path / "missing")).code == exits.USAGE
    halved = b'{"session_id": "s", "text": "half \\ud800", "segment_id": "\\ud800"}\n'
    assert "1 segment added" in run("stash", "import", "-", given=halved).out
    assert "0 segments added, 1 known" in run("stash", "import", "-", given=halved).out
    session = run("stash", "import", "-", "--session", "mine", "--format", "jsonl", given=b'{"text": "x"}\n')
    assert session.code == exits.OK


@pytest.mark.parametrize(
    ("lines", "added", "reason"),
    [
        ('{"session_id": "s1", "text": "We use SQLite"}\n{"text": "x"}\n', 1, "line 2: it has no session_id"),
        (
            '{"session_id":"s1","text":"We use C","type":"message"}\n{"text":"x"}\n',
            1,
            "line 2: it has no session_id",
        ),
        ('{"text": "x"}\n' * 60 + '{"session_id": "s1", "text": "y"}\n', 1, "line 60: it has no session_id"),
        ("nonsense\n" * 60 + '{"session_id": "s1", "text": "y"}\n', 1, "line 1: it is not JSON"),
        ('{"a": 1}\n{"a": 1}\n{"session_id": "s1", "text": "y"}\n', 1, "line 2: it has no text"),
        ('{"text": "x"}\n', 0, "line 1: it has no session_id; give one, or --session for all"),
    ],
)
def test_one_good_line_is_kept_however_many_are_malformed(
    empty: object, run: Run, lines: str, added: int, reason: str
) -> None:
    """The format is not a matter of majority: each malformed line is named, and the exit code is 1."""
    done = run("stash", "import", "-", "--json", given=lines.encode())
    assert (done.code, done.json()["added"]) == (exits.ERROR, added)
    [file] = done.json()["files"]
    errors = [f"line {one['line']}: {one['reason']}" for one in file["errors"]]
    assert any(error.startswith(reason) for error in errors)
    assert len(errors) == lines.count("\n") - added


def test_a_transcript_with_a_foreign_line_stays_a_transcript(empty: object, run: Run) -> None:
    """A line that reads as a segment among more lines of an agent does not make JSON lines of it."""
    record = {"type": "user", "sessionId": "own", "message": {"role": "user", "content": "Why is VAT wrong?"}}
    lines = [json.dumps({**record, "uuid": str(n)}) for n in range(3)]
    lines.insert(1, '{"session_id": "s", "text": "x"}')
    done = run("stash", "import", "-", "--json", given="\n".join(lines).encode()).json()
    assert [one["format"] for one in done["files"]] == ["claude_code"]
    assert (done["added"], done["malformed"]) == (1, 0)


def test_an_import_is_masked_and_takes_a_session(empty: object, run: Run) -> None:
    """Secrets are in no line of an export; `--session` replaces the session of a transcript."""
    token = "ghp_" + "a1B2" * 9
    record = {
        "type": "user",
        "sessionId": "own",
        "uuid": "u1",
        "message": {"role": "user", "content": f"use the token {token} for the call"},
    }
    run("stash", "import", "-", "--session", "mine", given=json.dumps(record).encode())
    out = run("stash", "export", "--session", "mine").out
    assert token not in out
    assert "[secret:" in json.loads(out)["text"]
