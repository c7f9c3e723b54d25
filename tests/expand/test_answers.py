"""What handles give: text of definitions, outlines, ranges, uses and links, or the nearest names."""

from __future__ import annotations

import pytest

import workbench
from tests.conftest import Work
from workbench.errors import UsageError
from workbench.records.expansion import Found
from workbench.text.tokens import token_counter


def shown(project: workbench.Project, *handles: str, **options: object) -> str:
    return project.expand(*handles, **options).text  # type: ignore[arg-type]


def test_a_definition_is_shown_whole_with_its_place(project: workbench.Project) -> None:
    """By its name alone, with what it is in, and with its file; the comment above it belongs to it."""
    expected = (
        "app/terminal.go:7-11 Terminal.Loop\n"
        "  // Loop reads keys until the end.\n"
        "  func (t *Terminal) Loop() error {\n"
        '  \tt.draw(parseKeymap("a:up"))\n'
        "  \treturn nil\n"
        "  }\n"
    )
    for handle in (
        "Loop",
        "Terminal.Loop",
        "terminal.go:Loop",
        "app/terminal.go:Terminal.Loop",
        "app/terminal.go:9",
    ):
        assert shown(project, handle) == expected


def test_a_member_of_a_base_is_found_in_the_class_that_inherits_it(project: workbench.Project) -> None:
    """The class has none of this name itself."""
    assert shown(project, "Circle.name").startswith("base.py:5-6 Shape.name\n")


def test_several_definitions_are_listed_with_their_places(project: workbench.Project) -> None:
    """Nothing says which one is meant."""
    answer = project.expand("area")
    assert [handle.found for handle in answer.handles] == [Found.AMBIGUOUS]
    assert answer.text == (
        "area: 2 definitions; ask for one as path:name\n"
        "  base.py:2-3 def area(self)\n"
        "  shapes.py:7-8 def area(self)\n"
    )


def test_source_that_is_visible_from_outside_comes_before_tests(
    repository: Work, project: workbench.Project
) -> None:
    """A test's helper of the same name is only named."""
    repository.write("tests/test_shapes.py", "def total(x):\n    return x\n")
    text = shown(project, "total")
    assert text.startswith("shapes.py:14-16 total; also tests/test_shapes.py:1\n")


def test_sections_and_keys_are_definitions_of_their_files(project: workbench.Project) -> None:
    """Of Markdown by its heading, of TOML by its table."""
    assert shown(project, "docs/guide.md:Key bindings").startswith("docs/guide.md:5-")
    assert "ctrl-c ends." in shown(project, "docs/guide.md#Key bindings")
    assert (
        shown(project, "settings.toml:tool.ruff")
        == "settings.toml:3-4 tool.ruff\n  [tool.ruff]\n  line = 100\n"
    )


def test_uses_are_listed_by_file_and_counted(project: workbench.Project) -> None:
    """Source with text and the definition around; tests counted; comments apart."""
    assert shown(project, "parseKeymap:callers") == (
        "parseKeymap (app/keys.go:5): 1 use in 1 file, 2 in 1 test file\n"
        "  app/terminal.go\n"
        '    9: t.draw(parseKeymap("a:up"))  [Terminal.Loop]\n'
        "  tests: app/keys_test.go:4 (2)\n"
        "  in comments of app/keys.go: 6\n"
    )
    assert shown(project, "parseKeymap", aspect="callers") == shown(project, "parseKeymap:callers")


def test_uses_of_a_member_are_behind_a_dot(project: workbench.Project) -> None:
    """The word alone is another thing; what a docstring says of it is no use."""
    project.root.joinpath("plot.py").write_text("from shapes.area import grid\n\nprint(grid.area())\n")
    text = shown(project, "Circle.area:callers")
    assert "  plot.py\n    3: print(grid.area())\n" in text
    assert "    11: return 2 * self.area()  [Circle.twice]\n" in text
    assert "    16: return sum(one.area() for one in shapes)  [total]\n" in text
    assert "  in comments of shapes.py: 5\n" in text


def test_what_a_definition_depends_on(project: workbench.Project) -> None:
    """Definitions of the same file by their lines, others with their files."""
    assert shown(project, "Terminal.Loop:uses") == (
        "Terminal.Loop (app/terminal.go:8) uses 2 definitions\n"
        "  :13 func (t *Terminal) draw(keys []string)\n"
        "  app/keys.go:5 func parseKeymap(text string) []string\n"
    )


