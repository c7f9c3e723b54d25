"""The desk records what is told, once, in order, inside the project, and says what it does not take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import ManualClock, MemoryJournal
from workbench.errors import UsageError
from workbench.plan.intent import parse_intent
from workbench.ports import Entry
from workbench.records.episodes import ChangeKind, EventType, Outcome
from workbench.records.plan import Intent, QueryType
from workbench.sessions.episode_ledger import EpisodeLedger, fold, recall
from workbench.sessions.episodes import EpisodeService, EpisodeStore
from workbench.sessions.episodes_fold import ENDED, IMPORTED, STREAM, overdue, state_of, story, timed_out

HOUR = 3600
ROOT = "/project"


def understand(task: str, kind: QueryType | None) -> Intent:
    return parse_intent(task, project_id="p", query_type=kind)


def desk_of(journal: MemoryJournal, clock: ManualClock, root: str = ROOT) -> EpisodeService:
    def mentioning(text: str) -> Iterator[Entry]:
        wanted = text.strip('"')
        return (entry for _, entry in journal.read(STREAM) if wanted in repr((entry.kind, entry.body)))

    lock = partial(nullcontext, None)
    store = EpisodeStore(
        root, "p", journal, mentioning, lock, understand, clock.now, 12 * HOUR, ".env".__eq__
    )
    return EpisodeService(store, "hook")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def desk(journal: MemoryJournal, clock: ManualClock) -> EpisodeService:
    """A desk over `journal`."""
    return desk_of(journal, clock)


def bodies(journal: MemoryJournal) -> list[dict[str, Any]]:
    """Return what was written, in order, with its kind."""
    return [{"kind": entry.kind, **entry.body} for _, entry in journal.read(STREAM)]


def test_a_session_is_told_from_its_task_to_its_outcome(desk: EpisodeService, clock: ManualClock) -> None:
    """Task, reads, edits and outcome add up to a whole story with all its fields."""
    session = desk.start("fix: login loses the token (#7)", token_budget=3000, source="claude_code")
    desk.event(session, "read", files=["src/a.py", "/project/src/b.py"])
    clock.advance(5)
    desk.event(session, "edit", files=["src/a.py"], kind="added", symbol="login", payload={"added": 4})
    desk.event(session, "decision", payload={"why": "the token expires"})
    clock.advance(5)
    ended = desk.end(session, "success", commit="ABCDEF1", token_used=1200, evidence="tests passed")

    assert (ended.outcome, ended.outcome_evidence) == (Outcome.SUCCESS, "tests passed")
    assert (ended.reads, [change.path for change in ended.changes]) == (
        ("src/a.py", "src/b.py"),
        ["src/a.py"],
    )
    assert (ended.changes[0].kind, ended.changes[0].added) == (ChangeKind.ADDED, 4)
    assert (ended.query_type, ended.issue_refs, ended.source) == ("bugfix", ("#7",), "claude_code")
    assert (ended.token_budget, ended.token_used, ended.latency_ms) == (3000, 1200, 10_000)
    assert ended.commit_sha == "abcdef1"
    assert [event.event_type for event in desk.trace(session).events] == [
        EventType.READ,
        EventType.READ,
        EventType.EDIT,
        EventType.DECISION,
    ]


def test_what_is_repeated_changes_nothing(desk: EpisodeService, journal: MemoryJournal) -> None:
    """Start, end, feedback and an event with a key may be told again by whoever is unsure."""
    for _ in range(3):
        assert desk.start("fix it", session_id="s") == "s"
    assert desk.event("s", "edit", files=["a.py"], key="call-1")
    assert not desk.event("s", "edit", files=["a.py"], key="call-1")
    for _ in range(3):
        desk.end("s", "success", commit="abcdef1")
    for _ in range(3):
        desk.feedback("s", "failed", "it crashes")
    assert [body["kind"] for body in bodies(journal)] == [
        "episode.started",
        "episode.event",
        "episode.ended",
        "feedback.given",
    ]


def test_a_session_has_one_task(desk: EpisodeService) -> None:
    """Another task under the same id is refused, not mixed in."""
    desk.start("fix it", session_id="s")
    with pytest.raises(UsageError, match="another task"):
        desk.start("fix something else", session_id="s")


def test_a_clock_that_goes_back_reorders_nothing(desk: EpisodeService, clock: ManualClock) -> None:
    """Events keep the order they were told in, and an end is never before its start."""
    session = desk.start("fix it")
    clock.advance(100)
    desk.event(session, "read", files=["a.py"])
    clock.advance(-5000)
    desk.event(session, "edit", files=["b.py"])
    ended = desk.end(session, "success")
    times = [event.timestamp for event in desk.trace(session).events]
    assert times == sorted(times)
    assert ended.ended_at is not None
    assert ended.ended_at >= max(times)
    assert ended.latency_ms == 100_000


def test_late_events_are_marked_and_later_ones_refused(
    desk: EpisodeService, journal: MemoryJournal, clock: ManualClock
) -> None:
    """Within the timeout after its end a session takes events as late ones, linked to its commit."""
    desk.start("fix it", session_id="s")
    ended = desk.end("s", "success", commit="abcdef1")
    clock.advance(HOUR)
    desk.event("s", "edit", files=["late.py"])
    assert [(body["late"], body["commit_sha"]) for body in bodies(journal)[-1:]] == [(True, "abcdef1")]
    trace = desk.trace("s")
    assert [event.late for event in trace.events] == [True]
    assert (trace.episode.ended_at, trace.episode.changes[0].path) == (ended.ended_at, "late.py")
    clock.advance(12 * HOUR)
    with pytest.raises(UsageError, match="too long ago"):
        desk.event("s", "edit", files=["later.py"])


def test_feedback_outweighs_what_a_session_says_of_itself(desk: EpisodeService) -> None:
    """Whoever judged saw the result; a session that ends afterwards does not overrule it."""
    desk.start("fix it", session_id="s")
    desk.feedback("s", "failed", "it crashes")
    ended = desk.end("s", "success", evidence="I think so")
    assert (ended.outcome, ended.outcome_evidence) == (Outcome.FAILED, "feedback")
    assert (ended.rationale, ended.judged) == ("it crashes", Outcome.FAILED)
    assert desk.feedback("s", "success").outcome is Outcome.SUCCESS


def test_a_second_end_adds_what_was_missing(desk: EpisodeService) -> None:
    """A commit that is known later is added; the outcome and the time stay."""
    desk.start("fix it", session_id="s")
    first = desk.end("s", "partial")
    second = desk.end("s", commit="abcdef1")
    assert (second.outcome, second.ended_at, second.commit_sha) == (
        Outcome.PARTIAL,
        first.ended_at,
        "abcdef1",
    )


def test_an_imported_episode_can_be_judged_only(desk: EpisodeService, journal: MemoryJournal) -> None:
    """What was imported whole takes feedback and no events."""
    body = {"session_id": "git:1", "task_text": "x", "query_type": "bugfix", "started_at": 1, "changes": []}
    journal.append(STREAM, IMPORTED, [body], by="import:git")
    assert desk.feedback("git:1", "failed").outcome is Outcome.FAILED
    with pytest.raises(UsageError, match="imported"):
        desk.event("git:1", "read", files=["a.py"])
    with pytest.raises(UsageError, match="is a commit"):
        desk.forget(["git:1"])


def test_a_beginning_names_a_session(desk: EpisodeService) -> None:
    """An unambiguous beginning is enough, an id that is another's beginning names itself."""
    for session in ("abc-1", "abc-2", "abc-22"):
        desk.start("fix it", session_id=session)
    assert desk.trace("abc-1").episode.session_id == "abc-1"
    assert desk.trace("abc-2").episode.session_id == "abc-2"
    with pytest.raises(UsageError, match="3 sessions begin with abc") as told:
        desk.trace("abc")
    assert "abc-1" in told.value.hint


