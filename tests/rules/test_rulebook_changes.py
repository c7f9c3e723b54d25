"""A rulebook that goes on from the one before is the one made of everything, whoever made which and when."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.journal import FileJournal
from store.team.claims import TeamClaims
from store.team.peers import PeerJournal
from tests.adapters import ManualClock
from tests.deep import times
from tests.rules.test_fetching import assert_same_answers
from tests.stores import generations_in, rule_store
from workbench.curation import CURATION, folding
from workbench.errors import UsageError
from workbench.records.ids import new_id
from workbench.records.rules import Check, Rule
from workbench.rules import rulebook, ruleset, rulestorage
from workbench.rules.curation.curator import Curator
from workbench.rules.curation.rulestore import RuleStore, note_use
from workbench.rules.curation.ruletype import to_body
from workbench.rules.fetching.facets import column_rules
from workbench.rules.keptbook import Rulebook, stored_rulebook, unchanged_rules
from workbench.rules.matching.context import RuleContext
from workbench.rules.matching.filters import RuleQuery, match_columns_of, passing
from workbench.rules.matching.lexical import index_words
from workbench.rules.matching.relevance import rule_texts
from workbench.rules.rulebook import follow_rulebook, load_rulebook
from workbench.text.vectors import text_keys

VERBS = ("add", "home", "edit", "words", "check", "remove", "undo", "redo", "file", "use", "forget")
STEPS = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.sampled_from(("go on", "open", "leave"))),
    max_size=14,
)
FILES = ("CLAUDE.md", "web/AGENTS.md")


class Life:
    """A project on disk that processes come to and leave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.peers: dict[str, PeerJournal] = {}
        for name in ("project/web", "home"):
            (root / name).mkdir(parents=True)
        (root / "project/CLAUDE.md").write_text("- Never log tokens.\n- Use tabs.\n", encoding="utf-8")
        self.store = self.opened()

    def receive(self, machine: int, late: int, rule: Rule) -> None:
        """Receive an edit of a rule that another machine of a team made so many seconds ago."""
        name = f"{machine:026}"
        ago = ManualClock(self.clock.now() - late)
        self.peers.setdefault(name, PeerJournal(self.root / name, ago, name, "p", TeamClaims(self.root)))
        marks = {"step": new_id(), "title": "edit", "slot": rule.id, "seen": []}
        body = {**to_body(rule), CURATION: marks}
        FileJournal(self.root / name, ago).append("rules", "rule.put", [body], by="other")

    def opened(self, *, bare: bool = False) -> RuleStore:
        """Return the store as a new process has it; a bare one finds nothing that was kept."""
        state, clock = self.root / "state", self.clock
        return rule_store(
            FileJournal(state, clock),
            FileJournal(self.root / "away", clock),
            clock,
            root=self.root / "project",
            home=self.root / "home",
            peers=lambda: dict(self.peers) or None,
            **generations_in(state, clock, bare=self.root / "elsewhere" if bare else None),
        )

    def act(self, verb: str, number: int, book: Rulebook) -> None:
        self.clock.advance(1)
        curator = Curator(self.store, "test", lambda: FILES)
        pick = book.rules[number % len(book.rules)] if book.rules else None
        if verb in ("add", "home"):
            project = None if verb == "home" else "p"
            curator.add(Rule("", "", f"Rule {self.clock.now()} of tool {number}", project_id=project))
        elif verb in ("undo", "redo"):
            getattr(curator, verb)()
        elif verb == "file":
            lines = [f"- Line {at * number} of the file." for at in range(1, 4)]
            place = self.root / "project" / FILES[number % 2]
            place.write_text("\n".join(lines if number else []), encoding="utf-8")
        elif pick is None:
            return
        elif verb == "edit":
            curator.edit(pick.id, priority=number * 10, tags=(f"tool:t{number}",))
        elif verb == "words":
            curator.edit(pick.id, rule=f"Other words {self.clock.now()}")
        elif verb == "check":
            curator.edit(pick.id, check=Check(tools=("Bash",), command=f"git push {number}"))
        elif verb == "remove":
            curator.remove([pick.id])
        elif verb == "use":
            note_use(self.store, [pick], "s", "claude", by="test")
        else:
            self.store = self.opened()  # a new process


