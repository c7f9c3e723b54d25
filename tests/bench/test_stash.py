"""Conversations with questions: public sets are converted, rankings of segments are measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.conversations import (
    CHOOSE,
    REPORT,
    Question,
    convert_beam,
    convert_realtalk,
    read_conversations,
    write_halves,
)
from bench.stash_quality import MEASURES, measure


def _chat(path: Path) -> None:
    said = {"speaker": "Ana", "clean_text": "We moved to Lima.", "date_time": "29.12.2023, 00:51:12"}
    picture = {**said, "clean_text": "Look", "blip_caption": "a beach", "dia_id": "D1:2"}
    evidence = [["D1:1; D1:02"], ["D9:9"]]
    content = {
        "session_1": [{**said, "dia_id": "D1:1"}, picture],
        "session_1_date_time": "29.12.2023, 00:51:12",
        "qa": [
            {"question": "Where do they live?", "evidence": one, "category": 1, "answer": "Lima"}
            for one in evidence
        ],
    }
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))


def test_a_chat_becomes_turns_and_the_questions_whose_evidence_is_in_it(tmp_path: Path) -> None:
    """Evidence written as one text counts as several turns; a question about unknown turns is left out."""
    _chat(tmp_path / "data" / "Chat_3_Ana_Bo.json")
    (found,) = convert_realtalk(tmp_path)
    assert [turn.text for turn in found.turns] == ["Ana: We moved to Lima.", "Ana: Look [picture: a beach]"]
    assert found.turns[0].timestamp == "2023-12-29T00:51:12+00:00"
    assert found.questions == (
        Question(
            "Where do they live?", ("realtalk-3/1",), ("realtalk-3/D1:1", "realtalk-3/D1:2"), "several turns"
        ),
    )


def test_an_assistants_chat_has_a_session_a_day_and_no_marks(tmp_path: Path) -> None:
    """The numbers of evidence are found wherever the question's record has them."""
    folder = tmp_path / "chats" / "100K" / "7"
    (folder / "probing_questions").mkdir(parents=True)
    said = [{"role": "user", "id": 0, "content": "Use Flask. ->-> 1,1", "time_anchor": "March-15-2024"}]
    batch = {"batch_number": 1, "time_anchor": None, "turns": [[*said, {**said[0], "id": 1}]]}
    (folder / "chat.json").write_text(json.dumps([batch]))
    probes = {
        "knowledge_update": [
            {"question": "Which?", "source_chat_ids": {"original_info": [0], "updated_info": [1]}}
        ],
        "abstention": [{"question": "Why?"}],
    }
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(probes))
    (found,) = convert_beam(tmp_path, ("100K",))
    assert [(turn.text, turn.timestamp) for turn in found.turns] == [
        ("user: Use Flask.", "2024-03-15T00:00:00+00:00"),
        ("user: Use Flask.", "2024-03-15T00:01:00+00:00"),
    ]
    assert [(question.kind, question.segment_ids) for question in found.questions] == [
        ("knowledge_update", ("beam-100K-7/0", "beam-100K-7/1"))
    ]


def test_halves_hold_whole_conversations_and_read_back(tmp_path: Path) -> None:
    """What was written is what is read, and no conversation is in both halves."""
    for number in range(4):
        _chat(tmp_path / str(number) / "data" / f"Chat_{number}_A_B.json")
    conversations = [next(convert_realtalk(tmp_path / str(number))) for number in range(4)]
    assert write_halves(conversations, tmp_path / "out") == {CHOOSE: 2, REPORT: 2}
    halves = [read_conversations(tmp_path / "out" / half) for half in (CHOOSE, REPORT)]
    found = sorted((one for half in halves for one in half), key=lambda one: one.name)
    assert found == conversations


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ("abc", (1.0, 1.0, 1.0, 1.0, 1.0)),
        ("xay", (1.0, 1.0, 0.0, 0.0, 0.0)),
        ("pqrst", (0.0, 0.0, 0.0, 0.0, 0.0)),
        ("xyztsrqpwvab", (0.0, 0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_a_ranking_is_measured_by_sessions_and_by_turns(ranking: str, expected: tuple[float, ...]) -> None:
    """Sessions count in the order in which the ranking first names them."""
    sessions = dict.fromkeys("abc", "right") | {id: id for id in "pqrstvwxyz"}
    question = Question("?", ("right",), ("a", "b"), "")
    found = measure(list(ranking), [sessions[id] for id in ranking], question)
    assert (
        dict(zip(MEASURES, found, strict=True)).items()
        >= dict(
            zip(("session@5", "turn@10", "all@10", "several@10", "turn@1"), expected, strict=True)
        ).items()
    )
