"""Heavy libraries are imported by the command that needs them and by no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.memory.made import lines_of, run_of
from workbench.entry import start

HEAVY = frozenset(
    {
        "bm25s",
        "duckdb",
        "fastembed",
        "hnswlib",
        "numpy",
        "onnx",
        "onnxruntime",
        "plotext",
        "scipy",
        "textual",
        "tree_sitter",
    }
)

RUN_CLI = "from workbench.entry.cli.main import run; run({arguments!r})"


def imported(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the names of the top-level modules it leaves imported."""
    return {name.partition(".")[0] for name in modules(code)}


def modules(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the full names of the modules it leaves imported."""
    report = "import sys; print('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import workbench.config_layers",
        "import workbench.errors, workbench.ports, workbench.records.plan",
        "import workbench.entry.os.clipboard",
        "import workbench.entry.hooks.client, workbench.entry.hooks.context, workbench.entry.parameters",
        RUN_CLI.format(arguments=["--help"]),
        RUN_CLI.format(arguments=["--version"]),
        RUN_CLI.format(arguments=["config", "show"]),
    ],
)
def test_light_things_import_nothing_heavy(code: str) -> None:
    """Help, version, settings and the shared vocabulary load no heavy library."""
    assert imported(code) & HEAVY == set()


def test_the_package_imports_nothing_until_something_is_named() -> None:
    """`import workbench` is one module; opening a project loads no heavy library, nor do records."""
    assert {name for name in modules("import workbench") if name.startswith("workbench")} == {"workbench"}
    assert {name for name in imported("import workbench") if name in HEAVY | {"msgspec", "click"}} == set()
    code = "import workbench; workbench.open_project('.'); workbench.Rule; workbench.PlanResponse"
    assert imported(code) & (HEAVY | {"click"}) == set()
    listing = "from workbench import *; assert open_project and Project and WorkbenchError"
    assert imported(listing) & HEAVY == set()


MOST_OF_A_CHECK = 88
MOST_OF_A_PLAN = 223
"""Modules of the product that a cold hook that checks rules, or a cold plan, imports: 0.3 ms of CPU each."""


def own(names: set[str]) -> set[str]:
    return {name for name in names if name.partition(".")[0] in ("workbench", "store", "screens")}


COMPILED = """
import gc
made = [one for one in gc.get_objects() if isinstance(one, type) and "__dataclass_params__" in vars(one)]
own = [one for one in made if one.__module__.partition(".")[0] in ("workbench", "store", "screens")]
found = sorted(f"{one.__module__}.{one.__name__}" for one in own if one.__dataclass_params__.init)
assert not found, found
"""
"""Fails where a record was compiled when it was declared: see `workbench/records/dataclass.py`."""

HOOK = """
import json, os, workbench.entry.hooks.handlers as handlers
given = {{"cwd": os.getcwd(), "tool_name": "Bash", "tool_input": {{"command": "git push"}}}}
assert handlers.respond(json.dumps(given).encode(), "PreToolUse", "claude").output == b"" or {checked}
"""


def test_a_hook_before_a_tool_imports_next_to_nothing(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs before every tool: no rules are loaded where none has a check, and never what plans need."""
    work.write("CLAUDE.md", "- Never push.\n")
    monkeypatch.chdir(work.root)
    imported(RUN_CLI.format(arguments=["rules", "list"]))
    found = modules(HOOK.format(checked=False))
    assert {name.partition(".")[0] for name in found} & (HEAVY | {"click", "msgspec"}) == set()
    assert {
        name for name in found if name.startswith(("store", "workbench.rules", "workbench.config"))
    } == set()
    listed = f"{RUN_CLI.format(arguments=['rules', 'list', '--json'])}"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    rule = json.loads(done.stdout)["rules"][0]["id"]
    change = ["rules", "edit", rule, "--authority", "absolute", "--check", '{"command": "git push"}']
    imported(RUN_CLI.format(arguments=change))
    imported(HOOK.format(checked=True))  # the first after a change reads the rules again
    found = modules(HOOK.format(checked=True) + COMPILED)
    assert "workbench.rules.enforcement.checks" in found
    assert found & {"subprocess", "tempfile", "importlib.resources"} == set()
    assert len(own(found)) <= MOST_OF_A_CHECK
    assert {name.partition(".")[0] for name in found} & (HEAVY | {"click"}) == set()


def test_help_imports_no_command() -> None:
    """The list of commands comes from the registry; no command's module is loaded for it."""
    code = RUN_CLI.format(arguments=["--help"]) + (
        "\nimport sys; found = [n for n in sys.modules if n.startswith('workbench.entry.cli.') and "
        "n.count('.') > 3]; assert not found, found"
    )
    assert "click" in imported(code)


def test_ingesting_what_teaches_nothing_imports_what_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most iterations teach nothing: what compares lessons and rules is loaded for those that do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    (tmp_path / "run.jsonl").write_bytes(lines_of(run_of()))
    code = RUN_CLI.format(arguments=["memory", "ingest", "run.jsonl", "--json"]) + (
        "\nimport sys; found = [n for n in sys.modules if n.startswith(('workbench.comparison.',"
        " 'workbench.text.injection', 'workbench.rules.curation.'))]; assert not found, found"
    )
    assert imported(code) & HEAVY == set()
    assert (tmp_path / ".workbench" / "journal" / "memory" / "general.jsonl").is_file()


# What a plan has no use for once a project is indexed. numpy is what it computes with.
UNUSED_BY_PLANS = HEAVY - {"numpy", "onnxruntime"} | {
    "pathspec",
    "asyncio",
    "multiprocessing",
    "http",
}


# What compares, judges and folds learnings: a plan is given those that were kept.
FOR_CURATORS = (
    "workbench.comparison",
    "workbench.memory.extraction",
    "workbench.memory.journal",
    "workbench.memory.learnings.corrections.report",
    "workbench.memory.learnings.ledger",
    "workbench.memory.learnings.lessons",
    "workbench.memory.learnings.promotion",
    "workbench.memory.learnings.review",
    "workbench.rules.curation.curator",
)


@pytest.mark.parametrize("command", ["plan", "serve"])
def test_no_threads_of_numpy_are_started(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """All matrices are small; who says otherwise in the environment is believed."""
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(sys, "argv", ["workbench", command])
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    monkeypatch.setattr("workbench.entry.cli.main.main", lambda: None)
    start.main()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setattr(os, "environ", {"OPENBLAS_NUM_THREADS": "4"})
    start.main()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "4"


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="the disk is asked as POSIX does")
@pytest.mark.parametrize("free", [0, 1 << 30])
def test_nothing_is_compiled_to_a_full_disk(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """A part of a module that is kept for the whole would break every later command."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
    monkeypatch.setattr(sys, "argv", ["workbench", "serve"])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    monkeypatch.setattr("workbench.entry.cli.main.main", lambda: None)
    start.main()
    assert sys.dont_write_bytecode is (free == 0)


def test_a_plan_on_an_indexed_project_imports_what_it_uses(
    work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No database, no parsers, no model without one, no curation of learnings: the cold call stays fast."""
    monkeypatch.setenv("WORKBENCH_MODELS_BACKGROUND", "false")
    work.write("pkg/auth.py", "def refresh_token(): pass\n")
    work.write("CLAUDE.md", "- Never log a token.\n- Always log who asked.\n")
    work.commit("Add tokens")
    monkeypatch.chdir(work.root)
    note = ["memory", "add", "A refresh_token lives for a day", "--reason", "it expired twice"]
    code = RUN_CLI.format(arguments=["plan", "refresh the token"])
    first = f"{RUN_CLI.format(arguments=note)}; run(['rules', 'conflicts', 'list'])"
    imported(f"{first}; run(['plan', 'refresh the token'])")
    names = modules(code + COMPILED)
    second = {name.partition(".")[0] for name in names}
    assert {"workbench.memory.learnings.prompt", "workbench.rules.conflicts.findings"} <= names
    assert {name for name in names if name.startswith(FOR_CURATORS)} == set()
    assert {name for name in names if name.startswith(("workbench.stash", "store.segment"))} == set()
    alone = ("store.team", "store.postgres", "psycopg", "workbench.entry.services.team")
    assert {name for name in names if name.startswith(alone)} == set()
    assert second & UNUSED_BY_PLANS == set()
    assert "onnxruntime" not in second
    assert names & {"zipfile", "importlib.resources"} == set()
    unasked = {"workbench.plan.second_stage", "workbench.models.rerank", "store.grepai", "store.ollama"}
    assert names & unasked == set()
    assert len(own(names)) <= MOST_OF_A_PLAN
    assert "numpy" in second
    listing = modules(RUN_CLI.format(arguments=["rules", "list"]))
    assert {
        name for name in listing if name.startswith(("workbench.plan.pipeline", "workbench.plan.packing"))
    } == set()
