"""Front matter is read as people write it, and nothing in it can stop an import."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.records.rules import Activation
from workbench.rules.formats.families import BY_NAME
from workbench.rules.formats.frontmatter import FrontMatter, globs_of, read_front_matter

claude, copilot = BY_NAME["claude-rules"], BY_NAME["copilot-instructions"]
cursor, windsurf, cline = BY_NAME["cursor"], BY_NAME["windsurf"], BY_NAME["cline"]
kiro, plain = BY_NAME["kiro"], BY_NAME["agents"]


def head(text: str) -> FrontMatter:
    return read_front_matter(["---", *text.split("\n"), "---", "body"])


def test_unquoted_globs_are_no_yaml_and_still_read() -> None:
    """A leading star, commas and braces without quotes are what Cursor writes."""
    front = head("description: Types: use them\nglobs: *.ts,**/x.{a,b}\nalwaysApply: false")
    assert front.warnings == ()
    assert globs_of(front, "globs") == ("*.ts", "**/x.{a,b}")
    assert front.text("description") == "Types: use them"
    assert front.flag("alwaysApply") is False
    assert front.body_start == 5
    assert front.lines == {"description": 2, "globs": 3, "alwaysApply": 4}


def test_lists_inline_indented_and_broken_over_lines() -> None:
    """The three ways to write a list give the same globs."""
    inline = head('paths: ["src/**", "*.{a,b}"]')
    indented = head('paths:\n  - "src/**"\n  - *.{a,b}')
    broken = head('paths: [\n  "src/**",\n  "*.{a,b}"\n]')
    noted = head('paths: ["src/**", "*.{a,b}"] # all')
    for front in (inline, indented, broken, noted):
        assert globs_of(front, "paths") == ("src/**", "*.{a,b}")


def test_text_values() -> None:
    """Quotes go, quotes inside of them stay, comments go, folded text is kept, a hash inside a word stays."""
    front = head("a: 'x: y' # why\nb: C# code\nc: >\n  one\n  two\nd:\ne: \"q\\\"r\"\nf: 'it''s'\ng: 'a' b")
    assert front.fields["a"] == "x: y"
    assert front.fields["b"] == "C# code"
    assert front.fields["c"] == "one\ntwo"
    assert front.fields["d"] == ""
    assert front.fields["e"] == 'q"r'
    assert front.fields["f"] == "it's"
    assert front.fields["g"] == "'a' b"
    assert front.ends == {"a": 2, "b": 3, "c": 6, "d": 7, "e": 8, "f": 9, "g": 10}


def test_broken_head_warns_with_its_line() -> None:
    """A line that reads as nothing and a key given twice are reported, the rest is used."""
    front = head("globs: *.py\n!! what\nglobs: *.pyi")
    assert [line for line, _ in front.warnings] == [3, 4]
    assert front.fields == {"globs": "*.pyi"}


def test_unclosed_head_is_body() -> None:
    """Without a closing line nothing is swallowed, and a horizontal rule is no head."""
    unclosed = read_front_matter(["---", "globs: *.py", "", "Use tabs."])
    assert unclosed.body_start == 0
    assert unclosed.warnings[0][0] == 1
    assert read_front_matter(["---", "", "Some text.", "", "---", "More."]) == FrontMatter()
    assert read_front_matter([]) == FrontMatter()


def test_cursor_modes() -> None:
    """Always, by globs, by description, by name: in this order; match-all globs are always."""
    assert cursor.read(head("globs: *.py\nalwaysApply: true")).activation is Activation.ALWAYS
    assert cursor.read(head("globs: *.py\nalwaysApply: false")).activation is Activation.PATHS
    assert cursor.read(head("description: x\nglobs:\nalwaysApply: false")).activation is Activation.REQUESTED
    assert cursor.read(head("alwaysApply: false")).activation is Activation.MANUAL
    assert cursor.read(head("globs: **/*")).activation is Activation.ALWAYS
    assert cursor.read(FrontMatter()).activation is Activation.REQUESTED


def test_other_families() -> None:
    """Each family has its own words for the same four ways."""
    assert claude.read(head("paths:\n  - src/**")).globs == ("src/**",)
    assert claude.read(FrontMatter()).activation is Activation.ALWAYS
    assert copilot.read(head("applyTo: '**/*.ts, **/*.js'\nexcludeAgent: x")).kept == {"excludeAgent": "x"}
    assert copilot.read(head("applyTo: '**'")).activation is Activation.ALWAYS
    assert copilot.read(FrontMatter()).activation is Activation.REQUESTED
    assert windsurf.read(head("trigger: glob\nglobs: *.go")).globs == ("*.go",)
    assert windsurf.read(head("trigger: manual")).activation is Activation.MANUAL
    assert windsurf.read(head("trigger: always_on\nglobs: *.go")).globs == ()
    assert cline.read(head("paths: [a/**]")).activation is Activation.PATHS
    assert kiro.read(head("inclusion: fileMatch\nfileMatchPattern: '**/*.rs'")).globs == ("**/*.rs",)
    assert kiro.read(head("inclusion: auto\ndescription: d")).description == "d"
    assert plain.read(head("anything: goes")).kept == {"anything": "goes"}


@given(st.lists(st.text("-: [],'\"#>|*{}ab\\\t", max_size=16), max_size=12))
def test_any_head_is_safe(lines: list[str]) -> None:
    """No head makes reading fail, and the body starts inside the file."""
    front = read_front_matter(["---", *lines])
    assert 0 <= front.body_start <= len(lines) + 1
    for family in BY_NAME.values():
        family.read(front)
