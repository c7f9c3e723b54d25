"""The desk takes in what scans bring without losing what this sitting did or hiding what others did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from screens.conflicts.decisions import likeliest, scopes_for, wider_side
from screens.conflicts.pair import (
    PairChoice,
    PairType,
    RecordPair,
    advised,
    command_of,
    command_of_all,
    decision_of,
    in_words,
)
from screens.conflicts.pair_list import FIELDS, PairRows, arranged
from screens.conflicts.pair_panel import empty_queue, pair_evidence, pair_headline
from screens.conflicts.pair_source import redone_since, reopened_since, walkable_at
from screens.conflicts.queue import PairQueue, PairScan, PairState, QueuedPair, combined, count, taken
from tests.screens.conflicts.making import HOSTILE, pair, side
from workbench.curation.lazy import LazyDict
from workbench.curation.records import CurationStep, SettledConflict
from workbench.lists.filters import parse
from workbench.records.conflicts import Action, ConflictKind, Suggestion
from workbench.records.rules import Rule


def desk_with(*pairs: RecordPair) -> PairQueue:
    """Return a desk that was told of these pairs."""
    desk = PairQueue()
    tell(desk, PairScan(tuple(pairs)))
    return desk


def tell(desk: PairQueue, scan: PairScan) -> None:
    """Ask, and take in the answer at once."""
    before, touched = desk.ask()
    items = taken(before, touched, scan)
    desk.adopt(items, scan, count(items))


def states(desk: PairQueue) -> dict[str, PairState]:
    """Return how each pair stands."""
    return {identifier: item.state for identifier, item in desk.items.items()}


AB, BC, CD = pair("a", "b"), pair("b", "c"), pair("c", "d")


def test_progress_counts_what_was_settled_here() -> None:
    """A decision counts at once, an undone one no more, one that failed neither."""
    desk = desk_with(AB, CD)
    assert desk.progress == (0, 2)
    desk.begin([AB.id])
    assert (desk.progress, desk.waiting) == ((1, 2), 1)
    desk.restore([AB.id], "locked")
    assert (desk.progress, desk.items[AB.id].reason) == ((0, 2), "locked")
    desk.begin([AB.id])
    desk.finish([AB.id])
    assert (desk.progress, list(desk.items)) == ((1, 2), [CD.id])
    tell(desk, PairScan((AB, CD), reopened=(AB.id,)))
    assert desk.progress == (0, 2)


def test_decisions_made_while_the_engine_is_asked_hold() -> None:
    """An answer from before a decision neither brings its pair back nor forgets what was put off."""
    desk = desk_with(AB, BC, CD)
    before, touched = desk.ask()
    desk.begin([AB.id, BC.id])
    desk.finish([AB.id])
    desk.put_off(CD.id)
    items = taken(before, touched, PairScan((AB, BC, CD)))
    desk.adopt(items, PairScan((AB, BC, CD)), count(items))
    assert states(desk) == {BC.id: PairState.SETTLING, CD.id: PairState.LATER}
    assert (desk.settled, desk.waiting, desk.settling) == ({AB.id}, 1, 1)


def test_what_goes_along_with_a_decision_vanishes_and_comes_back_with_it() -> None:
    """A pair whose side another decision took out is not shown as somebody else's doing."""
    desk = desk_with(AB, BC)
    desk.begin([AB.id])
    desk.finish([AB.id])
    tell(desk, PairScan(()))
    assert (states(desk), desk.waiting) == ({BC.id: PairState.ALONG}, 0)
    assert arranged(desk.items, parse(""), "surest") == []
    desk.clear()
    tell(desk, PairScan((AB, BC), reopened=(AB.id,)))
    assert set(states(desk).values()) == {PairState.OPEN}


