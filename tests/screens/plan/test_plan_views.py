"""What the section shows, made from real plans: rows, bars, lines around them, counts of a first run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from textual.app import App
from textual.widget import Widget

from screens.engine import AppEngine
from screens.jobs import Job
from screens.plan import candidates, work
from screens.plan.candidates import (
    FIELDS,
    FILES,
    IN,
    OUT,
    PackCandidate,
    ShownPlan,
    cells,
    fold_passages,
    list_rows,
    listing_order,
)
from screens.plan.comparison import (
    RankedPack,
    RankingComparison,
    comparison_in_short,
    explain_move,
)
from screens.plan.differences import compared_rows, pack_difference
from screens.plan.first_run import counts, facts, progress_text
from screens.plan.panels import headline, sections_of
from screens.plan.query import PlanQuery
from screens.widgets.bars import Portion
from tests.conftest import Work
from workbench.entry.services.index import FirstLook
from workbench.errors import StaleProject, UsageError
from workbench.lists.filters import parse
from workbench.records.answers.plan import PlanConfidence
from workbench.text.tokens import token_counter

TASK = "coupon is applied twice at checkout"
HOSTILE = "[/] x[0] \x1b[31m\0 \u202e🙂"


def job() -> Job:
    app: App[None] = App()
    return Job("test", "test", Widget(), app, quiet=True)


def made(root: Path, **asked: object) -> ShownPlan:
    return work.make_plan(AppEngine(root), PlanQuery(**{"task": TASK, **asked}), job())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plan(shop: Path) -> ShownPlan:
    return made(shop)


def test_everything_of_the_answer_is_a_row_once(plan: ShownPlan) -> None:
    """What is in comes first in the order of the pack, then what is out; nothing is lost or stands twice."""
    keys = [one.key for one in plan.candidates]
    assert len(set(keys)) == len(keys)
    inside = [one for one in plan.candidates if one.state == IN]
    assert [*inside, *(one for one in plan.candidates if one.state == OUT)] == list(plan.candidates)
    assert [one.name for one in inside if one.kind == FILES] == list(plan.response.context.files)
    dropped = {one.file for one in plan.response.dropped_candidates}
    assert len(plan.candidates) - len(inside) == len(dropped)
    assert all(one.why for one in plan.candidates if one.state == OUT)


def test_the_portions_are_what_is_used(plan: ShownPlan) -> None:
    """The budget's bar shows the tokens of the text as a whole."""
    assert sum(portion.tokens for portion in plan.portions) == (plan.response.budget_report.estimated_used)
    assert {portion.kind for portion in plan.portions} == {"rules", "files"}


def test_the_row_of_a_file_has_the_tokens_it_has_in_the_text(tmp_path: Path) -> None:
    """Of a project of one file the row and the budget say the same, but for the first line."""
    (tmp_path / "cart.py").write_text("def total(cart):\n    return sum(one.price for one in cart)\n")
    plan = made(tmp_path, task="cart total is wrong")
    (one,) = [one for one in plan.candidates if one.state == IN]
    assert one.form == "full"
    head = plan.response.context.text.split("\n", 1)[0]
    used = plan.response.budget_report.estimated_used
    assert one.tokens is not None
    assert one.tokens + token_counter().count(head + "\n") == used
    assert [portion.tokens for portion in plan.portions] == [used]


def test_the_text_of_a_candidate_is_in_the_pack(plan: ShownPlan) -> None:
    """What is previewed of a candidate is what is packed, line for line with its numbers."""
    for one in plan.candidates[: plan.selected]:
        lines = one.text.split("\n") if one.text else []
        assert all(line.strip() in plan.text for line in lines)
        assert not one.numbers or len(one.numbers) == len(lines)


