"""`workbench stash add|list|show`: from arguments, files and stdin into the stash and back."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Work
from tests.entry.cli.conftest import Run
from workbench.entry.cli import exits


def test_what_is_added_is_listed_and_shown(empty: object, run: Run, tmp_path: Path) -> None:
    """Words, a file and stdin become segments with a type and a source."""
    made = run("stash", "add", "We keep sessions in Redis", "--type", "decision", "--topic", "auth", "--json")
    segment = made.json()["segment"]
    assert (segment["type"], segment["topic"], made.json()["added"]) == ("decision", "auth", True)
    again = run("stash", "add", "We keep sessions in Redis")
    assert (again.code, "already" in again.err) == (exits.OK, True)
    (tmp_path / "log.txt").write_bytes("Gr\xfc\xdfe".encode("latin-1"))
    filed = run("stash", "add", "--file", str(tmp_path / "log.txt"), "--json").json()["segment"]
    assert (filed["type"], filed["text"]) == ("file_content", "Gr\xfc\xdfe")
    run("stash", "add", "-", "--expires-in", "2", given="caf\xe9\n".encode("utf-16"))
    assert "3 of 3 segments" in run("stash", "list").err
    listed = run("stash", "list", "--json").json()
    assert {one["text"] for one in listed["segments"]} == {segment["text"], "Gr\xfc\xdfe", "caf\xe9\n"}
    shown = run("stash", "show", segment["segment_id"][4:12])
    assert "We keep sessions in Redis" in shown.out
    assert "shown 0, merged 0" in shown.out


def test_what_cannot_be_kept_is_refused_with_what_to_do(empty: Work, run: Run) -> None:
    """Nothing, binary data and more than a segment holds are usage errors."""
    huge = b"x" * (65 << 20)
    for given, words in ((b"", "empty"), (b"\x89PNG\0\0", "not text"), (huge, "larger than 64 MB")):
        ran = run("stash", "add", "-", given=given)
        assert ran.code == exits.USAGE
        assert words in ran.err
    (empty.root / "big.txt").write_bytes(huge)
    (empty.root / "link.txt").symlink_to("/etc/hostname")
    for name, words in (
        ("big.txt", "larger than 64 MB"),
        ("link.txt", "leads out of the project"),
        ("no", "No such"),
    ):
        ran = run("stash", "add", "--file", name)
        assert (ran.code, words in ran.err) == (exits.USAGE, True)
    (empty.root / ".env").write_text("A=1", encoding="utf-8")
    assert "privacy.exclude" in run("stash", "add", "--file", ".env").err
    assert run("stash", "show", "nothing").code == exits.USAGE
    assert "the stash is empty" in run("stash", "list").err


def test_a_long_text_is_put_aside_in_parts(empty: Work, run: Run) -> None:
    """As one step; the parts say which they are, and are those that were given."""
    text = "".join(f"line {number}\n" for number in range(120_000))
    (empty.root / "long.log").write_text(text, encoding="utf-8")
    made = run("stash", "add", "--file", "long.log", "--type", "debug_output", "--json").json()
    assert len(made["segment_ids"]) == 7
    shown = [run("stash", "show", one, "--json").json()["segment"] for one in made["segment_ids"]]
    assert "".join(one["text"] for one in shown) == text
    assert shown[6]["metadata"]["part"] == "7/7"
    assert "undo: stash" in run("stash", "undo").out
    assert run("stash", "list", "--json").json()["total_count"] == 0


def test_status_doctor_and_rebuild_know_the_stash(empty: Work, run: Run) -> None:
    """How much there is, what cannot be read of it, and that its tables are those of the journal."""
    assert run("status", "--json").json()["segments"] == 0
    for text in ("One", "Two"):
        run("stash", "add", text, "--expires-in", "0")
    journal = empty.root / ".workbench" / "journal" / "stash.jsonl"
    line = journal.read_text(encoding="utf-8").splitlines()[-1]
    journal.write_text(
        journal.read_text(encoding="utf-8")
        + line.replace('"text":"Two",', "").replace("seg-", "ghost-").replace('"id":"0', '"id":"1')
        + "\n",
        encoding="utf-8",
    )
    assert run("status", "--json").json()["segments"] == 2
    findings = [one for one in run("doctor", "--json").json()["findings"] if one["name"] == "stash"]
    assert "its text is missing" in findings[0]["text"]
    assert findings[1]["text"] == "2 segments of 2 tokens, 0 protected; `workbench stash gc` removes 2"
    rebuilt = run("rebuild", "--json").json()["parts"]
    assert rebuilt["table segments"]["equal"]