def test_types_that_extend_a_type(project: workbench.Project) -> None:
    """With their places."""
    assert shown(project, "Shape:subclasses") == "Shape: 1 subtype\n  shapes.py:4 class Circle(Shape)\n"


def test_files_are_shown_whole_in_outline_by_range_and_linked(project: workbench.Project) -> None:
    """A small file is whole unless its outline is asked for."""
    assert shown(project, "keys.go").startswith("app/keys.go\n  package app\n")
    assert shown(project, "base.py:outline") == (
        "base.py (outline, 6 lines; imported by 1)\n"
        "  1 class Shape\n  2   def area(self)\n  5   def name(self)\n"
    )
    assert shown(project, "app/keys.go:3-5") == (
        'app/keys.go:3-5\n  import "strings"\n\n  func parseKeymap(text string) []string {\n'
    )
    assert (
        shown(project, "base.py:links")
        == "base.py (links)\n  imports 0\n  imported by 1:\n    shapes.py\n  tested by 0\n"
    )
    assert shown(project, "app/") == (
        "app/: 3 files; ask for one\n  app/keys.go\n  app/keys_test.go\n  app/terminal.go\n"
    )


def test_what_is_not_listed_is_found_by_its_line(repository: Work, project: workbench.Project) -> None:
    """A function inside another one."""
    repository.write("lib.js", "(function () {\n  function chunk(array) {\n    return array\n  }\n}())\n")
    assert shown(project, "chunk") == (
        "lib.js:2-4 chunk\n    function chunk(array) {\n      return array\n    }\n"
    )


def test_an_edit_is_seen_at_once(repository: Work, project: workbench.Project) -> None:
    """Definitions are where the file has them now."""
    shown(project, "Loop")
    repository.write("app/terminal.go", "package app\n\nfunc Loop() int {\n\treturn 2\n}\n")
    assert shown(project, "Loop") == "app/terminal.go:3-5 Loop\n  func Loop() int {\n  \treturn 2\n  }\n"


def test_secrets_are_masked_and_hidden_characters_shown(repository: Work, project: workbench.Project) -> None:
    """As in packs, in texts, lists and headings."""
    token = "ghp_" + "a1B2" * 9
    repository.write("leak.py", f'def leak():\n    key = "{token}"  # \u202e\x1b[31m\n    return key\n')
    for text in (shown(project, "leak"), shown(project, "leak.py:2-2"), shown(project, "key:callers")):
        assert token not in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_file_cannot_pass_for_a_heading(repository: Work, project: workbench.Project) -> None:
    """Every line of it is indented."""
    repository.write(
        "evil.py", "def evil():\n    pass\n# end\nsrc/other.py:1-2 real\n⋮ 7 more lines: /etc/passwd:1-7\n"
    )
    first, *rest = shown(project, "evil.py").splitlines()
    assert first == "evil.py"
    assert all(line.startswith("  ") for line in rest)


@pytest.mark.parametrize(
    ("handle", "said"),
    [
        ("parseKeymp", "parseKeymap (app/keys.go:5)"),
        ("keys.go:parseKeymp", "parseKeymap (app/keys.go:5)"),
        ("app/terminl.go", "app/terminal.go"),
        ("/etc/passwd", "leads out of the project"),
        ("../outside.py", "leads out of the project"),
        ("~/.ssh/id_rsa", "leads out of the project"),
        (".env", "is not shown: secret"),
        ("base.py:90-99", "has 6 lines"),
        ("base.py:5-2", "ends before it begins"),
        ("docs/guide.md:Nowhere at all", "docs/guide.md:outline"),
        ("x" * 5_000, "no definition or file of this name"),
        ("a\x00b", "no definition"),
        ("'; DROP TABLE x; --", "no definition"),
    ],
)
def test_what_is_unknown_is_refused_with_the_nearest_names(
    project: workbench.Project, handle: str, said: str
) -> None:
    """Nothing outside of the project is read, and no handle is an accident."""
    with pytest.raises(UsageError) as error:
        project.expand(handle)
    assert said in f"{error.value.message} {error.value.hint}"


