"""An edit changes its rule's lines and nothing else, reads back as meant, or is refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.deep import times
from workbench.errors import ParseError
from workbench.records.rules import Rule
from workbench.rules.files import edits as edits_module
from workbench.rules.files.edits import EditResult, edit_file, try_edits, undo_edits
from workbench.rules.files.unit_edits import Delete, Edit, Insert, Replace, as_written
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import import_rules

GUIDE = """# Guide

This project bills customers.

## Testing
- Always run `make check` before a push.
* [ ] Prefer fixtures over
  set-up code.
3) Write tests first.

## Do not
- Edit generated files
- Push to main

Run the tests before you commit:
```sh
make test
```

| Area | Rule |
|------|------|
| a\\|b  | Must use `x|y` |
> Never quote
> without a source.
"""


def rules_of(data: bytes) -> tuple[Rule, ...]:
    return import_rules([RuleSource("AGENTS.md", "agents", "x")], lambda _: data).rules


def texts_of(data: bytes) -> list[str]:
    """Return the texts of a file's rules, white space evened out."""
    return [" ".join(rule.rule.split()) for rule in rules_of(data)]


def lines_of(rule: Rule) -> tuple[int, int]:
    assert rule.provenance is not None
    return rule.provenance.line, rule.provenance.end_line


def reword(text: str, old: str, new: str, document: str = GUIDE) -> str:
    """Return the document after the rule with this text reads `old` replaced by `new`."""
    rule = next(rule for rule in rules_of(document.encode()) if text in rule.rule)
    edit = Replace(*lines_of(rule), rule.rule.replace(old, new))
    return edit_file(document.encode(), [edit]).data.decode()


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("make check", "push", "merge"),
        ("Prefer fixtures", "set-up code", "mocks"),
        ("Write tests", "first", "early"),
        ("Edit generated", "generated", "vendored"),
        ("make test", "make test", "make check"),
        ("Area: a", "Must", "Should"),
        ("Never quote", "source", "link"),
    ],
)
def test_one_word_changes_one_place(text: str, old: str, new: str) -> None:
    """Bullets, boxes, numbers, quotes, code, cells and joined headings stay; only the word changes."""
    changed = reword(text, old, new)
    before, after = GUIDE.split("\n"), changed.split("\n")
    different = [at for at in range(len(before)) if before[at] != after[at]]
    assert len(different) == 1
    assert before[different[0]].replace(old, new) == after[different[0]]
    assert len(before) == len(after)


def test_a_longer_text_keeps_the_lines_that_stay() -> None:
    """A line put in between is indented like the others, those around it are the same bytes."""
    data = b"- Use tabs  \r\n\talways.\r\n\tEverywhere.\n\nEnd"
    edit = Replace(1, 3, "Use tabs\nand only tabs\nalways.\nEverywhere.")
    assert (
        edit_file(data, [edit]).data
        == b"- Use tabs  \r\n\tand only tabs\r\n\talways.\r\n\tEverywhere.\n\nEnd"
    )


def test_sub_bullets_keep_their_marks() -> None:
    """A rule with sub-bullets gets new ones like those it has, and loses the one that is left out."""
    data = b"- Only merge from:\n    * main\n\n    * hotfix branches\n"
    edit = Replace(1, 4, "Only merge from:\n  - main\n  - release branches\n  - hotfix branches")
    grown = edit_file(data, [edit]).data
    assert grown == b"- Only merge from:\n    * main\n    * release branches\n\n    * hotfix branches\n"
    edit = Replace(1, 4, "Only merge from:\n  - main")
    assert edit_file(data, [edit]).data == b"- Only merge from:\n    * main\n"


