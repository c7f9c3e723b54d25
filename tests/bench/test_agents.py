"""Readers see a task's past alone, what they ask is counted, and answers are compared with the commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import reworded
from bench.agents import __main__ as agents
from bench.agents import asking, scripted, tasks
from bench.agents.asking import Asked, Place, Reading, answer, ask, reading_of
from bench.agents.score import outcome_of, outcomes, report
from bench.agents.tasks import ARMS, ReadingTask, check_out, choose_tasks, read_tasks, write_tasks
from bench.timeline import Timeline
from store.git_diff import diff_hunks
from tests.conftest import Work, make_repository
from workbench.errors import UsageError

SOURCE = "".join(f"line_{number} = {number}\n" for number in range(1, 41))


@pytest.fixture(scope="session")
def _changed_shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Work, list[str]]:
    """Make a repository with five commits that have sentences, three of them wide; their ids in order."""
    work = make_repository(tmp_path_factory.mktemp("changed") / "work")
    for name in ("cart", "bill", "mail", "page"):
        work.write(f"{name}.py", SOURCE)
    work.write("README.md", "A shop.\n")
    work.commit("start")
    shas = []
    for number in range(5):
        for name in ("cart", "bill", "mail", "page") if number % 2 == 0 else ("cart",):
            work.write(f"{name}.py", SOURCE.replace("= 20\n", f"= {100 + number}\n"))
        shas.append(work.commit(f"change {number}"))
    return work, shas


@pytest.fixture
def shop(
    _changed_shop: tuple[Work, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Timeline, list[str]]:
    """A copy of that repository, and the ids."""
    work, shas = _changed_shop
    data = tmp_path / "reworded.jsonl"
    line = '{"repository": "work", "commit": "%s", "task": "Total %d is wrong.", "kind": "bugfix", '
    line += '"split": "test"}\n'
    data.write_text("".join(line % (sha, number) for number, sha in enumerate(shas)), encoding="utf-8")
    monkeypatch.setattr(reworded, "DATA", tmp_path)
    return Timeline(work.copy(tmp_path / "work").root), shas


@pytest.fixture
def place(shop: tuple[Timeline, list[str]], tmp_path: Path) -> Path:
    """The folder of the third commit's task, which is wide and of which reader 0 has no brief."""
    timeline, shas = shop
    chosen = {task.commit: task for task in choose_tasks(timeline, 5)}
    task = replace(chosen[shas[2]], turn=0)
    write_tasks(tmp_path / "out", [task])
    check_out(timeline.repository.root, task, tmp_path / "out" / task.id / "checkout")
    return tmp_path / "out" / task.id


def bare(place: Path, *words: str) -> str:
    """Ask as a reader without a brief."""
    return ask(place, words, reader="reader-0", arm="none")


def test_half_of_the_tasks_are_wide_and_three_readers_have_each_in_every_arm(
    shop: tuple[Timeline, list[str]],
) -> None:
    """Widths and arms follow from the commits alone, so that a second choice is the same."""
    chosen = choose_tasks(shop[0], 4)
    assert [(task.wide, task.arm_of(0)) for task in chosen] == [
        (True, "none"),
        (True, "brief"),
        (False, "compact"),
        (False, "none"),
    ]
    for task in chosen:
        assert {task.arm_of(reader) for reader in range(3)} == set(ARMS)
    assert chosen == choose_tasks(shop[0], 4)
    assert {task.text for task in chosen} < {f"Total {number} is wrong." for number in range(5)}


def test_a_checkout_knows_nothing_later(place: Path, shop: tuple[Timeline, list[str]]) -> None:
    """Of the commits only those before the task are there, and no name but the branch."""
    checkout = Work(place / "checkout")
    assert checkout.git("log", "--all", "--format=%s").decode().split("\n")[:3] == [
        "change 1",
        "change 0",
        "start",
    ]
    assert checkout.git("for-each-ref", "--format=%(refname)") == b"refs/heads/main\n"
    known = checkout.git("cat-file", "--batch-check=%(objecttype)", "--batch-all-objects").split()
    assert known.count(b"commit") == 3
    assert len(shop[1]) == 5


