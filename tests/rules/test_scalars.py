"""A value that is written into front matter is the value that is read from it, by us and by YAML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.rules.formats.frontmatter import quote_text, read_front_matter, scalar

TEXTS = st.text("abc :#'\"\\-[]{},&*!|>%@`?yes01.", max_size=12).map(lambda text: " ".join(text.split()))


@given(TEXTS)
def test_values_read_back(text: str) -> None:
    """Quotes, hashes, colons, brackets and backslashes come back as they were."""
    for written in (scalar(text), quote_text(text)):
        assert read_front_matter(["---", f"key: {written}", "---"]).fields == {"key": text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TypeScript style", "TypeScript style"),
        ("a: b", '"a: b"'),
        ("true", '"true"'),
        ("1.5", '"1.5"'),
        ("*.ts", '"*.ts"'),
        ('say "x"', 'say "x"'),
        ("C# code", "C# code"),
        ("x # y", '"x # y"'),
        ("", ""),
    ],
)
def test_quotes_only_where_needed(text: str, expected: str) -> None:
    """What YAML would take for something else than this text is quoted, the rest is plain."""
    assert scalar(text) == expected
