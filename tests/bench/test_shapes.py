"""Models are trained on other texts and pasts of a commit, and on no repository that figures are of."""

from __future__ import annotations

from bench import split
from bench.reworded import repositories_of
from bench.shapes import shape_tasks, squash
from workbench.plan.view import view_project
from workbench.project.updates import build_index
from workbench.records.episodes import ChangeKind, FileChange
from workbench.replay.tasks import ReplayTask
from workbench.replay.timeline import KnownTask, Moment
from workbench.sessions.history import PastTask, build_history
from workbench.text.terms import count_terms

HELD_BACK = "django flask astropy pylint pytest requests xarray seaborn sphinx sympy matplotlib scikit-learn"


def _known(number: int) -> KnownTask:
    change = FileChange(f"{number}.py", ChangeKind.MODIFIED)
    task = PastTask(100 - number, {"fix": 1}, (change,), (f"#{number}",), number == 3)
    return KnownTask(task, f"fix {number}", 100 - number)


def test_a_squashed_past_has_the_words_files_and_issues_of_every_few_commits() -> None:
    """The newest of them says when and which head; the rest of a history is one smaller commit."""
    tasks = squash([_known(number) for number in range(7)])
    assert [one.head for one in tasks] == ["fix 0", "fix 5"]
    assert [(one.task.terms, one.task.fix) for one in tasks] == [({"fix": 5}, True), ({"fix": 2}, False)]
    assert {change.path for change in tasks[0].task.changes} == {f"{number}.py" for number in range(5)}
    assert tasks[1].task.issue_refs == ("#5", "#6")


def test_every_task_is_there_as_it_is_and_some_with_another_text_or_past() -> None:
    """Fifty commits, squashed ones, one line, or a message without its first line."""
    past = tuple(_known(number) for number in range(60))
    index = build_index([], [], [])
    moment = Moment(view_project(index, build_history(known.task for known in past)), {}, past)
    body = (
        "the parser drops a quoted newline before any comment ends, tokens shift and errors name wrong lines"
    )
    assert len(count_terms(body)) >= 12
    task = ReplayTask("a", "a", "commit", f"Fix the lexer\n\n{body}", "", "a", 0, ("0.py",))
    shapes = [
        [(one.source, one.text, len(then.past)) for then, one in shape_tasks(n, moment, task)]
        for n in range(4)
    ]
    assert [[source for source, _, _ in some] for some in shapes] == [
        ["commit", "body", "subject"],
        ["commit", "shallow", "subject"],
        ["commit", "body", "subject"],
        ["commit", "squashed", "subject"],
    ]
    assert shapes[0] == [("commit", task.text, 60), ("body", body, 60), ("subject", "Fix the lexer", 60)]
    assert [shapes[1][1][2], shapes[3][1][2]] == [50, 12]


def test_no_repository_is_trained_on_and_reported_on() -> None:
    """Nor is any of those that issues of benchmarks by others are from."""
    trained = {*split.TRAIN, *split.TRAIN_LIFE, *split.PROMPTS_TRAIN}
    assert not trained & {*split.TEST, *split.PROMPTS_TEST, *repositories_of("test")}
    assert not {name.split("+")[1] for name in trained} & {*HELD_BACK.split()}
