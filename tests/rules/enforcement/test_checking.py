"""A verdict follows from the checks of enabled rules, the strictest absolute one first."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.records.rules import Authority, Check, Decision, Level, Rule
from workbench.rules.curation.ruletype import problems as rule_problems
from workbench.rules.enforcement.calls import MAX_TEXT, ToolCall, parse_call
from workbench.rules.enforcement.checks import Verdict, check_call, parse_check, problems
from workbench.rules.matching.context import RuleContext, make_context

PUSH = Check(command="git push --force", decision=Decision.DENY)


def rule(check: Check, identifier: str = "r1", **fields: Any) -> Rule:
    base: dict[str, Any] = {"authority": Authority.ABSOLUTE, "name": "n", "rule": "Never do that."}
    return Rule(id=identifier, check=check, **{**base, **fields})


def bash(line: str, **place: str) -> ToolCall:
    return ToolCall("Bash", {"command": line}, **place)


def decided(check: Check, call: ToolCall, **options: Any) -> Decision:
    return check_call([rule(replace(check, decision=Decision.DENY))], call, **options).decision


def test_a_breach_names_the_rule_and_what_breaks_it() -> None:
    """The agent is told the rule, or its reason, and the command."""
    verdict = check_call([rule(PUSH)], bash("cd x && git push -f"))
    assert verdict.decision == "deny"
    assert verdict.rule is not None
    assert verdict.why == "Never do that. — it runs `git push -f`"
    assert check_call([rule(replace(PUSH, reason="Ask Kim."))], bash("git push -f")).why.startswith(
        "Ask Kim."
    )


def test_deny_beats_ask_beats_allow_then_priority_then_id() -> None:
    """The order of rules makes no difference."""
    asks = rule(Check(command="git push", decision=Decision.ASK), "a", priority=100)
    low, high = rule(PUSH, "b", priority=10), rule(PUSH, "d", priority=90)
    same = rule(PUSH, "c", priority=90)
    for order in ([asks, low, high, same], [same, high, low, asks]):
        verdict = check_call(order, bash("git push -f"))
        assert [breach.rule.id for breach in verdict.breaches] == ["c", "d", "b", "a"]
        assert verdict.rule is same
    assert check_call([asks], bash("git push")).decision == "ask"
    assert check_call([rule(replace(PUSH, decision=Decision.ALLOW))], bash("git push -f")).decision == "allow"


def test_default_and_disabled_rules_do_not_decide() -> None:
    """A default rule's check is reported; a disabled rule has no check."""
    verdict = check_call([rule(PUSH, authority=Authority.DEFAULT)], bash("git push -f"))
    assert verdict.decision == "allow"
    assert [breach.decides for breach in verdict.breaches] == [False]
    assert check_call([rule(PUSH, enabled=False)], bash("git push -f")).breaches == ()


def test_agents_conditions_and_scopes_limit_a_check() -> None:
    """A check holds where its rule does."""
    call = bash("git push -f", cwd="/p/web", root="/p")
    assert (
        check_call([rule(PUSH, tool_targets=("codex",))], replace(call, agent="claude")).decision == "allow"
    )
    assert check_call([rule(PUSH, tool_targets=("codex",))], call).decision == "deny"
    guarded = rule(PUSH, conditions={"branch": ["main", "release"]})
    assert check_call([guarded], call).decision == "allow"
    assert check_call([guarded], call, context=RuleContext(facts={"branch": ("main",)})).decision == "deny"
    assert check_call([rule(PUSH, scope=("path:web/**",))], call).decision == "deny"
    assert check_call([rule(PUSH, scope=("path:api/**",))], call).decision == "allow"
    moved = bash("cd ../api; git push -f", cwd="/p/web", root="/p")
    assert check_call([rule(PUSH, scope=("path:api/**",))], moved).decision == "deny"
    assert check_call([rule(PUSH, scope=("git",))], call).decision == "deny"  # the program is in the context