def test_an_agents_session_shows_its_last_prompt(desk: EpisodeService) -> None:
    """An agent knows its own id alone; what is written needs to name the prompt."""
    for number in range(1, 12):
        desk.start(f"task {number}", session_id=f"s-1/{number}")
    desk.start("another", session_id="s-12/1")
    assert desk.trace("s-1").episode.task_text == "task 11"
    with pytest.raises(UsageError, match="sessions begin with s-1"):
        desk.forget(["s-1"])


def test_an_unknown_session_is_told_with_the_nearest(desk: EpisodeService) -> None:
    """Nothing is recorded for a session that nobody began."""
    desk.start("fix it", session_id="fix-login")
    with pytest.raises(UsageError, match="there is no session fix-logni") as told:
        desk.end("fix-logni")
    assert told.value.hint == "Did you mean fix-login?"


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda desk: desk.start("  "), "task is empty", "Say"),
        (lambda desk: desk.start("x", session_id="a b"), "cannot be the id", "200"),
        (lambda desk: desk.start("x", query_type="bugfx"), "kind of task", "bugfix"),
        (lambda desk: desk.start("x", token_budget=-1), "budget is -1", "whole"),
        (lambda desk: desk.event("s", "raed", files=["a"]), "type of event", "read"),
        (lambda desk: desk.event("s", "feedback"), "feedback", "workbench feedback"),
        (lambda desk: desk.event("s", "edit"), "needs a file", "--file"),
        (lambda desk: desk.event("s", "read", files=[""]), "empty name", "path"),
        (lambda desk: desk.event("s", "read", files=["../x"]), "not a file of this project", ROOT),
        (lambda desk: desk.event("s", "read", files=["."]), "not a file of this project", ROOT),
        (lambda desk: desk.event("s", "edit", files=["a", "x/../.env"]), ".env is excluded", "Leave it out"),
        (
            lambda desk: desk.event("s", "edit", files=["a"], payload={"old_path": ".env"}),
            "excluded",
            "Leave",
        ),
        (lambda desk: desk.event("s", "edit", files=["a"], kind="modifed"), "kind of change", "modified"),
        (lambda desk: desk.event("s", "delta", payload={"x": "y" * 70_000}), "payload", "Record"),
        (lambda desk: desk.event("s", "delta", payload={"x": {1, 2}}), "payload", "JSON"),
        (lambda desk: desk.end("s", "succes"), "outcome", "success"),
        (lambda desk: desk.end("s", commit="main"), "commit", "rev-parse"),
        (lambda desk: desk.end("s", token_used=-3), "tokens", "whole"),
        (lambda desk: desk.feedback("s"), "is empty", "Give"),
        (lambda desk: desk.feedback("s", "great"), "outcome", "One of success"),
    ],
)
def test_what_makes_no_sense_is_refused(
    desk: EpisodeService, journal: MemoryJournal, call: Any, message: str, hint: str
) -> None:
    """Each refusal names what is wrong and what to do, and nothing is written."""
    desk.start("fix it", session_id="s")
    before = journal.size(STREAM)
    with pytest.raises(UsageError, match=message) as told:
        call(desk)
    assert hint in told.value.hint
    assert journal.size(STREAM) == before


