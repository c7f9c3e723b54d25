"""Retention: what is given up, why, in which order; protected segments never are."""

from __future__ import annotations

from dataclasses import replace

from tests.adapters import ManualClock
from workbench.records.segments import ContextSegment
from workbench.stash.lifecycle import RetentionPolicy, StashCollection
from workbench.stash.service import StashService

DAY = 86_400
SAME = "the same twelve words are more than anybody says twice by chance"
FOREVER = RetentionPolicy(keep_days=0)


def put(stash: StashService, name: str, text: str = "", **fields: object) -> None:
    """Put a segment aside; its text is its name unless another is given."""
    one = ContextSegment(segment_id=name, text=text or name)
    stash.add(replace(one, **fields))  # type: ignore[arg-type]


def reasons(found: StashCollection) -> dict[str, str]:
    """Return why each was given up."""
    return {disposal.segment.id: disposal.reason.value for disposal in found.disposals}


def test_each_reason_is_told_and_undone(stash: StashService, clock: ManualClock) -> None:
    """Expired, unneeded, repeated and too many; one step that comes back as a whole."""
    put(stash, "old")
    put(stash, "merged")
    put(stash, "kept", protected=True, expires_at="2023-11-15")
    put(stash, "expired", expires_at="2023-11-15")
    clock.advance(31 * DAY)
    stash.note_merged(["merged"])
    put(stash, "copy", SAME, timestamp="2020-01-01")
    put(stash, "again", SAME, protected=True)
    clock.advance(DAY)
    put(stash, "new")
    policy = RetentionPolicy(keep_days=30, max_segments=3)
    planned = stash.collect(policy, dry_run=True)
    assert reasons(planned) == {
        "expired": "expired",
        "old": "unused",
        "copy": "duplicate",
        "merged": "limit",
    }
    assert stash.count() == 7
    done = stash.collect(policy)
    assert done == planned
    assert (done.kept, done.protected, done.tokens) == (3, 2, 15)
    why = {disposal.segment.id: disposal.why for disposal in done.disposals}
    assert why["copy"] == "again has the same text"
    assert "2023-11-14" in why["old"]
    assert [change.reason for change in stash.history("old")][-1] == why["old"]
    assert stash.store.ledger().current("copy").id == "again"  # type: ignore[union-attr]
    assert stash.undo().title == "undo: collect 4 segments"
    assert stash.count() == 7
    assert stash.find("copy").text == SAME


def test_limits_take_the_least_recently_needed(stash: StashService, clock: ManualClock) -> None:
    """Tokens and segments are both kept to; what is protected counts and stays."""
    for name in ("a", "b", "c", "d"):
        put(stash, name, f"{name} b c", protected=name == "a")
        clock.advance(DAY)
    stash.note_merged(["b"])
    assert [*reasons(stash.collect(replace(FOREVER, max_tokens=6), dry_run=True))] == ["c", "d"]
    assert reasons(stash.collect(replace(FOREVER, max_segments=3), dry_run=True)) == {"c": "limit"}
    assert len(stash.collect(replace(FOREVER, max_segments=1, max_tokens=1)).disposals) == 3
    assert [record.id for record in stash.records()] == ["a"]


def test_short_turns_that_are_equal_are_no_copies(stash: StashService, clock: ManualClock) -> None:
    """A few words stay wherever they were said, unless twice of one moment; longer texts are kept once."""
    long = "We keep sessions in Redis because Postgres took forty milliseconds for each one"
    for name, session in (("a", "s1"), ("b", "s2")):
        put(stash, f"yes-{name}", "Yes!", session_id=session, source=f"chat#{name}")
        put(stash, f"long-{name}", long, session_id=session, source=f"chat#{name}")
    put(stash, "yes-again", "Yes!", session_id="s1", source="chat#a")
    assert reasons(stash.collect(FOREVER)) == {"long-a": "duplicate", "yes-a": "duplicate"}


def test_clocks_that_go_back_and_odd_times_give_nothing_up_early(
    stash: StashService, clock: ManualClock
) -> None:
    """What is of the future counts as of now; no number of days is too large."""
    put(stash, "future", timestamp="2099-01-01")
    clock.advance(-1_000 * DAY)
    assert stash.collect(RetentionPolicy(keep_days=1)).disposals == ()
    assert stash.collect(RetentionPolicy(keep_days=1e9)).disposals == ()
    clock.advance(1_031 * DAY)
    put(stash, "now")
    found = stash.collect(RetentionPolicy(keep_days=30))
    assert found.disposals == ()  # it is of the future still


def test_retention_runs_by_itself_once_a_day(stash: StashService, clock: ManualClock) -> None:
    """Also where it removed nothing; the next day it runs again."""
    put(stash, "one", expires_at="2023-11-16")
    first = stash.collect_daily(FOREVER)
    assert first is not None
    assert first.disposals == ()
    assert stash.collect_daily(FOREVER) is None
    clock.advance(2 * DAY)
    assert reasons(stash.collect_daily(FOREVER) or first) == {"one": "expired"}
    assert stash.undo().title == "undo: collect 1 segment"
