"""What iterations add: little, once, in quarantine; nothing of what they were told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.memory.learnings.conftest import Iteration, call
from workbench.curation.folding import LedgerReader, read_ledger
from workbench.memory.learnings.accumulation import Accumulated, accumulate
from workbench.memory.learnings.echoes import note_injected, read_injections
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.prompt import known_learnings, memory_prompt
from workbench.memory.learnings.service import LearningService
from workbench.records.iterations import ErrorEntry, ErrorType, FileAction, FileTouched, IterationOutcome
from workbench.records.learnings import LearningKind, LearningState

Make = Callable[..., Iteration]
MISSING = call("pytest tests/auth", "bash: pytest: command not found", failed=True)
WORKS = call("uv run pytest tests/auth", "3 passed")
UNDEFINED = ErrorEntry(
    "TypeError: Cannot read property 'user' of undefined", ErrorType.RUNTIME, "src/auth.ts", 4
)
CAUSE = "The issue is that `Session.refresh` doesn't take the lock before it reads the token."


def learn(store: LearningStore, made: Iteration, **more: object) -> Accumulated:
    return accumulate(*made, store, **more)  # type: ignore[arg-type]


def test_a_command_that_fails_and_the_way_that_works(store: LearningStore, iteration: Make) -> None:
    """What is learned names both, is in quarantine, and says where it is from."""
    done = learn(store, iteration(7, uses=(MISSING, WORKS), task_id="42"))
    (one,) = done.added
    told = "`pytest tests/auth` does not run here (pytest: command not found)"
    assert one.text == f"{told}; `uv run pytest tests/auth` does."
    assert (
        one.reviewed,
        one.iteration,
        one.session_id,
        one.feature,
        one.task_id,
        one.kind,
    ) == (False, 7, "s7", "auth", None, LearningKind.COMMAND)
    assert one.reason


@pytest.mark.parametrize(
    "uses",
    [
        (call("pytest tests", "1 failed", failed=True), call("pytest tests/auth", "1 passed")),
        (call("cat foo", "cat: foo: No such file or directory", failed=True), call("cat src/foo")),
        (MISSING, call("cargo test")),
        (MISSING, call("uv run pytest tests/auth", "boom", failed=True)),
    ],
)
def test_other_failures_teach_nothing(
    store: LearningStore, iteration: Make, uses: tuple[object, ...]
) -> None:
    """Tests that fail, mistyped paths and unrelated successes are no lessons."""
    assert learn(store, iteration(uses=uses)).added == ()


def test_an_edit_in_between_means_another_cause(store: LearningStore, iteration: Make) -> None:
    """What works after an edit may have failed for the code."""
    edit = call("x")
    edit = type(edit)("Edit", {"file_path": "a.py"}, result="ok")
    assert learn(store, iteration(uses=(MISSING, edit, WORKS))).added == ()


def test_causes_are_kept_of_iterations_that_came_out_well(store: LearningStore, iteration: Make) -> None:
    """A named cause is learned without the agent's own voice; not where the iteration failed."""
    uses = (call("make"),)
    failed = iteration(uses=uses, texts=(CAUSE,), outcome=IterationOutcome.FAILURE)
    assert learn(store, failed).added == ()
    (one,) = learn(store, iteration(2, uses=uses, texts=(CAUSE,))).added
    assert one.text == "`Session.refresh` doesn't take the lock before it reads the token."


def test_a_correction_of_the_user_is_learned_and_a_request_is_not(
    store: LearningStore, iteration: Make
) -> None:
    """How things are done is a correction; what is wanted now is a task."""
    made = iteration(prompt="No, use `pnpm` instead of `npm`. Can you also fix `login.ts`?", place=1)
    (one,) = learn(store, made).added
    assert (one.kind, one.text) == (LearningKind.CORRECTION, "Use `pnpm` instead of `npm`.")


def test_an_iteration_told_twice_adds_nothing(store: LearningStore, iteration: Make) -> None:
    """Ingesting a transcript again neither adds learnings nor hits."""
    learn(store, iteration(1, uses=(MISSING, WORKS)))
    again = learn(store, iteration(1, uses=(MISSING, WORKS)))
    assert (again.added, again.hits) == ((), ())
    assert [learning.hit_count for learning in LearningService(store, "t").learnings()] == [1]


def test_another_session_that_finds_it_out_is_a_hit(store: LearningStore, iteration: Make) -> None:
    """The same finding of two sessions is one learning with two hits, trusted more."""
    (one,) = learn(store, iteration(1, uses=(MISSING, WORKS))).added
    assert (one.id,) == learn(store, iteration(2, uses=(MISSING, WORKS))).hits
    now = LearningService(store, "t").find(one.id)
    assert (now.hit_count, now.confidence > one.confidence) == (2, True)


def test_what_was_rejected_is_not_learned_again(store: LearningStore, iteration: Make) -> None:
    """Junk that a person threw out stays out."""
    desk = LearningService(store, "cli")
    (one,) = learn(store, iteration(1, uses=(MISSING, WORKS))).added
    desk.reject([one.id])
    again = learn(store, iteration(2, uses=(MISSING, WORKS)))
    assert (again.added, again.left_out[0][1]) == ((), "it was rejected before")


def test_what_a_rule_says_is_not_learned(store: LearningStore, iteration: Make) -> None:
    """Agents get rules in other ways."""
    made = iteration(prompt="Always use `pnpm` instead of `npm`.")
    assert learn(store, made, rules=["always use `pnpm` instead of `npm`."]).added == ()