@pytest.mark.parametrize(
    ("document", "line", "text", "expected"),
    [
        ("- a\n- Use x.\n", 1, "Use y.", "- a\n- Use y.\n- Use x.\n"),
        ("1. Use x.\n2. Use y.", 2, "Use z.", "1. Use x.\n2. Use y.\n3. Use z."),
        ("- [x] Use x.\n", 1, "Use y\nalways.", "- [x] Use x.\n- [ ] Use y\n  always.\n"),
        ("* Use x.\n\n* Use y.\n", 3, "Use z.", "* Use x.\n\n* Use y.\n\n* Use z.\n"),
        ("# A\n\nProse is here.\n# B\n", 3, "Use z.", "# A\n\nProse is here.\n\n- Use z.\n\n# B\n"),
        ("", 0, "Use z.", "- Use z.\n"),
        ("---\na: b\n---\n", 0, "Use z.", "---\na: b\n---\n- Use z.\n"),
    ],
)
def test_a_new_rule_looks_like_its_neighbours(document: str, line: int, text: str, expected: str) -> None:
    """It takes the bullet, the next number, an empty box, the blank lines; without a list it starts one."""
    assert edit_file(document.encode(), [Insert(text, line)]).data.decode() == expected


def test_a_new_rule_at_the_end_of_a_section() -> None:
    """The section is named by its headings; sub-sections come after it."""
    document = b"# A\n- Use x.\n\n## B\n- Use y.\n"
    assert edit_file(document, [Insert("Use z.", section=("A",))]).data == document.replace(
        b"x.\n", b"x.\n- Use z.\n"
    )
    result = edit_file(document, [Insert("Use z.", section=("A", "B"))])
    assert result.data == document + b"- Use z.\n"
    assert result.placed == ((6, 6),)
    with pytest.raises(ParseError, match="no section"):
        edit_file(document, [Insert("Use z.", section=("C",))])


def test_a_new_rule_does_not_take_over_the_children_of_another() -> None:
    """After a bullet with rules under it the new one comes below them."""
    document = b"- After a merge:\n  - Tag the release.\n  - Delete the branch.\n"
    result = edit_file(document, [Insert("Use x.", 1)])
    assert result.data.startswith(document)
    assert texts_of(result.data) == ["Tag the release.", "Delete the branch.", "Use x."]
    assert "line 4: the new rule is here" in result.notes[0]


def test_deleting_leaves_sound_text_and_can_be_undone() -> None:
    """A deleted rule takes its lines and the doubled blank line; undo gives the bytes of before."""
    for rule in rules_of(GUIDE.encode()):
        result = edit_file(GUIDE.encode(), [Delete(*lines_of(rule))])
        assert texts_of(result.data) == [
            text for text in texts_of(GUIDE.encode()) if text != " ".join(rule.rule.split())
        ]
        assert b"\n\n\n" not in result.data
        assert undo_edits(result.data, result.undo) == GUIDE.encode()


def test_rules_that_become_one_by_a_deletion_are_named() -> None:
    """A list that is read as one with its introduction once a rule has gone keeps its words; it is said."""
    data = b"- Only merge from:\n  - main\n  - hotfix branches\n  - Never rebase.\n  - Delete old ones.\n"
    assert len(rules_of(data)) > 1
    result = edit_file(data, [Delete(4, 4)])
    assert texts_of(result.data) == ["Only merge from: - main - hotfix branches - Delete old ones."]
    assert "now reads as one rule" in result.notes[0]
    assert [change.after for change in result.changed][1:] == [""] * (len(result.changed) - 1)


def test_undo_needs_the_file_it_was_made_for() -> None:
    """A file that changed since is left alone."""
    result = edit_file(b"- Use x.\n", [Delete(1, 1)])
    with pytest.raises(ParseError, match="changed since"):
        undo_edits(b"- Use y.\n", result.undo, path="AGENTS.md")