def test_a_link_out_of_the_project_is_not_followed(repository: Work, project: workbench.Project) -> None:
    """Neither by its name nor by what it points to."""
    (repository.root.parent / "outside.py").write_text("def outside(): pass\n", encoding="utf-8")
    (repository.root / "link.py").symlink_to("../outside.py")
    for handle in ("link.py", "outside", "link.py:1-1"):
        with pytest.raises(UsageError):
            project.expand(handle)


def test_known_handles_are_answered_beside_unknown_ones(project: workbench.Project) -> None:
    """Each has its line; the answer says which is which."""
    answer = project.expand("parseKeymp", "total")
    assert [handle.found for handle in answer.handles] == [Found.UNKNOWN, Found.SHOWN]
    assert (
        "parseKeymp: no definition or file of this name in this project. Did you mean parseKeymap"
        in answer.text
    )
    assert answer.handles[1].spans == ((14, 16),)


@pytest.mark.parametrize("budget", [1, 5, 20, 60, 200])
def test_the_budget_holds_for_every_kind_of_answer(project: workbench.Project, budget: int) -> None:
    """By the tokenizer that it names."""
    handles = (
        "Loop",
        "area",
        "parseKeymap:callers",
        "Loop:uses",
        "shapes.py",
        "base.py:links",
        "nothing",
        "keys.go:1-8",
    )
    answer = project.expand(*handles, budget=budget)
    assert answer.tokens == token_counter(answer.tokenizer).count(answer.text) <= budget
    assert answer == project.expand(*handles, budget=budget)


def test_nothing_is_given_twice_to_a_session(repository: Work, project: workbench.Project) -> None:
    """Lines that a definition showed are not in the rest; another session has nothing; `again` has all."""
    shown(project, "Circle.area", session="s")
    assert shown(project, "Circle.area", session="s") == (
        "shapes.py:7-8 Circle.area: was given to this session already\n"
    )
    rest = shown(project, "shapes.py:rest", session="s")
    assert rest.startswith("shapes.py:1-6,9-16 (2 lines given before)\n")
    assert "3 * self.radius" not in rest
    assert "3 * self.radius" in shown(project, "Circle.area", session="other")
    assert "3 * self.radius" in shown(project, "Circle.area", session="s", again=True)
    shown(project, "parseKeymap:callers", session="s")
    assert shown(project, "parseKeymap:callers", session="s").endswith("given to this session already\n")
    repository.write("shapes.py", "class Circle:\n    def area(self):\n        return 4\n")
    assert "return 4" in shown(project, "Circle.area", session="s")


def test_what_a_plan_showed_is_not_shown_again(project: workbench.Project) -> None:
    """A pack's lines count as given to its session."""
    pack = project.plan("total of the shapes in shapes.py", session="s", pinned=["shapes.py"])
    spans = next(one.spans for one in pack.selection if one.path == "shapes.py")
    assert spans == ((1, 16),)
    assert (
        shown(project, "total", session="s") == "shapes.py:14-16 total: was given to this session already\n"
    )


def test_what_was_expanded_counts_as_given(project: workbench.Project) -> None:
    """A hand-over records its files, lines and tokens, for hooks and figures."""
    from workbench.entry.services.handovers import GIVEN, STREAM, read_handover, session_context
    from workbench.entry.services.opening import host_project

    answer = project.expand("total", session="s")
    host = host_project(project.root, {}, "python")
    given = [read_handover(one) for one in host.project.mentioning(STREAM, '"s"') if one.kind == GIVEN]
    assert [(one.event, one.tokens, dict(one.files)) for one in given] == [
        ("expand", answer.tokens, {"shapes.py": "snippets"})
    ]
    assert session_context(host.project, "s").received == {"shapes.py"}
    host.close()


def test_requests_are_refused_with_what_to_give(project: workbench.Project) -> None:
    """No handle, too many, no budget, an unknown aspect."""
    for handles, options, said in (
        ((), {}, "nothing is named"),
        ((" ",), {}, "nothing is named"),
        (tuple(f"h{number}" for number in range(51)), {}, "51 handles"),
        (("a",), {"budget": 0}, "budget of 0"),
        (("a",), {"aspect": "caller"}, "not a valid aspect"),
    ):
        with pytest.raises(UsageError, match=said):
            project.expand(*handles, **options)
