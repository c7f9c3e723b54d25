"""`workbench --replay PATH`: figures on stdout, what is missing on stderr, faults with file and line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.replay.conversations import SESSION, SHOP, write_transcript
from workbench.entry.cli import exits, main
from workbench.entry.cli.replay import replay as replay_commands
from workbench.replay.benchmark import rule_systems
from workbench.replay.datasets import split_of

SHIPPED = Path(__file__).parents[4] / "sample_data" / "rules_benchmark"
SUBJECTS = ("indent", "push", "token")
RULES = [{"id": word, "name": word, "rule": f"Mind how you {word}."} for word in SUBJECTS]
MESSAGES = [
    {"id": f"m{number}", "text": f"{word} number {number}", "expected": [word][: number % 3], "kind": "exact"}
    for number, word in enumerate(SUBJECTS * 8)
]


class Subjects:
    """An embedder that knows the subjects and nothing else; `patience` is how many calls it bears."""

    model = "subjects"
    dimensions = 4

    def __init__(self, patience: int = 1000) -> None:
        self.patience = patience

    def embed(self, texts: Sequence[str]) -> Any:
        self.patience -= 1
        if self.patience < 0:
            raise KeyboardInterrupt
        rows = np.array([[*(float(word in text) for word in SUBJECTS), 0.1] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "small"
    place.mkdir()
    for name, rows in (("rules.jsonl", RULES), ("messages.jsonl", MESSAGES)):
        (place / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_commands, "ready_embedder", lambda config: (Subjects(), ""))


@pytest.mark.usefixtures("model")
def test_three_methods_at_six_thresholds(run: Any, folder: Path) -> None:
    """Each method has a line for each threshold, and hybrid is compared with both others."""
    ran = run("--replay", str(folder))
    assert (ran.code, ran.err) == (exits.OK, "")
    assert "small: 3 rules, 24 messages, 8 of them about no rule" in ran.out
    sweep = ran.out.partition("By threshold")[2].partition("\n\n")[0].splitlines()[2:]
    assert [line.split()[:2] for line in sweep] == [
        [name, threshold]
        for name in ("vector", "bm25", "hybrid")
        for threshold in ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8")
    ]
    assert "hybrid - vector" in ran.out
    assert "hybrid - bm25" in ran.out


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("before", [True, False])
def test_json_on_either_side(run: Any, folder: Path, before: bool) -> None:
    """`--json` may stand before or after `--replay PATH`; two runs differ in nothing but latency."""
    arguments = ["--replay", str(folder)]
    arguments.insert(0 if before else 2, "--json")
    first, second = run(*arguments).json(), run(*arguments).json()
    assert [system["name"] for system in first["systems"]] == ["vector", "bm25", "hybrid"]
    assert [first["messages"], first["fit"] + first["test"]] == [24, 24]
    assert first["test"] == sum(split_of(str(one["text"])) == "test" for one in MESSAGES)
    for found in (first, second):
        for system in found["systems"]:
            assert system.pop("latency").keys() == {
                "p50",
                "p95",
                "p50_with_embedding",
                "p95_with_embedding",
            }
    assert first == second


def test_without_a_model_words_are_measured_and_it_is_said(run: Any) -> None:
    """The benchmark that ships runs with BM25 alone, exits with 0 and says what was missing."""
    ran = run("--replay", str(SHIPPED))
    assert ran.code == exits.OK
    assert "warning: without embeddings" in ran.err
    assert "workbench model" in ran.err
    assert "degraded: embeddings" in ran.out
    assert "rules_benchmark: 100 rules, 500 messages, 135 of them about no rule" in ran.out
    assert run("--json", "--replay", str(SHIPPED)).json()["degraded"] == ["embeddings"]


def test_settings_are_those_of_the_project(
    run: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--project` says whose settings hold: its weights and limits."""
    seen: list[Any] = []

    def systems(*given: Any, **named: Any) -> Any:
        seen.append(named["params"])
        return rule_systems(*given, **named)

    monkeypatch.setattr("workbench.entry.cli.replay.replay.rule_systems", systems)
    config = tmp_path / ".workbench" / "config.toml"
    config.parent.mkdir()
    config.write_text("[rules]\nmax = 2\nlexical_weight = 0.4\n")
    assert run("--project", str(tmp_path), "--replay", str(folder)).code == exits.OK
    assert (seen[0].limit, seen[0].bm25_weight) == (2, 0.4)


