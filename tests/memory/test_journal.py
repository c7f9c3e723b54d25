"""A feature's journal: names of files, round trips, and what becomes of lines that are none."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.journal_files import stream_path
from workbench.errors import UsageError
from workbench.memory.journal import (
    KIND,
    VERSION,
    JournalEntry,
    body_of,
    entry_of,
    feature_name,
    feature_stream,
    read_journal,
)
from workbench.ports import Entry
from workbench.records.iterations import (
    DecisionEntry,
    ErrorEntry,
    ErrorType,
    FileAction,
    FileTouched,
    IterationOutcome,
    IterationRecord,
    ModelTier,
    model_tier,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
RECORDS = st.builds(
    IterationRecord,
    iteration_number=st.integers(1, 10_000),
    task_id=TEXT,
    task_title=TEXT,
    feature=TEXT,
    discipline=TEXT,
    timestamp=st.just("2026-02-07T14:30:00Z"),
    outcome=st.sampled_from(IterationOutcome),
    summary=TEXT,
    errors=st.lists(
        st.builds(
            ErrorEntry,
            TEXT,
            st.none() | st.sampled_from(ErrorType),
            st.none() | TEXT,
            st.none() | st.integers(),
        ),
        max_size=3,
    ).map(tuple),
    decisions=st.lists(st.builds(DecisionEntry, TEXT, st.none() | TEXT), max_size=3).map(tuple),
    files_touched=st.lists(
        st.builds(
            FileTouched,
            st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}\.py", fullmatch=True),
            st.sampled_from(FileAction),
        ),
        max_size=3,
    ).map(tuple),
    tokens_used=st.none() | st.integers(0, 1 << 40),
    duration_ms=st.none() | st.integers(0, 1 << 40),
    model_tier=st.sampled_from(ModelTier),
    model=TEXT,
)


@given(RECORDS)
def test_a_record_comes_back_as_it_was(record: IterationRecord) -> None:
    """Through the body of a journal's line."""
    entry = JournalEntry(VERSION, record, "key", "digest", "print", "test", 3)
    assert entry == entry_of(body_of(entry))


@pytest.mark.parametrize(
    "name",
    ["auth", "event-search", "a_b", "v2"],
)
def test_plain_names_are_files_as_they_are(name: str) -> None:
    """A feature whose name is safe has the journal anyone would look for."""
    assert f"memory/{name}" == feature_stream(name)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "C:\\x",
        "con",
        "NUL",
        ".hidden",
        "Größe",
        "认证",
        "x" * 3_000,
        "a b",
        "-f",
        "..",
        ".",
    ],
)
def test_other_names_are_safe_files(name: str) -> None:
    """Separators, dots, devices, unicode and length give a short plain name that leads nowhere else."""
    path = stream_path(Path("/state"), feature_stream(name))
    assert Path("/state/journal/memory") == path.parent
    assert len(path.name) < 80
    assert path.name.isascii()


NAMES = st.text(max_size=12) | st.sampled_from(
    ["Auth", "auth", "AUTH", "a/b", "a-b", "a.b", "é", "e", "e\u0301"]
)


@given(NAMES, NAMES)
def test_features_that_differ_have_files_that_differ(first: str, second: str) -> None:
    """Also on a file system that ignores case; a name composed otherwise is the same name."""
    import unicodedata

    one, two = (unicodedata.normalize("NFC", name).strip() for name in (first, second))
    same = feature_stream(first).casefold() == feature_stream(second).casefold()
    assert same == (one == two)


def test_a_feature_needs_a_name() -> None:
    """Nothing, blanks and control characters are none; what is one is kept as it was given."""
    for name in ("", "  ", "\x00\x07", "x" * 2_001):
        with pytest.raises(UsageError):
            feature_name(name)
    assert feature_name("  Größe/a b ") == "Größe/a b"


def entries(*bodies: Any, kind: str = KIND) -> list[Entry]:
    return [
        Entry(f"id{place}", "2026-01-01T00:00:00Z", kind, "test", body) for place, body in enumerate(bodies)
    ]


def entry(**changes: Any) -> JournalEntry:
    record = IterationRecord(1, "42", "t", "auth", "", "2026-01-01T00:00:00Z", IterationOutcome.SUCCESS, "s")
    return dataclasses.replace(JournalEntry(VERSION, record, "k"), **changes)


def test_the_newest_telling_counts_in_the_place_of_the_first() -> None:
    """Of several entries with one key the last is the iteration."""
    bodies = [body_of(entry(digest="a")), body_of(entry(key="other")), body_of(entry(digest="b"))]
    journal = read_journal("memory/auth", entries(*bodies))
    assert [(one.key, one.digest) for one in journal.entries] == [("k", "b"), ("other", "")]
    assert (journal.feature, journal.next_number) == ("auth", 2)


def test_kinds_of_others_are_passed_and_unknown_ones_set_aside() -> None:
    """What learnings write into the stream is theirs."""
    lines = [*entries({}, kind="learning.put"), *entries({}, kind="aurora")]
    journal = read_journal("memory/auth", lines, frozenset({"learning.put"}))
    assert [one.reason for one in journal.set_aside] == ["entries of kind 'aurora' are not known"]


@pytest.mark.parametrize(
    ("model", "tier"),
    [
        ("claude-haiku-4-5", ModelTier.HAIKU),
        ("gpt-5-mini", ModelTier.HAIKU),
        ("gemini-2.5-flash", ModelTier.HAIKU),
        ("claude-sonnet-4-5", ModelTier.HAIKU),
        ("claude-opus-4-6", ModelTier.OPUS),
        ("gpt-5.4", ModelTier.OPUS),
        ("gemini-3-pro", ModelTier.OPUS),
        ("o3", ModelTier.OPUS),
        ("llama3.2:1b", ModelTier.HAIKU),
        ("", ModelTier.HAIKU),
    ],
)
def test_tiers_of_models(model: str, tier: ModelTier) -> None:
    """Small models do tasks, large ones review, whoever made them."""
    assert tier == model_tier(model)
