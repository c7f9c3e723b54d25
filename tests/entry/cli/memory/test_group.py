"""`memory collect`, `ingest`, `search` and `status`: from a pipe and from files to what is remembered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.memory.made import SESSION, init, lines_of, result, run_of, said
from tests.processes import LONG, end
from workbench.entry.cli import exits

PROGRAM = [sys.executable, "-P", "-m", "workbench", "memory"]
ROOT = Path(__file__).parents[4]


@contextmanager
def start(root: Path, *arguments: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start `memory collect` with pipes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*PROGRAM, "collect", *arguments]
    process = subprocess.Popen(command, cwd=root, env=environment, **{**streams, **more})
    try:
        yield process
    finally:
        end(process)


def collect(root: Path, data: bytes, *arguments: str) -> tuple[int, bytes, str]:
    """Run `memory collect` on bytes; return code, stdout and stderr."""
    with start(root, *arguments) as process:
        out, err = process.communicate(data)
    return process.returncode, out, err.decode()


def kept(root: Path, feature: str = "auth") -> list[dict[str, Any]]:
    path = root / ".workbench" / "journal" / "memory" / f"{feature}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    bodies = [json.loads(line) for line in lines]
    return [body["body"]["record"] for body in bodies if body["kind"] == "iteration"]


def test_collect_passes_everything_and_records(empty: Any) -> None:
    """Bytes pass unchanged, those that are no JSON, too; the record has what was said on the way."""
    data = lines_of(run_of()) + b"\xff not json, no end"
    code, out, err = collect(empty.root, data, "--feature", "auth", "--task", "42", "--discipline", "backend")
    assert (exits.OK, data) == (code, out)
    assert "auth #1 success: 1 error, 1 decision" in err
    (record,) = kept(empty.root)
    assert (
        record["iteration_number"],
        record["task_id"],
        record["discipline"],
        record["outcome"],
    ) == (1, "42", "backend", "success")


def test_a_line_of_fifty_megabytes_passes(empty: Any) -> None:
    """Byte for byte, and what stands around it is recorded."""
    huge = lines_of([said("B" * (50 << 20))])
    data = lines_of([init()]) + huge + lines_of([result()])
    code, out, _ = collect(empty.root, data, "--feature", "auth")
    assert (exits.OK, len(data), True) == (code, len(out), out == data)
    assert kept(empty.root)[0]["outcome"] == "success"


@pytest.mark.parametrize(("number", "outcome"), [(signal.SIGINT, "partial"), (signal.SIGTERM, "timeout")])
def test_a_signal_loses_nothing(empty: Any, number: signal.Signals, outcome: str) -> None:
    """What was seen is recorded, and the exit code tells the signal."""
    with start(empty.root, "--feature", "auth") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines_of(run_of()[:3]))
        process.stdin.flush()
        seen = b"".join(process.stdout.readline() for _ in range(3))  # it listens
        process.send_signal(number)
        code = process.wait(LONG)
    assert (128 + number, lines_of(run_of()[:3])) == (code, seen)
    assert [outcome] == [record["outcome"] for record in kept(empty.root)]


def test_a_reader_that_goes_away_does_not_lose_the_record(empty: Any) -> None:
    """`| head -1` sees its line; the run is recorded whole."""
    with start(empty.root, "--feature", "auth") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines_of(run_of()[:1]))
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(lines_of(run_of()[1:]))
        process.stdin.close()
        assert process.wait(LONG) == exits.OK
    assert [record["outcome"] for record in kept(empty.root)] == ["success"]


def test_recording_that_fails_is_told_and_the_stream_has_passed(empty: Any) -> None:
    """The journal's place is taken by a file: exit code 1, every byte on stdout."""
    (empty.root / ".workbench" / "journal").mkdir(parents=True)
    (empty.root / ".workbench" / "journal" / "memory").write_text("in the way", encoding="utf-8")
    data = lines_of(run_of())
    code, out, err = collect(empty.root, data, "--feature", "auth")
    assert (exits.ERROR, data) == (code, out)
    assert "the stream passed through, but the iteration is not recorded" in err
    code, out, _ = collect(empty.root, data, "--project", "/nowhere/at/all")
    assert (exits.ERROR, data) == (code, out)


def test_a_stream_without_events_is_told(empty: Any) -> None:
    """Plain text passes; that nothing could be recorded is said with what to do."""
    code, out, err = collect(empty.root, b"Hello!\n", "--feature", "auth")
    assert (code, out) == (exits.ERROR, b"Hello!\n")
    assert "--output-format stream-json" in err
    assert collect(empty.root, b"")[:2] == (exits.OK, b"")