@pytest.mark.parametrize(
    "text",
    [
        "Use x <!-- and",
        "Use x --> and",
        "---\nUse x",
        "Use x\n<!-- workbench:rules begin -->",
        "",
        "\x00",
        "The sky and the port",
    ],
)
def test_what_could_break_out_is_refused(text: str) -> None:
    """Comment marks, our own markers, nothing at all and what no import takes for a rule don't pass."""
    document = b"Use tabs in this file.\n\nProse. <!-- a\n"
    with pytest.raises(ParseError) as caught:
        edit_file(document, [Replace(1, 1, text)], path="AGENTS.md")
    assert (caught.value.path, caught.value.line) == ("AGENTS.md", 1)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "Use x\n# Title",
        "Use x\n---\nglobs: *.py",
        "Use x\n\nUse y",
        "Use x\n- y\n1. z",
        "Use x\n| a |\n|---|",
    ],
)
def test_what_would_be_cut_up_is_written_on_one_line(text: str) -> None:
    """Headings, dashes, lists and paragraphs inside a rule stay inside it, and a note says so."""
    result = edit_file(b"Use tabs.\n\nUse spaces.\n", [Replace(1, 1, text)])
    assert texts_of(result.data) == [" ".join(text.split()), "Use spaces."]
    assert result.data.endswith(b"\n\nUse spaces.\n")


def test_control_characters_are_shown_not_written() -> None:
    """Line ends and terminal sequences in a text become harmless."""
    result = edit_file(b"- Use tabs.\r\n", [Replace(1, 1, "Use \x1b[31mred\x1b[0m\r\nand\rgreen\x00.")])
    assert result.data == "- Use ␛[31mred␛[0m\r\n  and\r\n  green␀.\r\n".encode()
    assert result.notes == ("line 1: control characters of the rule are written as signs",)


def test_lines_that_are_no_rule() -> None:
    """Lines that don't match a unit, headings, code and a second edit of a rule are refused by name."""
    data = GUIDE.encode()
    for edit, words in (
        (Replace(5, 6, "Use x."), "not one rule"),
        (Replace(1, 1, "Use x."), "heading"),
        (Insert("Use x.", 7), "middle"),
        (Insert("Use x.", 999), "no line"),
    ):
        with pytest.raises(ParseError, match=words):
            edit_file(data, [edit])
    with pytest.raises(ParseError, match="twice"):
        edit_file(data, [Replace(6, 6, "Use x."), Delete(6, 6)])
    with pytest.raises(ParseError, match="columns"):
        edit_file(data, [Replace(22, 22, "Use x.")])


def test_rules_that_depend_on_an_edited_one_are_named() -> None:
    """An introduction that is a rule changes those it introduces; that is said, with both wordings."""
    data = b"Never commit secrets to the repository:\n- Keys of the service\n- Passwords of users\n"
    result = edit_file(data, [Replace(1, 1, "Never commit secrets to any repository:")])
    assert [change.after for change in result.changed] == [
        "Never commit secrets to any repository: Keys of the service",
        "Never commit secrets to any repository: Passwords of users",
    ]
    assert len(result.notes) == 2


def test_an_edit_that_fails_does_not_stop_the_others() -> None:
    """Edits are settled one by one; what is refused is named and what stays is where it was."""
    data = b"".join(b"- Use tool %d.\n" % number for number in range(40))
    edits = [Replace(n, n, "Sky" if n % 10 == 0 else f"Use item {n}.") for n in range(1, 41)]
    result = try_edits(data, edits)
    assert [refused.line for refused in result.refused] == [10, 20, 30, 40]
    assert texts_of(result.data)[8:10] == ["Use item 9.", "Use tool 9."]
    assert result.placed[8] == (9, 9)
    assert result.placed[9] is None


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings_stay(codec: str) -> None:
    """A mark, two-byte characters and bytes that are no text come back as they were."""
    head = b"\xfe\xff" if codec == "utf-16-be" else b""
    bad = b"\xff\xe2\x82" if codec.startswith("utf-8") else b""
    before, after = "- Use tabs in é.\r\n- Use x", "- Use blanks in é.\r\n- Use x"
    result = edit_file(head + before.encode(codec) + bad, [Replace(1, 1, "Use blanks in é.")])
    assert result.data == head + after.encode(codec) + bad