def test_a_file_is_explained_by_bars_that_add_up(plan: ShownPlan) -> None:
    """The bars in words and those by signal both sum to the score; the specification's features are there."""
    one = next(one for one in plan.candidates if one.kind == FILES)
    words, specified, signals, *_ = sections_of(one, plan)
    assert words.total == one.score
    assert sum(bar.value for bar in words.bars) == pytest.approx(one.score, abs=0.01)
    assert sum(bar.value for bar in signals.bars) == pytest.approx(one.score, abs=0.01)
    assert len(specified.bars) == 6
    assert "tokens" in specified.note
    assert headline(one, plan).startswith(f"{one.form} · {one.tokens:,} tokens · ")
    assert headline(one, plan).endswith(" likely to be needed · source")


def test_a_rule_that_matches_is_explained_by_its_score(shop: Path) -> None:
    """What a rule has in common with the task, its priority and its scope make its score."""
    plan = made(shop, task="log a card number in an exception")
    matched = [one for one in plan.candidates if one.name in plan.matches]
    section = sections_of(matched[0], plan)[0]
    assert sum(bar.value for bar in section.bars) == pytest.approx(section.total)
    held = next(one for one in plan.candidates if one.kind == "rules" and one.name not in plan.matches)
    assert (held.score, sections_of(held, plan)) == (None, ())
    assert [one.score for one in matched] == [plan.matches[one.name].final for one in matched]


def test_files_lead_what_a_filter_lets_through(plan: ShownPlan) -> None:
    """The order is that of the whole list, with what is out at its end."""
    every = listing_order(plan.candidates, range(len(plan.candidates)))
    rows = [plan.candidates[place] for place in every]
    opened = {one.kind for one in plan.candidates}
    files = [one.key for one in rows if one.kind == FILES]
    assert (rows[0].kind, len(rows)) == (FILES, len(plan.candidates))
    assert files == [one.key for one in fold_passages(plan, opened) if one.kind == FILES]
    assert rows[-1].state == OUT


def test_a_rule_of_two_lines_is_one_line_of_the_list(work: Work) -> None:
    """A line feed is a space there; the pack and the pane have the rule as it was written."""
    work.write("AGENTS.md", "- Always run the linter:\n  `make lint`\n")
    work.write("shop.py", f"# {TASK}\n")
    work.commit()
    plan = made(work.root)
    [one] = [one for one in plan.candidates if "Always run the linter" in one.title]
    assert "\n" in one.text
    assert one.title.endswith("Always run the linter: `make lint`")


def test_wishes_are_marked_and_come_first(shop: Path) -> None:
    """A pinned file is in with its glyph, an excluded one is the first of those that are out."""
    plan = made(shop, pinned=("README.md",), excluded=("CHANGELOG.md",))
    by_name = {one.name: one for one in plan.candidates}
    assert by_name["README.md"].state == IN
    assert cells(by_name["README.md"])[0].plain == "◆"
    assert cells(by_name["CHANGELOG.md"])[0].plain == "✗"
    assert next(one for one in plan.candidates if one.state == OUT).name == "CHANGELOG.md"


def test_a_pin_without_room_has_a_glyph_of_its_own(shop: Path) -> None:
    """A pinned thing that does not fit is not shown as if it were in."""
    plan = made(shop, budget=50, pinned=tuple(one.name for one in made(shop).candidates[:9]))
    assert "!" in {cells(one)[0].plain for one in plan.candidates if one.pinned}


def test_wishes_for_what_is_gone_are_dropped_and_told(shop: Path) -> None:
    """A plan is made anyway, and the status names what is gone."""
    plan = made(shop, pinned=("gone.py",), excluded=("rule-gone",))
    assert plan.gone == ("gone.py", "rule-gone")
    assert "gone.py, rule-gone" in candidates.plan_status(plan)


def test_the_baseline_has_places_and_no_chances(shop: Path) -> None:
    """The baseline knows nothing of chances, so none is shown."""
    plan = made(shop, baseline=True)
    one = next(one for one in plan.candidates if one.kind == FILES and one.name in plan.ranked)
    assert "chance" not in headline(one, plan)
    assert "Its place alone" in sections_of(one, plan)[0].note


