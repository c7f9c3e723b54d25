"""What of old sessions is due, and that what stays weighs as it did, without the text."""

from __future__ import annotations

from typing import Any

from store.journal_lines import decode_line, encode_line
from workbench.ports import Entry
from workbench.sessions.episode_ledger import EpisodeLedger, fold
from workbench.sessions.episodes_fold import ENDED, EVENT, FEEDBACK, IMPORTED, STARTED, follow_all
from workbench.sessions.retention import SessionAges, past_task, read_head

TASK = "rotate getUserName's token\nbecause hunter2 leaked, rotate it now"


def entry(number: int, kind: str, session: str, *, by: str = "hook", day: int = 1, **body: Any) -> Entry:
    given = {"session_id": session, **body}
    return Entry(f"{number:026d}", f"2026-01-{day:02d}T00:00:00.000Z", kind, by, given)


def started(number: int, session: str, **more: Any) -> Entry:
    body: dict[str, Any] = {
        "project_id": "p",
        "task_text": TASK,
        "task_fingerprint": "f",
        "query_type": "bugfix",
    }
    return entry(number, STARTED, session, **{**body, "started_at": 100, **more})


def whole(session: str = "s/1", parent: str = "s") -> list[Entry]:
    """Return a session with a read, two edits, an end and a verdict."""
    edit: dict[str, Any] = {"event_type": "edit", "file_path": "a.py", "timestamp": 110}
    return [
        started(1, session, parent_session=parent, prompt_index=1, issue_refs=["#7"]),
        entry(2, EVENT, session, event_type="read", file_path="b.py", timestamp=105),
        entry(3, EVENT, session, **edit, payload={"added": 2, "removed": 1}),
        entry(4, EVENT, session, **edit, payload={"added": 3, "removed": 0}),
        entry(5, ENDED, session, ended_at=120, outcome="partial", outcome_evidence="exit code"),
        entry(6, FEEDBACK, session, timestamp=130, outcome="success", rationale="a private remark", by="cli"),
    ]


def ages_of(*entries: Entry) -> SessionAges:
    """Return the ages of the sessions of some entries, as their lines tell them."""
    ages = SessionAges()
    for one in entries:
        head = read_head(encode_line(one))
        assert head is not None
        ages.add(head)
    return ages


def test_a_past_task_weighs_as_its_session_did() -> None:
    """Files, outcome, verdict, times and words are the same; the text and the remark are gone."""
    before = whole()
    after = past_task(before)
    assert [one.kind for one in after] == [IMPORTED, FEEDBACK]
    assert (after[0].id, after[0].at, after[0].by) == (before[0].id, before[0].at, before[0].by)
    lines = b"".join(map(encode_line, after))
    assert not [gone for gone in (b"because", b"leaked, rotate", b"remark") if gone in lines]
    tasks = []
    for entries in (before, after):
        ledger = EpisodeLedger(10)
        fold(ledger, lambda start, entries=entries: ((n, one) for n, one in enumerate(entries, 1)))  # type: ignore[misc]
        [found] = ledger.tasks.values()
        tasks.append(found.task)
    old, new = tasks
    assert set(old.terms) == set(new.terms)
    assert (old.at, old.changes, old.issue_refs, old.fix, old.verdict) == (
        new.at, new.changes, new.issue_refs, new.fix, new.verdict,
    )  # fmt: skip
    kept = follow_all(after, "s/1")
    assert kept is not None
    assert (kept.reads, kept.parent_session, kept.ended_at) == (("b.py",), "s", 120)


def test_a_past_task_stays_as_it_is() -> None:
    """The next run finds nothing to change; what never ended or cannot be read leaves nothing."""
    once = past_task(whole())
    again = past_task([one for line in map(encode_line, once) if isinstance(one := decode_line(line), Entry)])
    assert list(map(encode_line, again)) == list(map(encode_line, once))
    assert past_task(whole()[:3]) == []
    assert past_task([entry(1, STARTED, "s", task_text=3)]) == []


def test_a_session_is_as_old_as_its_newest_entry() -> None:
    """Of all its prompts, by when it was written: what was imported today is new; commits stay."""
    found = ages_of(
        started(1, "s/1", parent_session="s"),
        started(2, "s/2", parent_session="s", started_at=200),
        entry(3, EVENT, "s/2", day=20, event_type="read", timestamp=210),
        started(4, "old", started_at=50),
        entry(5, IMPORTED, "new", day=25, by="import:claude_code", started_at=1, task_text="x"),
        entry(6, IMPORTED, "git:abc", by="import:git", started_at=300, task_text="x"),
        entry(7, FEEDBACK, "git:abc", timestamp=5, outcome="failed"),
    )
    assert found.due("2026-01-10") == {"old"}
    assert found.due("2026-01-21") == {"old", "s/1", "s/2"}
    assert found.due("2026-02-01") == {"old", "s/1", "s/2", "new"}
    assert found.newest_tasks(2) == {"git:abc", "s/2"}
    assert (found.lines, found.end_of({"s/1"}), found.end_of({"s/1", "s"}), found.end_of(())) == (7, 1, 3, 0)


def test_lines_of_no_entry_have_no_head() -> None:
    """They stay where they are; a name that is not UTF-8 is in a line like any other."""
    assert ages_of(entry(1, EVENT, "s", file_path="b\udcff.py")).due("2027") == {"s"}
    for line in (b"", b"{}\n", b"[1]\n", b'{"id":"1","at":3}\n', b"\xff\n", b'{"v":1,"id":"'):
        assert read_head(line) is None
    assert ages_of(
        entry(1, EVENT, "s"), Entry("2", "now", EVENT, "x", {"session_id": ["s"]})
    ).last.keys() == {"s"}
