"""A workspace is in step with disk and history after every sync, whatever happened to them in between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from store import generations
from store.journal import FileJournal
from tests.conftest import Work, make_repository
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.errors import StaleProject, StoreError
from workbench.plan.workspace import Synced, Workspace
from workbench.records.project import Freshness
from workbench.records.worktree import Hunk
from workbench.sessions.episodes_fold import STREAM

Open = Callable[..., Workspace]

AUTH = "import pkg.store\n\ndef refresh(token):\n    return token\n"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a project as a new process would: nothing in memory, everything from disk."""

    def run(root: Path, **limits: Any) -> Workspace:
        workspace = open_workspace(root, Config(), dict(os.environ)).workspace
        workspace.limits = replace(workspace.limits, workers=1, **limits)
        return workspace

    return run


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """A small repository with two commits."""
    work = make_repository(tmp_path_factory.mktemp("made") / "work")
    work.write("pkg/__init__.py", "")
    work.write("pkg/auth.py", AUTH)
    work.write("pkg/store.py", "VALUE = 1\n")
    work.write("tests/test_auth.py", "from pkg import auth\n")
    work.commit("Add auth (#1)")
    work.write("pkg/store.py", "VALUE = 2\n")
    work.commit("fix: store value")
    return work


@pytest.fixture
def project(_made: Work, tmp_path: Path) -> Work:
    """A copy of that repository, never indexed."""
    return _made.copy(tmp_path / "work")


def state_of(root: Path) -> Path:
    return root / ".workbench"


def synced(workspace: Workspace, **options: Any) -> Synced:
    """Sync and check what every sync promises: index and snapshot are of the same files."""
    result = workspace.sync(**options)
    living = set(workspace.index.positions)
    assert living <= set(workspace.snapshot.paths)
    return result


def heads(workspace: Workspace) -> list[str]:
    """Return the first lines of the past tasks, newest first."""
    return list(workspace.task_heads)


def test_the_first_sync_builds_and_the_next_one_finds_everything(project: Any, opened: Open) -> None:
    """Index, history and rules are there at once, and a second process has nothing to do."""
    first = opened(project.root)
    result = synced(first)
    assert (result.cache, result.freshness, result.episodes) == ("miss", Freshness.FRESH, 2)
    assert sorted(first.index.positions) == [
        "pkg/__init__.py",
        "pkg/auth.py",
        "pkg/store.py",
        "tests/test_auth.py",
    ]
    assert heads(first) == ["fix: store value", "Add auth (#1)"]
    second = opened(project.root)
    again = synced(second)
    assert (again.cache, again.freshness, again.episodes, again.notes) == ("hit", Freshness.FRESH, 0, ())
    assert second.index.paths == first.index.paths
    assert heads(second) == heads(first)
    assert synced(second, strict=True).cache == "hit"


def test_cache_status_is_of_all_that_an_answer_rests_on(project: Any, opened: Open) -> None:
    """New rules and new past tasks make an answer partial beside an index that is as it was."""
    workspace = opened(project.root)
    assert synced(workspace).cache_status == "miss"
    project.write("CLAUDE.md", "- Never log a token.\n")
    for each in (workspace, opened(project.root)):
        synced(each)
    assert synced(workspace).cache_status == "hit"
    home = workspace.rule_store().home
    assert home is not None
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/CLAUDE.md").write_text("- Always say why.\n", encoding="utf-8")
    found = synced(opened(project.root))
    assert (found.cache, found.cache_status) == ("hit", "partial")
    assert synced(opened(project.root)).cache_status == "hit"


