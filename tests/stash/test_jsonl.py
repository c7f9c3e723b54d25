"""Segments as JSON lines: what is read of a line, what is refused and why, and what is written."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.records.segments import ContextSegment, SegmentType
from workbench.stash.jsonl import MalformedSegment, read_jsonl, write_segment
from workbench.stash.times import utc_time


def read(text: str | bytes, session: str = "") -> list[tuple[int, ContextSegment] | MalformedSegment]:
    return list(read_jsonl(io.BytesIO(text if isinstance(text, bytes) else text.encode()), session))


def test_a_line_is_a_segment_with_its_id_unchanged() -> None:
    """Ids, session, type, time, topic, source and references come as they were given."""
    line = {
        "segment_id": "conv-26:D1:3",
        "session_id": 26,
        "type": "Message",
        "text": "Caroline: I went to the group yesterday.",
        "timestamp": "1:56 pm on 8 May, 2023",
        "topic": "group",
        "source": "D1:3",
        "references": ["conv-26:D1:2"],
    }
    [(number, one)] = read(json.dumps(line))  # type: ignore[misc]
    assert (number, one.segment_id, one.session_id) == (1, "conv-26:D1:3", "26")
    assert (one.type, one.timestamp) == (SegmentType.MESSAGE, "2023-05-08T13:56:00+00:00")
    assert (one.topic, one.source, one.references) == ("group", "D1:3", ("conv-26:D1:2",))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"session_id": "s"}', "no text"),
        ('{"session_id": "s", "text": "  "}', "empty"),
        ('{"text": "x"}', "no session_id"),
        ('{"session_id": "s", "text": "x", "type": "thing"}', "'thing' is not one of message, code_block"),
        ('{"session_id": "s", "text": "x", "timestamp": "soon"}', "timestamp 'soon' is not a time"),
        ('{"session_id": "s", "text": "x", "references": "a"}', "references"),
        ('{"session_id": "s", "text": "x", "metadata": []}', "metadata"),
        ('{"session_id": "s", "text": "cut", "digest": "' + "0" * 64 + '"}', "not the whole one"),
    ],
)
def test_malformed_lines_are_named_and_the_others_read(line: str, reason: str) -> None:
    """A line that is no segment has its number and its reason; those around it are read."""
    good = '{"session_id": "s", "text": "good"}'
    first, second, third = read(f"{good}\n{line}\n\n{good}\n")
    assert isinstance(second, MalformedSegment)
    assert second.line == 2
    assert reason in second.reason
    assert isinstance(first, tuple)
    assert isinstance(third, tuple)
    assert (first[0], third[0]) == (1, 4)


def test_a_document_with_a_list_is_read() -> None:
    """What `list --json` prints, and a list of segments, are read as well, also with a byte order mark."""
    segments = [{"session_id": "s", "text": "one"}, 7, {"session_id": "s", "text": "two"}]
    for document in (segments, {"total_count": 2, "segments": segments}):
        for indent in (None, 2):
            raw = b"\xef\xbb\xbf" + json.dumps(document, indent=indent).encode()
            if indent is None and document is segments:
                continue  # a list in one line is a line that is not an object
            found = read(raw)
            assert [isinstance(one, MalformedSegment) for one in found] == [False, True, False]


def test_a_text_too_long_for_a_segment_comes_in_parts() -> None:
    """The parts are numbered, and have the text together."""
    words = "0123456789" * 120_000
    found = read(json.dumps({"segment_id": "a", "session_id": "s", "text": words}))
    parts = [one[1] for one in found if isinstance(one, tuple)]
    assert "".join(one.text for one in parts) == words
    assert [one.segment_id for one in parts][:2] == ["a.1", "a.2"]
    assert parts[0].metadata == {"part": "1/6"}


names = st.text(st.characters(categories=("L", "N", "S")), min_size=1, max_size=20)


@given(
    st.builds(
        ContextSegment,
        segment_id=names,
        session_id=names,
        text=st.text().map(lambda text: f"{text}."),
        type=st.sampled_from(SegmentType),
        timestamp=st.sampled_from(["2026-05-01T10:00:00+00:00"]),
        topic=st.none() | names,
        source=names,
        references=st.lists(names, max_size=3).map(tuple),
        expires_at=st.none() | st.just("2027-01-01T00:00:00+00:00"),
        protected=st.booleans(),
        metadata=st.dictionaries(names, names, max_size=2),
    )
)
def test_what_is_written_is_read(segment: ContextSegment) -> None:
    """A segment that is exported is the same when it is imported."""
    assert read(json.dumps(write_segment(segment))) == [(1, segment)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-05-01T10:00:00Z", "2026-05-01T10:00:00+00:00"),
        ("2026-05-01T12:00:00.123+02:00", "2026-05-01T10:00:00+00:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00+00:00"),
        ("2026-05-01", "2026-05-01T00:00:00+00:00"),
        (1_777_629_600, "2026-05-01T10:00:00+00:00"),
        (1_777_629_600_000, "2026-05-01T10:00:00+00:00"),
        ("yesterday", ""),
        (True, ""),
        (float("nan"), ""),
        ("9999-12-31T23:59:59-23:00", ""),
        (None, ""),
    ],
)
def test_times_are_brought_to_utc(given: object, expected: str) -> None:
    """Times of exports come in several forms; what is not a time is empty."""
    assert utc_time(given) == expected