def test_faults_are_told_with_file_and_line(run: Any, folder: Path) -> None:
    """A malformed line, a missing file, no folder: a sentence and a hint, nothing on stdout."""
    messages = folder / "messages.jsonl"
    messages.write_text('{"id": "a", "text": "t"}\n{"id": "b", "text": "t", "expected": ["psuh"]}\n')
    ran = run("--replay", str(folder))
    assert (ran.code, ran.out) == (exits.ERROR, "")
    assert f"{messages}:2: the message 'b' expects 'psuh'" in ran.err
    assert "hint: Did you mean push?" in ran.err
    messages.unlink()
    ran = run("--replay", str(folder))
    assert (ran.code, ran.out) == (exits.ERROR, "")
    assert "lacks messages.jsonl" in ran.err
    ran = run("--replay", str(folder / "nowhere"))
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert "does not exist" in ran.err


def test_replay_stands_alone(run: Any, folder: Path) -> None:
    """With a command it is refused before anything is done."""
    ran = run("--replay", str(folder), "config", "show")
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert "unexpected extra arguments (config show)" in ran.err


def test_an_interrupt_ends_it_with_its_code(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle prints no half report and leaves nothing behind."""
    monkeypatch.setattr(replay_commands, "ready_embedder", lambda config: (Subjects(patience=5), ""))
    before = sorted(folder.rglob("*"))
    ran = run("--replay", str(folder))
    assert (ran.code, ran.out) == (exits.INTERRUPTED, "")
    assert "interrupted" in ran.err
    assert sorted(folder.rglob("*")) == before


def test_replay_is_a_command_only_where_no_other_is() -> None:
    """`--replay` in place of a command is the command; what stands before it and after it stays."""
    assert main.as_command(["--json", "--replay", "x", "--tasks", "3"]) == [
        "--json",
        "replay",
        "x",
        "--tasks",
        "3",
    ]
    assert main.as_command(["--project", "p", "--replay=x"]) == ["--project", "p", "replay", "x"]
    assert main.as_command(["plan", "--replay"]) == ["plan", "--replay"]


def test_options_of_histories_are_refused_for_a_dataset(run: Any, folder: Path) -> None:
    """An option that a dataset has no use for is not passed over."""
    ran = run("--replay", str(folder), "--systems", "hybrid")
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert "--systems is about replays of a project's history" in ran.err


def test_the_past_of_this_project(run: Any, project: Any) -> None:
    """Without a path the project's commits are tasks, and every system has a line."""
    ran = run("--replay", "--workers", "1")
    assert ran.code == exits.OK
    assert "work: 1 commit in 1 cluster" in ran.out
    scores = ran.out.partition("Means over tasks")[2].partition("\n\n")[0].splitlines()[2:]
    assert [line.split()[0] for line in scores] == ["baseline", "bm25", "hybrid", "hybrid+files-v4-lexical"]
    assert "vector was left out: it needs an embedding model" in ran.err
    assert "hybrid - baseline" in ran.out


def test_the_past_as_json(run: Any, project: Any) -> None:
    """JSON has scores by system and the rows they come from, and names what was missing."""
    found = run("--replay", ".", "--json", "--workers", "1", "--systems", "baseline,hybrid").json()
    assert [score["system"] for score in found["systems"]] == ["baseline", "hybrid"]
    assert found["degraded"] == ["embeddings"]
    (task,) = found["tasks"]
    assert (task["head"], task["truth"]) == ("fix: login keeps the jwt token (#7)", ["pkg/auth.py"])
    assert "pkg/auth.py" in task["systems"]["hybrid"]["ranking"][:2]
    assert task["systems"]["hybrid"]["measures"]["mrr"] >= 0.5


def test_a_bare_mirror_is_replayed_from_afar(run: Any, project: Any, tmp_path: Path) -> None:
    """A bare clone gives the same ranking as the work tree, and nothing is written into it."""
    mirror = tmp_path / "mirror.git"
    project.git("clone", "-q", "--bare", str(project.root), str(mirror))
    before = sorted(path.name for path in mirror.iterdir())
    arguments = ("--workers", "1", "--json", "--systems", "bm25,hybrid")
    there = run("--replay", str(mirror), *arguments).json()
    here = run("--replay", *arguments).json()
    assert [task["systems"]["hybrid"]["ranking"] for task in there["tasks"]] == [
        task["systems"]["hybrid"]["ranking"] for task in here["tasks"]
    ]
    assert there["project"] == "mirror"
    assert sorted(path.name for path in mirror.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--systems", "hybird"), "Did you mean hybrid?"),
        (("--systems", "hybrid+nothing"), "there is no ranking model 'nothing'"),
        (("--without", "afinity"), "Did you mean affinity?"),
    ],
)
def test_unknown_systems_are_refused(run: Any, project: Any, arguments: tuple[str, str], told: str) -> None:
    """A system, model or group that does not exist is named, with what may be meant."""
    ran = run("--replay", *arguments)
    assert (ran.code, ran.out) in ((exits.USAGE, ""), (exits.ERROR, ""))
    assert told in ran.err


