"""An export puts every rule where its agent reads it, reads back as the same, and changes nothing twice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.deep import times
from workbench.errors import ParseError, UsageError
from workbench.records.rules import Activation, Authority, Provenance, Rule
from workbench.rules.files.export import ExportedFile, export_files
from workbench.rules.files.placement import TARGETS, portable, reach_of
from workbench.rules.formats.families import family_of
from workbench.rules.formats.managed import BEGIN, END, managed_text
from workbench.rules.formats.textfile import parse_file
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.imports import import_rules

Anchors = dict[str, list[tuple[str, int, int]]]
GUIDE = b"# Guide\r\n\r\n- Use tabs.\r\n- Use pnpm.\r\n\r\nProse.\r\n"


def imported(files: Mapping[str, bytes]) -> tuple[Rule, ...]:
    sources = []
    for path in sorted(files):
        found = family_of(path)
        assert found is not None
        sources.append(RuleSource(path, found[0].name, path, found[1]))
    return import_rules(sources, lambda source: files[source.path], project_id="p").rules


def family(path: str) -> str:
    found = family_of(path)
    return found[0].name if found else ""


def anchors_of(rules: Sequence[Rule]) -> Anchors:
    """Return where rules stand, as an import says."""
    found: Anchors = {}
    for rule in rules:
        if rule.provenance is not None:
            where = rule.provenance
            found.setdefault(where.file, []).append((rule.id, where.line, where.end_line))
    return found


def after(files: Mapping[str, bytes], exported: Sequence[ExportedFile]) -> dict[str, bytes]:
    there = dict(files)
    for file in exported:
        if file.data is None:
            there.pop(file.path, None)
        else:
            there[file.path] = file.data
    return there


def facts_of(rule: Rule) -> tuple[str, Authority, Activation, tuple[str, ...]]:
    """Return what an export has to keep of a rule."""
    reach = reach_of(rule)
    return managed_text(rule.rule), rule.authority, reach.activation, reach.globs


TEXTS = st.one_of(
    st.lists(
        st.sampled_from(
            [
                "Use x",
                "\n",
                "# x",
                "---",
                "```",
                "<!--",
                "-->",
                BEGIN,
                END,
                "\n- y",
                "\n\n  z",
                "\x1b[1m",
                "@a.md",
            ]
        ),
        min_size=1,
        max_size=5,
    ).map("".join),
    st.text(min_size=1, max_size=20),
).filter(lambda text: bool(managed_text(text)))
GLOBS = st.lists(
    st.sampled_from(
        ["*.ts", "src/**/*.{ts,tsx}", "/pkg/", "pkg/sub/**", "a b/*.md", "!x", "/pkg/../x/", "**"]
    ),
    max_size=2,
).map(tuple)
DESCRIPTIONS = st.sampled_from(["", "Styles: (all)", "yes", 'it\'s # "x"', "-->", "ünï", "[a", "*", "a\nb"])
KEPT = st.sampled_from([{}, {"excludeAgent": "x"}, {"a": ["b", "c: d"], "globs": "z"}, {"x y": "z"}])


@st.composite
def rules(draw: st.DrawFn) -> list[Rule]:
    """Draw rules of many kinds with ids of their own."""
    found = []
    for number in range(draw(st.integers(1, 6))):
        section = draw(st.sampled_from([(), ("A",), ("A", "Do not"), ("<!-- a", "x > y")]))
        metadata = {"description": draw(DESCRIPTIONS), "front_matter": draw(KEPT)}
        if draw(st.booleans()):
            metadata["lead"] = "Before every commit:"
        found.append(
            Rule(
                f"r{number}",
                "x",
                draw(TEXTS),
                authority=draw(st.sampled_from(list(Authority))),
                scope=tuple("path:" + glob for glob in draw(GLOBS)),
                priority=draw(st.integers(0, 100)),
                metadata=metadata,
                provenance=Provenance(
                    "elsewhere.md",
                    1,
                    1,
                    "plain",
                    section=section,
                    activation=draw(st.sampled_from(Activation)),
                ),
            )
        )
    return found


FILES = st.sampled_from(
    [
        {},
        {"AGENTS.md": GUIDE, "CLAUDE.md": GUIDE, "GEMINI.md": b"", ".github/copilot-instructions.md": GUIDE},
        {"AGENTS.md": GUIDE.decode().encode("utf-16"), "CLAUDE.md": b"\xef\xbb\xbfx", ".clinerules": GUIDE},
        {".cursor/rules/a.mdc": b"---\nglobs: *.py\n---\n- Use x.", ".claude/CLAUDE.md": b"\xff\xfe"},
    ]
)


@settings(max_examples=times(4, 10), deadline=None)
@pytest.mark.parametrize("target", sorted(TARGETS))
@given(rules(), FILES)
def test_exported_rules_read_back_and_a_second_export_changes_nothing(
    target: str, found: list[Rule], files: dict[str, bytes]
) -> None:
    """Text, authority, activation and globs of every rule survive; what was there keeps its bytes."""
    files = {path: data for path, data in files.items() if family(path) in TARGETS[target].families}
    before = imported(files)
    exported = export_files([*before, *found], target, files, anchors=anchors_of(before))
    there = after(files, exported)
    again = imported(there)
    fresh = [rule for rule in again if rule.rule not in {own.rule for own in before}]
    wanted = {facts_of(rule) for rule in found if rule.rule not in {own.rule for own in before}}
    assert {facts_of(rule) for rule in fresh} - {facts_of(rule) for rule in before} == wanted
    for path, data in files.items():
        body = there[path]
        assert body.startswith(data)
    by_id = {rule.id: rule for rule in found}
    for file in exported:
        assert re.fullmatch(r"(?:[\w. +-]+/)*[\w. +-]+", file.path)
        assert ".." not in file.path.split("/")
        places = {
            (where.line, where.end_line): rule
            for rule in again
            if (where := rule.provenance) is not None and where.file == file.path
        }
        for identifier, line, end_line in file.anchors:
            if identifier in by_id:
                assert managed_text(by_id[identifier].rule) == places[line, end_line].rule
    anchors = {file.path: file.anchors for file in exported}
    assert not any(file.changed for file in export_files([*before, *found], target, there, anchors=anchors))
    assert not any(file.changed for file in export_files(again, target, there, anchors=anchors_of(again)))
    gone = export_files(before, target, there, anchors=anchors)
    left = after(there, gone).keys()
    assert {p for p, data in files.items() if any(parse_file(data).shown)} <= left <= files.keys()


def make(identifier: str, text: str, **fields: object) -> Rule:
    return replace(Rule(identifier, text, text), **fields)  # type: ignore[arg-type]


def test_where_rules_go() -> None:
    """Each agent gets its own kind of file for rules that always hold, for paths and for a directory."""
    found = [
        make("a", "Use a."),
        make("b", "Use b.", scope=("path:*.ts",)),
        make("c", "Use c.", scope=("path:/x/",)),
    ]
    paths = {target: [file.path for file in export_files(found, target, {})] for target in TARGETS}
    assert paths["agents"] == ["AGENTS.md", "x/AGENTS.md"]
    assert paths["gemini"] == ["GEMINI.md", "x/GEMINI.md"]
    assert [path.rpartition("-")[0] for path in paths["claude"]] == [
        ".claude/rules/workbench-ts",
        ".claude/rules/workbench-x",
        "",
    ]
    assert paths["claude"][2] == "CLAUDE.md"
    assert paths["cursor"][0] == ".cursor/rules/workbench-always.mdc"
    assert all(path.endswith(".mdc") for path in paths["cursor"])
    assert [path.startswith(".github/instructions/workbench-") for path in paths["copilot"]] == [
        False,
        True,
        True,
    ]


def test_disabled_foreign_and_private_rules_stay_out() -> None:
    """Rules that are off, for another tool or from the user's home are not exported to new places."""
    home = Provenance("~/.claude/CLAUDE.md", 1, 1, "claude", home=True)
    found = [
        make("a", "Use a.", enabled=False),
        make("b", "Use b.", tool_targets=("codex",)),
        make("c", "Use c.", provenance=home),
        make("d", "Use d.", tool_targets=("Claude_Code",)),
    ]
    assert [[a[0] for a in file.anchors] for file in export_files(found, "claude", {})] == [["d"]]
    assert [[a[0] for a in file.anchors] for file in export_files(found, "agents", {})] == [["b"]]
    with_home = export_files(found, "agents", {}, include_home=True)
    assert [a[0] for a in with_home[0].anchors] == ["b", "c"]


