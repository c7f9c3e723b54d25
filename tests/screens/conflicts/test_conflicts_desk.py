"""The queue takes in what tables say without losing what this sitting did or hiding what others did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screens.conflicts.decisions import likeliest, scopes_for, wider_side
from screens.conflicts.pair import (
    PairChoice,
    PairType,
    RecordPair,
    command_of,
    command_of_all,
    decision_of,
    in_words,
    suggested_choice,
)
from screens.conflicts.pair_panel import empty_queue, pair_evidence, pair_headline
from screens.conflicts.pair_source import walkable_at
from screens.conflicts.queue import PairLook, PairQueue, PairState, QueuedPair, differences
from screens.conflicts.queue_screen import pair_cells
from tests.screens.conflicts.making import HOSTILE, pair, side
from workbench.curation.lazy import LazyDict
from workbench.curation.records import CurationStep
from workbench.lists.conflicts import ConflictRow, ConflictSide, WaitingConflicts
from workbench.lists.tables import row_number
from workbench.records.conflicts import Action, Suggestion
from workbench.records.rules import Rule


def waiting(*pairs: RecordPair, marks: int = 0) -> WaitingConflicts:
    numbers = np.array(sorted(row_number(one.id) for one in pairs), dtype=np.int64)
    return WaitingConflicts(numbers, np.full(len(pairs), marks, dtype=np.int64))


def row(of: RecordPair, **fields: object) -> ConflictRow:
    left, right = (ConflictSide(side.id, side.text, side.where, side.file) for side in of.sides)
    made = ConflictRow(of.id, "rule", of.kind, of.score, left, right, of.why, of.evidence, of.suggestion)
    return replace(made, **fields)  # type: ignore[arg-type]


def queue_of(*pairs: RecordPair) -> PairQueue:
    queue = PairQueue()
    queue.take_in(PairLook(waiting(*pairs)))
    return queue


AB, BC, CD = pair("a", "b"), pair("b", "c"), pair("c", "d")


def test_progress_counts_what_was_settled_here() -> None:
    """A decision counts at once, an undone one no more, one that failed neither."""
    queue = queue_of(AB, CD)
    assert queue.progress == (0, 2)
    queue.begin([AB.id])
    assert (queue.progress, queue.waiting) == ((1, 2), 1)
    queue.restore([AB.id], "locked")
    assert (queue.progress, queue.to_queued(row(AB), AB).reason) == ((0, 2), "locked")
    queue.begin([AB.id])
    queue.finish([AB])
    assert (queue.progress, queue.away) == ((1, 2), {AB.id})
    queue.take_in(PairLook(waiting(CD), confirmed=frozenset({AB.id})))
    assert (queue.progress, queue.away) == ((1, 2), set())
    queue.take_in(PairLook(waiting(AB, CD)))
    assert queue.progress == (0, 2)


def test_progress_counts_what_somebody_else_settled() -> None:
    """As long as it is listed and stays settled; what is no conflict any more was not settled."""
    queue = queue_of(AB, BC, CD)
    queue.take_in(PairLook(waiting(CD), (row(AB), row(BC)), settlers={AB.id: "tui: keep left"}))
    assert (queue.kept, queue.progress) == ({AB.id, BC.id}, (1, 2))
    queue.take_in(PairLook(waiting(AB, CD)))
    assert (queue.kept, queue.progress) == ({BC.id}, (0, 2))


def test_decisions_made_while_the_tables_are_read_hold() -> None:
    """An answer from before a decision does not bring its pair back."""
    queue = queue_of(AB, BC, CD)
    queue.begin([AB.id, BC.id])
    queue.finish([AB])
    queue.later.add(CD.id)
    queue.take_in(PairLook(waiting(AB, BC, CD)))
    assert (queue.away, queue.settled, queue.progress) == ({AB.id, BC.id}, {AB.id}, (2, 3))
    overlay = queue.overlay
    assert overlay.away == (row_number(AB.id), row_number(BC.id))
    assert (overlay.later, overlay.changed, overlay.kept) == ((row_number(CD.id),), (), ())


def test_what_goes_along_with_a_decision_is_nobody_elses_doing() -> None:
    """A pair whose side another decision took out is neither kept nor marked as changed."""
    queue = queue_of(AB, BC, CD)
    queue.begin([AB.id])
    queue.finish([AB])
    queue.take_in(PairLook(waiting(CD), (row(AB), row(BC)), confirmed=frozenset({AB.id})))
    assert (queue.kept, queue.changed, queue.waiting) == (set(), set(), 1)
    queue.take_in(PairLook(waiting(AB, BC, CD), changed=(row(BC),)))
    assert (queue.changed, queue.progress) == (set(), (0, 3))


def test_what_others_did_is_shown() -> None:
    """Settled, changed, reworded and no conflict any more: each is laid over the list with its reason."""
    reworded = pair("c", "e")
    queue = queue_of(AB, BC, CD)
    queue.later.update((BC.id, CD.id))
    queue.drafts[CD.id] = "mine"
    look = PairLook(waiting(BC, reworded), (row(AB),), (row(BC), row(reworded)), {CD.id: reworded.id})
    queue.take_in(look)
    assert (queue.kept, queue.changed) == ({AB.id}, {BC.id, reworded.id})
    assert queue.overlay.later == (row_number(CD.id),)
    assert queue.drafts == {reworded.id: "mine"}
    shown = [
        queue.to_queued(row(AB, state="elsewhere", settled="cli: keep both"), AB),
        queue.to_queued(row(AB, state="gone"), AB),
        queue.to_queued(row(BC, state="changed"), BC),
    ]
    assert [item.waits for item in shown] == [False, False, True]
    assert shown[0].reason == "Settled meanwhile by cli: keep both."
    assert all(item.reason for item in shown)


def test_redoing_counts_as_settled_here() -> None:
    """What redo settled again is of this sitting, also where it was seen to go before that is known."""
    queue = queue_of(AB)
    queue.take_in(PairLook(waiting(), (row(AB),)))
    queue.finish_again(AB.id, ("a", "b"))
    assert (queue.kept, queue.progress) == (set(), (1, 1))


def test_differences_are_what_waits_no_more_and_what_has_other_marks() -> None:
    """What is new is no difference, and nothing at all is one of everything."""
    before = waiting(AB, BC)
    assert differences(before, waiting(BC, CD)).tolist() == [row_number(AB.id)]
    assert differences(before, waiting(AB, BC, marks=1)).tolist() == before.numbers.tolist()
    assert differences(before, waiting()).tolist() == before.numbers.tolist()
    assert differences(waiting(), before).tolist() == []


def test_rows_show_hostile_texts_as_they_are() -> None:
    """Nothing in a text is obeyed, and a huge one costs no more than it shows."""
    wild = pair("a", "b", left=side("a", HOSTILE), right=side("b", "x " * 500_000), why=HOSTILE)
    plain = [cell.plain for cell in pair_cells(QueuedPair(wild))]
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
    assert suggested_choice(narrowing) is None
    choice = suggested_choice(merging)
    assert choice is not None
    assert (choice.text, command_of(choice)) == ("T", ["memory", "resolve", AB.id[:17], "--suggested"])
    assert command_of_all(PairType.RULE, (AB, CD))[3:] == [AB.id[:17], CD.id[:17], "--suggested"]


def test_the_step_that_is_walked_is_the_latest() -> None:
    """Undo is about when a step was done, redo about when it was undone."""
    steps: LazyDict[CurationStep[Rule]] = LazyDict()
    known: dict[str, CurationStep[Rule]] = {
        "s1": CurationStep("s1", "1", "tui", "keep left"),
        "s3": CurationStep("s3", "3", "tui", "undo", undoes="s1"),
    }
    steps.update(known)
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
