"""What steps wrote into rule files is theirs: it comes, goes and comes back with them, and no more moves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.adapters import ManualClock, MemoryJournal
from tests.deep import times
from tests.stores import rule_store
from workbench.curation.conflicts import ConflictDecision
from workbench.curation.steps import BuiltUpon
from workbench.curation.store import record
from workbench.errors import StoreError, UsageError
from workbench.records.conflicts import Action
from workbench.records.rules import Authority, Rule
from workbench.rules.curation.curator import Curator, standing_in
from workbench.rules.curation.ledger import AUTOMATIC
from workbench.rules.curation.rulestore import RuleStore
from workbench.rules.files.drift import find_drift, write_pending
from workbench.rules.files.settling import settle
from workbench.rules.rulebook import load_rulebook

FILE = """# Rules

Some words of welcome.

- Never log access tokens.
- Always run `make test` before you push.
- Use uv instead of pip.

## More

1. Prefer small functions.
"""
OLD = "Always run `make test` before you push."
CLOSE = "Always run `make check` before you push."
FAR = "Deploy only from the release branch, never from a laptop."


class Desk:
    """One AGENTS.md, its store and a curator that knows of rule files."""

    def __init__(self, store: RuleStore, text: str = FILE) -> None:
        self.store, self.path = store, store.root / "AGENTS.md"
        self.curator = Curator(store, "test", lambda: ["AGENTS.md"])
        self.path.write_text(text, encoding="utf-8")
        self.sync()

    def sync(self) -> list[Rule]:
        """Bring in what the file changed, as every command does, and return the rules in force."""
        return list(load_rulebook(self.store, ["AGENTS.md"]).rules)

    def merge(self) -> None:
        """Write what waits into the file; nothing may be left."""
        outcome = write_pending(self.store, ["AGENTS.md"])
        assert ([item.refused for item in outcome.written if item.refused], outcome.drift) == ([], [])

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def find(self, text: str) -> Rule:
        (found,) = [rule for rule in self.sync() if rule.rule == text]
        return found


@pytest.fixture
def desk(store: RuleStore) -> Desk:
    """A project with a rule file that was imported."""
    return Desk(store)


@pytest.mark.parametrize("new", [CLOSE, FAR])
def test_a_reworded_rule_stays_one_rule(desk: Desk, new: str) -> None:
    """However unlike the words: written into its line it keeps its fields, conflicts with nothing, and the
    step takes all of it back."""
    decided: dict[str, Any] = {
        "authority": Authority.ABSOLUTE,
        "priority": 12,
        "cooldown": 60,
        "name": "Deploying",
    }
    old = desk.curator.edit(desk.find(OLD).id, **decided, condition_text="on release")
    desk.curator.edit(old.id, rule=new)
    desk.merge()
    assert desk.text() == FILE.replace(OLD, new)
    assert len(desk.sync()) == 4
    after = desk.find(new)
    assert {name: getattr(after, name) for name in decided} == decided
    assert (after.condition_text, after.replaces) == ("on release", (old.id,))
    desk.curator.undo()
    assert desk.text() == FILE
    assert desk.find(OLD).id == old.id
    assert find_drift(desk.store, ["AGENTS.md"]).drift == []
    desk.curator.redo()
    assert desk.text() == FILE.replace(OLD, new)
    assert desk.find(new) == replace(after, provenance=desk.find(new).provenance)


def test_read_back_twice_changes_nothing(desk: Desk) -> None:
    """What was written is known by then: looking again records nothing."""
    desk.curator.edit(desk.find(OLD).id, rule=FAR)
    desk.merge()
    size = desk.store.journal.size("rules")
    desk.sync()
    desk.merge()
    assert desk.store.journal.size("rules") == size


def test_older_steps_are_in_reach(desk: Desk) -> None:
    """After a merge every step before it can be undone, one after the other, and done again."""
    first = desk.curator.edit(desk.find(OLD).id, priority=12)
    second = desk.curator.edit(first.id, rule=CLOSE)
    desk.merge()
    desk.curator.edit(second.id, rule=FAR)
    desk.merge()
    desk.curator.remove([desk.find("Use uv instead of pip.").id])
    desk.merge()
    done = desk.text()
    for _ in range(4):
        desk.curator.undo()
        desk.sync()
    assert desk.text() == FILE
    for _ in range(4):
        desk.curator.redo()
        desk.sync()
    assert desk.text() == done
    assert find_drift(desk.store, ["AGENTS.md"]).drift == []


@pytest.mark.parametrize(
    "text", ["Never log access tokens.", OLD, "Use uv instead of pip.", "Prefer small functions."]
)
def test_a_removed_line_comes_back_where_it_was(desk: Desk, text: str) -> None:
    """First, middle, last and only one of its list: the file is as it was."""
    desk.curator.remove([desk.find(text).id])
    desk.merge()
    assert text not in desk.text()
    desk.curator.undo()
    assert desk.text() == FILE


def test_secrets_are_not_kept_to_restore_a_line(store: RuleStore) -> None:
    """What was written over is remembered to the byte, unless it holds a secret: then its words are."""
    key = "ghp_" + "a1B2" * 9
    desk = Desk(store, f"1. Never use the token {key} anywhere.\n\n- Stay calm.\n")

    def passages() -> list[str]:
        bodies = [entry.body for _, entry in store.journal.read("rules") if entry.kind == "file.synced"]
        return [body["undo"]["passage"] for body in bodies if "undo" in body]

    (rule,) = [rule for rule in desk.sync() if "token" in rule.rule]
    desk.curator.remove([rule.id])
    desk.merge()
    assert passages() == []
    desk.curator.undo()
    assert "Never use the token" in desk.text()
    desk.curator.remove([desk.find("Stay calm.").id])
    desk.merge()
    assert [text.strip() for text in passages() if "calm" in text] == ["- Stay calm."]


def test_what_never_was_written_is_not_written_by_undo_or_redo(desk: Desk) -> None:
    """An edit that waits for its file is undone and done again in the store alone."""
    desk.curator.edit(desk.find(OLD).id, rule=FAR)
    for walk in (desk.curator.undo, desk.curator.redo, desk.curator.undo):
        assert walk().written == ()
        assert desk.text() == FILE
    place = standing_in("AGENTS.md", "agents")
    rule = desk.curator.add(Rule("", "", "Avoid force pushes.", project_id="p", provenance=place))
    desk.curator.remove([rule.id])
    assert desk.curator.undo().written == ()
    assert desk.text() == FILE


def test_an_added_rule_leaves_its_file_again(desk: Desk) -> None:
    """Written and undone, the file is as it was; done again, it is written again."""
    place = standing_in("AGENTS.md", "agents")
    desk.curator.add(Rule("", "", "Avoid force pushes.", project_id="p", provenance=place))
    desk.merge()
    written = desk.text()
    assert "Avoid force pushes." in written
    desk.curator.undo()
    assert desk.text() == FILE
    desk.curator.redo()
    assert desk.text() == written


def test_what_others_wrote_since_is_refused_with_a_way_on(desk: Desk) -> None:
    """The refusal names what changed where, and the step before it can be undone all the same."""
    desk.curator.edit(desk.find("Use uv instead of pip.").id, priority=7)
    desk.curator.edit(desk.find(OLD).id, rule=CLOSE)
    desk.merge()
    theirs = desk.text().replace("make check", "make lint")
    desk.path.write_text(theirs, encoding="utf-8")
    with pytest.raises(BuiltUpon, match=r"changed in AGENTS\.md") as refused:
        desk.curator.undo()
    assert refused.value.hint is not None
    assert f"workbench rules undo {refused.value.older}" in refused.value.hint
    assert "edit " in desk.curator.undo(refused.value.older).title
    assert desk.find("Use uv instead of pip.").priority != 7
    assert desk.text() == theirs


def test_what_files_say_beside_the_words_is_no_reason_to_refuse(desk: Desk) -> None:
    """A rule that moved below another heading since is still the rule whose step is undone."""
    desk.curator.edit(desk.find("Use uv instead of pip.").id, cooldown=60)
    moved = FILE.replace("- Use uv instead of pip.\n", "") + "\n## Python\n\n- Use uv instead of pip.\n"
    desk.path.write_text(moved, encoding="utf-8")
    assert desk.find("Use uv instead of pip.").condition_text == "Rules > Python"
    desk.curator.undo()
    after = desk.find("Use uv instead of pip.")
    assert (after.cooldown, after.condition_text) == (0, "Rules > Python")


def test_journals_of_before_are_undone_as_well(desk: Desk) -> None:
    """Where an earlier version recorded its own write as a change that came with the file."""
    old = desk.find(OLD)
    new = desk.curator.edit(old.id, rule=CLOSE)
    desk.path.write_text(FILE.replace(OLD, CLOSE), encoding="utf-8")
    from workbench.curation.records import new_marks
    from workbench.rules.curation.ruletype import RULES

    read = replace(new, authority=Authority.DEFAULT, condition_text="Rules", priority=33)
    record(
        desk.store,
        [RULES.put_draft(read, new_marks("import AGENTS.md", "read differently in AGENTS.md"))],
        by=AUTOMATIC,
    )
    desk.curator.undo()
    assert desk.text() == FILE
    assert desk.find(OLD) == replace(
        old, provenance=desk.find(OLD).provenance, updated_at=desk.find(OLD).updated_at
    )


def test_a_kill_between_file_and_journal_is_made_good(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file was written and nobody noted it: the next look knows whose words they are."""
    from workbench.rules.files import drift

    class Killed(BaseException):
        pass

    def die(*arguments: object) -> None:
        raise Killed

    old = desk.find(OLD)
    new = desk.curator.edit(old.id, rule=FAR)
    with monkeypatch.context() as patch:
        patch.setattr(drift, "record_written", die)
        with pytest.raises(Killed):
            write_pending(desk.store, ["AGENTS.md"])
    assert desk.text() == FILE.replace(OLD, FAR)
    assert desk.find(FAR).id == new.id
    desk.curator.undo()
    assert desk.text() == FILE
    assert desk.find(OLD).id == old.id


