"""What the workbench writes into a file reads back as it was, and nothing in a rule can get out of it."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Activation, Authority
from workbench.rules.files.edits import edit_file
from workbench.rules.files.unit_edits import Delete, Insert, Replace
from workbench.rules.formats.frontmatter import Reach
from workbench.rules.formats.managed import (
    BEGIN,
    END,
    ManagedEntry,
    Stated,
    bullet_lines,
    managed_lines,
    managed_text,
    reach_in,
    read_entries,
    render_part,
    section_of,
    stray_marks,
    words_for,
)
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import import_rules

HOSTILE = st.lists(
    st.sampled_from(
        [
            "Use x",
            "\n",
            "\n\n",
            "# x",
            "---",
            "```",
            "~~~~",
            "<!--",
            "-->",
            "<\\!--",
            "--\\>",
            BEGIN,
            END,
            "- y",
            "  - z",
            "For `a`:",
            "\r",
            "\x00",
            "\x1b[31m",
            "    deep",
            "[x] ",
            "1. ",
            "| a |",
        ]
    ),
    min_size=1,
    max_size=8,
).map("".join)
TEXTS = st.one_of(HOSTILE, st.text(min_size=1, max_size=40)).filter(lambda text: bool(managed_text(text)))
GLOBS = st.sampled_from([(), ("*.ts",), ("src/**/*.{ts,tsx}", "/a b/"), ("a`b",), ("!x", "[ab]*")])
REACHES = st.builds(
    Reach,
    st.sampled_from([Activation.REQUESTED, Activation.MANUAL]),
    GLOBS,
    st.sampled_from(["", "Styles (of code)", "a: b", "<!-- x -->", "`y`"]),
)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_any_text_comes_back(texts: list[str]) -> None:
    """A bullet holds any text: fences, headings, comments, our own marks, other bullets."""
    lines = render_part(ManagedEntry(text) for text in texts)
    part = managed_lines(lines)
    assert part == range(len(lines))
    entries, others = read_entries(lines, part)
    assert [entry.text for entry in entries] == [managed_text(text) for text in texts]
    assert others == []


@given(REACHES)
def test_words_say_when_rules_apply(reach: Reach) -> None:
    """The line in words gives activation, globs and description back."""
    assert reach_in(words_for(reach)) == reach
    assert "<!--" not in words_for(reach)


def test_words_for_people() -> None:
    """The lines read as sentences."""
    assert words_for(Reach(Activation.PATHS, ("src/**", "*.py"))) == "For `src/**`, `*.py`:"
    assert words_for(Reach(Activation.REQUESTED, (), "Releases")) == "When the task is about it (Releases):"
    assert words_for(Reach(Activation.MANUAL, ("a",))) == "Only when asked for, for `a`:"
    assert words_for(Reach(Activation.ALWAYS)) == ""
    assert reach_in("For example, use `x`:") is None


@given(st.lists(st.text(string.printable, max_size=150), max_size=4))
def test_headings_are_short_lines(parts: list[str]) -> None:
    """What was a heading somewhere is a part of a heading here, and stays so however often it is written."""
    once = section_of(parts)
    assert section_of(once) == once
    assert all(part and len(part) <= 120 and "\n" not in part and "<!--" not in part for part in once)
    lines = render_part([ManagedEntry("Use x.", once)])
    part = managed_lines(lines)
    assert part is not None
    assert [entry.section for entry in read_entries(lines, part)[0]] == [once]


def test_order_and_headings() -> None:
    """Binding rules come first under their heading; sections and words are said once."""
    paths = Reach(Activation.PATHS, ("*.py",))
    entries = [
        ManagedEntry("Never x.", (), Stated(Authority.ABSOLUTE)),
        ManagedEntry("Use y.", ("A", "B"), Stated(Authority.ABSOLUTE)),
        ManagedEntry("Use z.", ("A",), Stated(Authority.DEFAULT)),
        ManagedEntry("Use p.", ("A",), Stated(Authority.DEFAULT, paths)),
        ManagedEntry("Use q.", ("A",), Stated(Authority.DEFAULT, paths)),
    ]
    text = "\n".join(render_part(entries)[1:-1])
    assert text == (
        "## Rules that must hold\n\n- Never x.\n\n### A > B\n\n- Use y.\n\n"
        "## Rules\n\n### A\n\n- Use z.\n\nFor `*.py`:\n\n- Use p.\n- Use q."
    )
    lines = render_part(entries)
    read = read_entries(lines, range(len(lines)))[0]
    assert [(entry.text, entry.section, entry.stated) for entry in read] == [
        (entry.text, entry.section, entry.stated) for entry in entries
    ]


def test_only_our_own_comments_count() -> None:
    """A file that shows the comments in fenced code, or begins without an end, has no managed part."""
    assert managed_lines(["```", BEGIN, END, "```"]) is None
    assert managed_lines([BEGIN, "- Use x."]) is None
    assert managed_lines(["a", "```", "b", "```", BEGIN, END, "c"]) == range(4, 6)
    assert stray_marks([BEGIN, END, "x", BEGIN, END]) == [3, 4]
    assert managed_lines(["- Use x."]) is None


def test_an_import_takes_the_part_at_its_word() -> None:
    """Prose that is a rule here, its authority, globs and activation are imported as they are stated."""
    lines = [
        "# Guide",
        "- Use a.",
        *render_part(
            [
                ManagedEntry("PostgreSQL 16", ("Data",), Stated(Authority.ABSOLUTE)),
                ManagedEntry("Always y.", (), Stated(Authority.DEFAULT, Reach(Activation.PATHS, ("*.py",)))),
            ]
        ),
        "- Use b.",
    ]
    source = RuleSource("AGENTS.md", "agents", "x")
    rules = import_rules([source], lambda _: "\n".join(lines).encode()).rules
    assert [(rule.rule, rule.authority, rule.scope) for rule in rules[1:3]] == [
        ("PostgreSQL 16", Authority.ABSOLUTE, ()),
        ("Always y.", Authority.DEFAULT, ("path:*.py",)),
    ]
    assert rules[1].provenance is not None
    assert rules[2].provenance is not None
    assert rules[1].provenance.section == ("Data",)
    assert rules[2].provenance.activation is Activation.PATHS
    assert rules[3].provenance is not None
    assert rules[3].provenance.section == ("Guide",)


@given(TEXTS)
def test_rules_in_the_part_are_edited_like_others(text: str) -> None:
    """A bullet of the part takes any text; the others and their lines stay."""
    before = "\n".join(
        ["- Use a.", *render_part([ManagedEntry("One"), ManagedEntry("Two\n\n  more")])]
    ).encode()
    line = before.decode().split("\n").index("- One") + 1
    result = edit_file(before, [Replace(line, line, text)])
    rules = import_rules([RuleSource("AGENTS.md", "agents", "x")], lambda _: result.data).rules
    assert [rule.rule for rule in rules] == ["Use a.", managed_text(text), "Two\n\n  more"]
    assert edit_file(result.data, [Delete(line, line + len(bullet_lines(text)) - 1)]).data.count(b"\n- ") == 1
    assert edit_file(before, [Insert("Three", line)]).data == before.replace(b"- One\n", b"- One\n- Three\n")


def test_what_people_add_to_the_part_is_found() -> None:
    """A bullet of another kind is a rule, wrapped text belongs to it, other text is named."""
    lines = [BEGIN, "* Use x", "wrapped here.", "", "1. Use y", "", "Some prose.", END]
    entries, others = read_entries(lines, range(len(lines)))
    assert [entry.text for entry in entries] == ["Use x\nwrapped here.", "Use y"]
    assert others == [6]


def test_two_thousand_rules_are_read_in_one_go() -> None:
    """A long managed part costs no more for each of its rules."""
    lines = render_part(ManagedEntry(f"Use tool {number}.") for number in range(2_000))
    source = RuleSource("AGENTS.md", "agents", "x")
    assert len(import_rules([source], lambda _: "\n".join(lines).encode()).rules) == 2_000