def test_a_breach_of_a_rule_that_does_not_hold_is_told() -> None:
    """Nothing is denied where the context is another, and the verdict says what would make it hold."""
    call = bash("git push -f", agent="claude")
    limits: dict[str, dict[str, Any]] = {
        "is for codex, not for claude": {"tool_targets": ("codex",)},
        "is for release, which is not in the context: name the context release": {"scope": ("release",)},
        "is for the step deploy, and none is active: name the step deploy": {
            "level": "step",
            "scope": ("deploy",),
        },
        "holds where phase is release, and phase is not known: name the fact phase=release": {
            "conditions": {"phase": "release"}
        },
    }
    for reason, fields in limits.items():
        level = Level(fields.pop("level", "global"))
        limited = rule(PUSH, level=level, **fields)
        verdict = check_call([limited], call)
        assert (verdict.decision, verdict.notes) == ("allow", (f"r1 would deny, but {reason}",))
    given_all = make_context(contexts=["release"], step="deploy", facts={"phase": ["release"]})
    held = [rule(PUSH, scope=("release",)), rule(PUSH, "r2", scope=("deploy",), level=Level.STEP)]
    assert len(check_call(held, call, context=given_all).breaches) == 2


@pytest.mark.parametrize(
    ("names", "tool", "matches"),
    [
        (("bash",), "Bash", True),
        (("mcp__github__*",), "mcp__github__push", True),
        (("mcp__github__*",), "mcp__gitlab__push", False),
        (("Edit", "Write"), "MultiEdit", False),
        (("*Edit",), "MultiEdit", True),
    ],
)
def test_tools_match_by_name(names: tuple[str, ...], tool: str, matches: bool) -> None:
    """Any case, with wildcards."""
    expected = "deny" if matches else "allow"
    assert decided(Check(tools=names), ToolCall(tool, {})) == expected


MIGRATIONS = Check(paths=("migrations/",))


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("Write", {"file_path": "/p/migrations/1.py"}),
        ToolCall("Write", {"file_path": "/p/src/../migrations/1.py"}),
        ToolCall("Write", {"file_path": "./migrations//1.py"}),
        ToolCall("Write", {"filePath": "a/migrations/1.py"}),
        ToolCall("NotebookEdit", {"notebook_path": "migrations/x.ipynb"}),
        ToolCall("mcp__fs__move_file", {"source": "x", "destination": "migrations/x"}),
        ToolCall("mcp__fs__read_multiple_files", {"paths": ["x", "migrations/x"]}),
        ToolCall(
            "apply_patch", {"input": "*** Begin Patch\n*** Delete File: migrations/1.py\n*** End Patch"}
        ),
        ToolCall(
            "apply_patch", {"input": "*** Begin Patch\n*** Update File: a\n*** Move to: migrations/a\n"}
        ),
        ToolCall("shell", {"command": ["bash", "-lc", "rm migrations/1.py"]}),
        ToolCall("exec_command", {"cmd": "rm 1.py", "workdir": "/p/migrations"}),
        ToolCall("exec_command", {"cmd": "apply_patch <<'E'\n*** Update File: migrations/1.py\nE"}),
        bash("rm -rf migrations"),
        bash("cd migrations && rm 1.py"),
        bash("cd src; cat ../migrations/1.py"),
        bash("echo x > migrations/1.py"),
        bash("cat < $PWD/migrations/1.py"),
        bash("git -C migrations add 1.py"),
        bash("git checkout HEAD -- migrations/1.py"),
        bash("cp {a,migrations/b}.py /tmp"),
        bash("for f in migrations/*; do rm $f; done"),
        bash("find migrations -name '*.py' -exec rm {} +"),
        bash("dd if=x of=migrations/1.py"),
        bash("python --config=migrations/1.py"),
        bash("cat ~/../p/migrations/1.py"),
        bash("git show HEAD:migrations/1.py"),
        bash("curl -F f=@migrations/1.py x"),
        bash(". migrations/1.sh"),
        bash("docker run --env-file migrations/env x"),
    ],
)
def test_paths_are_found_wherever_a_call_names_them(call: ToolCall) -> None:
    """Keys of inputs, patches, arguments and redirections of commands, relative to where they run."""
    call = replace(call, cwd="/p", root="/p", home="/h")
    assert decided(MIGRATIONS, call, disk=False) == "deny"


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("Write", {"file_path": "/p/src/migrations.py", "content": "migrations/1.py"}),
        ToolCall("Write", {"file_path": "/q/migrations/1.py"}),
        ToolCall("Grep", {"pattern": "migrations/", "path": "src"}),
        bash("echo migrations/1.py"),
        bash("git commit -m migrations/1.py"),
        bash("cat migrations.txt"),
    ],
)
def test_other_paths_and_texts_are_not_taken_for_it(call: ToolCall) -> None:
    """Content, messages and paths outside of the project don't match a glob of the project."""
    assert decided(MIGRATIONS, replace(call, cwd="/p", root="/p"), disk=False) == "allow"


