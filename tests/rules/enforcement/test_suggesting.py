"""Checks are proposed where a rule's words name what a breach is, and nowhere else."""

from __future__ import annotations

import json
import shlex

import pytest

from workbench.records.rules import Authority, Check, Decision, Rule
from workbench.rules.enforcement.checks import parse_check
from workbench.rules.enforcement.suggestions import could_be_checked, suggest_check, suggest_checks


def check_of(text: str) -> Check | None:
    check = suggest_check(text)
    return None if check is None else check[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never run `git push --force`.", Check(command="git push --force", decision=Decision.DENY)),
        ("**NEVER** run `rm -rf`!", Check(command="rm -rf", decision=Decision.DENY)),
        ("- Do not use `npm`, use pnpm.", Check(command="npm", decision=Decision.DENY)),
        ("Don't use `npm` or `yarn`; we use pnpm.", Check(command="npm\nyarn", decision=Decision.DENY)),
        ("You must never run the `terraform apply` command.",
         Check(command="terraform apply", decision=Decision.DENY)),
        ("Never run `git rebase` without asking.", Check(command="git rebase", decision=Decision.ASK)),
        ("Do not run `docker system prune` unless told to.", Check(command="docker system prune")),
        ("Don’t run `git commit --no-verify` ever.",
         Check(command="git commit --no-verify", decision=Decision.DENY)),
        ("Never force push.", Check(command="git push --force", decision=Decision.DENY)),
        ("Never force-push to `main` or `develop`.",
         Check(command="git push --force main\ngit push --force develop", decision=Decision.DENY)),
        ("Never run git push --force.", Check(command="git push --force", decision=Decision.DENY)),
        ("Do not use npm install --legacy-peer-deps unless asked.",
         Check(command="npm install --legacy-peer-deps", decision=Decision.ASK)),
        ("Never use sudo.", Check(command="sudo", decision=Decision.DENY)),
        ("`npm` must never be used here.", Check(command="npm", decision=Decision.DENY)),
        ("Do not edit files in `migrations/`.",
         Check(paths=("migrations/",), writes=True, decision=Decision.DENY)),
        ("Never modify `package-lock.json` by hand.",
         Check(paths=("package-lock.json",), writes=True, decision=Decision.DENY)),
        ("`src/generated/` must not be edited.",
         Check(paths=("src/generated/",), writes=True, decision=Decision.DENY)),
        ("Never read `.env` or `secrets/*.pem`.",
         Check(paths=(".env", "secrets/*.pem"), decision=Decision.DENY)),
        ("Never commit .env files to git.",
         Check(paths=(".env",), command="git add\ngit commit\ngit stage", decision=Decision.DENY)),
        ("Never delete `fixtures/`.",
         Check(paths=("fixtures/",), command="rm\nrmdir\ngit rm\nunlink", decision=Decision.DENY)),
        ("NEVER use `@ts-ignore`.", Check(
            paths=("*.ts", "*.tsx", "*.mts", "*.vue", "*.svelte"), pattern=r"@ts-ignore\b", writes=True)),
    ],
)  # fmt: skip
def test_a_prohibition_of_something_named_gives_a_check(text: str, expected: Check) -> None:
    """The command, path or token that the rule forbids; asking instead of denying where it has exceptions."""
    assert check_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Always run `make test` before you push.",
        "Never forget to run `npm test`.",
        "Don't hesitate to use `git stash`.",
        "Do not only run `pytest`, also run `mypy`.",
        "Never use `time.sleep()` in a GUI application's main thread.",
        "Never run `npm test` in watch mode.",
        "Never run git push -f on the wrong branch.",
        "Never run make targets in parallel.",
        "Never use tests --watch.",
        "Never use `git` terms in messages to users.",
        "Do not use `make`.",
        "Never use `print()` when a progress bar is active.",
        "Never use `useEffect` to fetch data.",
        "Do not edit `user` objects.",
        "Do not modify `<path>` yourself.",
        "Never run `git push <remote>`.",
        "Never run commands like that.",
        "Never mix `pack()` and `grid()` in the same parent widget.",
        "Never use `latest` in production.",
        "Never commit secrets.",
        "Run `npm ci`, never touch the lock.",
        "If asked, never say `rm -rf`.",
        "x" * 5_000,
    ],
)
def test_what_is_vague_or_conditional_gives_none(text: str) -> None:
    """Obligations, situations, placeholders and common words are left to people."""
    assert check_of(text) is None


def test_only_absolute_enabled_rules_without_a_check_are_asked_about() -> None:
    """Each proposal comes with the command that accepts it; what it passes reads back as the check."""
    text = "Never run `git push --force`, it's 'bad'."
    base = Rule(id="a", name="n", rule=text, authority=Authority.ABSOLUTE)
    others = [
        Rule(id="b", name="n", rule=text),
        Rule(id="c", name="n", rule=text, authority=Authority.ABSOLUTE, enabled=False),
        Rule(id="d", name="n", rule=text, authority=Authority.ABSOLUTE, check=Check(command="x")),
        Rule(id="e", name="n", rule=text, authority=Authority.ABSOLUTE, priority=90),
    ]
    checks = suggest_checks([base, *others])
    assert [one.rule.id for one in checks] == ["e", "a"]
    assert [rule.id for rule in could_be_checked([base, *others])] == ["b"]
    words = shlex.split(checks[1].accept)
    assert words[:5] == ["workbench", "rules", "edit", "a", "--check"]
    assert json.loads(words[5]) == {"command": "git push --force", "decision": "deny"}
    assert parse_check(words[5]) == checks[1].check
