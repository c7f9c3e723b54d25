"""`rules import`, `rules drift` and `rules conflicts`: from files into the store, settled, and back."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.entry.cli import exits

TABS, SPACES = "Use tabs for indentation in all files.", "Use spaces for indentation in all files."


@pytest.fixture
def rule_files(project: Any) -> Any:
    """Two rule files that contradict each other and repeat a rule."""
    project.write("CLAUDE.md", f"# Style\n\n- {TABS}\n- Never push on Fridays.\n")
    project.write("AGENTS.md", f"# Style\n\n* {SPACES}\n* Never push on Fridays.\n")
    return project


def test_from_files_to_conflicts_and_back(rule_files: Any, run: Any) -> None:
    """Import, settle, write back: the files say what was decided, and nothing is out of step."""
    assert run("rules", "drift").code == 1
    assert run("rules", "import", "--discover").code == exits.OK
    assert run("rules", "drift").code == exits.OK
    listed = run("rules", "conflicts", "list", "--json").json()
    kinds = {item["kind"]: item["id"] for item in listed["conflicts"]}
    assert set(kinds) == {"contradictory", "exact"}
    sides = {one[side] for one in listed["conflicts"] for side in ("left", "right")}
    assert ({rule["id"] for rule in listed["rules"]}, listed["rule_count"]) == (sides, 4)
    shown = run("rules", "conflicts", "show", kinds["contradictory"][9:17])
    assert "tabs" in shown.out
    assert "evidence" in shown.out
    left = run("rules", "conflicts", "show", kinds["contradictory"], "--json").json()["left"]["rule"]
    settle = ("rules", "conflicts", "resolve")
    run(*settle, kinds["contradictory"], "--action", "keep-left", "--reason", "agreed")
    run(*settle, kinds["exact"], "--action", "merge")
    assert run("rules", "conflicts", "list", "--json").json()["conflicts"] == []
    assert run("rules", "drift").code == 1
    dry = run("rules", "drift", "--merge", "--dry-run")
    gone = SPACES if left == TABS else TABS
    assert f"{gone}\n" in dry.out
    assert run("rules", "drift", "--merge").code == exits.OK
    texts = [(rule_files.root / name).read_text(encoding="utf-8") for name in ("CLAUDE.md", "AGENTS.md")]
    assert sum(left in text for text in texts) == 1
    assert all(gone not in text and "Never push on Fridays." in text for text in texts)
    done = run("rules", "drift")
    assert (done.code, done.out) == (exits.OK, "")


def test_many_conflicts_are_settled_at_once(rule_files: Any, run: Any) -> None:
    """All of a kind follow their suggestion; what is missing in the question is asked for."""
    run("rules", "import", "--discover")
    done = run("rules", "conflicts", "resolve", "--kind", "exact", "--suggested", "--json").json()
    assert len(done["settled"]) == 1
    settled = run("rules", "conflicts", "list", "--settled", "--json").json()["settled"]
    assert [item["id"] for item in settled] == [item["conflict"] for item in done["settled"]]
    assert run("rules", "conflicts", "resolve", "--suggested").code == exits.USAGE
    assert run("rules", "conflicts", "resolve", "x").code == exits.USAGE
    assert run("rules", "conflicts", "show", "ffffffff").code == exits.USAGE


def test_plans_pack_known_duplicates_once(project: Any, run: Any) -> None:
    """A near duplicate is packed until the conflicts were listed, and again when somebody keeps both."""
    first, second = "Always log every refresh of a token.", "Every refresh of a token: log it, always."
    project.write("docs/team.txt", f"- {first}\n- {second}\n")
    run("rules", "import", "docs/team.txt")

    def packed() -> tuple[set[str], list[str]]:
        told = run("plan", "refresh the token", "--json").json()
        text = told["context"]["text"]
        reasons = [one["reason"] for one in told["dropped_candidates"] if "adds nothing" in one["reason"]]
        return {rule for rule in (first, second) if rule in text}, reasons

    assert packed() == ({first, second}, [])
    (conflict,) = (
        one["id"]
        for one in run("rules", "conflicts", "list", "--json").json()["conflicts"]
        if one["kind"] == "near"
    )
    kept, (reason,) = packed()
    assert len(kept) == 1
    assert "the rule of docs/team.txt:" in reason
    assert f"resolve {conflict[:17]} --suggested" in reason
    run("rules", "conflicts", "resolve", conflict, "--action", "keep-both")
    assert packed() == ({first, second}, [])


def test_what_reads_as_no_rule_is_listed_with_the_reason(project: Any, run: Any) -> None:
    """By a dry run, in its place; an import says how many there are. Code and headings are left out."""
    project.write("docs/more.md", "# Rules\n- Never push.\n- We use pnpm here.\n\n```\nmake\n```\n")
    told = run("rules", "import", "docs/more.md", "--dry-run")
    assert "docs/more.md:3  no rule: We use pnpm here." in told.out
    assert "no verb that orders" in told.out
    left = run("rules", "import", "docs/more.md", "--dry-run", "--json").json()["left_out"]
    assert [(one["line"], one["text"]) for one in left] == [(3, "We use pnpm here.")]
    project.write("AGENTS.md", "# Rules\n- We use npm there.\n")
    assert "AGENTS.md:2  no rule: We use npm there." in run("rules", "import", "--discover", "--dry-run").out
    assert "1 other piece of text reads as no rule" in run("rules", "import", "docs/more.md").err


def test_a_file_is_imported_by_name(project: Any, run: Any) -> None:
    """Its rules are told, a second import finds nothing new, a dry run changes nothing."""
    project.write("docs/team.txt", "- Avoid global state.\n- Prefer composition over inheritance.\n")
    told = run("rules", "import", "docs/team.txt", "--dry-run", "--json").json()
    assert [change["after"] for change in told["files"][0]["changes"]] == [
        "Avoid global state.",
        "Prefer composition over inheritance.",
    ]
    assert run("rules", "import", "docs/team.txt").out == "docs/team.txt  2 added\n"
    assert "nothing new" in run("rules", "import", "docs/team.txt").err
    assert run("rules", "import").code == exits.USAGE
    assert run("rules", "import", "nope.md").code == exits.USAGE
    refused = run("rules", "import", "pyproject.toml")
    assert (refused.code, "nothing was imported" in refused.err) == (exits.ERROR, True)
    mixed = run("rules", "import", "docs/team.txt", "pyproject.toml")
    assert (mixed.code, mixed.err.startswith("warning: ")) == (exits.OK, True)


def test_drift_shows_all_three_sides(rule_files: Any, run: Any) -> None:
    """A conflict of file and store shows the last agreement and both sides, and is settled by naming one."""
    run("rules", "import", "--discover")
    rules = run("rules", "list", "--json").json()["rules"]
    mine = next(rule["id"] for rule in rules if rule["rule"] == TABS)
    from workbench.config import Config
    from workbench.entry.project import open_workspace
    from workbench.rules.curation.curator import Curator

    store = open_workspace(rule_files.root, Config()).workspace.rule_store()
    Curator(store, "cli").edit(mine, rule="Use tabs for indentation, always.")
    rule_files.write("CLAUDE.md", f"# Style\n\n- {TABS[:-1]}, please.\n- Never push on Fridays.\n")
    (file,) = run("rules", "drift", "--json").json()["drift"]
    (conflict,) = file["conflicts"]
    assert (conflict["last"], conflict["ours"], conflict["theirs"]) == (
        TABS,
        "Use tabs for indentation, always.",
        f"{TABS[:-1]}, please.",
    )
    assert "theirs" in run("rules", "drift").out
    assert run("rules", "drift", "--resolve", mine).code == exits.USAGE
    done = run("rules", "drift", "--resolve", mine, "--take", "ours", "--merge")
    assert done.code == exits.OK
    assert "- Use tabs for indentation, always.\n" in (rule_files.root / "CLAUDE.md").read_text(
        encoding="utf-8"
    )


def test_rules_are_exported(project: Any, run: Any) -> None:
    """A dry run shows the lines, an export writes them once, and everything stays in step."""
    dry = run("rules", "export", "--to", "agents", "--dry-run")
    assert "+- Never log the jwt token of a user." in dry.out
    assert not (project.root / "AGENTS.md").exists()
    told = run("rules", "export", "--to", "agents", "--to", "cursor", "--json").json()
    changed = {file["file"]: file["rules"] for file in told["files"] if file["changed"]}
    assert changed == {"AGENTS.md": 2, ".cursor/rules/workbench-always.mdc": 2}
    assert run("rules", "drift").code == exits.OK
    assert len(run("rules", "list", "--json").json()["rules"]) == 2
    assert "0 files written" in run("rules", "export", "--to", "agents", "--to", "cursor").err
    assert run("rules", "export", "--to", "emacs").code == exits.USAGE


def test_a_secret_in_a_rule_file_is_told_and_not_rewritten(project: Any, run: Any) -> None:
    """File and store stay in step, however often they are compared; `doctor` says which rule it is."""
    secret = "ghp_" + "a1" * 18
    project.write("CLAUDE.md", f"# Login\n\n- Log in with {secret} always.\n- Never push on Fridays.\n")
    before = (project.root / "CLAUDE.md").read_bytes()
    assert run("rules", "import", "--discover").code == exits.OK
    named = {rule["rule"]: rule["id"] for rule in run("rules", "list", "--json").json()["rules"]}
    assert run("rules", "edit", named["Never push on Fridays."], "--priority", "85").code == exits.OK
    assert run("rules", "drift").code == exits.OK
    assert (project.root / "CLAUDE.md").read_bytes() == before
    assert f"rule {named[f'Log in with {secret} always.'][:13]} holds" in run("doctor").out