@pytest.mark.parametrize(
    ("call", "decision"),
    [
        (ToolCall("Read", {"file_path": "migrations/1.py"}), "allow"),
        (ToolCall("Edit", {"file_path": "migrations/1.py"}), "deny"),
        (ToolCall("str_replace_based_edit_tool", {"command": "view", "path": "migrations/1.py"}), "allow"),
        (ToolCall("str_replace_based_edit_tool", {"command": "create", "path": "migrations/1.py"}), "deny"),
        (ToolCall("mcp__x__frobnicate", {"path": "migrations/1.py"}), "deny"),
        (ToolCall("mcp__fs__read_file", {"path": "migrations/1.py"}), "allow"),
        (bash("cat migrations/1.py"), "allow"),
        (bash("sed -n 1,5p migrations/1.py"), "allow"),
        (bash("sed -i s/a/b/ migrations/1.py"), "deny"),
        (bash("cp migrations/1.py x"), "allow"),
        (bash("cp x migrations/1.py"), "deny"),
        (bash("ls > migrations/list"), "deny"),
        (bash("find migrations -delete"), "deny"),
        (bash("git add migrations/1.py"), "allow"),
        (bash("git rm migrations/1.py"), "deny"),
        (bash("pytest migrations"), "allow"),
        (ToolCall("exec_command", {"cmd": "ls", "working_directory": "/p/migrations"}), "allow"),
    ],
)
def test_reading_is_no_change(call: ToolCall, decision: str) -> None:
    """With `writes` a path counts only where the call changes it."""
    assert decided(replace(MIGRATIONS, writes=True), replace(call, cwd="/p", root="/p")) == decision


def test_links_wildcards_and_places_outside_do_not_evade(tmp_path: Path) -> None:
    """What a path leads to on disk counts as well as how it is written."""
    root = tmp_path / "p"
    (root / "migrations").mkdir(parents=True)
    (root / "migrations" / "1.py").write_text("x")
    (root / "alias").symlink_to(root / "migrations")
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    place = {"cwd": str(root), "root": str(root), "home": str(tmp_path / "home")}
    assert decided(MIGRATIONS, bash("rm alias/1.py", **place)) == "deny"
    assert decided(MIGRATIONS, bash("rm mig*/1.py", **place)) == "deny"
    keys = Check(paths=("~/.ssh/", "/etc/passwd", ".env"))
    assert decided(keys, bash("cat ~/.ssh/id", **place)) == "deny"
    assert decided(keys, bash('cat "$HOME/.ssh/id"', **place)) == "deny"
    assert decided(keys, bash("cat ../home/.ssh/id", **place)) == "deny"
    assert decided(keys, bash("cat /etc/../etc/passwd", **place)) == "deny"
    assert decided(keys, bash("cat /elsewhere/.env", **place)) == "deny"
    assert decided(keys, bash("cat .envrc", **place)) == "allow"