def test_what_is_asked_is_counted(place: Path) -> None:
    """A command counts with the characters it gave; the task is free."""
    assert bare(place, "task") == "Total 2 is wrong."
    grep = bare(place, "grep", "-i", "LINE_20 ", "*.py")
    assert grep.splitlines()[0] == "bill.py:20:line_20 = 100"
    assert bare(place, "read", "cart.py", "2-3", "40-40") == "2\tline_2 = 2\n3\tline_3 = 3\n40\tline_40 = 40"
    assert bare(place, "ls", "--head", "2") == "README.md\nbill.py"
    assert bare(place, "log", "-n", "1", "--name-only", "cart.py").splitlines()[1:] == ["cart.py"]
    reading = reading_of(place, "reader-0")
    assert reading is not None
    assert reading.commands == 4
    assert reading.asked[1] == Asked(("grep", "-i", "LINE_20 ", "*.py"), len(grep))
    assert reading.characters == sum(one.characters for one in reading.asked[1:])


@pytest.mark.parametrize(
    "words",
    [
        ["read", "../../tasks.jsonl"],
        ["read", ".git/config"],
        ["read", "/etc/hosts"],
        ["ls", "/etc"],
        ["grep", "-f", "cart.py", "x"],
        ["log", "--output=x"],
        ["log", "--all"],
        ["push"],
        ["brief"],
        ["show", "cart.py"],
        [],
    ],
)
def test_nothing_else_can_be_asked(place: Path, words: list[str]) -> None:
    """Other paths, options and commands are refused with what to do instead, and count for nothing."""
    with pytest.raises(UsageError) as refused:
        bare(place, *words)
    assert refused.value.hint
    reading = reading_of(place, "reader-0")
    assert reading is None or reading.asked == ()