def test_changed_added_and_removed_files_are_mended_in_place(project: Any, opened: Open) -> None:
    """An edit is in the next answer, in this process and in a new one, and its files are read once."""
    workspace = opened(project.root)
    synced(workspace)
    generation = generations.latest(state_of(project.root), "project")
    project.write("pkg/auth.py", AUTH.replace("refresh", "renew_session"))
    project.write("pkg/new.py", "def brand_new(): ...\n")
    (project.root / "tests/test_auth.py").unlink()
    result = synced(workspace)
    assert (result.cache, result.freshness) == ("partial", Freshness.DIRTY)
    assert (result.changed, result.added, result.removed) == (
        ("pkg/auth.py",),
        ("pkg/new.py",),
        ("tests/test_auth.py",),
    )
    for each in (workspace, opened(project.root)):
        result = synced(each, strict=True)
        assert (result.cache, result.freshness) == ("hit", Freshness.FRESH)
        assert each.index.frequency("body", "renew") == 1
        assert each.index.frequency("body", "refresh") == 0
        assert "tests/test_auth.py" not in each.index.positions
        assert each.index.record(each.index.positions["pkg/new.py"])[0][0].name == "brand_new"
    assert generations.latest(state_of(project.root), "project") == generation


def test_edits_add_up_until_a_new_index_is_written(project: Any, opened: Open) -> None:
    """Each process finds what those before it indexed, whatever came, changed again and went."""
    synced(opened(project.root))
    generation = generations.latest(state_of(project.root), "project")
    project.write("pkg/new.py", "first = 1\n")
    assert synced(opened(project.root)).added == ("pkg/new.py",)
    project.write("pkg/new.py", "second = 1\n")
    project.write("pkg/auth.py", "third = 1\n")
    assert synced(opened(project.root)).changed == ("pkg/auth.py", "pkg/new.py")
    (project.root / "pkg/new.py").unlink()
    assert synced(opened(project.root)).removed == ("pkg/new.py",)
    project.write("pkg/new.py", "fourth = 1\n")
    assert synced(opened(project.root)).added == ("pkg/new.py",)
    last = opened(project.root)
    assert synced(last).cache == "hit"
    found = {word: last.index.frequency("body", word) for word in ("first", "second", "third", "fourth")}
    assert found == {"first": 0, "second": 0, "third": 1, "fourth": 1}
    assert generations.latest(state_of(project.root), "project") == generation
    for number in range(6):
        project.write(f"pkg/more_{number}.py", "sixfold = 1\n")
    assert synced(opened(project.root)).cache == "partial"
    assert generations.latest(state_of(project.root), "project") != generation
    last = opened(project.root)
    assert synced(last).cache == "hit"
    assert (last.index.frequency("body", "sixfold"), last.index.frequency("body", "fourth")) == (6, 1)


def test_a_mended_index_equals_one_built_anew(project: Any, opened: Open) -> None:
    """Edges, tests and words are the same after many small edits as after a rebuild."""
    workspace = opened(project.root)
    synced(workspace)
    for number in range(12):
        project.write(f"pkg/module_{number}.py", f"from pkg import store\nN = {number}\n")
        project.write("pkg/store.py", f"VALUE = {number}\nname_{number} = 1\n")
        synced(workspace)
    project.write("pkg/store.py", "from pkg import module_3\n")
    synced(workspace)
    mended = workspace.index
    fresh = opened(project.root)
    synced(fresh, rebuild=True)
    assert sorted(mended.positions) == sorted(fresh.index.positions)

    def named(index: Any, pairs: Any) -> list[tuple[str, str]]:
        return sorted((index.paths[a], index.paths[b]) for a, b in pairs.tolist())

    assert named(mended, mended.edges) == named(fresh.index, fresh.index.edges)
    assert named(mended, mended.tests) == named(fresh.index, fresh.index.tests)
    for term in ("store", "name", "valu", "modul"):
        assert mended.frequency("body", term) == fresh.index.frequency("body", term)


