"""What later tasks used again of what was said before, and the systems that look for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from store.lexical import K1, B, build_index
from tests.replay.conversations import CODE, SAID, SESSION, SHOP, line, recorded, said
from workbench.errors import UsageError
from workbench.records.segments import ContextSegment, SegmentType
from workbench.replay import stash_systems
from workbench.replay.stash_passages import StashKind, error_key, lines_of, shingles
from workbench.replay.stash_systems import StashMoments, answer_task, parse_stash_systems
from workbench.replay.stash_tasks import Recording, StashTask, stash_tasks


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """A session in which the second prompt needs a file, an error and a finding of the first."""
    return recorded(tmp_path / f"{SESSION}.jsonl", *SHOP)


def test_truth_is_what_was_used_again(recording: Recording) -> None:
    """A file read again, an error that came up again and a passage that was repeated, each by its kind."""
    segments, tasks = stash_tasks([recording])
    by_id = {segment.segment_id: segment for segment in segments}
    truth = {task.kind: [by_id[id] for id in task.truth] for task in tasks}
    assert set(truth) == {StashKind.FILE, StashKind.ERROR, StashKind.QUOTE}
    assert [one.source for one in truth[StashKind.FILE]] == ["shop/pay.py"]
    assert [one.type for one in truth[StashKind.ERROR]] == [SegmentType.ERROR_LOG]
    assert [one.text for one in truth[StashKind.QUOTE]] == [SAID]


def test_a_task_knows_nothing_of_what_follows(recording: Recording, tmp_path: Path) -> None:
    """What may be found was said before the task; what is after it changes neither that nor the query."""
    segments, tasks = stash_tasks([recording])
    for task in tasks:
        assert max(segments[row].timestamp for row in task.known.tolist()) < task.at
        assert len(task.messages) == 3
        assert not {segments[row].text for row in task.known.tolist()} & set(task.messages)
        assert task.files == ("shop/cart.py", "shop/pay.py")
    later = recorded(
        tmp_path / "later.jsonl", *({**said(59, CODE * 2), "sessionId": "another"} for _ in range(2))
    )
    _, again = stash_tasks([recording, later])
    assert [len(task.known) for task in again] == [len(task.known) for task in tasks]


def test_earlier_sessions_may_be_found(recording: Recording, tmp_path: Path) -> None:
    """The first prompt of a session has what other sessions said before it."""
    line = {**said(0, f"{SAID} It was so last year."), "sessionId": "before", "uuid": "b0"}
    before = recorded(tmp_path / "before.jsonl", line)
    segments, tasks = stash_tasks([recording, before])
    quoted = next(task for task in tasks if task.kind is StashKind.QUOTE and task.id.startswith(SESSION))
    assert "before" in {segments[row].session_id for row in quoted.known.tolist()}


def test_a_passage_of_the_query_counts_for_nothing(tmp_path: Path) -> None:
    """A prompt that quotes what was said before does not make it an answer to itself."""
    found = recorded(
        tmp_path / f"{SESSION}.jsonl",
        line(1, "user", "Look at how cards are charged in the shop."),
        said(2, SAID),
        *(
            said(3 + number, f"Part {number} of the shop was read and holds no money at all.")
            for number in range(3)
        ),
        line(9, "user", f"You said: {SAID}"),
        said(10, f"Yes: {SAID}"),
    )
    assert stash_tasks([found])[1] == ()


def test_texts_are_compared_without_what_differs_by_chance() -> None:
    """Line numbers, digits and case are nobody's passage."""
    assert error_key("at  line 12:\n x") == error_key("at line 7: x")
    assert lines_of("  12→    return gateway.charge(token)") == lines_of("return gateway.charge(token)\n}")
    assert shingles("One two three four five six seven") >= shingles("one two three four five six")
    assert not shingles("five words are no passage")


def _moments(texts: list[str]) -> StashMoments:
    segments = [
        ContextSegment(segment_id=f"s{number}", text=text, source="x#1") for number, text in enumerate(texts)
    ]
    return StashMoments(segments, lambda known, at: None, lambda known, query, at: [])


def _task(known: list[int], truth: set[str], text: str = "currency of a card") -> StashTask:
    rows = np.asarray(known, np.int64)
    return StashTask(
        "t", "s", StashKind.QUOTE, text, "", (), (), "2026-05-01T10:00:00+00:00", rows, frozenset(truth)
    )


def test_bm25_sees_only_what_may_be_found() -> None:
    """Scores over some rows are those of an index of these rows alone."""
    texts = ["a card", "a currency of a card", "unrelated words here", "card card currency", "the gateway"]
    assert (stash_systems.K1, stash_systems.B) == (K1, B)
    for known in ([0, 1, 2, 3, 4], [0, 2, 3], [1]):
        expected = build_index([texts[row] for row in known]).scores("currency of a card")
        found = _moments(texts).bm25("currency of a card", np.asarray(known, np.int64))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_segments_of_one_text_are_one() -> None:
    """Finding either of two copies is right, and is counted once."""
    row = answer_task(
        _moments(["card", "card", "gateway"]), ("recency", "bm25"), _task([0, 1, 2], {"s0", "s1"})
    )
    assert row.systems["bm25"].measures["recall_at_1"] == 1.0
    assert row.systems["recency"].ranking == ("s2", "s1", "s0")
    assert row.systems["recency"].measures["mrr"] == 0.5
    assert (row.query_type, row.source, row.truth) == ("quote", "stash", ("s0", "s1"))


def test_a_system_without_vectors_is_left_out() -> None:
    """No embeddings, no row; an unknown system is refused."""
    assert "vector" not in answer_task(_moments(["card"]), ("vector", "bm25"), _task([0], {"s0"})).systems
    with pytest.raises(UsageError, match="no system 'baseline'"):
        parse_stash_systems(["baseline"])
