"""Any bytes come back as they were, in lines that agree with what an import reads."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from workbench.rules.formats.textfile import decode_text, join_lines, keep_hidden, parse_file
from workbench.text.sanitize import safe_lines

PIECES = st.sampled_from(b"a \r \n \r\n \x00 \xff \xfe \xe2\x82 \xef\xbb\xbf \xd8 \xc3\xa9".split(b" "))


@given(st.one_of(st.binary(max_size=40), st.lists(PIECES, max_size=20).map(b"".join)))
@example(b"\xff\xfea\x00\n\x00\xd8")
@example(b"\xfe\xff\x00a\x00\n\xd8\x00\x00\n\x00")
@example(b"\xff\xfe\n\x00\x0a")
def test_any_bytes_come_back(data: bytes) -> None:
    """Cutting a file into lines and joining them gives the same bytes; the lines are those of an import."""
    file = parse_file(data)
    assert join_lines(file, file.raw, file.ends) == data
    assert list(file.shown) == safe_lines(decode_text(data)[0])


def test_line_ends() -> None:
    """Each line keeps its own end; the file's is that of most lines."""
    file = parse_file(b"a\r\nb\r\nc\nd")
    assert file.ends == ("\r\n", "\r\n", "\n", "")
    assert file.end == "\r\n"
    assert parse_file(b"").end == "\n"


def test_hidden_characters_stay_around_a_change() -> None:
    """Only the words that changed are written anew; a control character or a bad byte elsewhere stays."""
    assert keep_hidden("a\x07 old \x00b", "a␇ old ␀b", "a␇ new ␀b") == "a\x07 new \x00b"
    assert keep_hidden("\udcff x", "\ufffd x", "\ufffd y") == "\udcff y"
    assert keep_hidden("x", "x", "y") == "y"
    assert keep_hidden("a\u00ada", "a<U+00AD>a", "a") == "a"