def test_strict_refuses_what_is_not_up_to_date(project: Any, opened: Open) -> None:
    """No index, a changed file and a moved HEAD are each refused, with the next step."""
    with pytest.raises(StaleProject, match="no index") as caught:
        opened(project.root).sync(strict=True)
    assert "workbench" in caught.value.hint
    workspace = opened(project.root)
    synced(workspace)
    project.write("pkg/auth.py", "changed = 1\n")
    with pytest.raises(StaleProject, match="dirty: 1 changed"):
        opened(project.root).sync(strict=True)
    with pytest.raises(StaleProject, match="dirty"):
        workspace.sync(strict=True)
    synced(workspace)
    assert synced(workspace, strict=True).freshness is Freshness.FRESH
    project.commit("More")
    with pytest.raises(StaleProject, match="HEAD moved"):
        workspace.sync(strict=True)


def test_a_new_commit_is_one_new_episode(project: Any, opened: Open) -> None:
    """History grows by what is new, in a running process and in a new one, and nothing is read twice."""
    workspace = opened(project.root)
    synced(workspace)
    before = (state_of(project.root) / "journal/sessions.jsonl").read_bytes()
    project.write("pkg/auth.py", AUTH + "# more\n")
    project.commit("feat: more auth")
    result = synced(workspace)
    assert (result.episodes, result.forgotten, result.freshness) == (1, 0, Freshness.STALE)
    after = (state_of(project.root) / "journal/sessions.jsonl").read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    other = opened(project.root)
    assert synced(other).episodes == 0
    assert heads(other) == heads(workspace) == ["feat: more auth", "fix: store value", "Add auth (#1)"]


def test_only_the_new_commits_are_asked_of_git(project: Any, opened: Open) -> None:
    """Version control is asked for what the last imported commit does not reach."""
    synced(opened(project.root))
    tip = project.git("rev-parse", "HEAD").decode().strip()
    project.write("a.txt", "a\n")
    project.commit("One more")
    workspace = opened(project.root)
    control = workspace.adapters.control
    assert control is not None
    asked: list[str | None] = []
    newest = control.commits.newest

    def listening(limit: int | None, since: str | None, unreadable: set[str]) -> Any:
        asked.append(since)
        return newest(limit, since, unreadable)

    keeper = workspace._past
    keeper.store = replace(keeper.store, commits=replace(control.commits, newest=listening))
    assert synced(workspace).episodes == 1
    assert asked == [tip]


def test_switching_branches_forgets_nothing(project: Any, opened: Open) -> None:
    """Commits of the branch that was left stay known, and coming back reads nothing again."""
    workspace = opened(project.root)
    synced(workspace)
    project.git("checkout", "-q", "-b", "side", "HEAD~1")
    project.write("side.txt", "x\n")
    project.commit("On the side")
    assert (synced(workspace).episodes, synced(workspace).forgotten) == (1, 0)
    assert set(heads(workspace)) == {"On the side", "fix: store value", "Add auth (#1)"}
    project.git("checkout", "-q", "main")
    result = synced(workspace)
    assert (result.episodes, result.forgotten) == (0, 0)
    assert set(heads(workspace)) == {"On the side", "fix: store value", "Add auth (#1)"}


def test_an_amended_commit_is_forgotten(project: Any, opened: Open) -> None:
    """What the reference held before is no past task any more; what it holds now is."""
    workspace = opened(project.root)
    synced(workspace)
    project.git("commit", "-q", "--amend", "-m", "fix: store value, better")
    result = synced(workspace)
    assert (result.episodes, result.forgotten) == (1, 1)
    assert heads(workspace) == ["fix: store value, better", "Add auth (#1)"]
    fresh = opened(project.root)
    synced(fresh)
    assert heads(fresh) == heads(workspace)


def test_a_branch_rebased_from_elsewhere_is_noticed(project: Any, opened: Open) -> None:
    """Commits that a rebase left behind are forgotten, though HEAD was elsewhere when they were held."""
    project.git("checkout", "-q", "-b", "side", "HEAD~1")
    project.write("side.txt", "x\n")
    project.commit("On the side")
    workspace = opened(project.root)
    synced(workspace)
    project.git("checkout", "-q", "main")
    synced(workspace)
    project.time += 10
    project.git("rebase", "-q", "main", "side")
    result = synced(workspace)
    assert (result.episodes, result.forgotten) == (1, 1)
    assert sorted(heads(workspace)) == ["Add auth (#1)", "On the side", "fix: store value"]