def test_rules_of_a_file_stay_in_it_and_are_edited_there() -> None:
    """A changed rule changes its line, a removed one goes, other bytes and the part's rules stay."""
    files = {"AGENTS.md": GUIDE}
    own = imported(files)
    other = make("z", "Use z.")
    first = export_files([*own, other], "agents", files, anchors=anchors_of(own))[0]
    assert first.data == GUIDE + "\r\n".join(["", BEGIN, "## Rules", "", "- Use z.", END, ""]).encode()
    assert first.data is not None
    changed = [replace(own[0], rule="Use blanks."), other]
    second = export_files(
        changed,
        "agents",
        {"AGENTS.md": first.data},
        anchors={"AGENTS.md": first.anchors},
        removed={own[1].id},
    )[0]
    assert second.data == first.data.replace(b"tabs", b"blanks").replace(b"- Use pnpm.\r\n", b"")
    assert [anchor[0] for anchor in second.anchors] == [own[0].id, "z"]
    assert second.anchors[1][1] == first.anchors[2][1] - 1
    kept = export_files(changed, "agents", {"AGENTS.md": first.data}, anchors={"AGENTS.md": first.anchors})[0]
    assert b"pnpm" in (kept.data or b"")


def test_rules_are_found_in_their_file_without_anchors() -> None:
    """What was imported from a file, or from an identical one, is not written into it once more."""
    own = imported({"AGENTS.md": GUIDE, "CLAUDE.md": GUIDE})
    assert {rule.provenance and rule.provenance.file for rule in own} == {"AGENTS.md"}
    for target, path in (("agents", "AGENTS.md"), ("claude", "CLAUDE.md")):
        [file] = export_files(own, target, {path: GUIDE})
        assert not file.changed
        assert [anchor[1] for anchor in file.anchors] == [3, 4]


