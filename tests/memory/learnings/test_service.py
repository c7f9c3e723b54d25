"""The service: every step is recorded, has a reason, and can be undone and done again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import generations
from tests.adapters import ManualClock, MemoryJournal
from tests.memory.learnings.conftest import learning_store
from tests.memory.learnings.facts import contradict, note_hit
from workbench.curation import folding
from workbench.curation.conflicts import ConflictDecision, RecordChanged
from workbench.errors import UsageError
from workbench.memory.learnings.echoes import note_injected
from workbench.memory.learnings.keeping import load_kept
from workbench.memory.learnings.learningstore import LearningStore
from workbench.memory.learnings.learningtype import LEARNINGS
from workbench.memory.learnings.ledger import LearningLedger
from workbench.memory.learnings.prompt import candidates, known_learnings
from workbench.memory.learnings.review import Why, conflicts_of, queue_of
from workbench.memory.learnings.service import LearningService
from workbench.records.conflicts import Action
from workbench.records.learnings import FeatureLearning, LearningSource, LearningState

NEEDS = "`pnpm test` needs `pnpm build` first"
PORT = "Port 8080 is taken by `nginx`"
NEEDS_NOT = "`pnpm test` does not need `pnpm build` first"


@pytest.fixture
def desk(store: LearningStore) -> LearningService:
    return LearningService(store, "cli")


def essences(ledger: LearningLedger) -> dict[str, FeatureLearning]:
    """Return what holds, without times and counts."""
    return {identifier: LEARNINGS.essence(record) for identifier, record in ledger.records.items()}


def test_a_person_s_learning_is_reviewed_and_an_agent_s_is_not(desk: LearningService) -> None:
    """Who words a learning decides whether it is in quarantine."""
    mine = desk.add(NEEDS, feature="auth", reason="CI broke")
    agents = desk.add(PORT, feature="auth", reason="r", source=LearningSource.AGENT)
    assert (mine.reviewed, agents.reviewed) == (True, False)
    assert mine.confidence > agents.confidence


def test_a_learning_without_a_reason_is_refused(desk: LearningService) -> None:
    """Every learning says why it exists."""
    with pytest.raises(UsageError, match="no reason"):
        desk.add(NEEDS, feature="auth", reason=" ")


def test_a_text_that_is_too_long_is_refused_not_cut(desk: LearningService) -> None:
    """Nobody finds the end of what was typed missing."""
    whole = f"{NEEDS} {'x' * 500}"[:500]
    kept = desk.add(f"  {whole}\n", feature="auth", reason="CI broke")
    assert kept.text == whole
    with pytest.raises(UsageError, match="501 characters, and a learning 500 at most"):
        desk.add(f"{whole}x", feature="auth", reason="CI broke")
    with pytest.raises(UsageError, match="501 characters"):
        desk.edit(kept.id, text=f"{whole}x")
    assert [one.text for one in desk.learnings()] == [whole]


def test_a_repetition_is_refused_and_an_agent_s_counts_as_a_hit(desk: LearningService) -> None:
    """The same thing is not known twice."""
    first = desk.add(NEEDS, feature="auth", reason="CI broke")
    with pytest.raises(UsageError, match="known already"):
        desk.add(f"{NEEDS}.", feature="auth", reason="again")
    again = desk.add(
        f"{NEEDS}.", feature="auth", reason="again", source=LearningSource.AGENT, session_id="s9"
    )
    assert (first.id, 2) == (again.id, again.hit_count)


def test_a_repetition_is_one_also_where_something_contradicts_it(desk: LearningService) -> None:
    """What is in conflict is not known a second time for it."""
    first = desk.add(NEEDS, feature="auth", reason="r")
    desk.add(NEEDS_NOT, feature="auth", reason="r")
    with pytest.raises(UsageError, match=first.id):
        desk.add(NEEDS, feature="auth", reason="r")


def test_a_contradiction_waits_with_both_sides_and_evidence(desk: LearningService) -> None:
    """What contradicts a learning is neither merged nor dropped."""
    first = desk.add(NEEDS, feature="auth", reason="CI broke")
    second = desk.add(NEEDS_NOT, feature="auth", reason="r", source=LearningSource.AGENT)
    item = desk.review_queue()[0]
    assert (Why.CONFLICT, second.id) == (item.why, item.learning.id)
    assert item.other is not None
    assert first.id == item.other.id
    assert item.evidence


@pytest.mark.parametrize(
    ("first", "second", "leads"),
    [
        (LearningSource.HUMAN, LearningSource.HUMAN, 1),
        (LearningSource.OPUS_REVIEWED, LearningSource.HUMAN, 0),
        (LearningSource.AGENT, LearningSource.HUMAN, 1),
        (LearningSource.HUMAN, LearningSource.AGENT, 0),
    ],
)
def test_of_two_that_contradict_each_other_one_is_given(
    desk: LearningService, first: LearningSource, second: LearningSource, leads: int
) -> None:
    """The reviewed one leads, of two the better source, then the newer; the other is left out."""
    pair = [
        desk.add(text, feature="auth", reason="r", source=source, session_id=f"s{number}")
        for number, (text, source) in enumerate([(NEEDS, first), (NEEDS_NOT, second)])
    ]
    store = desk.store
    for known in (known_learnings(store.ledger()), load_kept(store).known):
        found = candidates(known, store.now(), feature="auth")
        assert [pair[leads].id] == [candidate.learning.id for candidate in found.candidates]
        reason = "it contradicts another learning and waits to be settled"
        assert ((pair[1 - leads].id, reason),) == found.left_out
    item = desk.review_queue()[0]
    assert item.other is not None
    assert {one.id for one in pair} == {item.learning.id, item.other.id}
    conflict = desk.conflicts()[0]
    desk.resolve(ConflictDecision(conflict.id, conflict.left.id, conflict.right.id, Action.KEEP_BOTH))
    assert known_learnings(store.ledger()).waiting == load_kept(store).waiting == frozenset()


def test_a_promotion_is_one_step_that_undo_takes_back_with_its_rule(desk: LearningService) -> None:
    """The rule comes and goes with the step, and says where it is from."""
    learning = desk.add(NEEDS, feature="auth", reason="CI broke")
    done = desk.promote(learning.id)
    rules = desk.store.rules()
    assert learning.id == done.rule.metadata["learning"]["id"]
    assert {done.rule.id} == set(rules.ledger().live)
    assert LearningState.PROMOTED is desk.find(learning.id).state
    desk.undo()
    assert (set(), True) == (set(rules.ledger().live), desk.find(learning.id).live)
    desk.redo()
    assert ({done.rule.id}, False) == (set(rules.ledger().live), desk.find(learning.id).live)


def test_a_hit_between_a_step_and_its_undo_is_kept(desk: LearningService) -> None:
    """Facts are no steps: undoing what a person did forgets nothing that was seen."""
    learning = desk.add(NEEDS, feature="auth", reason="r", source=LearningSource.AGENT)
    desk.accept([learning.id])
    note_hit(desk, learning.id, session_id="s2")
    note_hit(desk, learning.id, session_id="s2")
    desk.undo()
    assert (desk.find(learning.id).reviewed, desk.find(learning.id).hit_count) == (False, 2)


def test_contradictions_cost_confidence_and_a_review_restores_it(
    desk: LearningService, clock: ManualClock
) -> None:
    """An outcome against a learning halves its confidence until a person looked at it."""
    learning = desk.add(NEEDS, feature="auth", reason="r", source=LearningSource.AGENT)
    clock.advance(60)
    contradict(desk, learning.id, session_id="s2", why="it failed")
    assert learning.confidence / 2 == desk.find(learning.id).confidence
    assert Why.CONTRADICTED is desk.review_queue()[0].why
    clock.advance(60)
    desk.accept([learning.id])
    assert desk.find(learning.id).confidence > learning.confidence
    assert desk.review_queue() == ()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "accept", "reject", "retire", "restore", "edit", "merge", "promote", "undo", "redo"]
        ),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    max_size=14,
)
SUBJECTS = ("alpha cache", "beta queue", "gamma router", "delta parser", "omega socket")


def play(desk: LearningService, clock: ManualClock, steps: list[tuple[str, int, int]]) -> None:
    """Do steps; those that make no sense at the moment are refused and change nothing."""
    for verb, first, second in steps:
        clock.advance(1)  # the order of entries of two journals is that of their times
        ids = sorted(desk.store.ledger().records)
        one = ids[first % len(ids)] if ids else "none"
        two = ids[second % len(ids)] if ids else "none"
        try:
            match verb:
                case "add":
                    desk.add(
                        f"The {SUBJECTS[first]} listens on port {second}",
                        feature=("auth", "payments")[second % 2],
                        reason="seen",
                        source=LearningSource.AGENT,
                        personal=first == 3,
                    )
                case "edit":
                    desk.edit(one, text=f"The {SUBJECTS[first]} is written in language {second}")
                case "merge":
                    desk.merge(one, two)
                case "promote":
                    desk.promote(one)
                case "undo":
                    desk.undo()
                case "redo":
                    desk.redo()
                case _:
                    getattr(desk, verb)([one])
        except UsageError:
            continue


@given(STEPS, STEPS)
def test_undoing_everything_leads_back_to_the_start(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, int, int]],
    steps: list[tuple[str, int, int]],
) -> None:
    """Whatever was done, undoing it all restores what was there, learnings, settlements and rules."""
    clock = ManualClock()
    root = tmp_path_factory.mktemp("p")
    desk = LearningService(learning_store(MemoryJournal(clock), MemoryJournal(clock), clock, root), "cli")
    rules = desk.store.rules()
    play(desk, clock, before)
    depth = len(desk.store.ledger().done)
    start = desk.store.ledger()
    state = (essences(start), set(start.settled), set(rules.ledger().live))
    play(desk, clock, [step for step in steps if step[0] not in ("undo", "redo")])
    while len(desk.store.ledger().done) > depth:
        desk.undo()
    end = desk.store.ledger()
    assert state == (essences(end), set(end.settled), set(rules.ledger().live))


def test_an_agent_that_says_in_other_words_what_it_was_given_adds_no_hit(desk: LearningService) -> None:
    """A paraphrase is no finding of the session that was given the learning; another session's is."""
    one = desk.add("The gateway listens on port 8080", feature="auth", reason="r")
    note_injected(desk.store, {one.id: one.text}, surface="plan", session="s1")
    said = {"feature": "auth", "reason": "r", "source": LearningSource.AGENT}
    text = "On port 8080 the gateway listens"
    assert desk.add(text, session_id="s1", **said).hit_count == 1  # type: ignore[arg-type]
    assert desk.add(text, session_id="s2", **said).hit_count == 2  # type: ignore[arg-type]


