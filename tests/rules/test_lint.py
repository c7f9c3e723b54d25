"""Checks of rule files find what is wrong and leave alone what only looks so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.rules.test_precedence import tree_of
from workbench.records.conflicts import Action, Conflict, ConflictKind, Evidence, Suggestion
from workbench.records.rules import Provenance, Rule
from workbench.rules.lint.checks import lint_rules
from workbench.rules.lint.findings import KINDS, LintFinding, LintKind, LintProject, Severity, sarif_log

PATHS = {
    "src/app.py": "",
    "src/api/routes.ts": "",
    "docs/guide.md": "",
    "package.json": '{"scripts": {"test": "vitest", "lint:fix": "x"}}',
    "Makefile": "VAR := 1\ntest build: deps\n\tx\ndeps:\n\ty\n",
}


def look(
    files: Mapping[str, str | bytes | Exception],
    paths: Mapping[str, str] = PATHS,
    rules: tuple[Rule, ...] = (),
    conflicts: tuple[Conflict, ...] = (),
) -> tuple[LintFinding, ...]:
    tree = tree_of(files)
    return lint_rules(
        LintProject(
            tree=tree,
            files=sorted(tree.sources),
            paths=sorted({*files, *paths} - {name for name in files if name.startswith("~")}),
            rules=rules,
            conflicts=conflicts,
            text=paths.get,
            exists=lambda path: path == "there/too.md",
            count_tokens=lambda text: len(text) // 4,
            ignored=lambda path: path.split("/")[0] == "dist",
        )
    )


def said(found: tuple[LintFinding, ...]) -> list[tuple[str, str, int, str]]:
    """Return kind, file, line and detail of findings."""
    return [(str(one.kind), one.file, one.line, one.detail) for one in found]


def test_globs_and_keys_that_reach_nothing_are_found() -> None:
    """A dead glob with its line; not an ending beside live globs, nor what git does not keep."""
    files = {
        ".claude/rules/a.md": "---\npaths: ['src/*.py', 'web/**', 'src/*.pyi', 'dist/**']\n---\n- Use it.",
        ".claude/rules/b.md": "---\nglobs: src/**\n---\n- Use it.",
        ".cursor/rules/c.mdc": "---\nglobs: web/**,!x/**\nalwaysApply: false\n---\n- Use it.",
        ".cursor/rules/d.mdc": "---\nglobs: web/**\nalwaysApply: true\n---\n- Use it.",
        ".github/instructions/e.instructions.md": "---\napplyTo: '**'\n---\n- Use it.",
        "src/.cursor/rules/f.mdc": "---\nglobs: api/*.ts\n---\n- Use it.",
        ".cursor/rules/g.md": "- Use it.",
        ".cursor/rules/README.md": "About.",
        "~/.claude/rules/mine.md": "---\npaths: src/**\n---\n- Use it.",
    }
    found = look(files)
    assert said(found) == [
        ("dead-glob", ".claude/rules/a.md", 2, "web/**"),
        ("foreign-key", ".claude/rules/b.md", 2, "globs"),
        ("dead-glob", ".cursor/rules/c.mdc", 2, "web/**"),
        ("never-loaded", ".cursor/rules/g.md", 0, ""),
        ("never-loaded", "~/.claude/rules/mine.md", 0, ""),
    ]
    assert found[0].step.startswith("Remove the glob")
    assert found[2].step.startswith("Correct the glob, or remove the file")


@pytest.mark.parametrize(
    "line",
    [
        "See `docs/guide.md`, `src/` and `src/app.py:12`.",
        "The client is `src/api/routes.js`, compiled.",
        "Below any directory: `api/routes.ts`.",
        "Create `src/new.py` first.",
        "For example `src/foo_test.py`.",
        "Use `owner/repo`, `feature/x`, `@scope/pkg/index.js` and `https://x.y/src/z.md`.",
        "Nothing is known of `lib/gone.py`: no such directory.",
        "See [the site](https://x.y/a.md), [above](#a), [this](docs/guide.md#top), [it](../there/too.md).",
        "Output is in `dist/index.js`; `src/<name>.py` holds each.",
        "Run `npm run test`, `pnpm -r run lint:fix`, `make test build` and `make sure it works`.",
        "Say @someone, `@docs/gone.md`; see [x](mdc:gone.md).",
        "Gone on purpose `src/gone.py` <!-- workbench-lint: ignore missing-file -->",
        "Your key is `API_KEY=...`, `password='pass'`.",
    ],
)
def test_what_only_looks_wrong_is_left_alone(line: str) -> None:
    """Precision goes before recall."""
    files = {
        "CLAUDE.md": f"# Rules\n\n- {line}\n",
        "sub/CLAUDE.md": f"# Rules\n\n- {line.replace('../', '')}\n",
    }
    assert said(look({name: text for name, text in files.items() if name == "CLAUDE.md"})) == []


def test_references_to_what_is_gone_are_found() -> None:
    """Files, imports, scripts and targets, once a file, with where a moved file is now."""
    text = (
        "# Rules\n\n- Read `src/gone.py` and [it](docs/none.md).\n"
        "- The routes are in `src/routes.ts`, `src/gone.py`.\n"
        "- Styles: @docs/style.md\n\n```bash\nnpm run check\ncd web && yarn run test && make deploy\n```\n\n"
        "```python\nmake('x/y.py')\n```\n- Do `bun run start-all`.\n"
    )
    found = look({"CLAUDE.md": text})
    assert said(found) == [
        ("missing-file", "CLAUDE.md", 3, "docs/none.md"),
        ("missing-file", "CLAUDE.md", 3, "src/gone.py"),
        ("missing-file", "CLAUDE.md", 4, "src/routes.ts"),
        ("missing-import", "CLAUDE.md", 5, "docs/style.md"),
        ("missing-command", "CLAUDE.md", 8, "check"),
        ("missing-command", "CLAUDE.md", 9, "deploy"),
        ("missing-command", "CLAUDE.md", 15, "start-all"),
    ]
    assert found[2].step == "Write src/api/routes.ts, where a file of that name is."
    includes = {**PATHS, "Makefile": "include other.mk\n", "package.json": "{"}
    assert look({"examples/CLAUDE.md": text.replace("@", "")}) == ()
    assert {one.kind for one in look({"CLAUDE.md": text}, includes)} == {
        LintKind.MISSING_FILE,
        LintKind.MISSING_IMPORT,
    }


def test_the_root_makefile_is_judged_by_itself() -> None:
    """One below that takes any target says nothing of it; what may be about that one is left alone."""
    text = "# Rules\n\n- Run `make chek`.\n- Docs: `cd docs && make html`.\n"
    paths = {**PATHS, "docs/Makefile": "%: Makefile\n\t@sphinx $@\n", "extra.mk": "x: y\n"}
    nested = {"CLAUDE.md": text, "docs/CLAUDE.md": "- Run `make linkcheck`.\n"}
    assert said(look(nested, paths)) == [("missing-command", "CLAUDE.md", 3, "chek")]
    assert said(look(nested, {**paths, "Makefile": "include x.mk\n"})) == []
    assert said(look(nested, {name: text for name, text in paths.items() if name != "Makefile"})) == []


def test_a_script_without_any_package_is_found() -> None:
    """In the rules of the whole project; `bun run` may name a file."""
    text = "- Run `npm run build`, `bun run tool.ts`.\n- Run `bun run tool.ts`.\n"
    paths = {name: text for name, text in PATHS.items() if name != "package.json"}
    assert said(look({"CLAUDE.md": "- Run `npm run build`.\n"}, paths)) == [
        ("missing-command", "CLAUDE.md", 1, "build")
    ]
    assert said(look({"CLAUDE.md": text}, paths)) == []
    assert said(look({"web/CLAUDE.md": "- Run `npm run build`.\n"}, paths)) == []


def test_secrets_sizes_and_unreadable_files_are_found() -> None:
    """No finding holds a secret; what Codex does not read is named, and very large files."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    files: dict[str, str | bytes | Exception] = {
        "AGENTS.md": f"- Push with {token}.\n" + "- Text.\n" * 12_000,
        "CLAUDE.md": b"\0binary",
        ".claude/rules/x.md": "---\npaths: [src/**\n- Never closed.\n",
    }
    found = look(files)
    kinds = [(str(one.kind), one.file) for one in found]
    assert kinds == [
        ("front-matter", ".claude/rules/x.md"),
        ("cut", "AGENTS.md"),
        ("large-file", "AGENTS.md"),
        *[("large-session", "AGENTS.md")] * kinds.count(("large-session", "AGENTS.md")),
        ("secret", "AGENTS.md"),
        ("unreadable", "CLAUDE.md"),
    ]
    assert token not in repr(found)
    assert str(sarif_log(found)).count(token) == 0


