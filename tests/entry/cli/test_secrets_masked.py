"""Secrets in every text field of every command: none is in any byte that is kept.

Forty kinds go through them in turn; that each kind is masked in any text is held where masking is tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click

from bench.secret_formats import FORMATS
from tests.entry.cli.conftest import Ran, Run
from tests.memory.made import lines_of, run_of
from workbench.entry.cli.reference import every_command

_RANDOM = Random(7)
SECRETS = [value for form in FORMATS if form.alone and len(value := form.make(_RANDOM)) <= 70][:40]
TEXTS = [" ".join(SECRETS[at : at + 5]) for at in range(0, 40, 5)]
"""The secrets in texts that are short enough for a reason."""

ENDLESS = {"app", "serve-web", "watch", "hook", "mcp", "serve", "grpc"}
"""They wait, or end their process."""

OWN = {"config set"}
"""A setting is the user's own, and is in a file of theirs."""

CHECKED = frozenset(
    "IDENTIFIER IDENTIFIERS SESSION SESSIONS CONFLICTS --file --pin --exclude --session --parent --scope "
    "--category --authority --priority --tag --add-tag --remove-tag --tool --level --when --cooldown --check "
    "--clear --json-lines --type --source --outcome --commit --change --key --payload --since --discipline "
    "--as-of --cursor --context --sort --at --on --until --queries".split()
)
"""Fields of commands that keep something, whose values are refused unless they are of a form."""


