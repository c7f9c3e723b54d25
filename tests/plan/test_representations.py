"""Offers: honest costs, growing worth, and the lines they claim to show."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.plan.compose import ViewOffer
from workbench.plan.render import STYLES, Style
from workbench.plan.representations import (
    LEAST_FULL,
    Shares,
    content_of,
    file_offers,
    masked_in,
    merge_spans,
    name_offer,
    outline_view,
)
from workbench.plan.snippets import FileText, read_file
from workbench.records.plan import Representation
from workbench.records.project import Role, Symbol
from workbench.text.source_secrets import mask_source
from workbench.text.tokens import token_counter

WORTH = Shares()
COUNTER = token_counter()
LINES = [f"    value_{number} = compute(value_{number - 1}, {number})" for number in range(200)]
SYMBOLS = tuple(
    Symbol(f"part_{start}", "method", start, start + 9, f"def part_{start}():", "Whole")
    for start in range(1, 200, 10)
)


NOTHING = outline_view("a.py", ())


def read() -> FileText:
    """Read a file of 200 lines in 20 definitions."""
    return read_file("src/a.py", "python", Role.SOURCE, "\n".join(LINES).encode(), SYMBOLS)


def offers(style: Style, relevance: float = 0.5) -> tuple[FileText, tuple[ViewOffer, ...]]:
    """Return a file and its offers with shares that fall from the first chunk on."""
    file = read()
    weights = [1.0 / (1 + number) for number in range(len(file.chunks))]
    shares = [weight / sum(weights) for weight in weights]
    tokens = [COUNTER.count("\n".join(file.lines[c.start - 1 : c.end]) + "\n") for c in file.chunks]
    return file, file_offers(
        file, relevance, shares, outline_view("src/a.py", SYMBOLS), style, COUNTER, WORTH, tokens
    )


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())
def test_costs_are_close_to_what_rendering_takes(style: Style) -> None:
    """In every style an offer costs what its text costs, give or take a few tokens."""
    _file, found = offers(style)
    for offer in found:
        view = offer.view
        if view.representation is Representation.PATH:
            assert offer.tokens >= COUNTER.count(style.paths([view.path])) - COUNTER.count(style.paths([]))
        else:
            assert abs(offer.tokens - COUNTER.count(style.file(view))) <= 10 + 0.05 * offer.tokens


def test_worth_grows_from_path_to_the_whole_file() -> None:
    """Path < outline < snippets, each with one more chunk, <= full; the whole file is worth its relevance."""
    _file, found = offers(STYLES["markdown"], relevance=0.8)
    kinds = [offer.view.representation for offer in found]
    assert kinds[:2] == [Representation.PATH, Representation.OUTLINE]
    assert kinds[-1] is Representation.FULL
    snippets = [offer for offer in found if offer.view.representation is Representation.SNIPPETS]
    worths = [offer.utility for offer in snippets]
    assert worths == sorted(worths)
    assert found[0].utility < found[1].utility
    assert worths[-1] <= found[-1].utility == 0.8
    assert [offer.tokens for offer in snippets] == sorted(offer.tokens for offer in snippets)


def test_views_hold_the_lines_of_their_spans() -> None:
    """What a view shows are the file's lines in the ranges it names, and the names of what they define."""
    file, found = offers(STYLES["text"])
    for offer in found:
        if offer.view.spans:
            lines = [line for start, end in offer.view.spans for line in file.lines[start - 1 : end]]
            assert list(offer.view.lines) == lines
    assert "Whole.part_1" in found[2].why


def test_a_file_that_is_hardly_needed_is_not_offered_as_a_whole() -> None:
    """Below the floor there are parts of a file, and the whole only where it is one part."""
    kinds = [offer.view.representation for offer in offers(STYLES["text"], LEAST_FULL / 2)[1]]
    assert Representation.SNIPPETS in kinds
    assert Representation.FULL not in kinds
    short = read_file("a.py", "python", Role.SOURCE, b"x = 1\ny = 2\n", ())
    found = file_offers(short, LEAST_FULL / 2, [1.0], NOTHING, STYLES["text"], COUNTER, WORTH, [9])
    assert [offer.view.representation for offer in found] == [Representation.PATH, Representation.FULL]


