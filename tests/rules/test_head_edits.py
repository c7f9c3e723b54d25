"""One value of a file's head changes in the style it is written in; everything else stays byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import ParseError
from workbench.rules.files.head_edits import edit_front_matter
from workbench.rules.formats.frontmatter import Value, read_front_matter
from workbench.rules.formats.textfile import parse_file

BODY = "---\n\n- Use tabs.\n"


def edited(head: str, key: str, value: Value | None) -> str:
    """Return a head after an edit, checking that the rest of the file stays."""
    after = edit_front_matter(("---\n" + head + BODY).encode(), key, value).decode()
    assert after.startswith("---\n")
    assert after.endswith(BODY)
    return after[4 : -len(BODY)]


@pytest.mark.parametrize(
    ("head", "key", "value", "expected"),
    [
        ("globs: *.ts,**/x\nb: 1\n", "globs", ("*.py", "a/**"), "globs: *.py,a/**\nb: 1\n"),
        ("globs: *.ts, **/x # why\n", "globs", ("*.py", "a/**"), "globs: *.py, a/** # why\n"),
        ("applyTo: '**/*.ts'\n", "applyTo", ("*.py", "a"), "applyTo: '*.py,a'\n"),
        ('paths: ["a", "b"]\n', "paths", ("a", "c"), 'paths: ["a", "c"]\n'),
        ("paths: [\n  'a',\n  'b'\n]\nx: y\n", "paths", ("c",), "paths: ['c']\nx: y\n"),
        (
            "paths:\n  # sources\n  - 'a'\n  - 'b' # tests\n# end\n",
            "paths",
            ("b", "c"),
            "paths:\n  - 'b' # tests\n  - 'c'\n# end\n",
        ),
        ("description: old\n", "description", "new: one", 'description: "new: one"\n'),
        ('description: "old"\n', "description", 'say "x"', 'description: "say \\"x\\""\n'),
        ("description: |\n  a\n  b\nx: 1\n", "description", "c", "description: c\nx: 1\n"),
        ("a: 1\n", "globs", ("*.py",), 'a: 1\nglobs:\n  - "*.py"\n'),
        ("a: 1\nb: 2\n", "a", None, "b: 2\n"),
        ("a: 1\n", "b", None, "a: 1\n"),
    ],
)
def test_styles(head: str, key: str, value: Value | None, expected: str) -> None:
    """Commas, quotes, brackets, lists in lines and comments stay as people wrote them."""
    assert edited(head, key, value) == expected


def test_a_file_without_a_head_gets_one() -> None:
    """The text below stays as it is, with its line ends."""
    assert edit_front_matter(b"- Use x.\r\n", "paths", ("a",)) == (
        b'---\r\npaths:\r\n  - "a"\r\n---\r\n\r\n- Use x.\r\n'
    )


def test_line_ends_and_marks_stay() -> None:
    """Windows line ends and a byte order mark survive."""
    data = b"\xef\xbb\xbf---\r\nglobs: *.ts\r\n---\r\n- Use x.\r\n"
    assert edit_front_matter(data, "globs", ("*.py",)) == data.replace(b"*.ts", b"*.py")


def test_what_cannot_be_written_is_refused() -> None:
    """An open head and values that would read as something else raise with line and hint."""
    with pytest.raises(ParseError, match="no closing") as caught:
        edit_front_matter(b"---\nglobs: *.ts\n- Use x.\n", "globs", ("*.py",), path="a.mdc")
    assert (caught.value.path, caught.value.line) == ("a.mdc", 1)
    with pytest.raises(ParseError, match="globs") as caught:
        edit_front_matter(b"---\nglobs: *.ts\n---\n", "globs", ("a,b", "c"))
    assert caught.value.line == 2


VALUES = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.lists(st.text("ab*/{},'\" #:!-[]", min_size=1, max_size=8), min_size=1, max_size=3).map(tuple),
)
LINES = st.sampled_from(
    ["a: 1", "# note", "globs: *.ts", "paths:", "  - a", "  - 'b'", "x: [1, 2]", "d: |", "  text", "!!", ""]
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["a", "globs", "paths", "x", "d", "new"]), VALUES)
def test_any_edit_reads_back_or_is_refused(lines: list[str], key: str, value: Value | None) -> None:
    """The other keys and the body are the same after an edit, whatever the head looks like."""
    data = "\n".join(["---", *lines, "---", "- Use x.", ""]).encode()
    before = read_front_matter(list(parse_file(data).shown))
    try:
        after = edit_front_matter(data, key, value)
    except ParseError:
        return
    read = read_front_matter(list(parse_file(after).shown))
    assert {k: v for k, v in read.fields.items() if k != key} == {
        k: v for k, v in before.fields.items() if k != key
    }
    assert after.endswith(b"---\n- Use x.\n")
    assert (key in read.fields) is (value is not None)