def test_a_filter_keeps_the_order_of_the_plan(plan: ShownPlan) -> None:
    """Fields and words let candidates through; what is in stays before what is out."""
    found = work.filter_candidates(plan.candidates, parse("kind:files state:in", FIELDS), job())
    assert [plan.candidates[place].name for place in found] == list(plan.response.context.files)
    words = work.filter_candidates(plan.candidates, parse("checkout", FIELDS), job())
    assert words == listing_order(plan.candidates, sorted(words))
    assert words
    none = work.filter_candidates(plan.candidates, parse("zzzz", FIELDS), job())
    assert none == []
    assert len(list_rows(plan.candidates, none)) == 0


def test_the_status_is_honest(plan: ShownPlan) -> None:
    """What is in, how fresh, how long, and what was missing."""
    told = candidates.plan_status(plan)
    assert told.startswith(f"{plan.selected} in, ")
    assert f" · {' · '.join(candidates.state_of(plan.response))} · " in told
    assert "! without" not in told or told.index("! without") < told.index("fresh")
    assert f"{candidates.milliseconds(plan.response):,.0f} ms" in told
    assert "! without embeddings ·" in told
    assert "! without embeddings, history ·" in candidates.plan_status(
        replace(plan, response=structs.replace(plan.response, degraded=("embeddings", "history")))
    )


def test_the_header_says_how_a_task_is_planned(plan: ShownPlan) -> None:
    """Tokens first, then what was chosen, how sure it is and what is out; words for each."""
    asked = PlanQuery(TASK, baseline=True, query_type="bugfix", pinned=("a", "b"), excluded=("c",))
    parts = [one.text.plain for one in candidates.header_parts(asked, plan, 100, strict=True)]
    used = plan.response.budget_report.estimated_used
    assert parts[:4] == [f"{used:,} of {plan.limit:,} tokens", "baseline", "strict", "bugfix"]
    assert parts[4:6] == ["◆ 2 pinned", "✗ 1 excluded"]
    assert parts[-1] == f"{len(plan.candidates) - plan.selected:,} left out"
    sure = structs.replace(plan.response, confidence=PlanConfidence(0.9, 0.81), low_confidence=False)
    assert candidates.confidence_in_short(sure) == "81% chance that no file is missing"
    unsure = structs.replace(sure, low_confidence=True)
    assert candidates.confidence_in_short(unsure).startswith("! unsure")
    assert [one.text.plain for one in candidates.header_parts(PlanQuery(), None, 100, strict=False)] == [
        "0 of 100 tokens"
    ]


def test_files_lead_and_passages_fold(plan: ShownPlan) -> None:
    """Rules are one row with their tokens, opened they follow it; pinned and excluded ones stay in view."""
    rules = tuple(
        PackCandidate("rules", f"rule-{number}", f"Rule {number}", state=state, tokens=9)
        for number, state in enumerate(("in", "in", "out", "out"))
    )
    files = [one for one in plan.candidates if one.kind == FILES]
    many = replace(plan, candidates=(*rules, *files), portions=(Portion("rules", 21),))
    rows = fold_passages(many, ())
    folds = [one for one in rows if one.folds]
    assert rows[0].kind == FILES
    assert [one.title for one in folds] == ["2 rules · 21 tokens · 2 left out"]
    assert not folds[0].named
    assert sorted(one.key for one in rows if not one.folds) == sorted(one.key for one in files)
    opened = fold_passages(many, {"rules"})
    place = next(place for place, one in enumerate(opened) if one.folds)
    assert opened[place + 1 : place + 5] == list(rules)
    pinned = replace(many, candidates=(replace(rules[0], pinned=True), *rules[1:], *files))
    assert replace(rules[0], pinned=True) in fold_passages(pinned, ())