def test_crumbs_are_offered_only_beside_what_has_substance() -> None:
    """However much of the change is expected in the imports, the first lines offered are others."""
    text = b"import a\nimport b\nimport c\n\n\ndef f():\n    x = a.b\n    return x\n"
    file = read_file("a.py", "python", Role.SOURCE, text, (Symbol("f", "function", 6, 8, "def f():", ""),))
    assert [chunk.is_crumb for chunk in file.chunks] == [True, False]
    found = file_offers(file, 0.01, [0.9, 0.1], NOTHING, STYLES["text"], COUNTER, WORTH, [9, 20])
    assert [offer.view.spans for offer in found if offer.view.spans] == [((6, 8),)]
    licence = read_file("b.py", "python", Role.SOURCE, b"# of theirs\n" * 60, ())
    only = file_offers(
        licence, 0.9, [0.3] * len(licence.chunks), NOTHING, STYLES["text"], COUNTER, WORTH, [9] * 9
    )
    assert [offer.view.representation for offer in only] == [Representation.PATH]


def test_no_offer_shows_a_crumb_apart_from_what_it_belongs_to() -> None:
    """Each range of lines shown of a large file has substance; imports come with their neighbours."""
    parts = [f"def f{n}():\n    a = {n}\n    b = a + {n}\n    return b\n" for n in range(12)]
    text = "import a\nimport b\nimport c\n\n\n" + "\n\n".join(parts) + "\n\nif a:\n    pass\n# end\n"
    lines = text.split("\n")
    symbols = tuple(
        Symbol(line[4:-3], "function", number, number + 3, line, "")
        for number, line in enumerate(lines, start=1)
        if line.startswith("def")
    )
    file = read_file("a.py", "python", Role.SOURCE, text.encode(), symbols)
    crumbs = [chunk for chunk in file.chunks if chunk.is_crumb]
    assert crumbs
    shares = [0.5 if chunk.is_crumb else 0.1 if chunk.name == "f5" else 0.01 for chunk in file.chunks]
    tokens = [5 if chunk.is_crumb else 30 for chunk in file.chunks]
    found = file_offers(
        file, 0.5, shares, outline_view("a.py", symbols), STYLES["text"], COUNTER, WORTH, tokens
    )
    snippets = [offer.view for offer in found if offer.view.representation is Representation.SNIPPETS]
    assert snippets[0].spans == ((symbols[5].line, symbols[5].end_line + 2),)
    for view in snippets:
        for start, end in view.spans:
            inside = [chunk for chunk in file.chunks if start <= chunk.start and chunk.end <= end]
            assert any(not chunk.is_crumb for chunk in inside)
    assert any(crumbs[0].start == view.spans[0][0] for view in snippets)


def test_an_empty_file_can_be_named() -> None:
    """A file without lines offers its path."""
    file = read_file("empty.py", "python", Role.SOURCE, b"", ())
    found = file_offers(file, 0.5, [], NOTHING, STYLES["markdown"], COUNTER, WORTH, [])
    assert [offer.view.representation for offer in found] == [Representation.PATH]


def test_a_file_that_was_not_read_can_be_named() -> None:
    """A path costs its line and is worth its share of the relevance."""
    offer = name_offer("src/a.py", 0.5, STYLES["markdown"], COUNTER, WORTH)
    assert offer.utility == pytest.approx(0.5 * WORTH.path)
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
    source = mask_source(code, Role.TEST)
    text = content_of("tests/test_push.py", source.data, (), COUNTER, source.masked).text
    shares, tokens = [0.5] * len(text.chunks), [20] * len(text.chunks)

    found = file_offers(text, 0.5, shares, NOTHING, STYLES["text"], COUNTER, WORTH, tokens)

    assert text.lines[0] == 'PASSWORD = "password123"'
    assert masked_in(text, ((1, 4),)) == ()
    assert masked_in(text, ((5, 9),)) == found[-1].view.masked == ((5, "github-token"),)
    said = "(credentials masked: line 5 github-token)"
    for name in ("text", "markdown"):
        assert f"tests/test_push.py {said}" in STYLES[name].file(found[-1].view)
    assert 'masked="line 5 github-token"' in STYLES["xml"].file(found[-1].view)
    assert all(token not in STYLES["xml"].file(offer.view) for offer in found)
