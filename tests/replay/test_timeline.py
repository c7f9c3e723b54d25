"""A moment of the past holds what there was then and nothing of what came later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from store.git_repository import find_repository
from workbench.entry.services.replay_engine import past_reader
from workbench.plan.intent import parse_intent
from workbench.records.episodes import ChangeKind, FileChange
from workbench.replay.systems import Situation, load_models, parse_systems, rank
from workbench.replay.timeline import KnownTask, RepositoryTimeline, known_commit
from workbench.sessions.episode_ledger import task_of
from workbench.sessions.episodes_fold import imported_episode
from workbench.sessions.history import PastTask
from workbench.sessions.importers.git import commit_episode

SYSTEMS = parse_systems(["baseline", "bm25", "hybrid", "hybrid-affinity", "hybrid+files-v3"])
MODELS = load_models("files-v4", "files-v4-lexical", SYSTEMS)


def begin(work: Any) -> str:
    """Make the past that both futures share and return its last commit."""
    work.write("src/auth.py", "import src.store\n\n\ndef refresh_token():\n    return 401\n")
    work.write("src/store.py", "def read():\n    return {}\n")
    work.write("tests/test_auth.py", "from src import auth\n")
    work.write("pyproject.toml", '[project]\nname = "p"\n')
    work.commit("Add tokens")
    work.write("src/auth.py", "import src.store\n\n\ndef refresh_token():\n    return 403\n")
    work.commit("fix: refresh answers 403 (#3)")
    work.write("src/store.py", "def read():\n    return {'token': 1}\n")
    return str(work.commit("Store the token"))


def rankings(work: Any, revision: str, at: int, task: str = "token is not refreshed (#3)") -> Any:
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        timeline = RepositoryTimeline(reader)
        moment = timeline.at(revision, at)
        situation = Situation(parse_intent(task), moment, list, None)
        return {
            system.name: [(file.path, file.score, file.features) for file in ranking.files]
            for system in SYSTEMS
            if (ranking := rank(system, situation, MODELS)) is not None
        }


def test_the_future_changes_nothing(make_work: Callable[[str], Any]) -> None:
    """Two repositories with one past and poisoned futures rank alike, to the last feature."""
    quiet, poisoned = make_work("quiet"), make_work("poisoned")
    revision = begin(quiet)
    assert begin(poisoned) == revision
    quiet.commit("token is not refreshed (#3)")
    for number in range(6):
        poisoned.write("src/lure.py", f"token refreshed 401 {number}\n" * 50)
        poisoned.write("src/store.py", f"token = 'refreshed {number}'\n")
        poisoned.git("mv", "src/auth.py", f"src/renamed{number}.py") if number == 0 else None
        poisoned.commit(f"token is not refreshed (#3) {number}")
    at = quiet.time
    assert rankings(poisoned, revision, at) == rankings(quiet, revision, at)


def test_truth_itself_is_not_seen(work: Any) -> None:
    """The commit that answers a task is not in what is known when the task begins."""
    revision = begin(work)
    work.write("src/auth.py", "def refresh_token():\n    return 'unheard-of'\n")
    answer = work.commit("An unheard-of answer")
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        timeline = RepositoryTimeline(reader)
        timeline.at(answer, work.time)  # what was looked at before must not stay
        moment = timeline.at(revision, work.time)
        assert answer not in {known.sha for known in moment.past}
        assert moment.view.history.size == 3
        assert not moment.view.index.bm25("body", {"unheard": 1.0}, b=0.6).any()


def test_the_way_there_does_not_matter(work: Any) -> None:
    """A moment ranks alike whatever was looked at before it, forwards or backwards."""
    begin(work)
    work.write("src/new.py", "token = 1\n")
    work.commit("Add another token")
    work.git("rm", "-q", "src/store.py")
    last = work.commit("Remove the store")
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        shas = [commit.sha for commit in reader.commits]
        direct = {sha: _ranked(RepositoryTimeline(reader), sha, work.time) for sha in shas}
        for order in (shas, shas[::-1]):
            walked = RepositoryTimeline(reader)
            assert {sha: _ranked(walked, sha, work.time) for sha in order} == direct
    assert shas[0] == last


def _ranked(timeline: RepositoryTimeline, sha: str, at: int) -> Any:
    situation = Situation(parse_intent("refresh the token"), timeline.at(sha, at), list, None)
    ranking = rank(SYSTEMS[2], situation, MODELS)
    assert ranking is not None
    return [(file.path, file.score) for file in ranking.files]


def test_sessions_count_once_they_had_ended(work: Any) -> None:
    """A session is known from its end on, and only where the commit it led to is an ancestor."""
    revision = begin(work)
    later = work.commit("Later")
    change = (FileChange("src/auth.py", ChangeKind.MODIFIED),)
    told = [
        KnownTask(PastTask(work.time - 5, {"token": 1}, change), "ended", work.time - 4),
        KnownTask(PastTask(work.time - 5, {"token": 1}, change), "under way", work.time + 9),
        KnownTask(PastTask(work.time - 5, {"token": 1}, change), "of later", work.time - 4, sha=later),
    ]
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        moment = RepositoryTimeline(reader, sessions=told).at(revision, work.time)
    assert [known.head for known in moment.past if not known.commit] == ["ended"]


def test_a_commit_is_known_as_plans_know_it(work: Any) -> None:
    """What a replay weighs of a commit is what an imported episode of it would be."""
    begin(work)
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        for commit in reader.commits:
            body = commit_episode(commit, "p", parse_intent)
            known = known_commit(commit)
            assert body is not None
            assert known is not None
            assert known.task == task_of(imported_episode({**body, "source": "git"}))


@pytest.mark.parametrize("options", [("--bare",), ("--depth", "2")])
def test_mirrors_and_shallow_clones(work: Any, make_work: Callable[[str], Any], options: Any) -> None:
    """A bare mirror tells the whole past, a shallow clone what it has."""
    revision = begin(work)
    copy = work.root.parent / "copy"
    work.git("clone", "-q", *options, f"file://{work.root}", str(copy))
    repository = find_repository(copy)
    assert repository is not None
    with past_reader(repository) as reader:
        moment = RepositoryTimeline(reader).at(revision, work.time)
    assert sorted(moment.blobs) == ["pyproject.toml", "src/auth.py", "src/store.py", "tests/test_auth.py"]
    assert len(moment.past) == (3 if options == ("--bare",) else 1)


def test_a_repository_without_commits(work: Any) -> None:
    """There is no tip and nothing to replay, and that is no failure."""
    repository = find_repository(work.root)
    assert repository is not None
    with past_reader(repository) as reader:
        assert (reader.tip, reader.commits) == ("", ())