def test_what_changed_in_a_pack_is_counted_and_named(plan: ShownPlan) -> None:
    """What came in, what went out, in which form, and how many tokens that is."""
    inside = [one for one in plan.candidates if one.kind == FILES and one.state == IN]
    one, two, three, *_ = sorted(inside, key=lambda one: one.form == "path")
    rule = PackCandidate("rules", "rule-1", "Amounts are cents")

    def packed(*some: PackCandidate) -> ShownPlan:
        return replace(plan, candidates=some)

    full = structs.replace(plan.response.budget_report, estimated_used=1_000 + _used(plan))
    dearer = structs.replace(plan.response, budget_report=full)
    assert pack_difference(plan, plan) == ""
    assert pack_difference(packed(one), packed(one, two)) == f"+1 file ({two.title})"
    assert (
        pack_difference(packed(one), packed(two, three, rule, replace(one, name="x")))
        == f"+3 files ({two.title}, {three.title} …), 1 rule · −1 file ({one.title})"
    )
    changed = replace(packed(replace(one, form="path")), response=dearer)
    assert pack_difference(packed(one), changed) == "1 in another form · +1,000 tokens"
    assert pack_difference(changed, packed(one)) == "1 in another form · −1,000 tokens"


def _used(plan: ShownPlan) -> int:
    return plan.response.budget_report.estimated_used


def test_baseline_and_hybrid_are_compared(shop: Path) -> None:
    """Both rankings by place, how far each file moved, in whose pack it is; either plan gives the same."""
    engine = AppEngine(shop)
    plan = work.make_plan(engine, PlanQuery(TASK), job(), compared=True)
    found = plan.comparison
    assert found is not None
    other = work.make_plan(engine, PlanQuery(TASK, baseline=True), job(), compared=True)
    assert other.comparison == found
    assert found.hybrid.order == tuple(plan.ranked)
    assert found.baseline.order == tuple(other.ranked)
    assert found.hybrid.packed == set(plan.response.context.files)
    rows = compared_rows(plan, found, None)
    assert [rows.key(place) for place in range(len(rows))] == [f"files:{path}" for path in plan.ranked]
    assert len(compared_rows(plan, found, [0])) == (plan.candidates[0].kind == FILES)
    first = found.hybrid.order[0]
    before = found.baseline.places[first]
    move, _, inside = explain_move(found, first)[0].partition("  ")
    assert move == ("=" if before == 1 else f"▲{before - 1}")
    assert inside.startswith(f"place 1 in hybrid, {before} in baseline; in ")
    assert comparison_in_short(found).startswith(
        f"{len(found.hybrid.packed & found.baseline.packed)} in both"
    )


def test_a_move_is_named_whichever_way_it_goes() -> None:
    """Up, down, the same, and not in one of them; hostile names are cells."""
    before = RankedPack(("a", "b", "c"), {"a": 1, "b": 2, "c": 3}, frozenset("ab"))
    now = RankedPack(("c", "b", "a", HOSTILE), {"c": 1, "b": 2, "a": 3, HOSTILE: 4}, frozenset("bc"))
    found = RankingComparison(before, now, {"c": ("words of the task",), "a": ("changed lately",)}, "bugfix")
    assert [found.move(path) for path in ("c", "b", "a", HOSTILE)] == ["▲2", "=", "▼2", "new"]
    assert explain_move(found, "c") == [
        "▲2  place 1 in hybrid, 3 in baseline; in the pack of hybrid alone",
        "why: words of the task",
        "beside it a: place 1 in baseline, 3 in hybrid; in the pack of baseline alone",
        "baseline goes by the kind of task alone (bugfix)",
    ]
    assert explain_move(found, "a")[1] == "files with more evidence passed it; its own: changed lately"
    assert explain_move(found, HOSTILE)[0] == "new  place 4 in hybrid, not in baseline; in no pack"
    assert explain_move(found, "elsewhere") == []