def assert_whole(book: Rulebook, life: Life) -> None:
    """Compare a rulebook with the one made of everything."""
    whole = load_rulebook(life.opened(bare=True), FILES)
    assert tuple(book.rules) == tuple(whole.rules)
    assert [book.rules.find(rule.id) for rule in whole.rules] == list(whole.rules)
    assert life.peers or book.origin.mark.progress == whole.origin.mark.progress
    assert replace(book, rules=whole.rules) == whole
    everything = match_columns_of(tuple(whole.rules))
    for query in (RuleQuery("fix", "p"), RuleQuery("@CLAUDE", "p", RuleContext(tool="t1"), life.clock.now())):
        assert passing(book.rules.matching, query).tolist() == passing(everything, query).tolist()
    assert book.words == index_words(tuple(whole.rules))
    ours, theirs = book.rules.texts, rule_texts(tuple(whole.rules))
    assert (tuple(ours.texts), ours.starts.tolist()) == (theirs.texts, theirs.starts.tolist())
    assert text_keys(ours.texts).tolist() == text_keys(theirs.texts).tolist()
    asked: list[dict[str, Any]] = [{"category": "behavior"}, {"tags": ["tool:t1", "tool:t2"]}]
    assert_same_answers(book.rules.columns, column_rules(tuple(whole.rules)), asked, 3)
    assert book.rules.checked_rules() == [rule for rule in whole.rules if rule.check is not None]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep changes and folds of few rules as those of many."""
    monkeypatch.setattr(folding, "FEW", 1)
    monkeypatch.setattr(rulestorage, "MANY", 0)
    monkeypatch.setattr(ruleset, "FEW", 4)


@given(STEPS)
@settings(max_examples=times(4, 10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_changed_by_whom(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    """Edits, undo, files, uses, by this process or another: what comes of it is what the whole comes to."""
    life = Life(tmp_path_factory.mktemp("life"))
    book = load_rulebook(life.store, FILES)
    for verb, number, then in steps:
        with contextlib.suppress(UsageError):
            life.act(verb, number, book)
        if then == "leave":
            continue
        followed = follow_rulebook(life.store, FILES, book)
        book = load_rulebook(life.store, FILES, book if then == "go on" else None)
        assert followed is None or tuple(followed.rules) == tuple(book.rules)
        assert_whole(book, life)
        kept = stored_rulebook(life.store)
        assert kept is not None
        unchanged = unchanged_rules(life.opened())
        assert (unchanged is not None) == (kept.signature == book.signature)
        if unchanged is None:  # a process that stays open keeps what is much
            assert then == "go on"
            continue
        assert [rule.id for rule in kept.rules] == list(book.rules.ids)
        assert [rule.id for rule in unchanged.checked_rules()] == [
            rule.id for rule in book.rules.checked_rules()
        ]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(0, 4)), max_size=12))
@settings(max_examples=times(4, 10), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_team_sends_however_late(
    tmp_path_factory: pytest.TempPathFactory, received: list[tuple[int, int, int]]
) -> None:
    """A process that goes on from the rules it has ends with those of all entries in their order."""
    life = Life(tmp_path_factory.mktemp("life"))
    book = load_rulebook(life.store, FILES)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(folding, "RECENT", 4)
        patched.setattr(folding, "LATELY", 2)
        for number, (machine, late, which) in enumerate(received):
            life.clock.advance(3)
            rule = book.rules[which % len(book.rules)]
            words = rule.rule if which % 2 else f"Words {number}."
            life.receive(machine, late, replace(rule, rule=words, priority=number))
            if which == 4:
                note_use(life.store, [rule], "s", "claude", by="test")
            followed = follow_rulebook(life.store, FILES, book)
            book = load_rulebook(life.store, FILES, book)
            assert followed is None or tuple(followed.rules) == tuple(book.rules)
            assert_whole(book, life)


def test_a_process_that_stays_open_keeps_what_is_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither writes for each change nor leaves more of them to new processes than these read quickly."""
    monkeypatch.setattr(rulebook, "_TAIL", 3)
    life = Life(tmp_path)
    book = load_rulebook(life.store, FILES)
    kept = []
    for priority in range(9):
        Curator(life.store, "test").edit(book.rules[0].id, priority=priority)
        book = load_rulebook(life.store, FILES, book)
        assert book.rules[0].priority == priority
        found = stored_rulebook(life.store)
        assert found is not None
        kept.append(found.rules[0].priority)
    assert kept == [50, 50, 50, 50, 4, 4, 4, 4, 8]