def test_no_field_of_any_command_keeps_a_secret(project: Any, home: Path, run: Run) -> None:
    """What is typed, imported and indexed is masked in journals, tables, indexes, logs and names of files."""
    lines = "".join(f'def connect_{at}(token="{secret}"): ...\n' for at, secret in enumerate(SECRETS))
    project.write("pkg/connect.py", lines + "".join(f"# {secret}\n" for secret in SECRETS))
    project.commit(f"Connect\n\n{' '.join(SECRETS)}")
    project.write("run.jsonl", lines_of(run_of(text=f"I'll use httpx because {' '.join(SECRETS)}")).decode())
    spoken: dict[str, set[str]] = {}

    def say(*arguments: str) -> Ran:
        done = run(*arguments)
        assert done.code == 0, (arguments, done.err)
        name, command = command_of(arguments)
        fields = {field_name(field) for field in text_fields(command) if isinstance(field, click.Argument)}
        fields |= {argument for argument in arguments if argument.startswith("--")}
        spoken.setdefault(name, set()).update(fields)
        return done

    keepers = (keep_rules, keep_learnings, keep_sessions, keep_stash)
    for at, text in enumerate(TEXTS):
        keepers[at % 4](say, text, at // 4, ("--reason", text))
    keep_plans(say, TEXTS[-1])
    silent = {
        name: left
        for name, said in spoken.items()
        if (
            left := {field_name(field) for field in text_fields(command_of(name.split())[1])} - said - CHECKED
        )
    }
    assert silent == {}
    for name, command in known_commands().items():
        given: list[str] = []
        for field in text_fields(command):
            given += [field.opts[0], TEXTS[0]] if isinstance(field, click.Option) else [TEXTS[0]]
        if given and name not in ENDLESS | OWN:
            run(*name.split(), *given)
    run("rebuild")
    assert found_in(project.root / ".workbench", home) == []
    tables = "\n".join(rows(project.root / ".workbench"))
    assert "connect_7(token=" in tables
    assert [secret for secret in SECRETS if secret in tables] == []


def keep_plans(say: Callable[..., Ran], text: str) -> None:
    about = ("--feature", text, "--task", text, "--fact", f"k={text}", "--scenario", text, "--step", text)
    say("plan", text, *about)
    say("rank", text)


def keep_rules(say: Callable[..., Ran], text: str, number: int, why: tuple[str, str]) -> None:
    """Add, change, settle and remove rules."""
    rule = ("--name", f"name {text}", "--condition", text, "--example", text, *why, "--json")
    mine = say("rules", "add", f"Never send {text} to {number}.", *rule).json()["rules"][0]["id"]
    mine = say("rules", "edit", mine, "--text", f"Never post {text} to {number}.", *rule).json()["rule"]["id"]
    say("rules", "examples", mine, "--add", f"example {text}")
    say("rules", "disable", mine, *why)
    say("rules", "enable", mine, *why)
    say("rules", "match", text, "--fact", f"k={text}", "--scenario", text, "--step", text)
    say("rules", "search", text)
    say("rules", "add", f"Always post {text} to {number}.", *why)
    pair = say("rules", "conflicts", "list", "--json").json()["conflicts"][0]["id"]
    say("rules", "conflicts", "resolve", pair, "--action", "merge", "--text", f"Post {text} {number}.", *why)
    last = next(one["id"] for one in say("rules", "list", "--json").json()["rules"] if "Post" in one["rule"])
    say("rules", "remove", last, *why)
    say("rules", "undo")


def keep_learnings(say: Callable[..., Ran], text: str, number: int, why: tuple[str, str]) -> None:
    """Add, change, settle, review and promote learnings."""
    about = ("--feature", f"{text} {number}", "--task", text)
    note = ("memory", "add", f"{WORDS[number]} needs {text}", *about, "--file", f"{text}.py", *why, "--json")
    mine = say(*note).json()["learnings"][0]["id"]
    changed = ("--text", f"{WORDS[number]} takes {text}", "--why", text, *about, *why, "--json")
    say("memory", "edit", mine, *changed)
    for step in ("retire", "restore"):
        say("memory", step, mine, *why)
    say("memory", "search", text, "--feature", text)
    say("memory", "list", *about, "--grep", text)
    for step, finding in (("accept", "works offline"), ("reject", "wants a proxy")):
        told = ("memory", "add", f"{WORDS[number]} {finding} {text}", *why, "--by-agent", "--json")
        say("memory", step, say(*told).json()["learnings"][0]["id"], *why)
    say("memory", "promote", mine, "--text", f"Take {text} for {WORDS[number]}", *why)
    say("memory", "prompt", *about)
    say("memory", "ingest", "run.jsonl", *about, "--title", text)


def keep_stash(say: Callable[..., Ran], text: str, number: int, why: tuple[str, str]) -> None:
    """Put segments aside, change, search, merge and remove them."""
    one = (
        "stash",
        "add",
        f"{WORDS[number]} needs {text}",
        "--topic",
        text,
        "--source",
        text,
        "--session",
        text,
    )
    mine = say(*one, "--id", f"{number} {text}", "--reference", text, *why, "--json").json()["segment"]
    edited = ("--topic", f"other {text}", "--source", f"other {text}", "--session", f"other {text}")
    say("stash", "edit", mine["segment_id"], *edited, "--reference", text, *why)
    say("stash", "expire", mine["segment_id"], "--days", "3", *why)
    say("stash", "protect", mine["segment_id"], *why)
    say("stash", "protect", mine["segment_id"], "--off", *why)
    say("stash", "search", text, "--task", text, "--message", text, "--file", text, "--topic", text)
    say("stash", "merge", mine["segment_id"], "--session", text, "--task", text, "--summary")
    say("stash", "list", text)
    say("stash", "remove", mine["segment_id"], *why)
    say("stash", "undo")


def keep_sessions(say: Callable[..., Ran], text: str, number: int, why: tuple[str, str]) -> None:
    active = ("--scenario", text, "--step", text)
    session = say("episode", "start", text, *active, "--json").json()["session_id"]
    payload = json.dumps({"why": text, text: number})
    say("episode", "event", session, "--type", "decision", "--payload", payload, *active)
    say("episode", "event", session, "--type", "edit", "--file", f"{text}.py", "--symbol", text)
    say("episode", "running")
    say("episode", "end", session, "--outcome", "failed", "--evidence", text)
    say("feedback", session, "--outcome", "success", "--why", text)
    if number % 2:
        say("episode", "forget", session, *why)


WORDS = ["Lint", "Build"]


@cache
def known_commands() -> dict[str, click.Command]:
    return {path.removeprefix("workbench "): command for path, command in every_command()}


def command_of(arguments: Iterable[str]) -> tuple[str, click.Command]:
    parts, known = list(arguments), known_commands()
    name = next(" ".join(parts[:many]) for many in (3, 2, 1) if " ".join(parts[:many]) in known)
    return name, known[name]


def text_fields(command: click.Command) -> Iterator[click.Parameter]:
    """Yield the arguments and options of a command that take any text."""
    for field in command.params:
        if field.type is click.STRING:
            yield field


def field_name(field: click.Parameter) -> str:
    return field.opts[0] if isinstance(field, click.Option) else str(field.name).upper()


def rows(root: Path) -> Iterator[str]:
    """Yield every row of every table below a directory, as text."""
    import duckdb

    for path in sorted(root.rglob("*.duckdb")):
        with duckdb.connect(str(path), read_only=True) as database:
            names = [
                name for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            ]
            for name in names:
                for row in database.table(name).fetchall():
                    yield repr(row)


def found_in(*roots: Path) -> list[str]:
    """Return the files that hold a secret, or the latter half of one, in a name or in any byte."""
    halves = {value[len(value) // 2 :].encode() for value in SECRETS}
    return [
        f"{path}: {half.decode()}"
        for root in roots
        for path in sorted(root.rglob("*"))
        for held in [path.name.encode() + (path.read_bytes() if path.is_file() else b"")]
        for half in halves
        if half in held
    ]