def test_a_hostile_file_costs_no_more_than_its_size() -> None:
    """Endless lines, runs of marks and thousands of findings are bounded."""
    lines = [
        "- " + "`" * 100_000,
        "- Use `" + "src/a/" * 50_000 + "x.py`",
        "- " + "[" * 50_000 + "](" * 1_000,
        *(f"- See `src/f{at}.py`, run `make t{at}`." for at in range(300)),
    ]
    found = look({"CLAUDE.md": "\n".join(lines), "GEMINI.md": "@GEMINI.md\n- @a.md @CLAUDE.md"})
    assert Counter(str(one.kind) for one in found) == {
        "missing-command": 100,
        "missing-file": 100,
        "missing-import": 1,
        "large-file": 1,
        "large-session": 3,
    }


def test_only_pairs_that_one_agent_loads_count(rule: Callable[..., Rule]) -> None:
    """The same rule for two agents is meant; twice for one, or against another, is not."""

    def at(identifier: str, file: str, line: int = 1) -> Rule:
        return rule(identifier, provenance=Provenance(file, line, line, "claude"))

    def pair(left: str, right: str, kind: ConflictKind = ConflictKind.EXACT) -> Conflict:
        way = Suggestion(Action.KEEP_LEFT, "")
        return Conflict(f"conflict-{left}{right}", kind, left, right, 1.0, (), (), (), "", way)

    files = {
        "CLAUDE.md": "- Use tabs.\n- Use tabs.",
        "AGENTS.md": "- Use tabs. ",
        ".github/copilot-instructions.md": "- Use tabs.",
        "a/AGENTS.md": "- Use tabs.",
        "b/AGENTS.md": "- Use tabs.",
    }
    rules = (
        at("1", "CLAUDE.md"),
        at("2", "CLAUDE.md", 2),
        at("3", "AGENTS.md"),
        at("4", ".github/copilot-instructions.md"),
        at("5", "a/AGENTS.md"),
        at("6", "b/AGENTS.md"),
    )
    conflicts = (
        pair("1", "2"),
        pair("1", "3"),
        pair("3", "4", ConflictKind.CONTRADICTORY),
        pair("3", "5"),
        pair("5", "6"),
        pair("3", "4", ConflictKind.SUBSUMED),
    )
    found = look(files, rules=rules, conflicts=conflicts)
    assert said(found) == [
        ("contradiction", "AGENTS.md", 1, "conflict-34"),
        ("duplicate", "CLAUDE.md", 2, "conflict-12"),
        ("duplicate", "a/AGENTS.md", 1, "conflict-35"),
    ]
    assert found[0].message.endswith("(Copilot)")
    assert found[1].message == "says the same as line 1: Use tabs. (Claude Code)"
    near = tuple(pair("3", f"n{line}", ConflictKind.NEAR) for line in range(1, 8))
    many = tuple(at(f"n{line}", "a/AGENTS.md", line) for line in range(1, 8))
    (one,) = look(files, rules=(*rules, *many), conflicts=near)
    assert (one.file, one.line, one.message) == ("a/AGENTS.md", 1, "repeats 7 rules of AGENTS.md")
    within = (pair("1", "2", ConflictKind.NEAR), pair("1", "2", ConflictKind.CONTRADICTORY))
    assert look(files, rules=rules, conflicts=within) == ()


