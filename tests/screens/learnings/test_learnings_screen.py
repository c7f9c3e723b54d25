"""The review of learnings on the sample project: a key decides, the next one shows, undo brings it back."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

from screens.conflicts.screen import ConflictsScreen
from screens.curation.overtaken import OvertakenRecord
from screens.curation.record_form import RecordForm
from screens.engine import AppEngine
from screens.jobs import Job
from screens.learnings import learning_list_screen
from screens.learnings.audit import PRUNE, AuditView
from screens.learnings.learning_service import LearningCounts, LearningStory, count_learnings, story
from screens.learnings.learning_view import ReviewProgress
from screens.learnings.preview import PromptPreview
from screens.learnings.sources import IterationsView
from screens.terminal import draw_text
from screens.widgets.code import Details
from screens.widgets.dialogs import Choose, Confirm
from screens.widgets.fields import SafeArea, SafeInput
from screens.widgets.merge import MergeEditor
from screens.widgets.table import VirtualTable
from tests.screens.golden import screen_text
from tests.screens.learnings.conftest import Made, Open, auto, take_in
from workbench.config import Config
from workbench.entry.project import open_workspace
from workbench.memory.journal import KIND, VERSION, JournalEntry, body_of, feature_stream
from workbench.memory.learnings.echoes import read_injections
from workbench.records.iterations import DecisionEntry, ErrorEntry, IterationOutcome, IterationRecord
from workbench.records.learnings import LearningState


async def test_what_waits_comes_first_and_a_key_accepts(opened: Open, made: Made) -> None:
    """The queue has conflicts, repetitions and what nobody reviewed; the badge counts them.

    Accepting is a step in the journal; the next learning is under the cursor; undo brings it back.
    """
    async with opened() as desk:
        waiting = desk.waiting
        assert waiting[made.conflicting.id] == "conflict"
        assert waiting[made.repeating.id] == "duplicate"
        assert waiting[made.agent.id] == "unreviewed"
        assert made.human.id not in waiting
        assert desk.shown[0] == made.conflicting.id
        assert desk.app.badges["learnings"] == str(len(waiting))
        await desk.press("t")
        assert made.human.id in desk.shown
        await desk.press("t")
        desk.go(made.agent)
        place = desk.shown.index(made.agent.id)
        after = desk.shown[place + 1]
        await desk.press("a")
        assert made.agent.id not in desk.shown
        assert desk.screen.table.cursor_key == after
        assert made.desk.find(made.agent.id).reviewed
        assert desk.commands[-1] == f"workbench memory accept {made.agent.id[:17]}"
        await desk.press("u")
        assert made.agent.id in desk.shown
        assert desk.commands[-1] == "workbench memory undo"
        await desk.press("U")
        assert made.agent.id not in desk.shown


async def test_a_step_that_changes_no_conflict_is_counted_once(
    opened: Open, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After learnings are compared, only a list of conflicts that says something else is counted again."""
    counted: list[frozenset[str]] = []

    def count(engine: AppEngine, decided: frozenset[str], job: Job) -> LearningCounts:
        counted.append(decided)
        return count_learnings(engine, decided, job)

    async with opened() as desk:
        desk.go(made.agent)
        await desk.press("a")
        monkeypatch.setattr(learning_list_screen, "count_learnings", count)
        await desk.press("u")
        assert len(counted) == 1
        assert made.agent.id in desk.shown
        desk.go(made.conflicting)
        await desk.press("r")
        assert len(counted) == 3
        assert made.conflicting.id not in desk.shown


async def test_every_section_shows_the_same_count_of_what_waits(opened: Open, made: Made) -> None:
    """Also one that was shown before something was decided."""
    async with opened() as desk:
        before, bars = len(desk.waiting), []
        desk.go(made.agent)
        for section, *keys in (["metrics"], ["learnings", "a"], ["metrics"]):
            await desk.app.go_to(section)
            await desk.settle()
            await desk.press(*keys)
            bars.append(draw_text(desk.app).splitlines()[0])
        assert f"Learnings·{before} " in bars[0]
        assert [f"Learnings·{before - 1} " in bar for bar in bars] == [False, True, True]