def test_a_commit_that_comes_back_is_known_again(project: Any, opened: Open) -> None:
    """Reset to what was amended away: it is imported again, and the other forgotten."""
    workspace = opened(project.root)
    synced(workspace)
    old = project.git("rev-parse", "HEAD").decode().strip()
    project.git("commit", "-q", "--amend", "-m", "other words")
    synced(workspace)
    project.git("reset", "-q", "--hard", old)
    assert (synced(workspace).episodes, heads(workspace)[0]) == (1, "fix: store value")
    assert "other words" not in heads(workspace)


def test_a_pruned_tip_is_no_obstacle(project: Any, opened: Open) -> None:
    """When the last imported commit is gone for good, the history is read from the start."""
    workspace = opened(project.root)
    synced(workspace)
    project.git("commit", "-q", "--amend", "-m", "other words")
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    assert (synced(workspace).episodes, synced(workspace).forgotten) == (1, 0)
    assert heads(workspace) == ["other words", "Add auth (#1)"]


def test_a_higher_limit_reaches_further_back(project: Any, opened: Open) -> None:
    """Raising the number of commits imports the older ones; lowering it weighs fewer."""
    assert heads_after(opened(project.root, history_commits=1)) == ["fix: store value"]
    assert heads_after(opened(project.root, history_commits=5)) == ["fix: store value", "Add auth (#1)"]
    assert heads_after(opened(project.root, history_commits=1)) == ["fix: store value"]
    assert heads_after(opened(project.root, history_commits=0)) == []


def heads_after(workspace: Workspace) -> list[str]:
    """Sync and return the past tasks' first lines."""
    synced(workspace)
    return heads(workspace)


def test_everything_can_be_imported(project: Any, opened: Open) -> None:
    """An explicit import goes beyond the limit; what a plan weighs stays bounded."""
    for number in range(5):
        project.write("a.txt", f"{number}\n")
        project.commit(f"Commit {number}")
    workspace = opened(project.root, history_commits=3)
    assert synced(workspace).episodes == 3
    seen: list[tuple[int, int]] = []
    found = workspace.import_commits(
        limit=None, progress=lambda stage, done, total: seen.append((done, total))
    )
    assert found.imported == 4
    assert seen[-1] == (7, 7)
    assert heads(workspace) == ["Commit 4", "Commit 3", "Commit 2"]
    assert synced(opened(project.root, history_commits=3)).episodes == 0


def test_a_shallow_clone_learns_what_deepening_brings(project: Any, opened: Open, tmp_path: Path) -> None:
    """The commit at the edge has no files to learn from; once its parent is there, it has."""
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--depth=1", f"file://{project.root}", str(clone))
    workspace = opened(clone)
    assert (synced(workspace).episodes, heads(workspace)) == (0, [])
    project.git("-C", str(clone), "fetch", "-q", "--unshallow")
    assert synced(workspace).episodes == 2
    assert heads(workspace) == ["fix: store value", "Add auth (#1)"]


def test_a_detached_head_has_its_history(project: Any, opened: Open) -> None:
    """Without a branch, history is that of the commit checked out."""
    project.git("checkout", "-q", "--detach", "HEAD~1")
    workspace = opened(project.root)
    assert synced(workspace).episodes == 1
    project.write("detached.txt", "x\n")
    project.commit("Detached work")
    assert synced(workspace).episodes == 1
    assert heads(workspace) == ["Detached work", "Add auth (#1)"]