def test_two_thousand_bullets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Editing all rules of a long file reads it a few times, not once for each."""
    attempts: list[int] = []
    attempt = edits_module._attempt

    def counted(parsed: Any, patches: Any) -> Any:
        attempts.append(len(patches))
        return attempt(parsed, patches)

    monkeypatch.setattr(edits_module, "_attempt", counted)
    data = b"".join(b"- Use tool %d.\n" % number for number in range(2_000))
    result = try_edits(
        data, [Replace(n, n, f"Use item {n}." if n % 1000 else "Sky") for n in range(1, 2_001)]
    )
    assert len(result.refused) == 2
    assert result.data.count(b"item") == 1998
    assert len(attempts) < 10


PIECES = st.sampled_from(
    [
        "",
        "# Rules",
        "## Do not",
        "---",
        "- Use tabs.",
        "  - Never mix them.",
        "  continued here",
        "1. Run the tests:",
        "* [ ] Keep it short",
        "```",
        "> Always quote",
        "| a | Rule |",
        "|---|---|",
        "| Use x | y |",
        "<!-- a -->",
        "Always write tests.",
        "Prose about the project, as it is told.",
        "Never do this:",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n"])
DOCUMENTS = st.lists(st.tuples(PIECES, ENDS), min_size=1, max_size=14).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)
NEW = st.one_of(
    st.lists(
        st.sampled_from(
            [
                "Use tabs",
                "never",
                "\n",
                "\n\n",
                "- sub",
                "\n  - sub",
                "# x",
                "---",
                "```",
                "<!--",
                "-->",
                "|",
                "\r",
                "\x00",
                "Do not: ",
                "1. ",
                "[x] ",
                "> ",
            ]
        ),
        max_size=5,
    ).map(" ".join),
    st.text(max_size=20),
).map(lambda text: "Use " + text)


def expected_texts(before: Sequence[str], at: int, edit: Edit, result: EditResult) -> list[str]:
    """Return what the rules should read after an edit of the rule with index `at`."""
    texts = list(before)
    if isinstance(edit, Replace):
        texts[at] = " ".join(as_written(edit.text).split())
    elif isinstance(edit, Delete):
        del texts[at]
    for change in result.changed:
        if change.before:
            texts.remove(" ".join(change.before.split()))
        if change.after:
            texts.append(" ".join(change.after.split()))
    return texts


@settings(max_examples=times(26, 80), suppress_health_check=[HealthCheck.filter_too_much])
@given(DOCUMENTS, st.integers(0, 13), NEW, st.sampled_from(["replace", "delete", "insert"]))
def test_importing_an_edited_file_gives_the_expected_rules(data: bytes, at: int, new: str, kind: str) -> None:
    """import(edit(file)) is edit(import(file)), and undo gives the file back; or the edit is refused."""
    rules = rules_of(data)
    assume(rules)
    at %= len(rules)
    line, end_line = lines_of(rules[at])
    edits: dict[str, Edit] = {"replace": Replace(line, end_line, new), "delete": Delete(line, end_line)}
    edit = edits.get(kind, Insert(new, end_line))
    result = try_edits(data, [edit])
    assert undo_edits(result.data, result.undo) == data
    if result.refused:
        assert result.data == data
        assert result.refused[0].reason
        return
    after = texts_of(result.data)
    if isinstance(edit, Insert):
        assert result.placed[0] is not None
        again = [lines_of(rule) for rule in rules_of(result.data)]
        assert after.pop(again.index(result.placed[0])) == " ".join(as_written(new).split())
    assert sorted(after) == sorted(expected_texts(texts_of(data), at, edit, result))


@given(DOCUMENTS)
def test_writing_every_rule_as_it_is_changes_nothing(data: bytes) -> None:
    """The texts an import gives are what the file already says."""
    edits = [Replace(*lines_of(rule), rule.rule) for rule in rules_of(data)]
    result = edit_file(data, edits)
    assert result.data == data
    assert result.notes == ()
