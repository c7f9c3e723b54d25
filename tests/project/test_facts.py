"""What one file says is a pure function of its path and bytes, and no bytes are too odd for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.project.facts import MAX_TERMS_BYTES, extract_facts
from workbench.project.languages import language_of
from workbench.records.project import Role

SUFFIXES = st.sampled_from(
    [".py", ".js", ".ts", ".rs", ".go", ".java", ".c", ".cpp", ".rb", ".md", ".txt", ""]
)


def test_facts_of_a_source_file() -> None:
    """Language, role, lines, symbols, imports and terms of a file are what it says."""
    facts = extract_facts("src/auth.py", b"import os\n\n\ndef refresh_token(value):\n    return value\n")
    assert (facts.language, facts.role, facts.lines) == ("python", Role.SOURCE, 5)
    assert [(symbol.name, symbol.line, symbol.end_line) for symbol in facts.symbols] == [
        ("refresh_token", 4, 5)
    ]
    assert facts.imports == ("os",)
    assert facts.name_terms == {"refresh": 1, "token": 1, "=refreshtoken": 1}
    assert facts.body_terms["=refreshtoken"] == 1


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n", 1), (b"a\r\nb\r\n", 2)]
)
def test_lines_are_counted_as_editors_do(data: bytes, lines: int) -> None:
    """A last line counts with or without its newline; an empty file has none."""
    assert extract_facts("a.txt", data).lines == lines


@given(SUFFIXES, st.binary(max_size=300))
def test_any_bytes_have_facts(suffix: str, data: bytes) -> None:
    """Nothing raises, symbols lie inside the file, and the same bytes give the same facts."""
    facts = extract_facts(f"x/file{suffix}", data)
    assert facts == extract_facts(f"x/file{suffix}", data)
    for symbol in facts.symbols:
        assert 1 <= symbol.line <= symbol.end_line <= max(facts.lines, 1) + 1


@given(SUFFIXES, st.text(alphabet="{}()[]<>\"'`#/*\\ \n\tdefclassimport=;:_aZ0", max_size=400))
def test_broken_code_has_facts(suffix: str, text: str) -> None:
    """Code cut off or scrambled anywhere is no error."""
    extract_facts(f"x/file{suffix}", text.encode())


def test_the_language_of_a_script_is_in_its_first_line() -> None:
    """A file without an ending is known by its interpreter line."""
    assert extract_facts("bin/tool", b"#!/usr/bin/env python3\nimport os\n").language == "python"
    assert language_of("bin/tool", "#!/usr/bin/env python3") == "python"


def test_of_a_long_file_the_beginning_counts() -> None:
    """Words beyond the limit are not counted, however long the file."""
    data = b"alpha " * (MAX_TERMS_BYTES // 6) + b" omega" * 1000
    terms = extract_facts("a.txt", data).body_terms
    assert "omega" not in terms
    assert terms["alpha"] > 60_000
