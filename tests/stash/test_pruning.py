"""Pruning proposals: what must stay, what goes first, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stash.test_segmenting import TRACEBACK, Transcript, segments
from workbench.stash.pieces import ContextPiece, context_pieces, task_of
from workbench.stash.pruning import PruneProposal, propose_pruning


def pieces_of(transcript: Transcript) -> list[ContextPiece]:
    """Return the pieces of a transcript; a token is a word."""
    found = segments(transcript.raw(), seen=None)
    return context_pieces([replace(one, tokens=len(one.text.split())) for one in found])


def talk(transcript: Transcript, turns: int) -> None:
    """Go on about something else for some turns."""
    for number in range(turns):
        transcript.agent(f"The header of page {number} has the colour that was asked for by the designers.")


def reasons(proposal: PruneProposal) -> dict[str, tuple[bool, str]]:
    """Return {beginning of a text: (kept, why)}."""
    return {piece.segment.text[:22]: (piece.kept, piece.why) for piece in proposal.pieces}


@pytest.fixture
def transcript() -> Transcript:
    """A long conversation about refunds that went on to the colours of pages."""
    made = Transcript()
    made.user("Refunds of cancelled orders are sent twice, find out why and fix it")
    made.call("Read", "def refund():\n" + "    pay()\n" * 300, file_path="/p/shop/refunds.py")
    made.call("Bash", "total 4\n" + "a file in a directory\n" * 400, command="ls -R")
    made.agent("I'll keep one lock an order because two workers may refund the same one.")
    made.call("Read", "def refund():\n" + "    pay_once()\n" * 300, file_path="/p/shop/refunds.py")
    talk(made, 12)
    made.user("now the refunds page should be blue as well, please look at it")
    made.agent("It is blue now, as are the other pages of the shop.")
    return made


def test_what_is_superseded_and_old_goes_first_and_decisions_stay(transcript: Transcript) -> None:
    """A file read again supersedes the first reading; the task, decisions and the latest turns stay."""
    proposal = propose_pruning(pieces_of(transcript), budget=700, task="refunds are sent twice")
    found = reasons(proposal)
    assert proposal.fits
    assert proposal.tokens_after <= 700 < proposal.tokens_before
    assert found["Refunds of cancelled o"] == (True, "it states the task")
    assert found["I'll keep one lock an "] == (True, "a decision was made in it")
    assert found["It is blue now, as are"] == (True, "it is of the latest turns")
    assert found["def refund():\n    pay("] == (False, "superseded by what came later at #8")
    assert "turns old" in found["$ ls -R\ntotal 4\na file"][1]


def test_a_decision_goes_with_the_turn_that_made_it(transcript: Transcript) -> None:
    """A decision is a part of its turn, not a piece of its own."""
    turn = next(piece for piece in pieces_of(transcript) if piece.decides)
    assert [part.type for part in turn.parts] == ["decision"]


def test_an_error_is_open_until_its_command_runs_again() -> None:
    """The output of a command that failed stays until the command has run once more."""
    transcript = Transcript()
    transcript.user("The shop does not start any more, find out what is wrong with it")
    for _ in range(2):
        transcript.call("Bash", f"Exit code 1\n{TRACEBACK}", command="python -m shop", failed=True)
        talk(transcript, 8)
    first, second = (
        piece
        for piece in propose_pruning(pieces_of(transcript), budget=1, task="start the shop", latest=3).pieces
        if piece.segment.type == "error_log"
    )
    assert not first.kept
    assert not second.kept  # it is larger than a budget of one token leaves room for
    _, second = (
        one
        for one in propose_pruning(pieces_of(transcript), budget=180, task="start the shop", latest=3).pieces
        if one.segment.type == "error_log"
    )
    assert (second.kept, "open" in second.why) == (True, True)
    transcript.call("Bash", "the shop is open", command="python -m shop")
    talk(transcript, 8)
    last = propose_pruning(pieces_of(transcript), budget=180, task="start the shop", latest=3)
    assert not any(piece.kept for piece in last.pieces if piece.segment.type == "error_log")


def test_a_part_of_a_file_does_not_supersede_the_whole() -> None:
    """A later reading supersedes an earlier one only if it has all of its lines."""
    transcript = Transcript()
    transcript.user("What does the module of the refunds do in the end, in a word?")
    for first, last in ((1, 80), (20, 30), (25, 28)):
        shown = "\n".join(f"{line:6}\u2192line {line} of the file" for line in range(first, last + 1))
        transcript.call("Read", shown, file_path="/p/refunds.py")
    talk(transcript, 8)
    proposal = propose_pruning(pieces_of(transcript), budget=100, task="colours", latest=1)
    files = [piece for piece in proposal.pieces if piece.segment.type == "file_content"]
    assert [file.why.startswith("superseded") for file in files] == [False, False, False]
    whole = "\n".join(f"{line:6}\u2192line {line} of the file" for line in range(1, 81))
    transcript.call("Read", whole, file_path="/p/refunds.py")
    again = propose_pruning(pieces_of(transcript), budget=100, task="colours", latest=1)
    files = [piece for piece in again.pieces if piece.segment.type == "file_content"]
    assert [file.why.startswith("superseded") for file in files] == [True, True, True, False]


def test_a_context_begins_at_its_last_compaction(transcript: Transcript) -> None:
    """What a compaction replaced, and what sub-agents did, is not in the context."""
    transcript.user("This session is being continued. The refunds are done.", isCompactSummary=True)
    transcript.add("assistant", [{"type": "text", "text": "A sub-agent's own words here."}], isSidechain=True)
    transcript.agent("The pages are blue and the refunds are sent once.")
    pieces = pieces_of(transcript)
    assert [one.segment.metadata.get("kind", "") for one in pieces] == ["summary", ""]
    assert task_of(pieces) == pieces[0].segment.text


def test_vectors_weigh_in(transcript: Transcript) -> None:
    """Of pieces that are alike in words the one that is nearer in meaning stays."""
    pieces = pieces_of(transcript)
    near = [0.9 if "page 3" in one.segment.text else 0.0 for one in pieces]
    proposal = propose_pruning(pieces, budget=120, task="refunds are sent twice", similarities=near, latest=1)
    kept = [one.segment.text[:20] for one in proposal.kept if one.segment.text.startswith("The header")]
    assert "The header of page 3" in kept


@given(budget=st.integers(0, 3_000), latest=st.integers(1, 20), words=st.text(max_size=40))
def test_a_proposal_is_whole_and_the_same_each_time(budget: int, latest: int, words: str) -> None:
    """Each piece is judged once with a reason; what goes makes it smaller; the same input gives the same."""
    made = Transcript()
    made.user("Refunds of cancelled orders are sent twice, find out why and fix it")
    made.call("Read", "def refund():\n    pay()\n" * 90, file_path="/p/shop/refunds.py")
    talk(made, 5)
    pieces = pieces_of(made)
    proposal = propose_pruning(pieces, budget=budget, task=words, latest=latest)
    assert proposal == propose_pruning(pieces, budget=budget, task=words, latest=latest)
    assert len(proposal.kept) + len(proposal.aside) == len(pieces)
    assert all(piece.why for piece in proposal.pieces)
    assert proposal.fits == (proposal.tokens_after <= budget)
    assert proposal.aside == () or proposal.tokens_before > budget