def test_a_kill_before_undo_wrote_the_file_leaves_it_waiting(desk: Desk) -> None:
    """The journal knows of the undo; the file's old words wait to be written."""
    desk.curator.edit(desk.find(OLD).id, rule=FAR)
    desk.merge()

    def fail(path: Path, data: bytes | None, expected: bytes | None) -> None:
        raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="full"):
        replace(desk.curator, store=replace(desk.store, replace_file=fail)).undo()
    assert desk.find(OLD)
    assert desk.text() == FILE.replace(OLD, FAR)
    desk.merge()
    assert desk.text() == FILE


def test_a_settled_conflict_is_undone_in_the_store(desk: Desk) -> None:
    """Our words were written over the file's: undo opens what was settled and writes nothing of its own."""
    desk.curator.edit(desk.find(OLD).id, rule=CLOSE)
    desk.path.write_text(FILE.replace(OLD, "Always run `make lint` before you push."), encoding="utf-8")
    settle(desk.store, ["AGENTS.md"], desk.find(CLOSE).id, "ours", by="test")
    desk.merge()
    assert desk.text() == FILE.replace(OLD, CLOSE)
    assert desk.curator.undo().written == ()
    assert len(desk.sync()) == 4
    desk.curator.undo()
    assert desk.text() == FILE


