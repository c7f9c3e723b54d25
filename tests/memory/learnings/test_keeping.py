"""What is kept of learnings is what the journals say, whoever changed which, and little of it is read."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from tests.adapters import ManualClock
from tests.deep import times
from tests.stores import generations_in, rule_store
from workbench.curation import folding
from workbench.curation.store import record
from workbench.errors import UsageError
from workbench.memory.learnings import keeping
from workbench.memory.learnings.keeping import Kept, learning_of, learning_rule, load_kept, near_learnings
from workbench.memory.learnings.learningstore import LearningStore, store_of
from workbench.memory.learnings.ledger import draft_contradiction, draft_hit
from workbench.memory.learnings.pairs import comparable
from workbench.memory.learnings.prompt import candidates, known_learnings, memory_prompt
from workbench.memory.learnings.service import LearningService
from workbench.records.learnings import FeatureLearning, LearningSource
from workbench.rules import ruleset, rulestorage
from workbench.rules.matching.filters import RuleQuery, match_columns_of, passing
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.relevance import rule_texts

FEATURES = ("auth", "images", "build")
WORDS = ("cache", "token", "lock", "header", "queue", "thread", "port", "socket", "schema", "index")


class Memory:
    """The learnings of a project on disk, to which processes come and which they leave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.store = self.opened()

    def opened(self, *, bare: bool = False) -> LearningStore:
        """Return the store as a new process has it; a bare one finds nothing that was kept."""
        state, clock = self.root / "state", self.clock
        parts = generations_in(state, clock, bare=self.root / "elsewhere" if bare else None)
        journals = (FileJournal(state, clock), FileJournal(self.root / "home", clock))
        return store_of(rule_store(*journals, clock, root=self.root, **parts))

    def act(self, verb: str, number: int) -> None:
        self.clock.advance(61)
        service = LearningService(self.store, "cli")
        live = service.learnings()
        pick = live[number % len(live)] if live else None
        if verb in ("add", "own", "agent"):
            service.add(
                f"The {WORDS[number]} of part {self.clock.now():.0f} is `x{number}`",
                feature=FEATURES[number % 3],
                reason="seen",
                source=LearningSource.AGENT if verb == "agent" else LearningSource.HUMAN,
                task_id="42" if number == 4 else None,
                session_id=f"s{number}",
                personal=verb == "own",
            )
        elif verb == "undo":
            service.undo()
        elif verb == "leave":
            self.store = self.opened()
        elif pick is None:
            return
        elif verb in ("hit", "against"):
            draft = draft_hit if verb == "hit" else draft_contradiction
            note = draft(pick, session_id=f"n{number}", iteration=number, why="seen")
            record(self.store, [note], by="auto:test")
        elif verb == "edit":
            service.edit(pick.id, text=f"Part {self.clock.now():.0f} has another {WORDS[number]}")
        else:
            getattr(service, verb)([pick.id])