def test_two_collectors_at_once_keep_both_records(empty: Any) -> None:
    """Each run has a record and a number of its own."""
    with ExitStack() as stack:
        collectors = [stack.enter_context(start(empty.root, "--feature", "auth")) for _ in range(3)]
        for place, process in enumerate(collectors):
            assert process.stdin is not None
            process.stdin.write(lines_of(run_of(f"s{place}", f"msg_{place}")))
        for process in collectors:
            process.communicate(timeout=LONG)
    assert [process.returncode for process in collectors] == [exits.OK] * 3
    assert sorted(record["iteration_number"] for record in kept(empty.root)) == [1, 2, 3]


def test_a_loop_in_one_pipe_is_recorded_run_by_run(empty: Any) -> None:
    """Runs one after another, and that they get nowhere is said."""
    data = b"".join(lines_of(run_of(f"s{place}", f"msg_{place}")) for place in range(3))
    code, _, err = collect(empty.root, data, "--feature", "auth")
    assert (code, len(kept(empty.root))) == (exits.OK, 3)
    assert "gets nowhere" in err


def test_the_report_is_json_on_stderr(empty: Any) -> None:
    """Stdout is the agent's."""
    data = lines_of(run_of())
    code, out, err = collect(empty.root, data, "--json")
    told = json.loads(err)
    assert (exits.OK, data, 1, "general") == (code, out, told["added"], told["records"][0]["feature"])


def ingested(run: Any, *arguments: str) -> Any:
    """Run `memory ingest` and return its JSON."""
    return run("memory", "ingest", *arguments, "--json").json()