TWO = {
    "AGENTS.md": "- Use tabs in Go files.\n- Stay calm.\n",
    "CLAUDE.md": "- Run it.\n- {other}\n- Be kind.\n",
}


@pytest.mark.parametrize("other", ["Use tabs in Go files.", "Always use tabs in files of Go."])
@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Action.MERGE, ""),
        (Action.MERGE, "Use tabs wherever Go is."),
        (Action.KEEP_LEFT, ""),
        (Action.KEEP_RIGHT, ""),
        (Action.SUPERSEDE, ""),
    ],
)
@pytest.mark.parametrize("same_file", [False, True])
def test_settled_pairs_come_back_in_both_files(
    store: RuleStore, other: str, action: Action, text: str, same_file: bool
) -> None:
    """However a pair was settled, written or not: undone, files and rules are as they were, no line twice."""
    files = {name: said.format(other=other) for name, said in TWO.items()}
    if same_file:
        files = {"AGENTS.md": "".join(files.values())}
    for name, said in files.items():
        (store.root / name).write_text(said, encoding="utf-8")

    def state() -> tuple[dict[str, str], dict[str, str]]:
        rules = load_rulebook(store, sorted(files)).rules
        texts = {name: (store.root / name).read_text(encoding="utf-8") for name in files}
        return texts, {rule.id: rule.rule for rule in rules}

    before = state()
    rules = [rule for rule in load_rulebook(store, sorted(files)).rules if "tabs" in rule.rule]
    left, right = sorted(rules, key=lambda rule: repr(rule.provenance))
    curator = Curator(store, "test", lambda: sorted(files))
    curator.resolve(ConflictDecision("c", left.id, right.id, action, text=text))
    settled = state()
    curator.undo()
    assert state() == before
    assert find_drift(store, sorted(files)).drift == []
    curator.redo()
    assert state() == settled
    assert write_pending(store, sorted(files)).drift == []
    written = state()
    curator.undo()
    assert state() == before
    assert find_drift(store, sorted(files)).drift == []
    curator.redo()
    texts, rules_now = state()
    assert rules_now == written[1]
    # Which of two lines that say the same goes is no matter.
    assert {name: sorted(text) for name, text in texts.items()} == {
        name: sorted(text) for name, text in written[0].items()
    }
    assert find_drift(store, sorted(files)).drift == []