def test_a_remedy_that_fails_costs_confidence(store: LearningStore, iteration: Make) -> None:
    """A learning that an outcome speaks against is trusted half as much."""
    (one,) = learn(store, iteration(1, uses=(MISSING, WORKS))).added
    broken = call("uv run pytest tests/auth", "uv: command not found", failed=True)
    assert (one.id,) == learn(store, iteration(2, uses=(broken,))).contradicted
    assert one.confidence / 2 == LearningService(store, "t").find(one.id).confidence


def test_an_error_that_came_back_until_a_change(store: LearningStore, iteration: Make) -> None:
    """An error of two iterations that went away with a change of its file is learned."""
    error = UNDEFINED
    bad = IterationOutcome.FAILURE
    before = [iteration(number, errors=(error,), outcome=bad)[0] for number in (1, 2)]
    made = iteration(3, files_touched=(FileTouched("src/auth.ts", FileAction.MODIFIED),))
    (one,) = learn(store, made, before=before).added
    assert "src/auth.ts" in one.files
    assert "iterations 1, 2" in one.text


def test_a_given_learning_that_did_not_help_loses_confidence(store: LearningStore, iteration: Make) -> None:
    """Given, and failed on the same error all the same: it is trusted less."""
    error = UNDEFINED
    bad = IterationOutcome.FAILURE
    before = [iteration(number, errors=(error,), outcome=bad)[0] for number in (1, 2)]
    fixed = iteration(3, files_touched=(FileTouched("src/auth.ts", FileAction.MODIFIED),))
    (one,) = learn(store, fixed, before=before).added
    later = iteration(4, errors=(error,), outcome=bad, at="2024-01-01T00:00:00Z")
    assert learn(store, later).contradicted == ()
    note_injected(store, {one.id: one.text}, surface="plan", session="s5")
    given = iteration(5, errors=(error,), outcome=bad, at="2024-01-01T00:00:00Z")
    assert (one.id,) == learn(store, given).contradicted


def test_a_contradiction_of_a_learning_waits_at_the_desk(store: LearningStore, iteration: Make) -> None:
    """An automatic learning never overwrites another: both wait, and it is given to nobody."""
    desk = LearningService(store, "cli")
    first = desk.add("Always use `pnpm` for `packages/api`.", feature="auth", reason="told")
    made = iteration(prompt="Never use `pnpm` for `packages/api`.", place=1)
    (one,) = learn(store, made).conflicts
    assert (first.id,) == one.conflicts_with
    given = memory_prompt(
        known_learnings(store.ledger()), store.now(), store.count_tokens, feature="auth", budget=500
    ).given
    assert [first.id] == [item.id for item in given]


def test_a_hundred_iterations_that_repeat_what_they_were_told_teach_nothing(
    store: LearningStore, iteration: Make
) -> None:
    """The recall loop: whatever is repeated, in whatever dress, adds no learning, no hit, no confidence."""
    desk = LearningService(store, "cli")
    learn(store, iteration(1, uses=(MISSING, WORKS)))
    learn(store, iteration(2, uses=(call("make"),), texts=(CAUSE,)))
    desk.add("Always use `pnpm` instead of `npm` in this repository", feature="auth", reason="told")
    before = desk.learnings()
    dresses: tuple[Callable[[str], str], ...] = (
        lambda text: text,
        lambda text: "> " + text.replace(" ", "\n> ", 6),
        lambda text: f"The issue is that {text}",
        lambda text: f"I'll go with this because memory says so: {text}",
        lambda text: " ".join(text.split()[: max(6, len(text.split()) * 2 // 3)]),
        lambda text: f"**{text.upper()}**",
    )
    for number in range(3, 103):
        session = f"s{number}"
        made = memory_prompt(
            known_learnings(store.ledger()), store.now(), store.count_tokens, feature="auth", budget=900
        )
        note_injected(
            store, {one.id: one.text for one in made.given}, surface="memory-prompt", session=session
        )
        dress = dresses[number % len(dresses)]
        said = [dress(one.text) for one in made.given]
        learn(
            store,
            iteration(
                number,
                uses=(MISSING, WORKS),
                texts=(made.text, *said),
                prompt="\n".join([made.text, *said]),
                place=number % 2,
                at="2024-01-01T00:00:00Z",
            ),
        )
    assert before == desk.learnings()
    assert len(before) == 3
    assert len(list(store.journal.read("injected"))) <= 100
    assert len(read_injections(store.journal).prints) < 200


def test_states_that_are_gone_take_no_hits(store: LearningStore, iteration: Make) -> None:
    """What was retired is not revived by being found out again: it is learned anew, in quarantine."""
    desk = LearningService(store, "cli")
    (one,) = learn(store, iteration(1, uses=(MISSING, WORKS))).added
    desk.retire([one.id])
    (again,) = learn(store, iteration(2, uses=(MISSING, WORKS))).added
    assert again.id != one.id
    assert LearningState.RETIRED is desk.find(one.id).state


def test_a_reader_that_goes_on_reads_what_a_new_one_does(store: LearningStore, iteration: Make) -> None:
    """Folding the journals line by line or at once gives the same, also with another process at work."""
    reader = LedgerReader(LearningLedger, store.journals)
    desk = LearningService(store, "cli")
    for number in range(1, 6):
        learn(store, iteration(number, uses=(MISSING, WORKS)))
        learn(store, iteration(number + 20, prompt=f"Never use `eval_{number}` in `src`."))
        desk.accept([max(store.ledger().records)])
        desk.undo()
        reader.ledger()
    fresh, going = read_ledger(LearningLedger, store.journals), reader.ledger()
    assert (going.records, going.hits, going.done, going.undone) == (
        fresh.records,
        fresh.hits,
        fresh.done,
        fresh.undone,
    )
    assert going.hits
