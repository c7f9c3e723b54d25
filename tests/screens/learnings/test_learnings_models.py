"""Rows, filters, forms, command lines and texts of learnings, without an app."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App
from textual.content import Content
from textual.widget import Widget

from screens.jobs import Job
from screens.learnings.audit import PRUNE, JunkFinding, audit_of, prune_question
from screens.learnings.learning_form import (
    MINE,
    OWNER,
    add_command,
    edit_command,
    edit_fields,
    format_value,
    new_fields,
    problems,
    promote_command,
    promote_fields,
    promote_values,
    prompt_command,
    record_values,
)
from screens.learnings.learning_service import LearningCounts, LearningStory, documents
from screens.learnings.learning_view import (
    COLUMNS,
    PAST,
    STATES,
    ReviewProgress,
    days,
    head_content,
    learning_cells,
    state_of,
    story_content,
)
from screens.learnings.origins import LearningOrigin, origins
from screens.widgets.form import parse_value, raw_of
from tests.deep import times
from tests.screens.learnings.conftest import HOSTILE, auto
from tests.screens.test_commands import check_command_line
from workbench.curation.records import RecordChange
from workbench.entry.cli.output import to_json
from workbench.entry.services.learnings import LearningPast
from workbench.errors import ProcessError
from workbench.lists.learnings import LearningRow
from workbench.memory.learnings.learningtype import stale_days
from workbench.memory.learnings.ledger import Note
from workbench.memory.learnings.review import ReviewItem, Why
from workbench.records.learnings import FeatureLearning, LearningKind, LearningSource, LearningState
from workbench.records.rules import Authority

NOW = 1_795_000_000.0  # 2026-11-18
ONE = replace(
    auto("`pytest` needs `PYTHONPATH=src`", kind=LearningKind.COMMAND, files=("src/a.py",), task_id="42"),
    id="learning-1111111111",
    scope=("src/**",),
)
TWO = replace(
    auto(HOSTILE, "hostile", timestamp="2026-11-14T08:00:00+00:00"),
    id="learning-2222222222",
    source=LearningSource.HUMAN,
    reviewed=True,
    reviewed_at="2026-11-15T08:00:00+00:00",
    confidence=0.9,
)
GONE = replace(ONE, id="learning-3333333333", state=LearningState.REJECTED, hit_count=4)
AGAINST = Note("2026-11-16T08:00:00Z", "hook", ONE.id, "s-5", None, "`pytest` worked")


def row(one: FeatureLearning) -> LearningRow:
    age = stale_days(replace(one, last_hit="", reviewed_at=""), NOW)
    why = "unreviewed" if state_of(one) == "unreviewed" else ""
    return LearningRow(one, why, 1 if one is ONE else 0, age, stale_days(one, NOW))


def test_rows_have_a_cell_for_each_column() -> None:
    """Every state differs by its glyph; hostile text is neutral."""
    for one in (ONE, TWO, GONE):
        cells = learning_cells(row(one))
        assert len(cells) == len(COLUMNS)
        text = "".join(cell if isinstance(cell, str) else cell.plain for cell in cells)
        assert not set("\x1b\x00\u202e\n") & set(text)
    assert len({glyph for glyph, _ in STATES.values()}) == len(STATES)


@settings(max_examples=times(4, 12))
@given(st.text())
def test_any_text_is_told_on_its_lines(text: str) -> None:
    """Whatever a learning says, its row is one line and its pane has no control characters."""
    one = replace(ONE, text=text, reason=text, evidence=text, feature=text)
    cells = learning_cells(row(one))
    assert all("\n" not in (cell if isinstance(cell, str) else cell.plain) for cell in cells)
    told = story_content(LearningStory(row(one), LearningPast(None)), width=40).plain
    assert not {character for character in told if ord(character) < 32} - {"\n", "\t"}


def test_a_story_tells_everything() -> None:
    """State, warnings, why it waits and both texts, facts, sessions, and what was done to it are told."""
    item = ReviewItem(ONE, Why.CONFLICT, "they contradict each other", other=TWO)
    hits = (Note("2026-11-13T08:00:00Z", "hook", ONE.id, "s-8", None, "found out again"),)
    before = replace(ONE, text="`pytest` needs nothing", feature="api")
    changes = (
        RecordChange("2026-11-11T08:00:00Z", "ingest", ONE.id, None, before, "seen", "1"),
        RecordChange("2026-11-12T08:00:00Z", "cli", ONE.id, before, ONE, "it was wrong", "2"),
    )
    told = story_content(
        LearningStory(row(ONE), LearningPast(item, hits, (AGAINST,), changes), ("override",)), width=70
    ).plain
    for part in (
        "? unreviewed",
        "1 against",
        "reads like an instruction (override)",
        "≠ conflict: they contradict each other",
        "list[int] = x[0]",
        "task        42",
        "s-8",
        "found out again",
        "`pytest` worked",
        "it was wrong",
        "feature: api → auth",
        "+ learned",
    ):
        assert part in told, part


def test_a_change_marks_the_words() -> None:
    """Words that came and went are both there; a learning that was taken back says so."""
    change = RecordChange("", "cli", ONE.id, ONE, replace(ONE, text="`pytest` needs `uv run`"), "", "1")
    (line,) = PAST.differences(change)
    assert "PYTHONPATH" in line.plain
    assert "uv run" in line.plain
    assert [one.plain for one in PAST.differences(replace(change, after=None))] == ["- taken back"]


def test_the_headline_counts() -> None:
    """What waits by reason, what is gone, and how far the sitting is."""
    counts = LearningCounts(2, 1, {"unreviewed": 1})
    told = head_content(counts, "all", ReviewProgress(3, 1), comparing=True).plain
    assert "2 live, 1 gone" in told
    assert "? 1" in told
    assert "3 of 4 done" in told
    assert "comparing" in told


def test_forms_give_back_what_they_were_given() -> None:
    """Fields that nobody changed make the record's own values; lines become entries."""
    values = record_values({field.name: parse_value(field, raw_of(field)) for field in edit_fields(ONE)})
    assert values == {name: getattr(ONE, name) for name in values}
    assert format_value("scope", ONE.scope) == "src/**"
    assert record_values({"scope": " a \n\nb\na", "task_id": " "}) == {"scope": ("a", "b"), "task_id": None}


