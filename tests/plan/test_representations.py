"""Offers: honest costs, growing worth, and the lines they claim to show."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.compose import ViewOffer
from workbench.plan.news import begins_new, only_new
from workbench.plan.packing import worth
from workbench.plan.render import ALSO, STYLES, Style, name_line
from workbench.plan.representations import (
    Content,
    content_of,
    file_offers,
    merge_spans,
    name_offer,
    named_places,
    outline_view,
)
from workbench.records.answers.plan import NamedPlace
from workbench.records.plan import Representation
from workbench.records.project import Symbol
from workbench.text.tokens import token_counter

COUNTER = token_counter()
LINES = [f"    value_{number} = compute(value_{number - 1}, {number})" for number in range(200)]
SYMBOLS = tuple(
    Symbol(f"part_{start}", "method", start, start + 9, f"def part_{start}():", "Whole")
    for start in range(1, 200, 10)
)


def read(text: str = "\n".join(LINES), symbols: tuple[Symbol, ...] = SYMBOLS) -> Content:
    """Read a file; by itself one of 200 lines in 20 definitions."""
    return content_of("src/a.py", text.encode(), symbols, COUNTER)


def offers(style: Style) -> tuple[Content, tuple[ViewOffer, ...]]:
    """Return a file and its offers with chances that fall from the first chunk on."""
    file = read()
    chances = np.asarray([0.9 / (1 + number) for number in range(file.cut.count)], np.float32)
    return file, file_offers(file, chances, style, COUNTER)


def spans_of(found: tuple[ViewOffer, ...]) -> list[tuple[tuple[int, int], ...]]:
    return [one.view.spans for one in found if one.view.representation is Representation.SNIPPETS]


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())
def test_costs_are_close_to_what_rendering_takes(style: Style) -> None:
    """In every style an offer costs what its text costs, give or take a few tokens."""
    file, found = offers(style)
    for offer in found:
        if offer.view.representation is Representation.PATH:
            assert offer.tokens >= COUNTER.count(style.listed(ALSO, [name_line(offer.view)])) - COUNTER.count(
                style.listed(ALSO, [])
            )
        else:
            text = style.file(file.fill(offer.view))
            assert abs(offer.tokens - COUNTER.count(text)) <= 10 + 0.06 * offer.tokens


def test_worth_grows_from_the_likeliest_place_to_the_whole_file() -> None:
    """Path < snippets, each with one more chunk, <= full; each is worth what its chunks are."""
    file, found = offers(STYLES["markdown"])
    kinds = [offer.view.representation for offer in found]
    assert (kinds[0], kinds[-1]) == (Representation.PATH, Representation.FULL)
    snippets = [offer for offer in found if offer.view.representation is Representation.SNIPPETS]
    worths = [offer.utility for offer in snippets]
    assert worths == sorted(worths)
    assert worths[-1] <= found[-1].utility
    assert worths[0] == pytest.approx(worth(0.9, int(file.cut.table[0, 7])), rel=1e-3)
    assert [offer.tokens for offer in snippets] == sorted(offer.tokens for offer in snippets)


@pytest.mark.parametrize(("lines", "is_short"), [(18, True), (22, False)])
def test_a_short_file_of_which_half_is_shown_is_whole(lines: int, *, is_short: bool) -> None:
    """Its rest costs less than asking for it; of a longer one parts are offered up to the whole."""
    functions = [(f"function_{number}", number * lines + 1) for number in range(3)]
    text = "".join(
        f"def {name}(value):\n" + "".join(f"    value += {line}\n" for line in range(2, lines + 1))
        for name, _start in functions
    )
    symbols = [Symbol(name, "function", start, start + lines - 1, f"def {name}") for name, start in functions]
    file = content_of("pkg/values.py", text.encode(), symbols, COUNTER)
    found = file_offers(file, np.asarray([0.9, 0.5, 0.1], np.float32), STYLES["text"], COUNTER)
    assert [offer.view.spans for offer in found[1:]] == [
        ((1, lines),),
        *([] if is_short else [((1, 2 * lines),)]),
        ((1, 3 * lines),),
    ]


@pytest.mark.parametrize(
    "comment",
    [
        "/*\n * Copyright (C) 2011\n *\n * Licensed under the terms.\n */\n",
        '"""What this module decides.\n\nAnd for whom.\n"""\n',
        "// SPDX-License-Identifier: MIT\n// Copyright somebody\n// All rights reserved.\n",
    ],
)
def test_a_licence_is_never_shown(comment: str) -> None:
    """What code begins with and is a comment is in no offer, costs nothing, and the rest is whole."""
    count = comment.count("\n")
    symbol = Symbol("compute", "function", count + 2, count + 9, "compute()")
    code = "import this\ncompute() {\n" + "    value = 1\n" * 6 + "}\n"
    file = read(comment + code, (symbol,))
    found = file_offers(file, np.full(file.cut.count, 0.5, np.float32), STYLES["text"], COUNTER)
    shown = [one.view for one in found if one.view.spans]
    assert shown
    assert all(view.spans[0][0] > count for view in shown)
    assert shown[-1].spans == ((count + 1, file.cut.lines),)
    assert abs(found[-1].tokens - COUNTER.count(STYLES["text"].file(file.fill(shown[-1])))) <= 10


@pytest.mark.parametrize("sure", [False, True])
def test_of_a_changelog_the_newest_section_is_offered(sure: bool) -> None:
    """An older section is shown where it is sure to be meant; the newest is the one that is named."""
    text = "# Changes\n\n## 2.0\nIt is new.\nReally.\n\n## 1.0\nIt was new.\nOnce.\n"
    file = content_of("CHANGES.md", text.encode(), (), COUNTER)
    starts = file.cut.table[:, 0].tolist()
    chances = np.asarray([0.9 if sure and start == 7 else 0.2 for start in starts], np.float32)
    found = file_offers(file, chances, STYLES["text"], COUNTER)
    assert [place.name for place in found[0].view.places] == ["2.0"]
    shown = [end for one in found[1:-1] for _start, end in one.view.spans]
    assert (max(shown) > 6) is sure


def test_the_newest_section_begins_with_its_heading() -> None:
    """A heading may be above the sections that it is divided into: both are as likely as the likelier one."""
    fixed = "### Fixed\n\n" + "- It was wrong.\n" * 8
    text = f"# Changes\n\n{'All of them.' * 9}\n\n## 2.0\n\n{fixed}\n## 1.0\n\n{fixed}"
    file = content_of("CHANGES.md", text.encode(), (), COUNTER)
    begin = begins_new(file.cut)
    chances = only_new(file.cut, np.where(np.arange(file.cut.count) == 0, 0.4, 0.1).astype(np.float32))
    assert begin.any()
    assert not begin.all()
    assert set(chances[begin].tolist()) == {np.float32(0.4)}
    assert not chances[~begin].any()


def test_code_of_that_name_is_no_changelog() -> None:
    """A module that is called history is named by its likeliest definitions."""
    file = content_of("src/history.py", "\n".join(LINES).encode(), SYMBOLS, COUNTER)
    found = file_offers(file, np.full(file.cut.count, 0.5, np.float32), STYLES["text"], COUNTER)
    assert found[0].view.places


def test_a_short_comment_stays() -> None:
    """One line above the imports is shown with them."""
    found = file_offers(
        read("# Helpers.\n" + "\n".join(LINES), ()), np.ones(6, np.float32), STYLES["text"], COUNTER
    )
    assert found[-1].view.representation is Representation.FULL


def test_views_hold_the_lines_of_their_spans() -> None:
    """What a view shows are the file's lines in the ranges it names, and the names of what they define."""
    file, found = offers(STYLES["text"])
    for offer in found[1:]:
        lines = [line for start, end in offer.view.spans for line in file.lines[start - 1 : end]]
        assert list(file.fill(offer.view).lines) == lines
    assert "Whole.part_1" in found[1].why
    assert found[0].view.places[0] == NamedPlace("Whole.part_1", 1, 10)


