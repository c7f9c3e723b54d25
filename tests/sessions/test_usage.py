"""What sessions did with what they were given is counted from what was recorded, and only that."""

from __future__ import annotations

from dataclasses import replace

from workbench.records.usage import FileTouch, Handover, RuleBreach, UsageRecords
from workbench.sessions.usage import (
    KnownRules,
    affinity_hit_rate,
    door_uses,
    first_pass_rate,
    receipt,
    rule_uses,
    session_outcome,
    session_uses,
)

FILES = {"pkg/auth.py": "full", "pkg/store.py": "path"}
GIVEN = Handover("s", "claude", "UserPromptSubmit", FILES, ("rule-a", "rule-b"), tokens=900, at=100.5)
RULES = KnownRules(frozenset({"rule-a", "rule-b", "rule-c"}), frozenset({"rule-a"}), {"rule-c": "CLAUDE.md"})
NEIGHBOURS = {"web/login.py": frozenset({"pkg/auth.py"}), "pkg/auth.py": frozenset({"web/login.py"})}


def touched(*touches: FileTouch, given: tuple[Handover, ...] = (GIVEN,)) -> UsageRecords:
    return UsageRecords(given, {"s": touches}, neighbours=NEIGHBOURS)


def test_touches_are_exact_nearby_or_elsewhere() -> None:
    """A file given counts once it is touched later; others are near by folder or import, else elsewhere."""
    records = touched(
        FileTouch("pkg/auth.py", read_at=100, edited_at=150),
        FileTouch("pkg/store.py", read_at=99),  # before it was given
        FileTouch("pkg/other.py", read_at=120),
        FileTouch("web/login.py", edited_at=130),
        FileTouch("docs/index.md", edited_at=140),
    )
    [door] = door_uses(records)
    assert (door.files, door.opened, door.changed, door.nearby, door.elsewhere) == (2, 1, 1, 2, 1)
    assert (door.edited, door.missed) == (3, 2)
    [session] = session_uses(records, RULES)
    assert session.changed == ("pkg/auth.py",)
    assert receipt(session) == (
        "2 files given, 1 opened, 1 edited; edited and not given: docs/index.md, web/login.py; 900 tokens"
    )


def test_a_first_pass_succeeds_without_exploring_on() -> None:
    """Of sessions with an outcome, those count that succeeded in what they were given and beside it."""
    names = ("near", "far", "broke", "open")
    near, far = FileTouch("pkg/other.py", edited_at=120), FileTouch("docs/index.md", read_at=120)
    records = UsageRecords(
        tuple(replace(GIVEN, session=name) for name in (*names, "")),
        {"near": (near,), "far": (near, far), "broke": (near,), "open": (near,), "": (near,)},
        {"near": ("success",), "far": ("success",), "broke": ("failed",), "": ("success",)},
    )
    assert first_pass_rate(session_uses(records, RULES)) == 0.3333
    assert first_pass_rate(session_uses(touched(near), RULES)) is None


def test_an_affinity_hit_was_backed_given_and_edited() -> None:
    """Of sessions with edits, those count in which a file that past tasks spoke for was given and edited."""
    auth, store = FileTouch("pkg/auth.py", edited_at=120), FileTouch("pkg/store.py", edited_at=120)
    given = replace(GIVEN, backed=frozenset({"pkg/auth.py"}))
    touches = {"hit": (auth,), "other": (store,), "missed": (FileTouch("docs/index.md", edited_at=120),)}
    reads = {"read": (FileTouch("pkg/auth.py", read_at=120),)}
    records = UsageRecords(
        tuple(replace(given, session=name) for name in (*touches, *reads, "")), {**touches, **reads}
    )
    assert affinity_hit_rate(records) == 0.3333
    assert affinity_hit_rate(UsageRecords((given,), reads)) is None


def test_a_file_that_another_door_gave_is_not_missed() -> None:
    """Missed is what a session was given by nothing, or only after its last edit."""
    more = Handover("s", "claude", "plan_context", {"new.py": "full"}, at=200.0)
    given = (GIVEN, more)
    early, late = FileTouch("new.py", edited_at=150), FileTouch("new.py", edited_at=250)
    assert [use.missed for use in door_uses(touched(late, given=given))] == [0, 0]
    assert [use.missed for use in door_uses(touched(early, given=given))] == [1, 0]


def test_the_stream_orders_what_was_live_whatever_the_clock_says() -> None:
    """What the stream had not yet when something was given is later, also by a clock that went back."""
    given = Handover("s", "claude", "UserPromptSubmit", FILES, seen=500, at=9_000.0)
    after = FileTouch("pkg/auth.py", edited_at=10, edit_entry=500)
    before = FileTouch("pkg/store.py", read_at=9_999, read_entry=499)
    [door] = door_uses(touched(after, before, given=(given,)))
    assert (door.opened, door.changed) == (1, 1)


def test_rules_are_judged_where_a_check_can() -> None:
    """A rule that was given and not broken afterwards is obeyed; without a check nothing is said of it."""
    other = Handover("t", "claude", "SessionStart", {}, ("rule-a",), at=100.0)
    third = Handover("u", "claude", "UserPromptSubmit", {}, (), ("rule-b",), at=100.0)
    breaches = (
        RuleBreach("s", "rule-a", "deny", 100.0),
        RuleBreach("t", "rule-a", "deny", 50.0),  # before it was given
        RuleBreach("u", "rule-a", "deny", 500.0),  # never given
    )
    records = UsageRecords(
        (GIVEN, other, third),
        outcomes={"s": ("failed",), "t": ("unknown", "success")},
        loaded={"u": ("CLAUDE.md",)},
        breaches=breaches,
    )
    found = {use.rule_id: use for use in rule_uses(records, RULES)}
    assert (found["rule-a"].given, found["rule-a"].obeyed, found["rule-a"].broken) == (2, 1, 1)
    assert (found["rule-a"].success, found["rule-a"].failed) == (1, 1)
    outcome = found["rule-a"].outcome  # s failed and t succeeded with it, of u nobody knows
    assert outcome is not None
    assert (outcome.judged, outcome.share, outcome.others) == (2, 0.5, 0)
    only = found["rule-b"].outcome
    assert only is None or only.others + only.judged == 2
    assert (found["rule-b"].checkable, found["rule-b"].matched, found["rule-b"].obeyed) == (False, 2, 0)
    assert (found["rule-c"].given, found["rule-c"].loaded) == (0, 1)
    sessions = {use.session_id: use.broken for use in session_uses(records, RULES)}
    assert sessions == {"s": ("rule-a",), "t": (), "u": ()}


def test_outcomes_that_differ_are_partial() -> None:
    """A session's outcome is that of its tasks, partial where they differ, unknown where nobody knows."""
    cases = [(), ("unknown",), ("success", "unknown"), ("success", "failed"), ("failed", "failed")]
    assert [session_outcome(case) for case in cases] == ["unknown", "unknown", "success", "partial", "failed"]