NO_INSTRUCTION = [
    ("The test suite takes two minutes on a laptop", "no verb that orders something"),
    ("Is the test suite slow?", "it is a question"),
    ("Tests", "it is a single word"),
    ("const slow = true;", "a line of code"),
]


@pytest.mark.parametrize(("text", "why"), NO_INSTRUCTION)
def test_words_that_would_not_be_read_back_are_refused_at_once(desk: Desk, text: str, why: str) -> None:
    """With what is wrong about them, and nothing is recorded; where no file says them they are fine."""
    size = desk.store.journal.size("rules")
    with pytest.raises(UsageError, match=why) as refused:
        desk.curator.edit(desk.find(OLD).id, rule=text)
    assert "AGENTS.md:6" in refused.value.message
    assert "Use …" in (refused.value.hint or "")
    place = standing_in("AGENTS.md", "agents")
    with pytest.raises(UsageError, match=why):
        desk.curator.add_all([Rule("", "", text, project_id="p", provenance=place)])
    left, right = desk.find(OLD), desk.find("Prefer small functions.")
    merge = ConflictDecision("c", left.id, right.id, Action.MERGE, text=text)
    with pytest.raises(UsageError, match=why):
        desk.curator.resolve(merge)
    assert desk.curator.resolve_all([merge, replace(merge, conflict="d")])[0] == ()
    assert desk.store.journal.size("rules") == size
    assert desk.curator.add(Rule("", "", text, project_id="p")).rule == text


def test_words_below_a_heading_of_facts_are_refused_with_its_name(store: RuleStore) -> None:
    """There only orders count, and the refusal says so."""
    desk = Desk(store, "# Overview\n\n- Never push to main.\n")
    with pytest.raises(UsageError, match="below the heading 'Overview', which announces facts"):
        desk.curator.edit(desk.find("Never push to main.").id, rule="Small commits over big ones.")


@dataclass
class Slot:
    """A line of the file as it should be: what file and store say, None where it is gone."""

    file: str | None
    store: str | None
    priority: int


@dataclass
class Done:
    """A step as it should be: its line, both sides, and whether its undo was written into the file."""

    at: int
    before: str | None
    after: str | None
    wrote: bool = False