def test_places_besides_the_lines_shown_are_named() -> None:
    """They are the likeliest that are not shown; parts of a definition beside each other are one place."""
    body = "\n".join(f"    step_{n} = run(step_{n - 1})" for n in range(98))
    symbols = (Symbol("first", "function", 1, 99, "def first():", ""), SYMBOLS[10])
    file = read(f"def first():\n{body}\ndef other():\n    return 1\n", symbols)
    spans = [(one.start, one.end) for one in map(file.cut.chunk, range(file.cut.count))]
    alike = np.full(file.cut.count, 0.1, np.float32)
    assert named_places(file.cut, alike)[0] == NamedPlace("first", 1, 99)
    below = named_places(file.cut, alike, spans[:1])
    assert below[0] == NamedPlace("first", spans[1][0], 99)
    assert named_places(file.cut, alike, [(1, 200)]) == ()
    assert named_places(file.cut, np.zeros_like(alike)) == ()


def test_a_range_says_which_definition_it_is_inside_of() -> None:
    """A method is under the name of its class, the second half of a long function under that of both."""
    body = "\n".join(f"        step_{n} = run(step_{n - 1})" for n in range(90))
    symbols = (
        Symbol("Whole", "class", 1, 92, "class Whole:"),
        Symbol("run", "method", 2, 92, "def run(self):", "Whole"),
    )
    file = read(f"class Whole:\n    def run(self):\n{body}\n", symbols)
    last = np.zeros(file.cut.count, np.float32)
    last[-1] = 0.5
    snippets = [one.view for one in file_offers(file, last, STYLES["text"], COUNTER) if one.view.marks]
    assert snippets[0].marks == ("Whole.run",)


