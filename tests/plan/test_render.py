"""Rendering: content is data in every style, and what is shown can be read back."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.conftest import PASSAGES, views
from workbench.config import Config
from workbench.plan.render import (
    ALSO,
    DEFAULT_STYLE,
    HEADINGS,
    MARKDOWN,
    STYLES,
    TEXT,
    XML,
    FileView,
    Passage,
    Style,
    content,
    fence_for,
    heading,
    render_pack,
    span_text,
)
from workbench.records.answers.plan import NamedPlace
from workbench.records.plan import Representation
from workbench.text.sanitize import is_safe

CODE = FileView(
    "src/auth.rs",
    Representation.SNIPPETS,
    ((12, 13), (55, 55)),
    ("fn a() {", "}", "fn b();"),
    ("", "Auth.check"),
    places=(NamedPlace("Auth.log", 70, 80), NamedPlace("main", 9, 9), NamedPlace("Auth.log", 90, 99)),
)
RULE = Passage("r", "Rules", "Never push.\nAsk first.", "CLAUDE.md:12", "absolute")
OUTLINE = FileView("src/x.rs", Representation.OUTLINE, (), ("3 fn x()",))
NAMED = FileView("docs/a.md", Representation.PATH, places=(NamedPlace("Install", 3, 20),))


def test_markdown() -> None:
    """A pack in markdown: sections as lists, files in fences, ranges in the heading, paths at the end."""
    expected = """\
### src/auth.rs:12-13,55
```
fn a() {
}
⋮ 55 in Auth.check
fn b();
⋮ also Auth.log 70-80,90-99, main 9
```
### src/x.rs (outline)
```
3 fn x()
```
### May be needed, too
- docs/a.md: Install 3-20
## Must hold
- (absolute, CLAUDE.md:12) Never push.
  Ask first.
"""
    assert render_pack(MARKDOWN, [RULE], [CODE, NAMED, OUTLINE]) == expected


def test_text() -> None:
    """A pack in plain text: nothing of a file stands at the beginning of a line."""
    expected = """\
src/auth.rs:12-13,55
  fn a() {
  }
  ⋮ 55 in Auth.check
  fn b();
  ⋮ also Auth.log 70-80,90-99, main 9
May be needed, too:
  docs/a.md: Install 3-20
Must hold:
  * (absolute, CLAUDE.md:12) Never push.
    Ask first.
"""
    assert render_pack(TEXT, [RULE], [CODE, NAMED]) == expected


def test_xml() -> None:
    """A pack in XML: one document, contents verbatim in CDATA."""
    expected = """\
<context>
<file path="src/auth.rs" lines="12-13,55"><![CDATA[
fn a() {
}
⋮ 55 in Auth.check
fn b();
⋮ also Auth.log 70-80,90-99, main 9
]]></file>
<also>
docs/a.md: Install 3-20
</also>
<rules>
<item from="CLAUDE.md:12" authority="absolute">Never push.
Ask first.</item>
</rules>
</context>
"""
    assert render_pack(XML, [RULE], [CODE, NAMED]) == expected


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_nothing_gives_nothing(style: Style) -> None:
    """An empty pack is the empty text, which has no tokens."""
    assert render_pack(style, [], []) == ""


@given(PASSAGES, st.lists(views(), max_size=4))
def test_every_style_is_safe_to_show(passages: list[Passage], shown: list[FileView]) -> None:
    """Whatever files and rules hold, no control or hidden character reaches the pack."""
    for style in STYLES.values():
        assert is_safe(render_pack(style, passages, shown))


@given(views())
def test_no_content_closes_a_fence(view: FileView) -> None:
    """In markdown the fence is longer than any run of backticks inside, so content cannot end it."""
    lines = content(view)
    text = MARKDOWN.file(view).split("\n")
    fence = fence_for(lines)
    assert [text[1], *text[2:-2], text[-2]] == [fence, *lines, fence]
    assert not any(fence in line for line in lines)
    assert "\n" not in heading(view)


@given(PASSAGES, st.lists(views(), max_size=4))
def test_xml_gives_back_every_line(passages: list[Passage], shown: list[FileView]) -> None:
    """The XML is well formed and its files hold the lines that were put in."""
    ordered = sorted(passages, key=lambda passage: passage.section)
    text = render_pack(XML, ordered, shown)
    if not text:
        return
    root = ElementTree.fromstring(text)
    found = [element.text for element in root if element.tag in ("file", "outline")]
    expected = [
        "\n" + "\n".join(content(view)) + "\n"
        for view in shown
        if view.representation is not NAMED.representation
    ]
    assert found == expected


@given(PASSAGES, st.lists(views(), max_size=4))
def test_text_keeps_headings_to_itself(passages: list[Passage], shown: list[FileView]) -> None:
    """In plain text only the headings begin a line; what comes from files and rules is indented."""
    ordered = sorted(passages, key=lambda passage: passage.section)
    headings = (
        {f"{HEADINGS.get(passage.section, passage.section)}:" for passage in passages}
        | {heading(view) for view in shown}
        | {f"{ALSO}:"}
    )
    for line in render_pack(TEXT, ordered, shown).split("\n"):
        assert not line or line.startswith("  ") or line in headings


@given(PASSAGES)
def test_a_passage_cannot_leave_its_list_item(passages: list[Passage]) -> None:
    """A rule that contains headings or bullets stays one item of its section."""
    for passage in passages:
        first, *rest = MARKDOWN.section("Rules", [passage]).removesuffix("\n").split("\n")[1:]
        assert first.startswith("- ")
        assert all(not line or line.startswith("  ") for line in rest)


@pytest.mark.parametrize(
    ("spans", "expected"), [((), ""), (((1, 1),), "1"), (((1, 4), (9, 9), (12, 40)), "1-4,9,12-40")]
)
def test_span_text(spans: tuple[tuple[int, int], ...], expected: str) -> None:
    """Ranges read as people write them."""
    assert span_text(spans) == expected


def test_the_default_style_is_the_setting_as_it_comes() -> None:
    """Replays and plans that name no style write packs as people get them."""
    assert Config().plan.format == DEFAULT_STYLE