def test_ingesting_waits_for_the_disk_once_a_feature(
    empty: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each journal that was written to is synced in the end, and none that was not."""
    synced: list[str] = []
    monkeypatch.setattr("store.journal.FileJournal.sync", lambda _, stream: synced.append(stream))
    files = [tmp_path / f"{place}.jsonl" for place in range(3)]
    for place, file in enumerate(files):
        file.write_bytes(lines_of(run_of(f"{SESSION}-{place}", f"msg_{place}")))
    for feature in ("auth", "cache"):
        ingested(run, *map(str, files), "--feature", feature)
    assert synced == ["memory/auth", "memory/cache"]
    ingested(run, *map(str, files), "--feature", "auth")
    assert synced == ["memory/auth", "memory/cache"]


def test_ingesting_twice_adds_nothing(empty: Any, run: Any, tmp_path: Path) -> None:
    """Nor does what was collected before; a file that goes on adds what is new."""
    file = tmp_path / "run.jsonl"
    file.write_bytes(lines_of(run_of()[:-3]))
    first = ingested(run, str(file), "--feature", "auth", "--task", "42")
    assert (first["added"], first["outcomes"]) == (1, {"partial": 1})
    file.write_bytes(lines_of([*run_of(), *run_of(message="msg_9")]))
    second = ingested(run, str(file), "--feature", "auth")
    assert (second["added"], second["updated"], second["unchanged"]) == (1, 1, 0)
    third = ingested(run, str(file), "--feature", "auth")
    assert (third["added"], third["updated"], third["unchanged"]) == (0, 0, 2)
    collect(empty.root, file.read_bytes(), "--feature", "auth")
    assert len(kept(empty.root)) == 3
    assert [record["iteration_number"] for record in kept(empty.root)] == [1, 1, 2]
    assert [record["task_id"] for record in kept(empty.root)] == ["42", "42", ""]


def test_files_that_are_none_are_told(empty: Any, run: Any, tmp_path: Path) -> None:
    """A file of something else is no transcript; one that is not there is a mistake."""
    other = tmp_path / "notes.txt"
    other.write_text("hello\n", encoding="utf-8")
    done = run("memory", "ingest", str(other))
    assert (done.code, "no known agent wrote it" in done.err) == (exits.ERROR, True)
    assert run("memory", "ingest", str(tmp_path / "nowhere")).code == exits.USAGE
    assert run("memory", "ingest").code == exits.USAGE


def test_a_transcript_in_the_pipe_is_what_it_is_as_a_file(empty: Any, run: Any, tmp_path: Path) -> None:
    """Transcripts have no result, so that their end breaks nothing off; telling one again adds nothing."""
    words = [{"type": "text", "text": "Fixed."}]
    records = [
        {
            "type": "user",
            "sessionId": SESSION,
            "message": {"role": "user", "content": "Fix the login of users"},
        },
        {
            "type": "assistant",
            "sessionId": SESSION,
            "message": {"role": "assistant", "id": "m", "content": words},
        },
    ]
    file = tmp_path / "session.jsonl"
    file.write_bytes(lines_of(records))
    ingested(run, str(file), "--feature", "auth")
    assert collect(empty.root, file.read_bytes(), "--feature", "auth")[0] == exits.OK
    assert [(one["outcome"], one["task_title"]) for one in kept(empty.root)] == [
        ("success", "Fix the login of users")
    ]


def test_a_directory_is_read_with_all_below_it(empty: Any, run: Any, tmp_path: Path) -> None:
    """Its JSONL files are ingested, others are not looked at."""
    below = tmp_path / "runs" / "june"
    below.mkdir(parents=True)
    (below / "1.jsonl").write_bytes(lines_of(run_of()))
    (below / "notes.txt").write_text("hello", encoding="utf-8")
    told = ingested(run, str(tmp_path / "runs"))
    assert (told["added"], len(told["files"])) == (1, 1)


def test_iterations_that_teach_nothing_say_why(empty: Any, run: Any, tmp_path: Path) -> None:
    """Each is counted under one reason, the most frequent first; what was known before is not counted."""
    prompts = ["Fix the login of users", "Fix the cart", "please don't add comments to the code"]
    for place, prompt in enumerate(prompts):
        session, told = f"s{place}", [{"type": "text", "text": prompt}]
        asked = {"type": "user", "session_id": session, "message": {"role": "user", "content": told}}
        records = [init(session), asked, said("Done.", f"msg-{place}", session), result(session=session)]
        (tmp_path / f"{place}.jsonl").write_bytes(lines_of(records))
    lines = run("memory", "ingest", str(tmp_path)).out.splitlines()
    assert "  3 iterations taught nothing:" in lines
    reasons = [line.split(maxsplit=1) for line in lines[lines.index("  3 iterations taught nothing:") + 1 :]]
    assert reasons == [
        ["2", "no error, and no correction of how things are done"],
        ["1", "said once: it may be for now"],
    ]
    again = ingested(run, str(tmp_path))
    assert (again["unchanged"], again["untaught"], again["confirmed"]) == (3, {}, 0)


def test_search_finds_and_status_counts(empty: Any, run: Any, tmp_path: Path) -> None:
    """What was recorded is found by its words; the index is made when asked."""
    for place, words in enumerate(("Tokens are refreshed on 401.", "The upload is retried.")):
        file = tmp_path / f"{place}.jsonl"
        file.write_bytes(lines_of(run_of(f"s{place}", f"msg_{place}", words)))
        run("memory", "ingest", str(file), "--feature", f"f{place}")
    hits = run("memory", "search", "refreshed tokens", "--json").json()["hits"]
    assert [hit["feature"] for hit in hits][:1] == ["f0"]
    assert run("memory", "search", "refreshed tokens", "--feature", "nothing", "--json").json()["hits"] == []
    assert run("memory", "search", " ").code == exits.USAGE
    told = run("memory", "status", "--json").json()
    assert [(one["feature"], one["iterations"]) for one in told["features"]] == [("f0", 1), ("f1", 1)]
    assert (told["index"]["collections"], told["index"]["points"], told["index"]["behind"]) == (2, 2, 0)
    assert "f0: 1 iteration" in run("memory", "status").out


def edit(path: Path, change: Sequence[tuple[str, str]], extra: str = "") -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in change:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(extra + text, encoding="utf-8")


def test_a_journal_edited_by_hand_is_survived(empty: Any, run: Any, tmp_path: Path) -> None:
    """A broken line and an unknown value are counted by status and doctor; everything else is read."""
    for place in range(3):
        file = tmp_path / f"{place}.jsonl"
        file.write_bytes(lines_of(run_of(f"s{place}", f"msg_{place}")))
        run("memory", "ingest", str(file), "--feature", "auth")
    journal = empty.root / ".workbench" / "journal" / "memory" / "auth.jsonl"
    edit(journal, [('"outcome":"success"', '"outcome":"splendid"')], extra="{half a line\n")
    (told,) = run("memory", "status", "--json").json()["features"]
    assert (told["iterations"], len(told["set_aside"]), told["broken_lines"]) == (2, 1, 1)
    assert "cannot be read" in run("memory", "status").err
    found = {
        one["name"]: one for one in run("doctor", "--json").json()["findings"] if one["state"] == "broken"
    }
    assert "Invalid enum value 'splendid'" in found["memory"]["text"]
    assert "1 line cannot be read" in found["journals"]["text"]
    run("memory", "ingest", str(tmp_path / "2.jsonl"), "--feature", "auth")
    assert run("memory", "status", "--json").json()["features"][0]["iterations"] == 2


def test_nothing_is_remembered_at_first(empty: Any, run: Any) -> None:
    """Status of a new project says what to do."""
    done = run("memory", "status")
    assert (done.code, done.out) == (exits.OK, "")
    assert "nothing is remembered yet" in done.err
    assert SESSION not in done.err