async def test_what_is_reviewed_by_an_edit_is_done(opened: Open, made: Made) -> None:
    """It counts as a decision by a key does, until it is undone."""
    async with opened() as desk:
        waiting = len(desk.waiting)
        desk.go(made.agent)
        await desk.press("a")
        desk.go(made.hostile)
        await desk.press("e")
        desk.dialog(RecordForm).query_one("#field-0", SafeArea).load_text("The lot number is unique.")
        await desk.press("f2")
        assert desk.screen.progress == ReviewProgress(2, waiting - 2)
        await desk.press("u")
        assert desk.screen.progress == ReviewProgress(1, waiting - 1)


async def test_the_pane_shows_the_learning_while_its_past_is_read(
    opened: Open, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never shows another one than that under the cursor for long; the past follows."""
    read, answered = threading.Event(), story

    def wait(*arguments: Any) -> LearningStory:
        read.wait()
        return answered(*arguments)

    async with opened() as desk:
        monkeypatch.setattr(learning_list_screen, "story", wait)
        try:
            desk.go(made.agent)
            while desk.screen.pane.key != made.agent.id:
                await desk.pilot.pause()
            shown = str(desk.screen.pane.query_one(Static).content)
            assert made.agent.text in " ".join(shown.split())
            assert desk.screen.item is None
        finally:
            read.set()
        while desk.screen.item is None:
            await desk.pilot.pause()


async def test_many_are_decided_as_one_step(opened: Open, made: Made) -> None:
    """Marked learnings are rejected together; one undo brings all back; restoring is a key as well."""
    async with opened() as desk:
        await desk.press("*", "r")
        assert desk.shown == []
        assert made.desk.find(made.hostile.id).state is LearningState.REJECTED
        assert "rejected" in desk.told
        await desk.press("u")
        assert made.hostile.id in desk.shown
        desk.go(made.hostile)
        await desk.press("d", "t")
        desk.go(made.hostile)
        assert desk.screen.current is not None
        assert desk.screen.current.state is LearningState.RETIRED
        await desk.press("R")
        assert made.desk.find(made.hostile.id).live


async def test_an_edit_that_others_overtook_is_shown_and_merged(opened: Open, made: Made) -> None:
    """What another process changed meanwhile is shown field by field; nothing is overwritten unseen."""
    async with opened() as desk:
        desk.go(made.agent)
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("The staging API has no route `/v2/orders` yet")
        made.desk.edit(made.agent.id, text="The staging API answers 404 to `/v2/orders`")
        await desk.press("f2")
        overtaken = desk.dialog(OvertakenRecord)
        assert [merge.name for merge in overtaken.merges] == ["text"]
        assert made.desk.find(made.agent.id).text == "The staging API answers 404 to `/v2/orders`"
        await desk.press("f2")
        assert desk.dialog(OvertakenRecord) is overtaken
        await desk.press("L", "f2")
        assert made.desk.find(made.agent.id).text == "The staging API has no route `/v2/orders` yet"
        assert desk.app.screen is desk.screen
        assert desk.commands[-1].startswith(f"workbench memory edit {made.agent.id[:17]} --text")


async def test_a_learning_that_was_removed_meanwhile_can_be_added_again(opened: Open, made: Made) -> None:
    """An edit of a learning that is gone keeps what was written; on a yes it is restored with it."""
    async with opened() as desk:
        desk.go(made.agent)
        await desk.press("e")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text("Something else about `/v2/orders` in staging")
        made.desk.retire([made.agent.id])
        await desk.press("f2")
        assert "removed meanwhile" in str(desk.dialog(Confirm).query_one(".dialog").border_title)
        await desk.press("escape")
        assert desk.dialog(RecordForm) is form
        assert form.form.dirty
        assert made.desk.find(made.agent.id).text == made.agent.text
        await desk.press("f2", "y")
        assert desk.app.screen is desk.screen
        restored = made.desk.find(made.agent.id)
        assert restored.live
        assert restored.text == "Something else about `/v2/orders` in staging"
        assert [one.split()[2] for one in desk.commands[-2:]] == ["restore", "edit"]


async def test_a_decision_about_other_words_is_refused(opened: Open, made: Made) -> None:
    """A learning that was reworded after it was shown is not accepted unseen; it stays in the queue.

    A bulk decision takes what is as it was seen, and names what is not.
    """
    async with opened() as desk:
        desk.go(made.agent)
        made.desk.edit(made.agent.id, task_id="42")
        await desk.press("a")
        assert not made.desk.find(made.agent.id).reviewed
        assert "changed by somebody else" in desk.told
        assert made.agent.id in desk.shown
        made.desk.edit(made.agent.id, task_id="43")
        await desk.press("*", "d")
        assert made.desk.find(made.agent.id).live
        assert not made.desk.find(made.plain.id).live
        assert "1 left alone" in desk.told
        await desk.press("*", "a")
        assert made.desk.find(made.agent.id).reviewed


async def test_a_learning_becomes_a_rule_and_back(opened: Open, made: Made) -> None:
    """The form has what the rule would say; the rule is named; one undo takes back both."""
    async with opened() as desk:
        desk.go(made.plain)
        await desk.press("P")
        form = desk.dialog(RecordForm)
        assert form.query_one("#field-0", SafeArea).text == made.plain.text
        form.query_one("#field-0", SafeArea).load_text("Run `pytest` in `beans` with `PYTHONPATH=src`.")
        await desk.press("f2")
        promoted = made.desk.find(made.plain.id)
        assert promoted.state is LearningState.PROMOTED
        rules = made.store.rules().ledger()
        rule = rules.current(promoted.successor)
        assert rule is not None
        assert rule.rule == "Run `pytest` in `beans` with `PYTHONPATH=src`."
        assert "is a rule now" in desk.told
        assert made.plain.id not in desk.shown
        words = f"workbench memory promote {made.plain.id[:17]} --text"
        assert desk.commands[-1].startswith(words)
        await desk.press("u")
        assert made.desk.find(made.plain.id).live
        assert made.store.rules().ledger().current(promoted.successor) is None


async def test_a_repetition_is_merged_in_three_panes(opened: Open, made: Made) -> None:
    """One text stands for both; the cursor is on it."""
    async with opened() as desk:
        desk.go(made.repeating)
        await desk.settle()
        item = desk.screen.item
        assert item is not None
        pair = item.conflict
        assert pair is not None
        await desk.press("m")
        desk.dialog(MergeEditor)
        await desk.press("f2")
        assert made.desk.find(pair.right.id).state is LearningState.MERGED
        assert pair.right.id in made.desk.find(pair.left.id).merged_from
        assert desk.commands[-1].startswith(f"workbench memory resolve {pair.id[:17]} --action merge")
        await desk.press("u")
        assert made.desk.find(pair.right.id).live


async def test_the_pair_is_shown_at_the_desk_of_conflicts(opened: Open, made: Made) -> None:
    """The key goes to the very pair, and undo there is another desk's."""
    async with opened() as desk:
        desk.go(made.conflicting)
        await desk.settle()
        pair = desk.pair_id
        await desk.press("S")
        conflicts = desk.dialog(ConflictsScreen)
        assert conflicts.item is not None
        assert conflicts.item.pair.id == pair


async def test_one_is_added_by_hand(opened: Open, made: Made) -> None:
    """A person's learning is reviewed as it comes; a repetition is refused in the form, which stays."""
    async with opened() as desk:
        await desk.press("t", "c")
        form = desk.dialog(RecordForm)
        form.query_one("#field-0", SafeArea).load_text(made.agent.text)
        form.query_one("#field-1", SafeInput).value = "seen again"
        form.query_one("#field-2", SafeInput).value = "orders"
        await desk.press("f2")
        assert desk.dialog(RecordForm) is form
        assert "known already" in str(form.query_one(".dialog-error", Static).render())
        form.query_one("#field-0", SafeArea).load_text("The token of `auth` lives for 900 seconds")
        await desk.press("f2")
        assert desk.app.screen is desk.screen
        one = desk.screen.current
        assert one is not None
        assert (one.text, one.reviewed) == ("The token of `auth` lives for 900 seconds", True)
        assert "--reason 'seen again'" in desk.commands[-1]


async def test_junk_is_counted_and_pruned_and_comes_back(opened: Open, made: Made) -> None:
    """The audit names every kind, a finding leads to its learning; pruning asks first and is undone."""
    async with opened() as desk:
        await desk.press("X")
        view = desk.dialog(AuditView)
        counts = {kind: len(found) for kind, found in view.audit.findings.items()}
        assert (counts["duplicate"], counts["contradiction"], counts[PRUNE]) == (1, 1, 1)
        assert view.audit.prunable[0].id == made.stale.id
        await desk.press("ctrl+s", "n")
        assert made.desk.find(made.stale.id).live
        await desk.press("ctrl+s", "y")
        assert made.desk.find(made.stale.id).state is LearningState.PRUNED
        assert desk.commands[-1] == "workbench memory prune"
        await desk.press("u")
        assert made.desk.find(made.stale.id).live
        await desk.press("X")
        assert desk.dialog(AuditView).query_one("#audit-kinds", VirtualTable).select_key("stale")
        await desk.settle()
        await desk.press("enter", "enter")
        assert desk.screen.table.cursor_key == made.stale.id


async def test_a_prompt_is_seen_before_it_is_given(opened: Open, made: Made) -> None:
    """Looking notes nothing; copying puts the text on the clipboard and notes what was given."""
    async with opened() as desk:
        desk.go(made.plain)
        await desk.press("p")
        preview = desk.dialog(PromptPreview)
        assert preview.made is not None
        assert made.human.text in preview.made.text
        assert made.agent.text not in preview.made.text
        assert not read_injections(made.store.journal).given
        preview.query_one("#preview-budget", SafeInput).value = "30"
        await desk.settle()
        assert preview.made.given == ()
        preview.query_one("#preview-budget", SafeInput).value = "many"
        await desk.settle()
        assert "a number from 1" in str(preview.query_one("#preview-outcome", Static).render())
        preview.query_one("#preview-budget", SafeInput).value = "500"
        await desk.settle()
        await desk.press("y")
        assert desk.app.clipboard == preview.made.text
        assert made.human.id in read_injections(made.store.journal).given
        assert any(one.startswith("workbench memory prompt --feature auth") for one in desk.commands)


async def test_filter_order_view_and_cursor_come_back(opened: Open, made: Made, tmp_path: Path) -> None:
    """At the next start everything is where it was left."""
    place = tmp_path / "place.json"
    async with opened(place_file=place) as desk:
        await desk.press("t")
        bar = desk.screen.bar
        bar.set_text("source:auto confidence:<0.5 -state:retired")
        await desk.settle()
        assert made.human.id not in desk.shown
        assert made.stale.id in desk.shown
        await desk.press("o", "o", "o")
        assert desk.screen.table.sort == ("feature", False)
        assert desk.shown[-1] == made.hostile.id
        desk.go(made.stale)
        await desk.settle()
    async with opened(place_file=place) as desk:
        assert desk.screen.view == "all"
        assert desk.screen.table.sort == ("feature", False)
        assert desk.screen.table.cursor_key == made.stale.id
        assert made.human.id not in desk.shown
        await desk.press("O")
        assert desk.screen.table.sort == ("feature", True)


async def test_the_usual_order_is_reversed_and_left(opened: Open) -> None:
    """Of the queue it is that of urgency; of all no column has it, and the first one follows."""
    async with opened() as desk:
        await desk.press("O")
        assert desk.screen.wanted.sort == ("why", True)
        await desk.press("o")
        assert desk.screen.wanted.sort != ("why", True)
        desk.screen.want(replace(desk.screen.wanted, sort=None))
        desk.screen.action_view()
        await desk.press("O")
        assert desk.screen.wanted.sort == ("newest", True)
        await desk.press("o")
        assert desk.screen.wanted.sort == ("state", False)


async def test_hostile_text_is_data(opened: Open, made: Made) -> None:
    """Markup, escapes, NUL and turned text are shown neutralised in cells, pane, form, toast and audit."""
    async with opened((160, 40)) as desk:
        desk.go(made.hostile)
        await desk.settle()
        text = screen_text(desk.app)
        assert "The value [/] of list[int] = x[0]" in text
        assert not set("\x1b\x00\u202e") & set(text)
        for keys in (("e", "escape"), ("P", "escape"), ("p", "escape"), ("A", "escape")):
            await desk.press(keys[0])
            assert not set("\x1b\x00\u202e") & set(screen_text(desk.app))
            await desk.press(keys[1])
        await desk.press("r", "u")
        assert desk.app.screen is desk.screen
        assert made.hostile.id in desk.shown


async def test_an_origin_is_opened(
    opened: Open, made: Made, roastery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file opens at its line, a session at the turn it was learned from; what leads outside is refused."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(roastery.parent / "claude"))
    slug = re.sub("[^A-Za-z0-9]", "-", str(roastery))
    transcript = roastery.parent / "claude" / "projects" / slug / "s-9.jsonl"
    transcript.parent.mkdir(parents=True)
    lines = [
        {"type": "user", "message": {"role": "user", "content": f"step {number}"}, "sessionId": "s-9"}
        for number in range(60)
    ]
    lines[40]["message"] = {"role": "user", "content": "it says: relation   exists already"}
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    file = next(path for path in sorted(roastery.rglob("*.py")))
    name = file.relative_to(roastery).as_posix()
    project = {"project_id": made.store.project_id}
    (one,) = take_in(
        made.store,
        auto("`relation` may exist", evidence=f"{name}:2 relation exists already", files=(name,), **project),
    )
    (two,) = take_in(
        made.store, auto("`x` y", evidence="relation exists already", session_id="s-9", **project)
    )
    (out,) = take_in(made.store, auto("`up` is up", files=("../../secret.py",), session_id="", **project))
    async with opened() as desk:
        desk.go(one)
        await desk.press("F")
        desk.dialog(Choose)
        await desk.press("enter")
        details = desk.dialog(Details)
        assert (details._path, details._lines) == (name, (2, 2))
        await desk.press("escape")
        desk.go(two)
        await desk.press("F")
        details = desk.dialog(Details)
        assert "relation   exists already" in details._text
        assert "step 40" not in details._text
        assert "step 39" in details._text
        assert "step 2\n" not in details._text
        await desk.press("escape")
        desk.go(out)
        await desk.press("F")
        assert desk.app.screen is desk.screen
        assert "leads out of the project" in desk.told


def remember(root: Path, at: str, number: int, title: str, outcome: IterationOutcome) -> None:
    record = IterationRecord(
        number, "", title, "refunds", "", f"{at}T12:00:00Z", outcome, "what it did",
        errors=(ErrorEntry("it [/] broke"),), decisions=(DecisionEntry("keep it", "it works"),),
    )  # fmt: skip
    body = body_of(JournalEntry(VERSION, record, key=title))
    open_workspace(root, Config()).journal.append(feature_stream("refunds"), KIND, [body], by="test")


async def test_without_learnings_it_teaches(opened: Open, roastery: Path) -> None:
    """The empty list says how learnings come and which key adds one; iterations are listed all the same."""
    async with opened() as desk:
        text = screen_text(desk.app)
        assert "workbench memory collect --feature NAME" in text
        assert "c  adds one by hand" in text
        await desk.press("r", "e", "P", "m", "S", "F", "a")
        assert desk.app.screen is desk.screen
        assert desk.commands == []
        await desk.press("X")
        assert desk.dialog(AuditView).audit.total == 0
        await desk.press("escape")
        desk.screen._take_counts(LearningCounts())
        await desk.settle()
        assert "comparing" not in screen_text(desk.app)
        await desk.press("L")
        assert "workbench memory ingest" in screen_text(desk.app)
        assert desk.dialog(IterationsView).entries == ()
        await desk.press("escape")
        remember(roastery, "2026-01-01", 1, "first [/]", IterationOutcome.FAILURE)
        remember(roastery, "2026-01-02", 2, "second\x1b[31m", IterationOutcome.SUCCESS)
        await desk.press("L")
        assert [one.task_title for one in desk.dialog(IterationsView).entries] == [
            "second\x1b[31m",
            "first [/]",
        ]
        await desk.press("j")
        shown = screen_text(desk.app)
        assert "2 iterations of 1 feature" in shown
        assert "iteration 1 of refunds: failure" in shown
        assert "error     it [/] broke" in shown
        assert "decision  keep it, because it works" in shown


async def test_what_another_process_learns_comes_in(opened: Open, made: Made) -> None:
    """A stale section reads the journals again; the cursor stays on its learning."""
    async with opened() as desk:
        desk.go(made.hostile)
        (new,) = take_in(made.store, auto("`roast` writes to `var/log`", project_id=made.store.project_id))
        desk.screen.mark_stale()
        await desk.settle()
        assert new.id in desk.shown
        assert desk.screen.table.cursor_key == made.hostile.id


async def test_too_small_a_terminal_changes_nothing(opened: Open, made: Made) -> None:
    """Below the least size keys that change something do nothing."""
    async with opened((50, 12)) as desk:
        await desk.press("a", "r", "d")
        assert all(one.live for one in made.desk.learnings(gone=True))
        assert not made.desk.find(made.conflicting.id).reviewed


async def test_undo_comes_after_what_is_on_its_way(opened: Open, made: Made) -> None:
    """Keys pressed faster than the journal is written are carried out in their order."""
    async with opened() as desk:
        before = desk.shown
        desk.go(made.agent)
        await desk.settle()
        await desk.pilot.press("r", "r", "u")
        await desk.settle()
        gone = [one for one in before if not made.desk.find(one).live]
        assert gone == [made.agent.id]
        assert desk.screen.progress.done == 1


async def test_an_accepted_one_that_collides_still_waits(opened: Open, made: Made) -> None:
    """A review settles no contradiction: it says which key does, and the learning stays in the queue."""
    async with opened() as desk:
        desk.go(made.conflicting)
        await desk.press("a")
        assert made.desk.find(made.conflicting.id).reviewed
        assert desk.waiting[made.conflicting.id] == "conflict"
        assert "S settles that" in desk.told
        assert desk.screen.progress.done == 0


async def test_a_merge_that_others_overtook_is_gone_on_with(opened: Open, made: Made) -> None:
    """Nothing is merged over new words; the text that was written opens again."""
    async with opened() as desk:
        desk.go(made.repeating)
        await desk.settle()
        item = desk.screen.item
        assert item is not None
        pair = item.conflict
        assert pair is not None
        await desk.press("m")
        written = "`pytest` needs `PYTHONPATH=src` in `beans`, always"
        desk.dialog(MergeEditor).query_one("#merge-result", SafeArea).load_text(written)
        made.desk.edit(pair.right.id, text="`pytest` needs `PYTHONPATH=src` in the folder named `beans`")
        await desk.press("f2")
        assert made.desk.find(pair.right.id).live
        assert "Your text is kept" in desk.told
        assert desk.screen.table.select_key(pair.right.id)
        await desk.press("m")
        assert desk.dialog(MergeEditor).query_one("#merge-result", SafeArea).text == written