def test_long_answers_are_cut(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is given no more than agents' own tools would give."""
    monkeypatch.setattr(asking, "MOST", 50)
    assert (
        bare(place, "read", "cart.py")
        == "\n".join(f"{number}\tline_{number} = {number}" for number in range(1, 41))[:50] + "\n(cut)"
    )


def test_a_task_is_answered_once(place: Path) -> None:
    """After the answer nothing can be asked; what is not a file of the checkout cannot be an answer."""
    found = ["cart.py:19-21", "bill.py:7", "mail.py"]
    with pytest.raises(UsageError, match=r"none\.py is not a file"):
        answer(place, ["none.py:1-2"], reader="reader-0", arm="none")
    assert answer(place, found, reader="reader-0", arm="none").answer == (
        Place("cart.py", 19, 21),
        Place("bill.py", 7, 7),
        Place("mail.py"),
    )
    with pytest.raises(UsageError, match="answered"):
        bare(place, "ls")


def test_a_brief_is_characters_and_no_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only readers of that arm are given it, and what it names they may ask for."""
    called: list[tuple[str, ...]] = []

    def run(_place: Path, *arguments: str) -> str:
        called.append(arguments)
        return "cart.py:1-2"

    monkeypatch.setattr(asking, "run_workbench", run)
    for words in (["brief"], ["show", "cart.py"]):
        assert ask(place, words, reader="reader-0", arm="compact") == "cart.py:1-2"
    assert [(what, options[-1]) for what, *options in called] == [
        ("plan", "Total 2 is wrong."),
        ("show", "cart.py"),
    ]
    assert "compact" in called[0]
    reading = reading_of(place, "reader-0")
    assert reading is not None
    assert (reading.commands, reading.characters) == (1, 22)


def test_answers_are_compared_with_the_commit(place: Path, shop: tuple[Timeline, list[str]]) -> None:
    """Files and places of source are scored by themselves, documents only among all files."""
    (task,) = read_tasks(place.parent)
    hunks = diff_hunks(shop[0].repository, task.revision, task.commit)
    reading = Reading(
        "reader-0",
        "none",
        (),
        (Place("cart.py", 10, 19), Place("bill.py", 1, 5), Place("README.md"), Place("mail.py")),
    )
    outcome = outcome_of(reading, task, hunks)
    assert (outcome.first_file, outcome.file_recall, outcome.file_precision) == (1.0, 0.75, 1.0)
    assert outcome.place_recall == 0.5
    assert outcome.place_precision == pytest.approx(2 / 3)
    assert outcome.all_files == 0.75


def test_the_baseline_reads_around_the_rarest_word(place: Path, shop: tuple[Timeline, list[str]]) -> None:
    """It greps for the words of the task and answers with what it read; its readings are scored by arm."""
    (task,) = read_tasks(place.parent)
    write_tasks(place.parent, [replace(task, text="The line_33 of the shop")])
    reading = scripted.read(place, "none")
    assert reading.answer is not None
    assert {(found.first, found.last) for found in reading.answer} == {(18, 48)}
    assert {one.command[0] for one in reading.asked} == {"task", "grep", "read"}
    assert scripted.read(place, "none") == reading
    ((_task, kept, outcome),) = outcomes(place.parent, shop[0].repository.root.parent)
    assert (kept.reader, outcome.first_file) == ("scripted-none", 1.0)


def test_the_baseline_answers_what_a_brief_shows(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings of the brief are its places, whole files without lines; it asks for nothing more."""
    text = "Brief (bugfix): x\ncart.py:1-9,20-22\n  bill.py:3-4\n\nbill.py\n  x\nMay be needed, too:\n"
    monkeypatch.setattr(asking, "run_workbench", lambda *_arguments: text)
    reading = scripted.read(place, "brief")
    assert reading.answer == (Place("cart.py", 1, 9), Place("cart.py", 20, 22), Place("bill.py"))
    assert (reading.commands, reading.characters) == (0, len(text))


def test_the_report_has_arms_and_the_baseline_on_the_same_tasks(
    shop: tuple[Timeline, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prepared, read and scored through the command; a line for each arm, and what they differ by."""
    monkeypatch.setattr(tasks, "run_workbench", lambda *_arguments: "cart.py:1-40\n")
    monkeypatch.setattr(asking, "run_workbench", lambda *_arguments: "cart.py:1-40\n")
    out, repos = tmp_path / "out", shop[0].repository.root.parent
    arguments = ["prepare", str(out), "--repos", str(repos), "--repository", "work"]
    assert agents.main(arguments) == agents.main(arguments) == 0
    for task in read_tasks(out):
        for reader in range(3):
            place = f"{out / task.id}@{reader}"
            assert agents.main(["ask", place, "grep", "-w", "line_20"]) == 0
            assert agents.main(["answer", place, "cart.py:20-20"]) == 0
    assert agents.main(["ask", str(out / task.id), "ls"]) == 2
    assert agents.main(["scripted", str(out)]) == 0
    lines: list[str] = []
    report(out, repos, lines.append)
    text = "\n".join(lines)
    for arm in ARMS:
        assert f"| {arm} | 4 | 1.00 [1.00, 1.00] |" in text
        assert f"| scripted, {arm} | 4 |" in text
    assert "brief - none on the same 4 tasks" in text
    assert "- commands: 0.0 [0.0, 0.0], p = 1.000" in text


def test_what_was_not_prepared_is_refused(tmp_path: Path) -> None:
    """A folder without tasks says how one is made."""
    with pytest.raises(UsageError, match="holds no tasks"):
        bare(tmp_path / "x", "task")
    task = ReadingTask("a-1", "a", "1", "0", "text", ("a.py",), 1, 0)
    write_tasks(tmp_path, [task])
    with pytest.raises(UsageError, match="no folder of a task"):
        bare(tmp_path / "x", "task")