def test_rules_of_a_file_that_is_pulled_in_are_there_already() -> None:
    """`@AGENTS.md` in CLAUDE.md is how Claude reads those rules; only others are added."""
    files = {"AGENTS.md": GUIDE, "CLAUDE.md": b"@AGENTS.md\n", "pkg/AGENTS.md": b"- Use z.\n"}
    own = imported(files)
    exported = export_files(own, "claude", files)
    assert [(file.path, file.changed) for file in exported][1:] == [("CLAUDE.md", False)]
    assert exported[0].path.startswith(".claude/rules/workbench-pkg-")


def test_an_edit_that_cannot_be_made_is_noted() -> None:
    """The rule stays as it is in the file, and the note names file, line, rule and reason."""
    own = imported({"AGENTS.md": GUIDE})
    [file] = export_files(
        [replace(own[0], rule="The sky and the port"), own[1]],
        "agents",
        {"AGENTS.md": GUIDE},
        anchors=anchors_of(own),
    )
    assert file.data == GUIDE
    assert file.notes[0].startswith(f"AGENTS.md:3: rule {own[0].id} stays as it is: reads as no instruction")


def test_the_part_goes_with_its_rules() -> None:
    """Without rules the part is removed, a file that held nothing else too; what people added stays."""
    [made] = export_files([make("a", "Use a.")], "cursor", {})
    assert made.data is not None
    anchors = {made.path: made.anchors}
    [gone] = export_files([], "cursor", {made.path: made.data}, anchors=anchors)
    assert (gone.data, gone.changed) == (None, True)
    grown = made.data.replace(END.encode(), b"- Use hand.\n\nSome prose.\n" + END.encode())
    [kept] = export_files([], "cursor", {made.path: grown}, anchors=anchors)
    assert kept.data is not None
    assert b"- Use hand." in kept.data
    assert kept.data.endswith(END.encode() + b"\n\nSome prose.\n")
    assert b"Use a." not in kept.data
    assert len(kept.notes) == 2