@pytest.mark.parametrize(
    ("left", "right", "test", "section", "kinds"),
    [
        ("Never use `any`.", "Use `any` for rows.", "negation", (), ["contradiction"]),
        ("Never use `any` unless it is necessary.", "Use `any`.", "negation", (), []),
        ("Prefer static imports. Only use `import()` when", "No `import()`.", "negation", (), []),
        ("Commit keys.", "Never commit keys.", "negation", ("Guide", "Do NOT:"), []),
        ("Commit keys.", "Never commit keys.", "negation", ("Do NOT", "Keys"), ["contradiction"]),
        ("Use 2 spaces except in Go.", "Use 4 spaces.", "number", (), ["contradiction"]),
    ],
)
def test_a_negation_contradicts_where_nothing_qualifies_it(
    rule: Callable[..., Rule], left: str, right: str, test: str, section: tuple[str, ...], kinds: list[str]
) -> None:
    """An exception, or a heading over what is forbidden, makes both rules one; other evidence holds."""
    files = {"AGENTS.md": f"- {left}", ".github/copilot-instructions.md": f"- {right}"}
    here, there = files
    rules = (
        rule(left, rule=left, provenance=Provenance(here, 1, 1, "agents", section=section)),
        rule(right, rule=right, provenance=Provenance(there, 1, 1, "copilot")),
    )
    way = Suggestion(Action.KEEP_LEFT, "")
    evidence = (Evidence(test, 1.0, ""),)
    pair = Conflict("conflict-1", ConflictKind.CONTRADICTORY, left, right, 1.0, evidence, (), (), "", way)
    assert [str(one.kind) for one in look(files, rules=rules, conflicts=(pair,))] == kinds


def test_a_sarif_log_says_what_findings_say() -> None:
    """Rules by index, levels, lines, relative references, and fingerprints that lines do not change."""
    text = "- Read `src/gone.py`.\n"
    first = sarif_log(look({"CLAUDE.md": text, "s p/CLAUDE.md": text}))
    run: Any = first["runs"][0]
    assert (first["version"], len(run["tool"]["driver"]["rules"])) == ("2.1.0", len(LintKind))
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "missing-file"
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "CLAUDE.md"}, "region": {"startLine": 1}}
    assert (
        run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "s%20p/CLAUDE.md"
    )
    again = sarif_log(look({"CLAUDE.md": f"# More\n\n{text}"}))["runs"][0]["results"][0]
    assert again["partialFingerprints"] == result["partialFingerprints"]
    assert {severity for severity, _ in KINDS.values()} == set(Severity)
