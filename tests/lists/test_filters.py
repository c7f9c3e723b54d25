"""The language of filters: what it means, what it refuses and where, and that it never raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.lists.filters import (
    MOST_TERMS,
    MOST_VALUES,
    Facet,
    Field,
    FieldKind,
    Filter,
    Op,
    Problem,
    Term,
    Words,
    parse,
    write,
)

FIELDS = (
    Field("name", FieldKind.TEXT),
    Field("tag"),
    Field("level", choices=("global", "scenario", "step")),
    Field("priority", FieldKind.NUMBER),
    Field("enabled", FieldKind.YES_NO),
    Field("created", FieldKind.TIME),
)

MEANINGS: list[tuple[str, tuple[Term, ...]]] = [
    ("", ()),
    ("  / ", (Words("/"),)),
    ("/", ()),
    ("/token", (Words("token"),)),
    ("access token", (Words("access"), Words("token"))),
    ('"access  token"', (Words("access  token", exact=True),)),
    ('"open', (Words("open", exact=True),)),
    (r'"a \"b\" \\"', (Words('a "b" \\', exact=True),)),
    ("!draft", (Words("draft", negated=True),)),
    ("-draft", (Words("draft", negated=True),)),
    ('!"a b"', (Words("a b", exact=True, negated=True),)),
    ("! - x", (Words("x"),)),
    ("tag:python", (Facet("tag", ("python",)),)),
    ("TAG:a,b", (Facet("tag", ("a", "b")),)),
    ('tag:"a b",c', (Facet("tag", ("a b", "c")),)),
    ("tag:language:python", (Facet("tag", ("language:python",)),)),
    ("-tag:x", (Facet("tag", ("x",), negated=True),)),
    ("level:>=Scenario", (Facet("level", ("scenario",), Op.AT_LEAST),)),
    ("priority:>50", (Facet("priority", ("50",), Op.ABOVE),)),
    ("priority:10..20", (Facet("priority", ("10",), Op.AT_LEAST), Facet("priority", ("20",), Op.AT_MOST))),
    ("priority:-1.5", (Facet("priority", ("-1.5",)),)),
    ("enabled:off", (Facet("enabled", ("no",)),)),
    ("created:2026-11..", (Facet("created", ("2026-11",), Op.AT_LEAST),)),
    ("https://x.org std::sort", (Words("https://x.org"), Words("std::sort"))),
    ("x tag:y", (Words("x"), Facet("tag", ("y",)))),
]

REFUSALS = [
    ("nam:x", 0, 5, "no field 'nam'. Did you mean name?"),
    ("a zzz:[x] b", 2, 9, "no field 'zzz'. There are name, tag, level, priority, enabled, created"),
    ("tag:", 0, 4, "tag: a value is missing"),
    ("tag:,", 0, 5, "tag: ',' cannot follow a value"),
    ('tag:a"b c"', 0, 10, "tag: '\"b c\"' cannot follow a value"),
    ("level:high", 0, 10, "level: 'high' is not one of global, scenario, step"),
    ("priority:ten", 0, 12, "priority: 'ten' is not a number"),
    ("enabled:maybe", 0, 13, "enabled: 'maybe' is neither yes nor no"),
    ("created:soon", 0, 12, "created: 'soon' is not a date like 2026-11-30"),
    ("name:>x", 0, 7, "name: > needs one value, of a field that has an order"),
    ("priority:>=1,2", 0, 14, "priority: >= needs one value, of a field that has an order"),
    ("-priority:1..2", 0, 14, "priority: a range cannot be negated"),
]


@pytest.mark.parametrize(("text", "terms"), MEANINGS)
def test_what_a_filter_means(text: str, terms: tuple[Term, ...]) -> None:
    """Each form of the language is read as what the module says it is."""
    assert parse(text, FIELDS) == Filter(terms)


@pytest.mark.parametrize(("text", "start", "end", "message"), REFUSALS)
def test_what_is_refused_and_where(text: str, start: int, end: int, message: str) -> None:
    """What is not understood has a place and a reason, and is no term."""
    found = parse(text, FIELDS)
    assert found.problems == (Problem(start, end, message),)
    assert all(isinstance(term, Words) for term in found.terms)


@pytest.mark.parametrize(
    ("text", "kept", "message"),
    [
        ("a OR " * 5_000, MOST_TERMS, "a filter has at most 50 terms; leave the others out"),
        ("nam:x " * 5_000, 0, "a filter has at most 50 terms; leave the others out"),
        ("a " + "b" * 2_000, 1, "the words of a filter have at most 2,000 characters; leave some out"),
        (f"a tag:{'b' * 2_001}", 1, "tag: a value has at most 2,000 characters"),
        (f"a tag:{'b,' * 201}", 1, "tag: a filter names at most 200 values of a field"),
    ],
    ids=["terms", "problems", "words", "value", "values"],
)
def test_too_much_is_a_problem(text: str, kept: int, message: str) -> None:
    """A filter that would hold a database is cut where it becomes too large, and that is said."""
    found = parse(text, FIELDS)
    assert (len(found.terms), found.problems[-1].message) == (kept, message)


def test_values_that_are_counted_make_a_filter() -> None:
    """All values of every field that the app offers are few enough."""
    every = [Facet("tag", tuple(f"value {n}" for n in range(MOST_VALUES)))] * MOST_TERMS
    assert parse(write(every), FIELDS) == Filter(tuple(every))


def test_text_ranks_and_facets_do_not() -> None:
    """Better matches come first only where there is something to match well."""
    assert [parse(text, FIELDS).ranks for text in ("", "tag:x", "-x", "x")] == [False, False, False, True]
    assert [bool(parse(text, FIELDS)) for text in ("", "tag:", "x")] == [False, False, True]


PIECES = [
    *'ab10 "\\-!/:,.<>=*é\u202e\n\t',
    "tag:",
    "level:",
    "priority:",
    "created:",
    "name:",
    "2026-1",
    "..",
]
TYPED = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(text=TYPED | st.text())
def test_anything_typed_is_read(text: str) -> None:
    """Nothing raises; problems lie inside the text, in order, and what is understood can be written."""
    found = parse(text, FIELDS)
    for problem in found.problems:
        assert 0 <= problem.start < problem.end <= len(text)
        assert problem.message
    assert [each.start for each in found.problems] == sorted(each.start for each in found.problems)
    assert parse(write(found.terms), FIELDS) == Filter(found.terms)


VALUES = st.text(min_size=1, max_size=8)
TERMS = st.one_of(
    st.builds(Words, VALUES, st.just(True), st.booleans()),
    st.builds(Facet, st.sampled_from(["name", "tag"]), st.lists(VALUES, min_size=1, max_size=3).map(tuple)),
    st.builds(
        Facet,
        st.just("level"),
        st.sampled_from(["global", "scenario", "step"]).map(lambda level: (level,)),
        st.sampled_from(list(Op)),
        st.booleans(),
    ),
    st.builds(
        Facet,
        st.just("priority"),
        st.integers(-999, 999).map(lambda number: (str(number),)),
        st.sampled_from(list(Op)),
    ),
)


@given(terms=st.lists(TERMS, max_size=5))
def test_what_is_written_is_read(terms: list[Term]) -> None:
    """Any values, quotes and spaces included, come back as they were."""
    assert parse(write(terms), FIELDS) == Filter(tuple(terms))