def test_what_is_wrong_is_told_by_field() -> None:
    """Bounds of the record are those of the form."""
    assert problems({"text": "x" * 501, "reason": " ", "feature": "auth"}).keys() == {"text", "reason"}
    assert problems({"files": "\n".join(f"{number}.py" for number in range(21))}).keys() == {"files"}
    assert problems({field.name: field.value for field in edit_fields(ONE)}) == {}


def test_command_lines_exist() -> None:
    """What the log says can be typed."""
    values = {**record_values({field.name: field.value for field in new_fields("auth")}), OWNER: MINE}
    values |= {"text": "a", "reason": "b", "task_id": "4", "files": ("x.py",)}
    rule = promote_values({field.name: field.value for field in promote_fields(ONE)})
    rule |= {"rule": "Run it.", "authority": Authority.ABSOLUTE, "reason": "why"}
    lines = [
        add_command(values),
        edit_command(
            ONE.id, {"text": "a", "reason": "b", "task_id": None, "scope": (), "kind": LearningKind.NOTE}
        ),
        edit_command(ONE.id, {"task_id": "7", "scope": ("a/**", "b"), "feature": "x"}),
        promote_command(ONE.id, ONE.text, rule),
        prompt_command("auth", "42", 800),
    ]
    for line in lines:
        check_command_line(
            " ".join(["workbench", *(word.replace("`", "").replace("'", "") for word in line)])
        )
    assert lines[0][-1] == "--personal"
    assert {"--whole-feature", "--everywhere"} < set(lines[1])
    assert lines[3][3:] == ["--text", "Run it.", "--absolute", "--scope", "src/**", "--reason", "why"]


def test_origins_have_lines_where_they_are_told() -> None:
    """A file's line stands in what was seen; a session comes last."""
    one = replace(ONE, evidence="src/a.py:12: error", session_id="s-1")
    assert origins(one) == (
        LearningOrigin("src/a.py:12", file="src/a.py", line=12),
        LearningOrigin("session s-1", session="s-1"),
    )
    assert origins(replace(ONE, files=(), session_id="")) == ()


@given(
    st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=3), max_size=5),
    st.text(),
)
def test_entries_are_parsed_one_by_one(entries: list[Any], other: str) -> None:
    """Whatever stands beside it, a list of a JSON object is read as the whole would be."""
    text = json.dumps({"total_count": other, "conflicts": entries, "last": other}, indent=2)
    assert list(documents(text, "conflicts")) == entries


def test_the_answer_of_an_audit_is_read() -> None:
    """Findings by kind with the learnings' texts, and what would be pruned; what is no answer is refused."""
    document = {
        "total_count": 2,
        "counts": {"stale": 1},
        "junk": [{"kind": "stale", "id": ONE.id, "why": "prunable", "other": ""}],
        "prunable": [TWO.id],
    }

    def texts(identifiers: Iterable[str]) -> dict[str, str]:
        return {one.id: one.text for one in (ONE, TWO) if one.id in set(identifiers)}

    audit = audit_of(to_json(document), texts, 2, _unhurried())
    assert audit.findings["stale"] == (JunkFinding("stale", ONE.id, "prunable", ONE.text),)
    assert [one.id for one in audit.prunable] == [TWO.id]
    assert audit.findings["echo"] == ()
    for wrong in ("", "{}", '{"junk": [{}], "prunable": []}', '{"junk": ['):
        with pytest.raises(ProcessError):
            audit_of(wrong, texts, 2, _unhurried())


def test_pruning_says_how_it_is_undone() -> None:
    """The question names some of what goes, how many more, and the way back."""
    told = prune_question([JunkFinding(PRUNE, f"l-{number}", "", f"text {number}") for number in range(9)])
    assert "text 5" in told
    assert "and 3 more" in told
    assert "u takes it back" in told


def test_days_are_short() -> None:
    """Days fit into their column."""
    assert [days(0), days(12), days(5_000)] == ["today", "12d", "13y"]
    assert Content(days(999)).cell_length <= 5


def _unhurried() -> Job:
    """Return a job that nobody stops."""
    app: App[None] = App()
    return Job("test", "test", Widget(), app)