def test_a_repository_without_commits_is_indexed(work: Any, opened: Open) -> None:
    """An unborn branch has files and no history, and its first commit is noticed."""
    work.write("a.py", "alpha = 1\n")
    workspace = opened(work.root)
    assert (synced(workspace).episodes, workspace.index.count, heads(workspace)) == (0, 1, [])
    work.commit("First")
    assert synced(workspace).episodes == 1
    assert heads(workspace) == ["First"]


def test_an_empty_repository_is_said_to_be_empty(work: Any, opened: Open) -> None:
    """Nothing to plan from is a sentence, not an error, and the first file is found."""
    workspace = opened(work.root)
    result = synced(workspace)
    assert any("no files" in note for note in result.notes)
    assert workspace.view.index.count == 0
    assert any("no files" in note for note in synced(opened(work.root)).notes)
    work.write("a.py", "alpha = 1\n")
    assert synced(workspace).added == ("a.py",)


def test_a_linked_worktree_is_a_project_of_its_own(project: Any, opened: Open, tmp_path: Path) -> None:
    """A linked work tree has its own state and the whole history."""
    linked = tmp_path / "linked"
    project.git("worktree", "add", "-q", str(linked), "-b", "other")
    workspace = opened(linked)
    assert synced(workspace).episodes == 2
    assert workspace.adapters.root == linked
    assert not state_of(project.root).exists()


def test_without_git_there_is_no_history(tmp_path: Path, opened: Open) -> None:
    """A plain directory is indexed, and history is named as missing."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/a.py").write_text("alpha = 1\n", encoding="utf-8")
    workspace = opened(tmp_path / "plain")
    result = synced(workspace)
    assert (workspace.index.count, result.episodes) == (1, 0)
    assert workspace.adapters.degraded == ("history",)
    assert "not a git repository" in workspace.adapters.notes[0]
    assert synced(opened(tmp_path / "plain")).cache == "hit"


def test_a_repository_git_cannot_read_is_planned_without_history(project: Any, opened: Open) -> None:
    """Missing objects cost the history and are told; files are indexed all the same."""
    workspace = opened(project.root)
    shutil.rmtree(project.root / ".git/objects")
    (project.root / ".git/objects").mkdir()
    result = synced(workspace)
    assert workspace.index.count == 4
    assert any("history" in note for note in result.notes)
    assert synced(workspace).cache in ("hit", "partial")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_project_keeps_its_state_at_home(project: Any, opened: Open) -> None:
    """Where the project cannot hold state, the user's home does, and it is told."""
    project.root.chmod(0o500)
    try:
        workspace = opened(project.root)
        assert synced(workspace).cache == "miss"
        assert workspace.adapters.notes
        assert synced(opened(project.root)).cache == "hit"
        assert not state_of(project.root).exists()
    finally:
        project.root.chmod(0o700)


def listening(workspace: Workspace) -> list[object]:
    """Note every question to the lister of a workspace."""
    asked: list[object] = []
    keeper = workspace._indexed
    inner = keeper.store.lister

    def lister(only: Any) -> Any:
        asked.append(only)
        return inner(only)

    keeper.store = replace(keeper.store, lister=lister)
    return asked


def test_what_one_process_verified_the_next_need_not(project: Any, opened: Open) -> None:
    """After git wrote its index, names are listed once and not by every process."""
    synced(opened(project.root))
    index = project.root / ".git/index"
    os.utime(index, ns=(0, index.stat().st_mtime_ns - 10**12))
    first, second = opened(project.root), opened(project.root)
    asked = listening(first)
    assert synced(first).cache == "hit"
    assert asked == [None]
    asked = listening(second)
    assert synced(second).cache == "hit"
    assert asked == []