def test_a_past_without_tasks_says_so(run: Any, empty: Any) -> None:
    """One commit that only added files leaves nothing to replay."""
    ran = run("--replay")
    assert (ran.code, ran.out) == (exits.ERROR, "")
    assert "has no task to replay" in ran.err


def test_no_past_at_all(run: Any, work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository without commits has no task either."""
    monkeypatch.chdir(work.root)
    assert "has no task to replay" in run("--replay").err


def test_outside_of_any_repository(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a repository and without sessions the next step is named."""
    monkeypatch.chdir(tmp_path)
    ran = run("--replay", ".")
    assert (ran.code, ran.out) == (exits.ERROR, "")
    assert "workbench import sessions" in ran.err


def test_the_stash_is_replayed_on_transcripts(run: Any, project: Any, tmp_path: Path) -> None:
    """Each system has a line over all questions and by kind, twice the same, and the run is kept."""
    transcript = write_transcript(tmp_path / f"{SESSION}.jsonl", *SHOP)
    ran = run("replay", "--source", "stash", str(transcript), "--json")
    assert ran.code == exits.OK
    found = json.loads(ran.out)
    assert [one["query_type"] for one in found["tasks"]] == ["error", "file", "quote"]
    assert sorted(found["kinds"]) == ["error", "file", "quote"]
    assert [one["system"] for one in found["systems"]] == ["random", "recency", "bm25", "hybrid"]
    assert all(one["gaps"].keys() >= {"recall_at_1", "mrr"} for one in found["systems"][:2])
    again = json.loads(run("replay", "--source", "stash", "--fresh", str(transcript), "--json").out)
    rankings = [[one["systems"]["hybrid"]["ranking"] for one in each["tasks"]] for each in (found, again)]
    assert rankings[0] == rankings[1]
    shown = run("runs", "show", "last").out
    assert "3 questions in 1 cluster" in shown
    assert "hybrid - bm25" in shown
    assert "packs" not in shown


def test_options_of_files_are_refused_for_the_stash(run: Any, project: Any, tmp_path: Path) -> None:
    """What is about packs and files is refused by name; without any conversation there is nothing to do."""
    refused = run("replay", "--source", "stash", "--budget", "100")
    assert (refused.code, "--budget is about replays of files" in refused.err) == (exits.USAGE, True)
    assert "no conversation of" in run("replay", "--source", "stash").err