class Writing(RuleBasedStateMachine):
    """Edits near and far, removals, merges, undo, redo and other people's edits of the file, in any order."""

    @initialize(end=st.sampled_from(["\n", "\r\n"]), mark=st.sampled_from(["- ", "* ", "1. "]))
    def start(self, end: str, mark: str) -> None:
        """Two lists of rules, each with one rule that nobody touches."""
        self.directory = tempfile.TemporaryDirectory()
        self.end, self.mark = end, mark
        self.clock = clock = ManualClock()
        root = Path(self.directory.name)
        store = rule_store(MemoryJournal(clock), MemoryJournal(clock), clock, root=root)
        self.count = 0
        self.slots = [Slot(text, text, 10 + at) for at in range(4) if (text := self.words(f"first {at}"))]
        self.done: list[Done] = []
        self.undone: list[Done] = []
        self.desk = Desk(store, self.expected())
        for slot in self.slots:
            self.desk.curator.edit(self.desk.find(slot.store or "").id, priority=slot.priority)

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()

    def words(self, about: str) -> str:
        """Return an instruction that nobody gave before."""
        self.count += 1
        return f"Always check {about} against case {self.count} before you push."

    def far(self) -> str:
        """Return an instruction that has no word in common with the others."""
        self.count += 1
        number = f"n{self.count}"
        return f"Deploy{number} must{number} never{number} run; use {number}."

    def expected(self) -> str:
        said = [slot.file for slot in self.slots]
        lists = [[*said[:2], "Keep the first rule."], [*said[2:], "Keep the second rule."]]
        parts = []
        for heading, texts in zip(("# Rules", "## More"), lists, strict=True):
            there = [text for text in texts if text is not None]
            numbered = self.mark == "1. "
            lines = [f"{f'{at}. ' if numbered else self.mark}{text}" for at, text in enumerate(there, 1)]
            parts.append([heading, "", "Some words of welcome.", "", *lines])
        return self.end.join([*parts[0], "", *parts[1], ""])

    def _step(self, at: int, after: str | None) -> None:
        slot = self.slots[at]
        self.done.append(Done(at, slot.store, after))
        self.undone.clear()
        slot.store = after

    def _draw(self, data: st.DataObject, test: Callable[[Slot], bool]) -> int | None:
        found = [at for at, slot in enumerate(self.slots) if test(slot)]
        return data.draw(st.sampled_from(found)) if found else None

    @rule(data=st.data(), near=st.booleans())
    def edit(self, data: st.DataObject, near: bool) -> None:
        at = self._draw(data, lambda slot: slot.store is not None)
        if at is not None:
            text = self.words(f"first {at}") if near else self.far()
            self.desk.curator.edit(self.desk.find(self.slots[at].store or "").id, rule=text)
            self._step(at, text)

    @precondition(lambda self: self.mark != "1. ")
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """Put a rule out of force that its file has."""
        at = self._draw(data, lambda slot: slot.store is not None and slot.store == slot.file)
        if at is not None:
            self.desk.curator.remove([self.desk.find(self.slots[at].store or "").id])
            self._step(at, None)

    @rule()
    def merge(self) -> None:
        self.desk.merge()
        for slot in self.slots:
            slot.file = slot.store

    @rule(data=st.data())
    def outside(self, data: st.DataObject) -> None:
        """Somebody rewords a line of the file."""
        at = self._draw(data, lambda slot: slot.file is not None and slot.file == slot.store)
        if at is not None:
            slot = self.slots[at]
            assert slot.file is not None
            self.count += 1
            text = slot.file.removesuffix(".") + f", says {self.count}."
            raw = self.desk.path.read_bytes().replace(slot.file.encode(), text.encode())
            self.desk.path.write_bytes(raw)
            self.desk.sync()
            slot.file = slot.store = text

    @precondition(lambda self: self.done)
    @rule()
    def undo(self) -> None:
        """Take a step back, or the newest one that nobody built upon."""
        older = ""
        place = len(self.done) - 1
        while place >= 0:
            step, slot = self.done[place], self.slots[self.done[place].at]
            if slot.store == step.after:
                break
            with pytest.raises(BuiltUpon) as refused:
                self.desk.curator.undo(older)
            older = refused.value.older
            place -= 1
        if place < 0:
            return
        self.desk.curator.undo(older)
        step.wrote = slot.file == slot.store
        slot.store = step.before
        if step.wrote:
            slot.file = step.before
        self.undone.append(self.done.pop(place))

    @precondition(lambda self: self.undone)
    @rule()
    def redo(self) -> None:
        """Take a step forth, if nobody built upon where it begins."""
        step = self.undone[-1]
        slot = self.slots[step.at]
        if slot.store != step.before:
            with pytest.raises(UsageError):
                self.desk.curator.redo()
            return
        self.desk.curator.redo()
        slot.store = step.after
        if step.wrote:
            slot.file = step.after
        self.done.append(self.undone.pop())

    @invariant()
    def file_and_list_agree(self) -> None:
        """The file is as it should be to the byte, and every rule is there once, with its fields."""
        if not hasattr(self, "desk"):
            return
        self.clock.advance(1)
        assert self.desk.path.read_bytes().decode() == self.expected()
        rules = {rule.rule: rule.priority for rule in self.desk.sync()}
        fixed = {text: rules.pop(text, 0) for text in ("Keep the first rule.", "Keep the second rule.")}
        assert all(fixed.values())
        assert rules == {slot.store: slot.priority for slot in self.slots if slot.store is not None}
        assert len(self.desk.sync()) == len(rules) + 2


Writing.TestCase.settings = settings(max_examples=times(4, 8), stateful_step_count=15, deadline=None)
TestWriting = Writing.TestCase