def test_what_others_did_is_shown() -> None:
    """Settled, changed, reworded and no conflict any more: each stays to be seen until the next search."""
    reworded = pair("c", "e")
    desk = desk_with(AB, BC, CD, pair("x", "y"))
    scan = PairScan(
        (BC, reworded),
        settled={AB.id: "cli: keep both"},
        changed=frozenset({BC.id}),
        heirs={CD.id: reworded.id},
    )
    tell(desk, scan)
    assert states(desk) == {
        BC.id: PairState.CHANGED,
        reworded.id: PairState.CHANGED,
        AB.id: PairState.ELSEWHERE,
        "conflict-x-y": PairState.GONE,
    }
    assert desk.items[AB.id].reason == "Settled meanwhile by cli: keep both."
    assert (desk.waiting, desk.progress) == (2, (0, 2))
    tell(desk, PairScan((BC, reworded)))
    assert states(desk)[BC.id] is PairState.CHANGED
    desk.clear()
    assert list(desk.items) == [BC.id, reworded.id]


def test_redoing_counts_as_settled_here() -> None:
    """What redo settled again is of this sitting."""
    desk = desk_with(AB)
    tell(desk, PairScan((), settled={AB.id: "tui: keep left"}, redone=frozenset({AB.id})))
    assert (desk.items, desk.progress) == ({}, (1, 1))


def test_what_sources_say_is_joined() -> None:
    """Pairs and counts of several sources are one queue."""
    both = combined([PairScan((AB,), 2, settled={"s": "x"}), PairScan((CD,), 3, changed=frozenset({CD.id}))])
    assert both == PairScan((AB, CD), 5, settled={"s": "x"}, changed=frozenset({CD.id}))


def test_the_list_is_filtered_and_ordered() -> None:
    """By certainty, kind, file and last change; what was put off comes last, whatever the order."""
    sure = pair("d", "e", ConflictKind.CONTRADICTORY, score=1.0)
    late = pair("f", "g", ConflictKind.EXACT, score=1.0, left=side("f", updated="2026-11-02"))
    desk = desk_with(AB, late, sure)
    assert arranged(desk.items, parse(""), "surest") == [sure.id, late.id, AB.id]
    assert arranged(desk.items, parse(""), "kind") == [sure.id, AB.id, late.id]
    assert arranged(desk.items, parse(""), "file") == [AB.id, sure.id, late.id]
    assert arranged(desk.items, parse(""), "newest")[0] == late.id
    assert arranged(desk.items, parse("kind:exact", FIELDS), "surest") == [late.id]
    assert arranged(desk.items, parse("file:d.md", FIELDS), "surest") == [sure.id]
    assert arranged(desk.items, parse("-kind:exact score:>=1 say", FIELDS), "surest") == [sure.id]
    desk.put_off(sure.id)
    assert arranged(desk.items, parse(""), "surest")[-1] == sure.id


def test_rows_show_hostile_texts_as_they_are() -> None:
    """Nothing in a text is obeyed, and a huge one costs no more than it shows."""
    wild = pair("a", "b", left=side("a", HOSTILE), right=side("b", "x " * 500_000), why=HOSTILE)
    rows = PairRows([wild.id], {wild.id: QueuedPair(wild)})
    plain = [cell.plain for cell in rows.cells(0)]
    assert plain[5].startswith("[/] list[int] = x[0]")
    assert not {"\x1b", "\x00", "\u202e"} & set("".join(plain))
    assert len(plain[6]) <= 400
    told = pair_evidence(QueuedPair(wild)).plain
    assert "[/] list[int] = x[0]" in told
    assert not {"\x1b", "\x00", "\u202e"} & set(told)


def test_the_evidence_says_what_speaks_for_each() -> None:
    """Tests with their scores, the way out with its keys, facts that differ apart from those that do not."""
    told = pair_evidence(QueuedPair(pair("a", "bb"), PairState.CHANGED, "Read it again.")).plain.split("\n")
    assert told[0] == "! Read it again."
    assert any(line.startswith("shared words 0.50") for line in told)
    assert any("keep left (a or L)" in line for line in told)
    assert any(line.startswith("priority") and "1 │ 2" in line for line in told)
    assert told[-1].endswith("scope everywhere")
    head = pair_headline(QueuedPair(AB), (12, 47), (3, 35)).plain
    assert "12 of 47 settled" in head
    assert "pair 3 of 35" in head
    assert empty_queue(1, 2).plain.startswith("No conflicts among 1 rule. 2 settled in this sitting")


