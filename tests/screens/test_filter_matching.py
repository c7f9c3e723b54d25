"""Which rows a filter lets through, in which order, and that it works in slices."""

from __future__ import annotations

import re
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.filter_matching import Filtered, Record, filter_rows, fuzzy, scorer
from workbench.lists.filters import Field, FieldKind, parse

FIELDS = (
    Field("tag"),
    Field("name", FieldKind.TEXT),
    Field("rule", FieldKind.TEXT),
    Field("level", choices=("global", "scenario", "step")),
    Field("priority", FieldKind.NUMBER),
    Field("enabled", FieldKind.YES_NO),
    Field("created", FieldKind.TIME),
)

ROWS: list[Record] = [
    {
        "name": "refresh_token",
        "rule": "Never log it",
        "tag": ("language:python", "security"),
        "level": "global",
        "priority": 90,
        "enabled": True,
        "created": "2026-11-03T10:00:00Z",
    },
    {
        "name": "HTTPServerError",
        "rule": "Retry on the refresh of a token",
        "tag": ("language:go",),
        "level": "scenario",
        "priority": 50,
        "enabled": False,
        "created": "2026-10-31T23:59:59Z",
    },
    {
        "name": "draft",
        "rule": "refreshed tokens",
        "tag": (),
        "level": "step",
        "priority": None,
        "created": None,
    },
]

FOUND = [
    ("", [0, 1, 2]),
    ("rtok", [0]),
    ("hse", [1]),
    ("refresh", [0, 1, 2]),
    ("token", [1, 0, 2]),
    ("refresh token", [0, 1, 2]),
    ('"refresh of"', [1]),
    ("!python", [1, 2]),
    ("-draft refresh", [0, 1]),
    ("tag:python", [0]),
    ("tag:language:python,rust", [0]),
    ("tag:GO,security", [0, 1]),
    ("tag:lang*", [0, 1]),
    ("-tag:security", [1, 2]),
    ("level:>=scenario", [1, 2]),
    ("level:<scenario", [0]),
    ("-level:step", [0, 1]),
    ("priority:50..90", [0, 1]),
    ("priority:<90", [1]),
    ("-priority:90", [1, 2]),
    ("enabled:yes", [0]),
    ("enabled:no", [1, 2]),
    ("created:2026-11", [0]),
    ("created:<2026-11", [1]),
    ("created:..2026-11", [0, 1]),
    ("name:TOKEN", [0]),
    ('rule:"of a token"', [1]),
    ("zzz", []),
]


def found(text: str) -> list[int]:
    """Return the rows a filter lets through, in order."""
    *_, last = filter_rows(parse(text, FIELDS), ROWS.__getitem__, len(ROWS), fields=FIELDS)
    assert last.order is not None
    return list(last.order)


@pytest.mark.parametrize(("text", "wanted"), FOUND)
def test_what_is_let_through(text: str, wanted: list[int]) -> None:
    """Each kind of term lets through what it says; better matches come first, equal ones stay in order."""
    if parse(text, FIELDS).ranks:
        assert sorted(found(text)) == sorted(wanted)
    else:
        assert found(text) == wanted


def test_better_matches_come_first() -> None:
    """A whole word beats a beginning, that a part, that an inside, that scattered characters."""
    texts = ["the log", "logs", "re_log", "blogs", "l_o_g", "reLog"]
    points = {text: fuzzy("log")(text) for text in texts}
    assert points["the log"] > points["logs"] > points["re_log"] == points["reLog"] > points["blogs"]
    assert points["blogs"] > points["l_o_g"] > 0


@pytest.mark.parametrize(
    ("word", "text", "matches"),
    [
        ("rtok", "refresh_token", True),
        ("RTok", "refreshToken", True),
        ("hsrv", "HTTPServer", True),
        ("ken", "token", True),
        ("rt", "for the cat", False),
        ("tok", "t o k", False),
        ("x", "HTTPServer", False),
        ("a[b", "a[b]", True),
        ("^$", "x", False),
        ("漢", "漢字", True),
    ],
)
def test_words_match_inside_words(word: str, text: str, matches: bool) -> None:
    """Characters in order count inside one word, from the start of a part of it; a substring anywhere."""
    assert bool(fuzzy(word)(text)) is matches


@given(
    word=st.text(alphabet="abAB_-^]\\[.é", min_size=1, max_size=6), text=st.text(alphabet="abcAB_-^]\\[. é")
)
def test_a_match_has_the_characters_in_order(word: str, text: str) -> None:
    """Nothing matches that lacks them; a substring always matches; points stay in their range."""
    points = fuzzy(word)(text)
    lower = text.lower()
    scattered = re.search(".*".join(map(re.escape, word.lower())), lower, re.DOTALL) is not None
    assert 0 <= points <= 100
    assert not points or scattered
    assert word.lower() not in lower or points >= 60


def test_a_hostile_text_takes_its_time_once() -> None:
    """A long run of nearly matching characters is searched without going through its combinations."""
    assert fuzzy("a" * 30 + "b")("a" * 4_000) == 0


def test_work_is_sliced_by_the_clock() -> None:
    """Every slice of time ends in a step, the last one has the order; a filter is cancelled by not asking."""
    ticks = count()
    seen: list[int] = []

    def record(index: int) -> Record:
        seen.append(index)
        return {"name": f"token {index}"}

    def steps(total: int) -> list[Filtered]:
        given = parse("token", FIELDS)
        clock = ticks.__next__
        return list(filter_rows(given, record, total, fields=FIELDS, seconds=1, clock=lambda: float(clock())))

    made = steps(1_000)
    assert [each.done for each in made] == [*range(0, 1_000, 32), 1_000]
    assert [each.complete for each in made] == [False] * (len(made) - 1) + [True]
    assert made[-1] == Filtered(1_000, 1_000, 1_000, made[-1].order)
    assert all(first.found <= second.found for first, second in pairwise(made))

    seen.clear()
    running = filter_rows(parse("x", FIELDS), record, 10_000, fields=FIELDS, seconds=-1)
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert len(seen) <= 64


def test_a_filter_without_terms_keeps_every_row() -> None:
    """Nothing asked for is everything, in the order of the rows."""
    score = scorer(parse("", FIELDS), FIELDS)
    assert [score(row) for row in ROWS] == [1, 1, 1]