def test_every_given_field_has_to_hold() -> None:
    """Paths of a check with a command are those of that command."""
    check = Check(tools=("Bash",), command="rm", paths=("*.lock",))
    assert decided(check, bash("rm a.lock")) == "deny"
    assert decided(check, bash("rm x; cat a.lock")) == "allow"
    assert decided(check, ToolCall("Other", {"command": "rm a.lock"})) == "allow"


def test_patterns_search_all_texts() -> None:
    """Texts anywhere in the input are searched; keys are not."""
    check = Check(pattern=r"(?i)\bas any\b")
    assert decided(check, ToolCall("Edit", {"edits": [{"new_string": "x As Any"}]})) == "deny"
    assert decided(check, ToolCall("Edit", {"as any": "x"})) == "allow"
    assert decided(check, ToolCall("Edit", {"x": "as any\udc80"})) == "deny"
    assert decided(check, ToolCall("Edit", {"old_string": "as any", "new_string": "as x"})) == "allow"


def test_one_of_several_commands_is_enough() -> None:
    """A check may name commands one a line, a list in JSON."""
    check = parse_check({"command": ["npm", "git push -f"]})
    assert check.command == "npm\ngit push -f"
    assert [decided(check, bash(line)) for line in ("npm i", "git push --force", "git push")] == [
        "deny",
        "deny",
        "allow",
    ]


def test_what_cannot_be_searched_asks() -> None:
    """A text beyond the bound is not allowed silently, nor denied unseen."""
    verdict = check_call([rule(Check(pattern="x", decision=Decision.DENY))], bash("y" * (MAX_TEXT + 1)))
    assert verdict.decision == "ask"
    assert "too long" in verdict.why
    assert check_call([rule(PUSH)], bash("'" + "git a " * 1_000)).decision == "ask"


def test_an_unreadable_command_is_told() -> None:
    """The verdict says that words were compared, whether or not they match."""
    allowed = check_call([rule(PUSH)], bash("echo 'a"))
    assert (allowed.decision, len(allowed.notes)) == ("allow", 1)
    denied = check_call([rule(PUSH)], bash("echo 'a; git push --force"))
    assert denied.decision == "deny"
    assert "could not be read" in denied.why


def test_a_nasty_pattern_takes_linear_time() -> None:
    """An expression that backtracks for ever elsewhere is searched and done."""
    assert decided(Check(pattern="(a+)+$"), bash("a" * 100_000 + "!")) == "allow"


def test_checks_are_read_from_json_and_mappings() -> None:
    """Lists may be single texts; what is left out has its default."""
    expected = Check(tools=("Bash",), command="git push --force", decision=Decision.DENY)
    assert parse_check('{"tools": "Bash", "command": " git push --force ", "decision": "DENY"}') == expected
    assert parse_check({"paths": ["a", "a"], "writes": True}) == Check(paths=("a",), writes=True)


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("{", "not JSON", "Such as"),
        ("[]", "not a JSON object", "Such as"),
        ('{"comand": "x"}', "no 'comand'", "command"),
        ('{"command": "x", "decision": "denied"}', "'denied'", "deny"),
        ('{"tools": 1}', "list of texts", "tools"),
        ('{"command": 1}', "list of texts", "command"),
        ('{"reason": 1}', "is a text", "reason"),
        ('{"command": "x", "writes": 1}', "true or false", "writes"),
        ("{}", "empty", "Such as"),
        ('{"command": "a | b"}', "single one", "git push"),
        ('{"pattern": "(?=x)"}', "regular expression", "look-ahead"),
        ('{"pattern": "("}', "regular expression", "RE2"),
        ('{"paths": ["!a"]}', "takes paths out", "Name"),
        ('{"paths": [" "]}', "empty entry", "Leave"),
        ('{"command": "x", "writes": true}', "needs paths", "Say"),
    ],
)
def test_a_wrong_check_is_refused_with_a_hint(value: str, message: str, hint: str) -> None:
    """The error names the field and what to write instead."""
    with pytest.raises(UsageError) as caught:
        parse_check(value)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_problems_of_a_check_are_problems_of_its_rule() -> None:
    """A rule from a journal with a check that cannot run is not taken."""
    assert problems(PUSH) == ()
    assert problems(Check()) != ()
    assert any("regular" in problem for problem in rule_problems(rule(Check(pattern="("))))