def test_what_is_verified_after_an_edit_keeps_the_edit(project: Any, opened: Open) -> None:
    """A process that verifies names after an edit leaves the next one the names and the edit."""
    workspace = opened(project.root)
    synced(workspace)
    project.write("pkg/auth.py", "def entirely_new(): ...\n")
    assert synced(workspace).cache == "partial"
    index = project.root / ".git/index"
    os.utime(index, ns=(0, index.stat().st_mtime_ns - 10**12))
    assert synced(workspace).cache == "hit"
    other = opened(project.root)
    asked = listening(other)
    assert (synced(other).cache, asked) == ("hit", [])
    assert other.index.frequency("body", "entir") == 1


def test_a_file_added_while_names_are_verified_is_found_by_all(project: Any, opened: Open) -> None:
    """A process that finds a new file while it lists names does not hide it from the next one."""
    synced(opened(project.root))
    index = project.root / ".git/index"
    os.utime(index, ns=(0, index.stat().st_mtime_ns - 10**12))
    project.write("pkg/late.py", "late = 1\n")
    assert synced(opened(project.root)).added == ("pkg/late.py",)
    other = opened(project.root)
    assert synced(other).cache == "hit"
    assert other.index.frequency("body", "late") == 1


def test_a_moved_head_alone_writes_no_index(project: Any, opened: Open) -> None:
    """A commit of what was indexed already costs a snapshot, not an index."""
    synced(opened(project.root))
    before = generations.latest(state_of(project.root), "project")
    project.git("commit", "-q", "--allow-empty", "-m", "nothing")
    result = synced(opened(project.root))
    assert (result.cache, result.freshness) == ("partial", Freshness.STALE)
    assert generations.latest(state_of(project.root), "project") == before
    assert synced(opened(project.root), strict=True).cache == "hit"


def test_settling_leaves_a_fresh_index(project: Any, opened: Open) -> None:
    """After `settle` the next process has nothing to mend, also when this one had mended before."""
    workspace = opened(project.root)
    synced(workspace)
    project.write("pkg/auth.py", "x = 1\n")
    synced(workspace)
    synced(workspace, settle=True)
    assert synced(opened(project.root), strict=True).cache == "hit"


