"""Command patterns match what the rule means, however it is written, and nothing that only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.rules.enforcement.commands import (
    MAX_TRIES,
    find_commands,
    index_commands,
    like,
    parse_command,
)
from workbench.shell.lines import MAX_CHARS, read_shell


def found(pattern: str, line: str) -> bool:
    return bool(find_commands(parse_command(pattern), index_commands([read_shell(line)])))


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git push --force", "git push -f"),
        ("git push --force", "git push origin main --force"),
        ("git push --force", "git push -uf origin x"),
        ("git push --force", "/usr/bin/git push --force"),
        ("git push --force", "git -C d -c a=b --git-dir x push --force"),
        ("git push --force", "git push origin +main"),
        ("git push --force", "git push --force --force-with-lease"),
        ("git push -f", "git push --force"),
        ("git push --force", "$GIT push --force"),
        ("git push --force", '"$BIN/git" push --force'),
        ("git push origin main", "git push -u origin main"),
        ("git commit --no-verify", "git commit -nm x"),
        ("git commit --no-verify", "git commit --no-veri"),
        ("git commit -m wip", "git commit --message=x -m wip"),
        ("git commit --message wip", "git commit --message=wip"),
        ("git reset --hard", "git reset --hard HEAD~1"),
        ("rm -rf", "rm -r -f x"),
        ("rm -rf", "rm -fr x"),
        ("rm -rf", "rm -Rf x"),
        ("rm -rf", "rm x --recursive --force"),
        ("rm -rf /", "rm -rf /"),
        ("rm -rf *node_modules", "rm -rf ./a/node_modules"),
        ("npm install", "npm i left-pad"),
        ("npm install", "npm --prefix x install"),
        ("npm*", "npmx a"),
        ("pip install", "python3.11 -m pip install x"),
        ("pip install", "pip3 install x"),
        ("python -m pip", "python3 -m pip install x"),
        ("kubectl delete", "kubectl -n prod delete pod x"),
        ("kubectl delete", "kubectl --namespace=prod delete pod x"),
        ("docker system prune", "docker system prune -af"),
        ("docker compose down -v", "docker compose -f x.yml down --volumes"),
        ("foo bar", "foo --opt bar"),
        ("foo bar", "foo --opt value bar"),
        ("find -delete", "find . -name x -delete"),
        ("terraform apply -auto-approve", "terraform -chdir=x apply -auto-approve"),
        ("kill -9", "kill -KILL 12"),
        ("sudo", "sudo -u x ls"),
        ("sudo rm", "sudo -n rm x"),
        ("npm run build", "npm run-script build -- --watch"),
    ],
)
def test_other_ways_to_write_a_command_match(pattern: str, line: str) -> None:
    """Order, clusters, values, abbreviations, aliases and global options make no difference."""
    assert found(pattern, line)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("git push --force", "git push --force-with-lease"),
        ("git push --force", "git push -n"),
        ("git push --force", "git push -- --force"),
        ("git push --force", "git push -o force --follow-tags"),
        ("git push --force", "git stash push -f"),
        ("git push --force", "git push; ls --force"),
        ("git push --force", "git push # --force"),
        ("git push --force", "echo git push --force"),
        ("git push --force", "git commit -m 'git push --force'"),
        ("git push", "git log push"),
        ("git push", "git -C push status"),
        ("git commit --no-verify", "git commit -m 'n'"),
        ("git commit --no-verify", "git commit -am nn"),
        ("git commit --no-verify", "git commit -mno"),
        ("git commit --no-verify", "git commit --no-edit"),
        ("git add .", "git add .env"),
        ("rm -rf", "rm -r x"),
        ("rm -rf", "git rm -rf x"),
        ("rm -rf /", "rm -rf /tmp/x"),
        ("npm install --save-dev", "npm install --save"),
        ("npm install", "npx install"),
        ("kubectl apply --force", "kubectl apply -f x"),
        ("find -delete", "find . -depth -type l -print -t e"),
        ("foo bar", "foo a bar"),
        ("sudo", "$X ls"),
        ("npm", "pnpm install"),
    ],
)
def test_look_alikes_do_not_match(pattern: str, line: str) -> None:
    """Other options, other subcommands, values and messages are not the command."""
    assert not found(pattern, line)


def test_an_unreadable_line_is_searched_by_words() -> None:
    """Where a quote is missing the words decide, so that a typo opens no door."""
    assert found("git push --force", "echo 'a; git push origin --force")
    assert not found("git push --force", "echo 'a; git push origin")


def test_what_is_too_much_to_search_matches() -> None:
    """A line too long, or with the program too often, does not pass: it comes back without words."""
    for line in ("git a " * MAX_CHARS, "'" + "git a " * (MAX_TRIES + 1)):
        commands = index_commands([read_shell(line)])
        assert [found.words for found in find_commands(parse_command("git push --force"), commands)] == [()]
        assert find_commands(parse_command("hg push"), commands) == ()


@pytest.mark.parametrize(
    "pattern",
    ["", " ", "a | b", "a; b", "a && b", "ls > x", "$X a", "git push\nls", "'a", "$(a)", "(a)", "a &", "A=1"],
)
def test_a_pattern_is_one_plain_command(pattern: str) -> None:
    """Pipes, lists, redirections and variables are refused with an example of what is meant."""
    with pytest.raises(UsageError) as caught:
        parse_command(pattern)
    assert "git push --force" in caught.value.hint


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_wildcards_are_those_of_fnmatch(pattern: str, word: str) -> None:
    """A star stands for any run of characters, as in the standard library."""
    from fnmatch import fnmatchcase

    assert fnmatchcase(word, pattern) == like(pattern, word)


FLAGS = ["--force", "-f", "-uf"]


@given(st.permutations(["origin", "main", "--tags", "-v"]), st.sampled_from(FLAGS), st.integers(0, 4))
def test_options_stand_anywhere(rest: list[str], flag: str, place: int) -> None:
    """Wherever the option stands after the subcommand, the command is the same."""
    arguments = [*rest[:place], flag, *rest[place:]]
    assert found("git push --force", " ".join(["git", "push", *arguments]))