def assert_whole(kept: Kept, memory: Memory) -> None:
    """Compare what is kept with what the journals say."""
    ledger = memory.opened(bare=True).ledger()
    plain = known_learnings(ledger)
    assert tuple(kept.known.live) == plain.live
    assert [one.last_hit for one in kept.known.live] == [one.last_hit for one in plain.live]
    assert kept.waiting == plain.waiting
    now = memory.clock.now()
    for feature in (None, *FEATURES):
        for tasks in ((), ("42",)):
            asked = {one.id: 0.5 for one in plain.live[::2]} if feature is None else None
            ours = candidates(kept.known, now, feature=feature, tasks=tasks, relevance=asked)
            assert ours == candidates(plain, now, feature=feature, tasks=tasks, relevance=asked)
    rules = tuple(map(learning_rule, plain.live))
    assert tuple(kept.rules) == rules
    assert kept.words == index_words(rules)
    assert tuple(kept.rules.texts.texts) == rule_texts(rules).texts
    query = RuleQuery("fix", "p")
    assert passing(kept.rules.matching, query).tolist() == passing(match_columns_of(rules), query).tolist()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep changes and folds of few learnings as those of many."""
    monkeypatch.setattr(folding, "FEW", 1)
    monkeypatch.setattr(rulestorage, "MANY", 0)
    monkeypatch.setattr(ruleset, "FEW", 4)


VERBS = ("add", "own", "agent", "edit", "hit", "against", "accept", "reject", "undo", "leave")


@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.booleans()), max_size=14))
@settings(max_examples=times(4, 10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_changed_by_whom(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]
) -> None:
    """What goes on from the kept learnings, of this process or another, is what all entries come to."""
    memory = Memory(tmp_path_factory.mktemp("memory"))
    kept: Kept | None = None
    for verb, number, stays in steps:
        with contextlib.suppress(UsageError):
            memory.act(verb, number)
        if verb != "leave":
            kept = load_kept(memory.store, kept if stays else None)
            assert_whole(kept, memory)


def filled(memory: Memory) -> Kept:
    """Add thirty learnings of three features, and keep them."""
    for number in range(30):
        memory.act("agent", number % 10)
    return load_kept(memory.opened())


def test_few_are_read_where_few_are_asked_for(tmp_path: Path) -> None:
    """A prompt reads the learnings of its feature; an edit is kept beside the base, which stays."""
    memory = Memory(tmp_path)
    filled(memory)
    base = memory.opened().latest("learnings")
    kept = load_kept(memory.opened())
    held = kept.rules.base.rules
    assert isinstance(held, rulestorage.StoredRules)
    made = memory_prompt(kept.known, memory.clock.now(), len, feature="auth", budget=10_000)
    given = {one.id for one in made.given}
    assert given
    assert {one.feature for one in made.given} == {"auth"}
    assert all(learning_of(rule).feature == "auth" for rule in held.decoded.values())
    memory.store = memory.opened()
    memory.act("edit", 3)
    again = load_kept(memory.opened())
    assert (len(again.rules.put), memory.opened().latest("learnings")) == (1, base)
    assert_whole(load_kept(memory.opened()), memory)


@pytest.mark.parametrize("name", ["rules.lines", "arrays.bin"])
def test_damage_costs_time_alone(tmp_path: Path, name: str) -> None:
    """What cannot be read is read from the journals."""
    memory = Memory(tmp_path)
    filled(memory)
    directory = memory.opened().latest("learnings")
    assert directory is not None
    data = bytearray((directory / name).read_bytes())
    data[100:140] = b"\xff" * 40
    (directory / name).write_bytes(data if name == "rules.lines" else data[:2000])
    assert_whole(load_kept(memory.opened()), memory)
    assert_whole(load_kept(memory.opened()), memory)


def test_a_new_learning_is_compared_with_those_near_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of its feature and the person's own, as they are now; a person's own with all."""
    monkeypatch.setattr(keeping, "MANY", 0)
    memory = Memory(tmp_path)
    filled(memory)
    memory.store = memory.opened()
    memory.act("own", 1)
    memory.act("edit", 5)
    store = memory.opened()
    ledger = store.ledger()
    for feature in FEATURES:
        one = FeatureLearning("x", "Text", "r", LearningSource.HUMAN, feature=feature, project_id="p")
        near = near_learnings(store, ledger, one)
        assert 0 < len(near) < len(ledger.live())
        assert comparable(one, near) == comparable(one, ledger.live())
    own = FeatureLearning("x", "Text", "r", LearningSource.HUMAN)
    assert near_learnings(store, ledger, own) == ledger.live()
    bare = memory.opened(bare=True)
    assert near_learnings(bare, bare.ledger(), replace(own, project_id="p")) == ledger.live()


def test_what_contradicted_another_waits_until_that_is_settled(tmp_path: Path) -> None:
    """The other one may go in another process than the one that kept it."""
    memory = Memory(tmp_path)
    before = filled(memory)
    first = before.known.live[0]
    body = {"id": "learning-x", "feature": "auth", "text": "Otherwise", "reason": "r", "source": "auto"}
    said = {**body, "conflicts_with": [first.id], "project_id": "p"}
    memory.clock.advance(61)
    memory.store.journal.append("memory/auth", "learning.put", [said], by="cli")
    kept = load_kept(memory.opened())
    assert kept.waiting == before.waiting | {"learning-x"}
    assert load_kept(memory.opened()).waiting == kept.waiting
    memory.clock.advance(61)
    LearningService(memory.opened(), "cli").reject([first.id])
    assert "learning-x" not in load_kept(memory.opened()).waiting
    assert_whole(load_kept(memory.opened()), memory)


def test_a_learning_is_the_same_behind_its_rule() -> None:
    """Whatever its values are."""
    one = FeatureLearning("a", "Text", "r", LearningSource.AUTO, files=("x",), task_id="7", last_hit="2024")
    assert learning_of(learning_rule(one)) == one
    assert learning_of(learning_rule(one)).last_hit == "2024"
