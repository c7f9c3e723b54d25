"""Files no parser likes: each costs a warning with its line at most, and what can be read is read."""

from __future__ import annotations

import pytest

from tests.deep import searches, times
from workbench.records.rules import Activation
from workbench.rules.files.edits import edit_file
from workbench.rules.files.unit_edits import Replace
from workbench.rules.reading.discovery import MAX_BYTES, RuleSource
from workbench.rules.reading.imports import RuleImport, import_rules


def read(data: bytes, path: str = ".cursor/rules/a.mdc", name: str = "cursor") -> RuleImport:
    """Import one file, checking that writing its rules as they are leaves its bytes."""
    found = import_rules([RuleSource(path, name, path)], lambda _: data)
    edits = [
        Replace(where.line, where.end_line, rule.rule)
        for rule in found.rules
        if (where := rule.provenance) is not None
    ]
    assert edit_file(data, edits).data == data
    return found


def lines(found: RuleImport) -> list[tuple[int, str]]:
    """Return the warnings as (line, first words)."""
    return [(warning.line, " ".join(warning.message.split()[:3])) for warning in found.warnings]


HEAD = "---\ndescription: x: y\nglobs: *.ts,**/x\nalwaysApply: false\n---\n"
BODY = "# A\n\n- Use tabs.\n- Use spaces in é.\n"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends(codec: str, end: str) -> None:
    """Marks and Windows line ends change neither rules nor globs nor lines."""
    found = read((HEAD + BODY).replace("\n", end).encode(codec))
    assert [(rule.rule, rule.provenance and rule.provenance.line) for rule in found.rules] == [
        ("Use tabs.", 8),
        ("Use spaces in é.", 9),
    ]
    assert found.rules[0].scope == ("path:*.ts", "path:**/x")
    assert found.warnings == ()


def test_mixed_line_ends() -> None:
    """Every line may end its own way; a lone carriage return ends none and is shown."""
    found = read(b"- Use a.\r\n- Use b.\n- Use\rc.\r\n- Use d.")
    assert [rule.rule for rule in found.rules] == ["Use a.", "Use b.", "Use␍c.", "Use d."]
    assert lines(found) == [(3, "has hidden or")]


def test_bytes_that_are_no_text() -> None:
    """The line of the first bad byte is named, the text around it is read, the bytes survive an edit."""
    data = b"- Use a.\n- Use \xff\xfe b.\n- Use c \xe2\x82.\n"
    found = read(data)
    assert [rule.rule for rule in found.rules] == ["Use a.", "Use \ufffd\ufffd b.", "Use c \ufffd."]
    assert lines(found) == [(2, "is not UTF-8")]
    assert edit_file(data, [Replace(2, 2, "Use \ufffd\ufffd d.")]).data == data.replace(b" b.", b" d.")


def test_half_a_character_at_the_end_of_utf16() -> None:
    """A cut-off UTF-16 file is read to where it ends, with a warning."""
    found = read("- Use a.\n- Use b.".encode("utf-16") + b"\xd8")
    assert [rule.rule for rule in found.rules] == ["Use a.", "Use b.\ufffd"]
    assert lines(found) != []


def test_terminal_sequences_and_markup() -> None:
    """Colours, links and brackets are shown as text; the first line of them is named."""
    found = read(
        b"- Use [bold]a[/] list[int].\n- Use \x1b[31mred\x1b[0m \x1b]8;;http://x\x07y.\n- Use b\x00.\n"
    )
    assert [rule.rule for rule in found.rules] == [
        "Use [bold]a[/] list[int].",
        "Use ␛[31mred␛[0m ␛]8;;http://x␇y.",
        "Use b␀.",
    ]
    assert lines(found) == [(2, "has hidden or")]


@pytest.mark.parametrize(
    ("head", "warned", "globs"),
    [
        ("globs: *.ts,**/x", [], ("*.ts", "**/x")),
        ("globs: [*.ts, '**/x'", [(2, "list in front")], ("*.ts", "**/x")),
        ("globs: *.ts\n\tglobs: **/x", [(3, "front matter line")], ("*.ts",)),
        ("globs: *.ts\nglobs: **/x", [(3, "front matter key")], ("**/x",)),
        ("&a *b: !!c\nglobs: *.ts", [(2, "front matter line")], ("*.ts",)),
        ("globs: {*.ts,**/x}\n? : :", [(3, "front matter line")], ("{*.ts,**/x}",)),
    ],
)
def test_front_matter_that_is_no_yaml(
    head: str, warned: list[tuple[int, str]], globs: tuple[str, ...]
) -> None:
    """What can be read of a head counts, what can't is named by its line, the body is imported."""
    found = read(f"---\n{head}\n---\n- Use a.\n".encode())
    assert [rule.rule for rule in found.rules] == ["Use a."]
    assert lines(found) == warned
    assert found.rules[0].provenance is not None
    assert found.rules[0].provenance.globs == globs


def test_a_head_that_never_closes() -> None:
    """It is read as text, which is said; the rules below it are imported."""
    found = read(b"---\nglobs: *.ts\n\n- Use a.\n")
    assert "Use a." in [rule.rule for rule in found.rules]
    assert lines(found) == [(1, "front matter has")]
    assert found.rules[-1].provenance is not None
    assert found.rules[-1].provenance.activation is Activation.REQUESTED


def test_the_same_rule_many_times() -> None:
    """Equal texts in one file are rules of their own, with ids that stay."""
    data = b"- Use a.\n- use  a.\n- Use a.\n"
    first, second = read(data), read(data)
    assert len({rule.id for rule in first.rules}) == 3
    assert [rule.id for rule in first.rules] == [rule.id for rule in second.rules]


@searches
def test_thousands_of_bullets_in_a_large_file() -> None:
    """A file as large as may be read is imported whole, and one of its rules edited."""
    count = times(2_500, 10_000)
    bullets = b"".join(b"- Use tool %d.\n" % number for number in range(count))
    line = b"some output of a tool that was pasted here, long as it is, and kept\n"
    data = bullets + b"\n```\n" + line * ((MAX_BYTES - len(bullets) - 100) // len(line)) + b"```\n"
    assert MAX_BYTES - 1000 < len(data) <= MAX_BYTES
    found = import_rules([RuleSource("AGENTS.md", "agents", "x")], lambda _: data)
    assert len(found.rules) == count
    assert edit_file(data, [Replace(2000, 2000, "Use item 1.")]).data == data.replace(
        b"tool 1999.", b"item 1."
    )


def test_a_file_of_nothing_but_marks() -> None:
    """Marks without words are context; nothing is lost and nothing fails."""
    for text in ("-", "#", "```", "---", "|||\n|-|-|", "<!--", "> >", "\ufeff", "\x00" * 50, "- [ ] ", "1."):
        assert read(text.encode()).rules == ()