def test_secrets_are_not_recorded(desk: EpisodeService, journal: MemoryJournal) -> None:
    """Keys and passwords leave task, payload and reason before they reach the journal."""
    secret = "ghp_" + "a1" * 20
    desk.start(f"use {secret}", session_id="s")
    desk.event("s", "decision", payload={"nested": [{"key": f"token={secret}"}]})
    desk.feedback("s", "failed", f"it printed {secret}")
    assert secret not in repr(bodies(journal))


def test_a_link_into_the_project_is_followed(tmp_path: Any) -> None:
    """A path that leads into the project through a link elsewhere is a file of the project."""
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    journal = MemoryJournal()
    desk = desk_of(journal, ManualClock(), str(tmp_path / "real"))
    desk.start("fix it", session_id="s")
    desk.event("s", "read", files=[str(tmp_path / "link" / "src" / "a.py")])
    desk.event("s", "read", files=["b.py"], base=str(tmp_path / "link" / "src"))
    assert desk.trace("s").episode.reads == ("src/a.py", "src/b.py")


def test_a_session_that_nobody_ends_ends_with_its_last_event(
    desk: EpisodeService, journal: MemoryJournal, clock: ManualClock
) -> None:
    """It is closed as unknown after the timeout; what is told later moves the end and is not late."""
    desk.start("fix it", session_id="s")
    clock.advance(60)
    desk.event("s", "edit", files=["a.py"])
    episode = desk.trace("s").episode
    assert overdue([episode], clock.now() + 12 * HOUR, 12 * HOUR) == []
    assert overdue([episode], clock.now() + 12 * HOUR + 1, 12 * HOUR) == [episode]
    journal.append(STREAM, ENDED, [timed_out("s", episode.last_at)], by="timeout")
    closed = desk.trace("s").episode
    assert (closed.ended_at, closed.outcome, closed.closed_by) == (
        episode.last_at,
        Outcome.UNKNOWN,
        "timeout",
    )

    clock.advance(100 * HOUR)
    desk.event("s", "edit", files=["b.py"])
    moved = desk.trace("s")
    assert (moved.episode.ended_at, moved.episode.closed_by) == (int(clock.now()), "timeout")
    assert [event.late for event in moved.events] == [False, False]
    ended = desk.end("s", "success")
    assert (ended.outcome, ended.closed_by, len(ended.changes)) == (Outcome.SUCCESS, "", 2)