def test_what_others_changed_since_it_was_seen_is_not_decided(desk: LearningService) -> None:
    """Reviews, edits and promotions of other words or another state are refused; hits alone are no change."""
    one = desk.add(PORT, feature="auth", reason="r", source=LearningSource.AGENT)
    two = desk.add(NEEDS, feature="auth", reason="r", source=LearningSource.AGENT)
    note_hit(desk, one.id, session_id="s", why="again")
    desk.edit(one.id, seen=one, task_id="42")
    both = [one.id, two.id]
    for decide in (desk.accept, desk.reject, desk.retire):
        with pytest.raises(RecordChanged):
            decide(both, seen=(one, two))
    with pytest.raises(RecordChanged):
        desk.edit(one.id, seen=one, text="Port 8081 is taken by `nginx`")
    with pytest.raises(RecordChanged):
        desk.promote(one.id, seen=one)
    desk.retire([two.id], seen=[two])
    with pytest.raises(RecordChanged) as caught:
        desk.restore([two.id], seen=[two])
    assert caught.value.now is None
    assert [change.reason for change in desk.history(one.id)] == ["r", ""]
    desk.accept([one.id], seen=[desk.find(one.id)])
    assert desk.find(one.id).reviewed


def test_the_queue_is_that_of_the_pairs_it_is_given(desk: LearningService) -> None:
    """With all collisions it is the queue; without any nothing waits because of another."""
    desk.add(NEEDS, feature="auth", reason="r")
    desk.add(NEEDS_NOT, feature="auth", reason="r", source=LearningSource.AGENT)
    ledger, now = desk.store.ledger(), desk.store.now()
    assert queue_of(ledger, now, conflicts_of(ledger)) == desk.review_queue()
    assert [item.why for item in desk.review_queue()] == [Why.CONFLICT]
    assert [item.why for item in queue_of(ledger, now, ())] == [Why.UNREVIEWED]


def test_a_new_process_goes_on_from_what_another_one_folded(
    store: LearningStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was folded is saved by whoever asks; nobody folds all learnings again."""
    monkeypatch.setattr(folding, "FEW", 1)

    def saved(kind: str) -> Path | None:
        found = generations.latest(tmp_path / "state", kind)
        return found.path if isinstance(found, generations.Generation) else None

    first, second = replace(store, latest=saved), replace(store, latest=saved)
    for number in range(4):
        LearningService(first, "t").add(f"tool{number} caches", feature="a", reason="seen")
    assert first.ledger().live() == second.ledger().live()
    assert (first.reader.folded, second.reader.folded) == (4, 0)