def test_a_file_is_explained_as_the_command_does(shop: Path) -> None:
    """Plain words first, then the table of signals."""
    engine = AppEngine(shop)
    path = next(one.name for one in made(shop).candidates if one.kind == FILES)
    lines = work.explain_candidate(engine, PlanQuery(TASK), path, 68, job()).splitlines()
    assert max(map(len, lines)) <= 68
    assert lines[0].startswith(f"{path} is ")
    assert "What each signal gives" in lines


def test_strict_refuses_a_changed_project(roastery: Path) -> None:
    """Under strict a change since the index is an error with a hint, and not a silent re-index."""
    made(roastery)
    (roastery / "README.md").write_text("changed\n", encoding="utf-8")
    with pytest.raises(StaleProject):
        work.make_plan(AppEngine(roastery), PlanQuery(TASK, strict=True), job())


def test_an_export_is_what_the_program_prints_and_replaces_nothing(shop: Path, tmp_path: Path) -> None:
    """A file that is there stays until replacing it is asked for; json is the whole answer."""
    target = tmp_path / "pack.md"
    engine = AppEngine(shop)
    assert work.export_pack(engine, PlanQuery(TASK), "markdown", target, False, job())
    assert target.read_text(encoding="utf-8").startswith("Brief (bugfix)")
    target.write_text("mine", encoding="utf-8")
    assert work.export_pack(engine, PlanQuery(TASK), "json", target, False, job()) is None
    assert target.read_text(encoding="utf-8") == "mine"
    assert work.export_pack(engine, PlanQuery(TASK), "json", target, True, job())
    assert '"decision_trace"' in target.read_text(encoding="utf-8")


def test_hostile_names_and_texts_are_cells() -> None:
    """Nothing in a name, a reason or a text is obeyed or shown raw, and a long one is cut."""
    for text in (HOSTILE, "x" * 1_000_000):
        one = PackCandidate(FILES, text, text, text, why=text, form="full", tokens=1, score=0.5)
        drawn = "".join(cell.plain for cell in cells(one))
        assert "\x1b" not in drawn
        assert "\0" not in drawn
        assert len(drawn) < 2_000


def test_the_counts_of_a_first_run_fit_and_say_what_is_read() -> None:
    """Every count has its line at any width; Codex' sessions are not claimed to be this project's."""
    look = FirstLook(
        173, 2, ("AGENTS.md", "~/.claude/CLAUDE.md"), 122, (("Claude Code", 5, True), ("Codex", 7, False))
    )
    for width in (50, 70):
        lines = counts("shop [/]", look, width).plain.split("\n")
        assert max(map(len, lines)) <= width
    text = counts("shop [/]", look, 70).plain
    assert "Nothing leaves this machine." in text
    assert "shop [/]" in text
    assert ("Codex", "7", "sessions of all projects") in facts(look)
    assert "State: .workbench/" in text
    bare = FirstLook(0, 0, (), None, (), state="/srv/ann/.local/share/workbench/projects/0123456789abcdef")
    told = counts("shop", bare, 50).plain
    assert ".workbench/" not in told
    assert bare.state in told.replace("\n", "")
    assert max(map(len, told.split("\n"))) <= 50
    shared = counts("shop", replace(look, shared=True), 50).plain
    assert "Nothing leaves" not in shared
    assert "shared with the project's team" in " ".join(shared.split())
    assert ("rule files", "0", "none yet") in facts(bare)
    assert ("commits", "–", "not a git repository") in facts(bare)
    cut = ("commits", "2,000", "past tasks that plans learn from; 3,673 older left out")
    assert cut in facts(replace(look, commits=2_000, older=3_673))


def test_progress_has_a_bar_where_its_end_is_known() -> None:
    """A share is drawn and told; without an end only the stage is."""
    assert progress_text("Reading files", 50, 100).plain.endswith("50 of 100")
    assert progress_text("Listing", 7, 0).plain == "Listing …  7"