def test_calls_have_a_name_and_an_object() -> None:
    """A free-form tool takes a text; anything else but an object is refused."""
    assert parse_call("apply_patch", "*** Begin").input == {"input": "*** Begin"}
    for value in (None, 1, True, [1]):
        with pytest.raises(UsageError, match="not an object"):
            parse_call("Bash", value)
    with pytest.raises(UsageError, match="no name"):
        parse_call(" ", {})


CHECKS = st.sampled_from(
    [PUSH, Check(tools=("B*",), decision=Decision.ASK), Check(paths=("*.lock",)), Check(pattern="x|y"),
     Check(command="rm -rf", decision=Decision.DENY),
     Check(paths=("src/",), writes=True, decision=Decision.DENY)]
)  # fmt: skip
LINES = st.sampled_from(["git push -f", "rm -rf src/x", "cat a.lock", "echo 'y", "ls", "true > src/a"])
KEYS = st.sampled_from(["command", "cmd", "file_path", "paths", "input", "workdir", "x"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | LINES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def _rank(verdict: Verdict) -> int:
    return ["allow", "ask", "deny"].index(verdict.decision)


@given(st.lists(CHECKS, max_size=4), CHECKS, LINES, st.booleans())
def test_another_rule_never_loosens(checks: list[Check], added: Check, line: str, absolute: bool) -> None:
    """Adding a rule keeps the verdict or makes it stricter; a default rule keeps it."""
    rules = [rule(check, f"r{number}") for number, check in enumerate(checks)]
    authority = Authority.ABSOLUTE if absolute else Authority.DEFAULT
    before = check_call(rules, bash(line), disk=False)
    after = check_call([rule(added, "x", authority=authority), *rules], bash(line), disk=False)
    assert _rank(after) >= _rank(before)
    assert absolute or _rank(after) == _rank(before)


@given(st.text(max_size=10).filter(str.strip), VALUES)
def test_any_input_gets_a_verdict(tool: str, value: Any) -> None:
    """Whatever JSON a call carries, checking it ends in a decision."""
    given_input = value if isinstance(value, dict) else {"command": value}
    call = ToolCall(tool, given_input, cwd="/p", root="/p", home="/h")
    rules = [rule(PUSH), rule(Check(paths=("a/",)), "r2"), rule(Check(pattern="a"), "r3")]
    assert check_call(rules, call).decision in tuple(Decision)


def test_checking_imports_nothing_heavy() -> None:
    """A hook starts in moments: no numbers, no models, no database, no parsers."""
    code = (
        "import sys\n"
        "from workbench.records.rules import *\n"
        "from workbench.rules.enforcement.calls import ToolCall\n"
        "from workbench.rules.enforcement.checks import check_call\n"
        "check = Check(command='git push', pattern='x', paths=('a/',))\n"
        "rule = Rule(id='r', name='n', rule='t', authority=Authority.ABSOLUTE, check=check)\n"
        "print(check_call([rule], ToolCall('Bash', {'command': 'git push a/x'})).decision)\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    decision, modules = done.stdout.splitlines()
    heavy = {"numpy", "onnxruntime", "duckdb", "tree_sitter", "click", "hypothesis", "bm25s"}
    assert (decision, heavy & set(modules.split())) == ("ask", set())