SAID = {
    Action.KEEP_LEFT: (["--action", "keep-left"], "keep left: a.md:3"),
    Action.KEEP_RIGHT: (["--action", "keep-right"], "keep right: b.md:3"),
    Action.KEEP_BOTH: (["--action", "keep-both"], "keep both: a.md:3, b.md:3"),
    Action.MERGE: (["--action", "merge", "--text", "T"], "merge: a.md:3, b.md:3"),
    Action.NARROW_SCOPE: (
        ["--action", "narrow-scope", "--keep", "left", "--scope", "git"],
        "b.md:3 narrowed to git",
    ),
    Action.SUPERSEDE: (["--action", "supersede", "--keep", "left"], "a.md:3 supersedes b.md:3"),
}


@pytest.mark.parametrize("action", list(Action))
def test_a_choice_is_a_decision_and_a_command_line(action: Action) -> None:
    """What the engine gets and what the log says are the same choice."""
    scope = ("git",) if action is Action.NARROW_SCOPE else ()
    text = "T" if action is Action.MERGE else ""
    choice = PairChoice(AB, action, text=text, keep="a", scope=scope)
    words, told = SAID[action]
    assert command_of(choice) == ["rules", "conflicts", "resolve", AB.id[:17], *words]
    assert in_words(choice) == told
    decision = decision_of(choice)
    assert (decision.left, decision.right, decision.action, decision.keep) == ("a", "b", action, "a")


def test_a_suggestion_that_needs_a_scope_is_no_choice_yet() -> None:
    """Narrowing is asked for; everything else is taken as it is suggested."""
    narrowing = replace(AB, suggestion=Suggestion(Action.NARROW_SCOPE, "why"))
    merging = replace(AB, of=PairType.LEARNING, suggestion=Suggestion(Action.MERGE, "why", text="T"))
    assert advised(narrowing) is None
    choice = advised(merging)
    assert choice is not None
    assert (choice.text, command_of(choice)) == ("T", ["memory", "resolve", AB.id[:17], "--suggested"])
    assert command_of_all(PairType.RULE, (AB, CD))[3:] == [AB.id[:17], CD.id[:17], "--suggested"]


def test_steps_of_the_app_are_told_from_those_of_others() -> None:
    """Only what undo and redo in an app did since the last look moves the desk to a pair."""
    one = SettledConflict("c1", "a", "b", "keep_left", "t", "tui")
    steps: LazyDict[CurationStep[Rule]] = LazyDict()
    known: dict[str, CurationStep[Rule]] = {
        "s1": CurationStep("s1", "1", "tui", "keep left", resolved=[one]),
        "s2": CurationStep("s2", "2", "cli", "undo", undoes="s0", reopened=[replace(one, id="c0")]),
        "s3": CurationStep("s3", "3", "tui", "undo", undoes="s1", reopened=[one]),
        "s4": CurationStep("s4", "4", "tui", "redo", redoes="s1", resolved=[one]),
    }
    steps.update(known)
    assert [item.id for item in reopened_since(steps, "s1")] == ["c1"]
    assert reopened_since(steps, "s3") == reopened_since(steps, "gone") == []
    assert [set(redone_since(steps, since)) for since in ("s3", "s4")] == [{"c1"}, set()]
    assert walkable_at(steps, ["s1"], [], back=True) == "1"
    assert walkable_at(steps, [], ["s1"], back=False) == "3"
    assert walkable_at(steps, [], [], back=True) == walkable_at(steps, [], [], back=False) == ""


def test_the_wider_side_can_leave_the_other_ones_files_to_it() -> None:
    """The side that holds everywhere is narrowed first; its own place offers itself, too."""
    scoped = side("b", scope=("path:web/**", "git"), scopes=("path:web/**", "git"))
    both = pair("a", "b", left=side("a", scopes=("path:docs/**",)), right=scoped)
    assert wider_side(both) == "left"
    assert likeliest(both, "left") == ("path:!web/**",)
    assert scopes_for(both, "left") == ("path:!web/**", "path:docs/**")
    assert (scopes_for(both, "right"), likeliest(both, "right")) == ((), ())
    kept = replace(both, suggestion=Suggestion(Action.NARROW_SCOPE, "why", keep="a"))
    assert wider_side(kept) == "right"
    assert wider_side(replace(both, left=scoped, right=side("c"))) == "right"