def test_a_first_look_counts_and_records_nothing(untouched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, rule files, commits and transcripts are counted; no journal and no index appears."""
    claude = Path(untouched.parent / "claude")
    name = str(untouched.resolve()).replace("/", "-").replace("_", "-").replace(".", "-")
    place = claude / "projects" / name
    (place / "s1" / "subagents").mkdir(parents=True)
    (place / "s1.jsonl").write_text("{}\n", encoding="utf-8")
    (place / "s1" / "subagents" / "agent-1.jsonl").write_text("{}\n", encoding="utf-8")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    for number in range(1_003):  # more than the scan lists by name
        (untouched / f"link-{number}").symlink_to("nowhere")
    found = work.find_opening(AppEngine(untouched), job())
    assert found.look is not None
    assert found.look.skipped >= 1_003
    assert found.look.files > 100
    assert found.look.commits == 122
    assert "AGENTS.md" in found.look.rule_files
    assert found.look.transcripts == (("Claude Code", 1, True),)
    assert not [path for path in (untouched / ".workbench").rglob("*") if path.suffix in (".jsonl", ".npz")]


def test_a_saved_plan_is_an_episode_with_its_pack(roastery: Path) -> None:
    """The episode has the task, and its first decision is the pack."""
    from workbench.entry.services.episodes import episode_service

    engine = AppEngine(roastery)
    plan = work.make_plan(engine, PlanQuery(TASK), job())
    session = work.start_episode(engine, PlanQuery(TASK), plan, "refund-cards", job())
    assert session == "refund-cards"
    trace = episode_service(roastery, engine.config, "cli").trace(session)
    assert trace.episode.task_text == TASK
    assert trace.events[0].payload["pack"]
    uses = roastery / ".workbench" / "journal" / "rule-usage.jsonl"
    assert not uses.exists()  # a plan that is looked at is none
    work.record_use(engine, plan, session, job())
    used = json.loads(uses.read_text(encoding="utf-8"))["body"]
    assert used == {"rule_ids": [rule.id for rule in plan.rules], "session_id": session, "tool": ""}
    assert used["rule_ids"]
    with pytest.raises(UsageError):
        work.start_episode(engine, PlanQuery("  "), plan, "nothing", job())


def test_segments_of_the_stash_are_rows_with_what_made_their_scores(roastery: Path) -> None:
    """Those of the pack and those that came near; copying the pack records that they were shown."""
    from workbench.entry.services.stash import stash_service
    from workbench.records.segments import ContextSegment, SegmentType

    engine = AppEngine(roastery)
    with engine.workspace() as opened:
        service = stash_service(opened, "test")
    decided = "Decided: a coupon is applied at checkout only,\nnever twice, since totals were off by a coupon"
    held = service.add(ContextSegment(text=decided, session_id="s1", type=SegmentType.DECISION)).id
    same = service.add(
        ContextSegment(text=f"{decided}, we said", session_id="s1", type=SegmentType.MESSAGE)
    ).id
    plan = work.make_plan(engine, PlanQuery(TASK, pinned=(held,)), job())
    rows = {one.name: one for one in plan.candidates if one.kind == candidates.SEGMENTS}
    assert (rows[held].state, rows[held].form, rows[held].why) == (IN, "whole", "pinned by you")
    assert rows[held].title == "Decided: a coupon is applied at checkout only,"
    assert (rows[same].state, rows[same].why) == (OUT, f"the pack says the same already: {held}")
    assert "segments" in {portion.kind for portion in plan.portions}
    score, parts = sections_of(rows[same], plan)
    assert [bar.name for bar in score.bars] == ["similarity", "how recent", "put aside lately"]
    assert parts.bars
    assert service.uses(held).shown == 0
    work.record_use(engine, plan, "", job())
    assert service.uses(held).shown == 1