def test_an_edit_of_many_rules_keeps_what_changed(tmp_path: Path) -> None:
    """The rules that did not change are neither decoded nor written, and a new process finds them."""
    life = Life(tmp_path)
    curator = Curator(life.store, "test")
    curator.add_all([Rule("", "", f"Rule {number} holds", project_id="p") for number in range(30)])
    first = load_rulebook(life.store, FILES)
    base = life.store.latest("rules")
    curator.edit(first.rules[3].id, priority=99)
    life.store = life.opened()
    second = load_rulebook(life.store, FILES)
    assert (life.store.latest("rules"), life.store.latest("rule_changes") is None) == (base, False)
    assert list(second.rules.put) == [first.rules[3].id]
    third = load_rulebook(life.opened(), FILES)
    held = third.rules.base.rules
    assert isinstance(held, rulestorage.StoredRules)
    assert (third.rules[3].priority, held.decoded) == (99, {})
    assert_whole(third, life)


def test_changes_of_another_base_are_of_no_use(tmp_path: Path) -> None:
    """Who kept the whole meanwhile is right."""
    life = Life(tmp_path)
    book = load_rulebook(life.store, FILES)
    Curator(life.store, "test").edit(book.rules[0].id, priority=99)
    load_rulebook(life.opened(), FILES)
    life.store.journal.append("rules", "rule.removed", [{"id": book.rules[1].id}], by="test")
    load_rulebook(life.opened(), FILES, rebuild=True)
    kept = stored_rulebook(life.opened())
    assert kept is not None
    assert kept.rules.put == {}
    assert_whole(kept, life)


@pytest.mark.parametrize("damage", [b"", b"{", b"00000000\n{}", b"\xff" * 30])
def test_damaged_changes_are_made_again(tmp_path: Path, damage: bytes) -> None:
    """The rules are those of files and journals."""
    life = Life(tmp_path)
    book = load_rulebook(life.store, FILES)
    Curator(life.store, "test").edit(book.rules[0].id, priority=99)
    load_rulebook(life.opened(), FILES)
    directory = life.store.latest("rule_changes")
    assert directory is not None
    (directory / "changes.json").write_bytes(damage)
    assert_whole(load_rulebook(life.opened(), FILES), life)


def test_a_rule_whose_line_is_damaged_is_read_from_the_journals(tmp_path: Path) -> None:
    """Only what is asked for is compared with what was written; the next process makes the file again."""
    life = Life(tmp_path)
    curator = Curator(life.store, "test")
    curator.add_all(
        [Rule("", "", f"Rule {number} holds " + "on " * 9_000, project_id="p") for number in range(9)]
    )
    book = load_rulebook(life.store, FILES)
    note_use(life.store, [book.rules[3]], "s", "claude", by="test")
    expected = tuple(load_rulebook(life.opened(), FILES, rebuild=True).rules)
    directory = life.store.latest("rules")
    assert directory is not None
    path = directory / "rules.lines"
    data = bytearray(path.read_bytes())
    at = data.index(expected[3].rule.encode())
    data[at : at + 4] = b"Role"
    path.write_bytes(data)
    book = load_rulebook(life.opened(), FILES)
    assert (book.rules[8], path.exists()) == (expected[8], True)
    assert (tuple(book.rules), expected[3].usage_count) == (expected, 1)
    assert not path.exists()
    assert_whole(load_rulebook(life.opened(), FILES), life)


def test_a_line_of_the_journal_that_somebody_wrote_over_counts(tmp_path: Path) -> None:
    """A saved fold and a kept rulebook stand for the journals as they are, not as they were."""
    life = Life(tmp_path)
    curator = Curator(life.store, "test")
    for number in range(4):
        life.clock.advance(1)
        curator.add(Rule("", "", f"Rule {number} holds", project_id="p"))
    load_rulebook(life.store, FILES)
    load_rulebook(life.opened(), FILES)
    path = tmp_path / "state/journal/rules.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Rule 1 holds", b"Rule X holds"))
    life.clock.advance(1)
    Curator(life.opened(), "test").add(Rule("", "", "Last rule", project_id="p"))
    book = load_rulebook(life.opened(), FILES)
    assert "Rule X holds" in [rule.rule for rule in book.rules]
    assert_whole(book, life)