def test_crumbs_are_offered_only_beside_what_has_substance() -> None:
    """However likely the imports are needed, the first lines offered are others."""
    text = "import a\nimport b\nimport c\n\n\ndef f():\n    x = a.b\n    return x\n"
    file = read(text, (Symbol("f", "function", 6, 8, "def f():", ""),))
    assert [file.cut.chunk(n).is_crumb for n in range(file.cut.count)] == [True, False]
    found = file_offers(file, np.asarray([0.9, 0.1], np.float32), STYLES["text"], COUNTER)
    assert spans_of(found) == [((6, 8),)]


def test_no_offer_shows_a_crumb_apart_from_what_it_belongs_to() -> None:
    """Each range of lines shown of a large file has substance; imports come with their neighbours."""
    parts = [f"def f{n}():\n    a = {n}\n    b = a + {n}\n    return b\n" for n in range(12)]
    text = "import a\nimport b\nimport c\n\n\n" + "\n\n".join(parts) + "\n\nif a:\n    pass\n# end\n"
    symbols = tuple(
        Symbol(line[4:-3], "function", number, number + 3, line, "")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.startswith("def")
    )
    file = read(text, symbols)
    chunks = [file.cut.chunk(number) for number in range(file.cut.count)]
    crumbs = [chunk for chunk in chunks if chunk.is_crumb]
    assert crumbs
    chances = [0.5 if one.is_crumb else 0.1 if one.name == "f5" else 0.01 for one in chunks]
    found = spans_of(file_offers(file, np.asarray(chances, np.float32), STYLES["text"], COUNTER))
    assert found[0] == ((symbols[5].line, symbols[5].end_line + 2),)
    for spans in found:
        for start, end in spans:
            assert any(not one.is_crumb for one in chunks if start <= one.start and one.end <= end)
    assert any(crumbs[0].start == spans[0][0] for spans in found)


def test_an_empty_file_can_be_named() -> None:
    """A file without lines offers its path."""
    file = read("", ())
    found = file_offers(file, np.zeros(0, np.float32), STYLES["markdown"], COUNTER)
    assert [offer.view.representation for offer in found] == [Representation.PATH]


def test_a_file_that_was_not_read_can_be_named() -> None:
    """A path costs its line."""
    offer = name_offer("src/a.py", STYLES["markdown"], COUNTER)
    assert offer.utility == 0
    assert offer.tokens >= COUNTER.count("- src/a.py\n")


def test_an_outline_is_one_line_a_definition() -> None:
    """Line number and signature, members indented; nothing a signature holds breaks its line."""
    view = outline_view(
        "a.py", [Symbol("b", "method", 9, 9, "def b():\n evil", "A"), Symbol("A", "class", 2, 9, "class A:")]
    )
    assert view.lines == ("2 class A:", "9   def b():␊ evil")


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 6)), max_size=8))
def test_merged_ranges_are_ordered_and_apart(drawn: list[tuple[int, int]]) -> None:
    """Joining ranges keeps every line of them, in order, with gaps worth a mark between."""
    spans = sorted((start, start + size) for start, size in drawn)
    joined = merge_spans(spans)
    lines = {line for start, end in joined for line in range(start, end + 1)}
    assert {line for start, end in spans for line in range(start, end + 1)} <= lines
    assert all(later[0] - earlier[1] > 3 for earlier, later in pairwise(joined))


def test_what_is_masked_is_said_where_it_is_shown() -> None:
    """Code of tests is as it is in the file; a credential is masked, and headings and XML name its line."""
    token = "ghp_" + "a1B2" * 9
    code = f'PASSWORD = "password123"\n\n\ndef push():\n    return send("{token}")\n'.encode()
    file = content_of("tests/test_push.py", code, (), COUNTER)
    whole = file_offers(file, np.asarray([0.5] * file.cut.count, np.float32), STYLES["text"], COUNTER)[
        -1
    ].view

    assert file.lines[0] == 'PASSWORD = "password123"'
    assert file.fill(replace(whole, spans=((1, 4),))).masked == ()
    assert file.fill(whole).masked == ((5, "github-token"),)
    mask = "(credentials masked: line 5 github-token)"
    for name in ("text", "markdown"):
        assert f"tests/test_push.py {mask}" in STYLES[name].file(file.fill(whole))
    assert 'masked="line 5 github-token"' in STYLES["xml"].file(file.fill(whole))
    assert token not in STYLES["xml"].file(file.fill(whole))