@pytest.mark.parametrize("kind", ["project", "history", "rules", "seen"])
@pytest.mark.parametrize("cut", ["half", "flipped", "gone"])
def test_a_damaged_generation_is_made_anew(project: Any, opened: Open, kind: str, cut: str) -> None:
    """Any file of a generation may be cut, overwritten or missing: the answer is the same, and it is told."""
    project.write("CLAUDE.md", "# Rules\n\n- Never log tokens.\n")
    project.commit("Rules")
    workspace = opened(project.root)
    synced(workspace)
    project.git("commit", "-q", "--allow-empty", "-m", "nothing")
    synced(workspace)
    expected = (workspace.index.paths, heads(workspace), [rule.rule for rule in workspace.rulebook.rules])
    found = generations.latest(state_of(project.root), kind)
    assert isinstance(found, generations.Generation)
    for name in [*found.files, generations.MANIFEST]:
        current = generations.latest(state_of(project.root), kind)
        assert isinstance(current, generations.Generation)
        path = current.path / name
        data = path.read_bytes()
        if cut == "gone":
            path.unlink()
        elif cut == "half":
            path.write_bytes(data[: len(data) // 2])
        else:
            path.write_bytes(bytes(byte ^ 0xFF for byte in data))
        again = opened(project.root)
        result = synced(again)
        if kind in ("project", "history") and (cut != "flipped" or name == generations.MANIFEST) and data:
            assert result.notes, f"{name} {cut}"
        if cut != "flipped" or name == generations.MANIFEST:
            rules = [rule.rule for rule in again.rulebook.rules]
            assert (again.index.paths, heads(again), rules) == expected, f"{name} {cut}"
            assert synced(opened(project.root)).notes == ()


@pytest.mark.parametrize("module", ["project.updates.FORMAT", "sessions.past.TERMS_VERSION"])
def test_what_holds_other_terms_is_made_again(
    project: Any, opened: Open, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """An index and a past that another version split into terms are not searched."""
    monkeypatch.setattr(f"workbench.{module}", 0)
    synced(opened(project.root))
    monkeypatch.undo()
    assert synced(opened(project.root)).notes
    assert synced(opened(project.root)).notes == ()


def test_unreadable_journal_lines_cost_themselves_alone(project: Any, opened: Open) -> None:
    """Garbage in the journal is left out; episodes around it count; malformed ones are told."""
    synced(opened(project.root))
    journal = state_of(project.root) / "journal/sessions.jsonl"
    with journal.open("ab") as file:
        file.write(b'\xff\xfe\x00garbage\n{"v":1}\n{"half": ')
    workspace = opened(project.root)
    synced(workspace)
    assert len(heads(workspace)) == 2
    FileJournal(state_of(project.root), _Clock()).append(
        STREAM, "episode.imported", [{"session_id": "x"}], by="test"
    )
    assert any("malformed" in note for note in synced(opened(project.root)).notes)


class _Clock:
    """A clock that stands still."""

    def now(self) -> float:
        return 1_700_000_000.0


def test_a_journal_that_was_removed_is_filled_again(project: Any, opened: Open) -> None:
    """Deleting the journal loses what only it knew; what git knows comes back."""
    synced(opened(project.root))
    (state_of(project.root) / "journal/sessions.jsonl").unlink()
    workspace = opened(project.root)
    assert synced(workspace).episodes == 2
    assert len(heads(workspace)) == 2


def test_a_full_disk_costs_the_next_run_time_not_this_one_its_answer(
    project: Any, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be stored: the answer comes from memory, the notes say so, the next run works."""

    def full(*arguments: Any, **options: Any) -> Any:
        raise StoreError("writing failed: No space left on device", hint="Free some space.")

    workspace = opened(project.root)
    with monkeypatch.context() as patch:
        patch.setattr(generations, "publish", full)
        patch.setattr(FileJournal, "append", full)
        result = synced(workspace)
        assert workspace.index.count == 4
        assert sum("No space left" in note for note in result.notes) >= 2
        assert synced(workspace).cache == "hit"
    again = opened(project.root)
    assert synced(again).episodes == 2
    assert synced(opened(project.root)).cache == "hit"


def test_other_settings_make_another_index(project: Any, opened: Open) -> None:
    """What is excluded now is not served from an index made before it was."""
    synced(opened(project.root))
    config = Config()
    config = replace(config, privacy=replace(config.privacy, exclude=("pkg/auth.py",)))
    workspace = open_workspace(project.root, config, dict(os.environ)).workspace
    assert synced(workspace).cache == "miss"
    assert "pkg/auth.py" not in workspace.index.positions
    assert synced(opened(project.root, max_files=2)).cache == "miss"


def test_a_tree_beyond_the_cap_is_capped_and_said_so(project: Any, opened: Open) -> None:
    """A listing of very many names is cut at the limit, quickly and with the count."""
    workspace = opened(project.root, max_files=3)
    inner = workspace.adapters.lister

    def many(only: Any) -> Any:
        listing = inner(only)
        if only is not None:
            return listing
        return replace(
            listing, paths=(*listing.paths, *(f"deep/er/gen_{number}.py" for number in range(300_000)))
        )

    keeper = workspace._indexed
    keeper.store = replace(keeper.store, lister=many)
    synced(workspace)
    assert workspace.index.count == 3
    assert workspace.scan_report["capped"] is True


def test_a_huge_file_is_passed_over(project: Any, opened: Open) -> None:
    """A file of 200 MB is neither read nor hashed; its name is in the report."""
    with (project.root / "dump.py").open("wb") as file:
        file.truncate(200_000_000)
    workspace = opened(project.root)
    synced(workspace)
    assert "dump.py" not in workspace.index.positions
    assert workspace.scan_report["skipped"] == {"large": 1}
    assert synced(opened(project.root)).cache == "hit"


def test_a_file_that_stops_being_text_leaves_the_index(project: Any, opened: Open) -> None:
    """A source that becomes binary, huge, a link or unreadable is gone, and back when it is text again."""
    workspace = opened(project.root)
    synced(workspace)
    path = project.root / "pkg/auth.py"

    def binary() -> None:
        path.write_bytes(b"\0\1\2" * 500)

    def huge() -> None:
        path.write_bytes(b"x" * 1_000_001)

    def link() -> None:
        path.unlink()
        path.symlink_to("store.py")

    def directory() -> None:
        path.unlink()
        path.mkdir()

    for number, spoil in enumerate((binary, huge, link, directory)):
        spoil()
        assert synced(workspace).cache == "partial", number
        for each in (workspace, opened(project.root)):
            assert synced(each).cache == "hit", number
            assert "pkg/auth.py" not in each.index.positions, number
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        project.write("pkg/auth.py", AUTH + f"# {number}\n")
        synced(workspace)
        assert workspace.index.frequency("body", "refresh") == 1, number


@pytest.mark.parametrize("stage", ["listing files", "reading files", "reading history"])
@pytest.mark.parametrize("same", [True, False])
def test_a_file_that_changes_during_the_first_index(
    project: Any, opened: Open, stage: str, same: bool
) -> None:
    """What changes between listing, reading and storing is in the next answer, also at equal time."""
    path = project.root / "pkg/auth.py"
    before = path.stat()
    changed = AUTH.replace("refresh", "renewal") if same else AUTH + "# renewal\n"
    done: list[str] = []

    def progress(name: str, at: int, total: int) -> None:
        if name == stage and name not in done:
            done.append(name)
            path.write_text(changed, encoding="utf-8")
            if same:
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            project.write("pkg/late.py", "late = 1\n")
            (project.root / "tests/test_auth.py").unlink()

    workspace = opened(project.root)
    synced(workspace, progress=progress)
    assert done
    for each in (workspace, opened(project.root)):
        synced(each)
        assert each.index.frequency("body", "renew") == 1
        assert each.index.frequency("body", "late") == 1
        assert "tests/test_auth.py" not in each.index.positions


def test_a_file_that_vanishes_while_it_is_mended(project: Any, opened: Open) -> None:
    """A changed file that is gone when it is read leaves the index, and is back when it is."""
    workspace = opened(project.root)
    synced(workspace)
    path = project.root / "pkg/auth.py"
    path.write_text("vanishing = 1\n", encoding="utf-8")
    keeper = workspace._indexed
    inner = keeper._check

    def check(*arguments: Any) -> Any:
        report = inner(*arguments)
        path.unlink(missing_ok=True)
        return report

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeper, "_check", check)
        assert synced(workspace).changed == ("pkg/auth.py",)
    assert "pkg/auth.py" not in workspace.index.positions
    assert synced(workspace).cache == "hit"
    path.write_text(AUTH, encoding="utf-8")
    assert synced(workspace).added == ("pkg/auth.py",)


def test_the_lines_that_commits_changed_come_with_an_index(project: Work, opened: Open) -> None:
    """A plan reads none at first; an index does, and from then on plans add what is new."""
    workspace = opened(project.root)
    synced(workspace)
    assert workspace.edits() is None
    synced(workspace, settle=True)
    found = workspace.edits()
    assert found is not None
    (first, second) = found.of("pkg/store.py")
    assert ([tuple_of(hunk) for hunk in first.hunks], first.whole, second.whole) == (
        [(1, 1, 1, 1)],
        False,
        True,
    )
    project.write("pkg/store.py", "VALUE = 2\nOTHER = 3\n")
    project.commit("feat: other")
    synced(workspace)
    after = workspace.edits()
    assert after is not None
    assert len(after.of("pkg/store.py")) == 3
    assert after.tip != found.tip


def tuple_of(hunk: Hunk) -> tuple[int, int, int, int]:
    return hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