def test_the_state_of_a_session_needs_no_journal_entry() -> None:
    """Whoever shows a session knows that it timed out before the journal says so."""
    assert state_of(False, "", 0, 10, 12) == "open"
    assert state_of(False, "", 0, 13, 12) == "timed out"
    assert state_of(True, "timeout", 0, 1, 12) == "timed out"
    assert state_of(True, "", 0, 99, 12) == "ended"


def test_forgetting_undoes_everything_that_was_learned(desk: EpisodeService, journal: MemoryJournal) -> None:
    """A recorded session enters the history when it ends and leaves it when it is forgotten."""
    desk.start("fix it", session_id="s")
    desk.event("s", "edit", files=["a.py"])
    desk.end("s", "success")
    ledger = EpisodeLedger(10)
    fold(ledger, lambda start: journal.read(STREAM, start))
    assert recall(ledger)[0].paths == ("a.py",)
    assert desk.forget(["s", "s"], "a test") == ["s"]
    fold(ledger, lambda start: journal.read(STREAM, start))
    assert recall(ledger)[0].paths == ()
    with pytest.raises(UsageError, match="no session"):
        desk.trace("s")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from(["fix a", "fix b"])),
        st.tuples(st.just("event"), st.sampled_from(["read", "edit", "decision"])),
        st.tuples(st.just("end"), st.sampled_from(list(Outcome))),
        st.tuples(st.just("feedback"), st.sampled_from(list(Outcome))),
        st.tuples(st.just("wait"), st.sampled_from([-HOUR, 1, HOUR, 13 * HOUR])),
    ),
    max_size=15,
)


@given(STEPS)
def test_every_call_can_be_told_twice(steps: list[tuple[str, str]]) -> None:
    """Told twice each (events under a key), the same calls give the same episode as told once."""

    def play(times: int) -> object:
        clock, journal = ManualClock(), MemoryJournal()
        desk = desk_of(journal, clock)
        for number, (call, value) in enumerate(steps):
            for _ in range(times):
                try:
                    if call == "start":
                        desk.start(value, session_id="s")
                    elif call == "event":
                        desk.event("s", value, files=["a.py"], key=str(number))
                    elif call == "end":
                        desk.end("s", value)
                    elif call == "feedback":
                        desk.feedback("s", value)
                except UsageError as error:
                    assert error.hint  # noqa: PT017
            if call == "wait":
                clock.advance(int(value))
        return bodies(journal)

    assert play(2) == play(1)


def test_a_commit_tells_no_story(desk: EpisodeService) -> None:
    """A session with a reading and an outcome is traced; one without an outcome is not."""
    desk.start("fix it", session_id="s")
    desk.event("s", "read", files=["a.py"])
    assert story(desk.trace("s").episode) == 1
    assert story(desk.end("s", "failed")) == 2