def test_a_file_of_anybody_else_is_not_taken() -> None:
    """A file that has the name ours would get, and is not ours, stays; ours gets another name."""
    theirs = {".cursor/rules/workbench-always.mdc": b"- Use mine.\n"}
    exported = export_files([make("a", "Use a.")], "cursor", theirs)
    assert [(file.path, file.changed) for file in exported] == [
        (".cursor/rules/workbench-always-2.mdc", True),
        (".cursor/rules/workbench-always.mdc", False),
    ]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (f"- Use x.\n{BEGIN}\n- Use y.\n".encode(), 2, "without its pair"),
        (f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n".encode(), 3, "without its pair"),
        (b"- Use x.\n```sh\nmake\n", 3, "never closed"),
    ],
)
def test_files_that_cannot_be_added_to(data: bytes, line: int, words: str) -> None:
    """Half a part, two parts and an open fence are named with file, line and what to do."""
    with pytest.raises(ParseError, match=words) as caught:
        export_files([make("a", "Use a.")], "agents", {"AGENTS.md": data})
    assert (caught.value.path, caught.value.line) == ("AGENTS.md", line)
    assert caught.value.hint


def test_unknown_targets_are_named() -> None:
    """An unknown target lists those there are."""
    with pytest.raises(UsageError) as caught:
        export_files([], "emacs", {})
    assert "kiro" in caught.value.hint


def test_scope_changes_reach_the_front_matter() -> None:
    """If all rules of a file get other globs the file's head says so; if they disagree a note does."""
    path = ".cursor/rules/a.mdc"
    files = {path: b"---\n# mine\nglobs: *.ts # x\nowner: me\n---\n- Use x.\n- Use y.\n"}
    own = imported(files)
    moved = [replace(rule, scope=("path:*.tsx", "path:lib/**")) for rule in own]
    [file] = export_files(moved, "cursor", files, anchors=anchors_of(own))
    assert file.data == files[path].replace(b"*.ts #", b"*.tsx,lib/** #")
    [file] = export_files([moved[0], own[1]], "cursor", files, anchors=anchors_of(own))
    assert file.data == files[path]
    assert "for *.tsx, lib/**" in file.notes[0]


def test_order_is_by_authority_section_priority_and_id() -> None:
    """Binding rules come first, then sections by name, then the higher priority, then the id."""
    where = Provenance("x.md", 1, 1, "plain", section=("B",))
    found = [
        make("d", "Use d.", priority=10),
        make("c", "Use c.", priority=90),
        make("b", "Use b.", priority=10),
        make("e", "Use e.", provenance=where),
        make("a", "Use a.", authority=Authority.ABSOLUTE, priority=0),
    ]
    [file] = export_files(found, "agents", {})
    assert [anchor[0] for anchor in file.anchors] == ["a", "c", "b", "d", "e"]
    assert file == export_files(found[::-1], "agents", {})[0]


def test_notes_name_what_a_file_cannot_say() -> None:
    """Names of contexts and an @path that the agent follows are told."""
    [file] = export_files([make("a", "Use @secrets.md.", scope=("git",))], "claude", {})
    assert [note.split(": ")[1][:20] for note in file.notes] == [
        "the file cannot say ",
        "the agent follows th",
    ]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("/pkg/", "pkg/**"),
        ("/pkg/**/*.py", "pkg/**/*.py"),
        ("/x.py", "/x.py"),
        ("pkg/**/*", "pkg/**"),
        ("!/a/", "!a/**"),
        ("./src/*.ts", "src/*.ts"),
        ("pkg/", "pkg/"),
    ],
)
def test_globs_that_all_agents_read(glob: str, expected: str) -> None:
    """Anchored directories become what all formats know; nothing becomes wider."""
    assert portable(glob) == expected
    assert portable(expected) == expected


def test_two_thousand_rules_are_exported_in_one_go() -> None:
    """A large export is written and found unchanged without work for each pair of rules."""
    found = [make(f"r{number}", f"Use tool {number}.") for number in range(2_000)]
    [file] = export_files(found, "agents", {})
    assert len(file.anchors) == 2_000
    assert file.data is not None
    assert not export_files(found, "agents", {"AGENTS.md": file.data})[0].changed
