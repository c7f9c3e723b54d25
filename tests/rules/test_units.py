"""A rule file is cut into units that lose no line, repeat none, and know where they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.rules.formats.markdown import Kind, blocks
from workbench.rules.reading.units import Unit, split_units

PIECES = st.sampled_from(
    [
        "",
        "   ",
        "# Rules",
        "## Do not",
        "Title",
        "=====",
        "---",
        "***",
        "- Use tabs.",
        "  - Never mix them.",
        "\t- Except:",
        "      continued",
        "1. Run the tests:",
        "2) Commit",
        "```",
        "```python",
        "~~~",
        "    indented",
        "> quoted",
        "| a | b |",
        "|---|---|",
        "| Use x | y |",
        "<!-- a",
        "-->",
        "<!-- one line -->",
        "<rules>",
        "Always write tests",
        "Prose about the project, as it is told.",
        "Before every commit:",
        "\x00\x1b[31m[/]",
    ]
)


def check_cover(lines: list[str], units: tuple[Unit, ...]) -> None:
    """Assert that units cover every non-blank line once, in order, and begin and end at text."""
    covered = [line for unit in units for line in range(unit.line, unit.end_line + 1)]
    assert len(covered) == len(set(covered))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    assert covered == sorted(covered)
    for unit in units:
        assert lines[unit.line - 1].strip()
        assert lines[unit.end_line - 1].strip()


@given(st.lists(PIECES, max_size=30))
def test_every_line_is_in_one_unit(lines: list[str]) -> None:
    """Every non-blank line belongs to exactly one unit, in order, whatever the mixture."""
    check_cover(lines, split_units(lines)[0])


@given(st.lists(st.text(max_size=30), max_size=12))
def test_any_text_is_covered(texts: list[str]) -> None:
    """The same holds for text that is no Markdown at all."""
    lines = [text.replace("\n", " ") for text in texts]
    check_cover(lines, split_units(lines)[0])


def texts(document: str, kind: Kind | None = None) -> list[str]:
    return [unit.text for unit in split_units(document.split("\n"))[0] if kind in (None, unit.kind)]


def test_headings_lists_and_sections() -> None:
    """A unit knows the headings above it; a deeper one ends at its sibling."""
    units, _ = split_units("# A\n\n## B ##\n- Use x.\n\nC\n---\n- Use y.".split("\n"))
    assert [unit.section for unit in units if unit.kind is Kind.BULLET] == [("A", "B"), ("A", "C")]


def test_short_sub_bullets_stay_with_their_bullet() -> None:
    """A bullet whose children only name things is one rule."""
    assert texts("- Only merge from:\n  - main\n  - hotfix branches") == [
        "Only merge from:\n  - main\n  - hotfix branches"
    ]


def test_sub_bullets_that_instruct_stand_alone() -> None:
    """Children that are instructions are rules of their own, with their parent as lead."""
    units, _ = split_units(["- After a merge:", "  - Tag the release.", "  - Delete the branch."])
    assert [(unit.text, unit.lead) for unit in units] == [
        ("After a merge:", ""),
        ("Tag the release.", "After a merge:"),
        ("Delete the branch.", "After a merge:"),
    ]
    assert units[0].introduces


def test_an_instruction_keeps_the_code_it_announces() -> None:
    """ "Run the tests:" and the command are one unit with both line ranges."""
    units, _ = split_units(["Run the tests before you commit:", "```sh", "make test", "```"])
    assert [(unit.line, unit.end_line) for unit in units] == [(1, 4)]
    assert "make test" in units[0].text


def test_lines_of_a_paragraph_can_be_rules() -> None:
    """Old rule files are lines of sentences; wrapped prose stays together."""
    assert texts("Use tabs.\nWrite tests first.") == ["Use tabs.", "Write tests first."]
    wrapped = "This long line of prose was wrapped by an editor at some column and\ncontinues here."
    assert texts(wrapped) == [wrapped]


def test_tables_code_comments_and_breaks() -> None:
    """Rows are units with the head as lead; code, comments and rules between sections are kept apart."""
    units, _ = split_units(
        "| a | b |\n|--|--|\n| c | d |\n\n```\n# no heading\n```\n<!-- x\n\ny -->\n***".split("\n")
    )
    assert [unit.kind for unit in units] == [
        Kind.TABLE_HEAD,
        Kind.TABLE_ROW,
        Kind.CODE,
        Kind.COMMENT,
        Kind.BREAK,
    ]
    assert units[1].lead == "| a | b |"


def test_unclosed_fence_warns() -> None:
    """A fence without an end is code to the end of the file, and said so."""
    found, warnings = blocks(["```", "Use x.", ""])
    assert [(block.kind, block.end) for block in found] == [(Kind.CODE, 2)]
    assert warnings[0][0] == 1


def test_deep_nesting_and_long_lists_end() -> None:
    """Ten thousand bullets, nested or not, neither recurse nor take long."""
    flat = ["- Use x."] * 10_000
    check_cover(flat, split_units(flat)[0])
    deep = [" " * depth + "- Use x with a long explanation of why that should be so:" for depth in range(400)]
    check_cover(deep, split_units(deep)[0])


def test_pathological_lines_end() -> None:
    """Long runs of marks and blanks are read in linear time."""
    for line in (
        "# " + " #" * 50_000 + " x",
        "- " * 50_000 + "x",
        "*" * 100_000 + "a",
        "|" * 100_000,
        "<" * 50_000,
    ):
        check_cover([line, line], split_units([line, line])[0])
