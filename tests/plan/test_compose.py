"""The finished pack: the text as a whole stays under the budget, always, and says the same every time."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.plan.conftest import HOSTILE_LINES, PASSAGES, candidates
from workbench.plan.brief_lines import Surroundings
from workbench.plan.compose import MOST_NAMES, NAMED_FROM, NAMES_SHARE, FileCandidate, ViewOffer, compose
from workbench.plan.intent import parse_intent
from workbench.plan.packing import LEAST_PRICE, LEAST_TEXT, MOST_PRICE, fair_price, text_limit
from workbench.plan.places import PlacedFile, place_chances
from workbench.plan.ranking import load_chunk_model
from workbench.plan.render import (
    ALSO,
    LISTS,
    MARKDOWN,
    STYLES,
    BriefLine,
    FileView,
    Passage,
    name_line,
    render_pack,
)
from workbench.plan.representations import content_of, file_offers, name_offer
from workbench.project.languages import role_of
from workbench.project.symbols import extract_symbols
from workbench.records.answers.plan import NamedPlace
from workbench.records.plan import Representation
from workbench.text.tokens import BOUND_TOKENIZER, token_counter

BUDGETS = st.one_of(st.sampled_from([-1, 0, 1, 2, 50]), st.integers(0, 400))


@given(PASSAGES, candidates(), BUDGETS, st.sampled_from(sorted(STYLES)))
def test_the_text_never_exceeds_the_budget(
    passages: list[Passage], files: list[FileCandidate], budget: int, style: str
) -> None:
    """For any content, any budget and any style the whole text, headings included, fits."""
    counter = token_counter()
    pack = compose(passages, files, budget, STYLES[style], counter)
    assert counter.count(pack.text) == pack.report.estimated_used <= max(0, budget)
    assert pack.report.tokenizer == "o200k_base"
    assert 0.0 <= pack.report.efficiency_score <= 1.0


@given(
    candidates(), st.integers(0, 3000), st.sampled_from(sorted(STYLES)), st.lists(HOSTILE_LINES, max_size=9)
)
def test_lines_never_exceed_the_budget(
    files: list[FileCandidate], budget: int, style: str, texts: list[str]
) -> None:
    """What is said about the files shown fits like everything else, and is said in its order."""
    counter = token_counter()
    lines = [
        BriefLine(section, str(number), text * 9) for section in LISTS for number, text in enumerate(texts)
    ]
    more = FileCandidate("else.py", 0.1, ())
    named = (more, name_offer("else.py", STYLES[style], counter, (), "7 of the last 9 edits"))
    around = Surroundings((named,), tuple(lines))
    pack = compose([], files, budget, STYLES[style], counter, around=lambda _shown: around)
    assert counter.count(pack.text) == pack.report.estimated_used <= budget
    assert [*pack.lines] == [line for line in lines if line in pack.lines]
    assert compose([], files, budget, STYLES[style], counter, around=lambda _shown: around) == pack


@given(PASSAGES, candidates(), BUDGETS)
def test_everything_is_in_or_dropped_with_a_reason(
    passages: list[Passage], files: list[FileCandidate], budget: int
) -> None:
    """Each candidate is either in the text or among the dropped, never both, never lost."""
    pack = compose(passages, files, budget, MARKDOWN, token_counter())
    chosen = [candidate.path for candidate, _offer in pack.files]
    chosen += [passage.origin or passage.id for passage in pack.passages]
    out = [one.file for one in pack.dropped]
    given_names = [candidate.path for candidate in files] + [
        passage.origin or passage.id for passage in passages
    ]
    assert sorted(chosen + out) == sorted(given_names)
    assert all(one.reason for one in pack.dropped)


@given(PASSAGES, candidates(), BUDGETS)
def test_the_same_request_gives_the_same_text(
    passages: list[Passage], files: list[FileCandidate], budget: int
) -> None:
    """Composing twice, with the candidates in another order, gives the same bytes."""
    counter = token_counter()
    first = compose(passages, files, budget, MARKDOWN, counter)
    assert first == compose(passages, list(reversed(files)), budget, MARKDOWN, counter)


TASK = "The pack of a plan is empty although its smallest candidate fits the token budget"
SHOWN = 12


@lru_cache
def offered(style: str) -> tuple[FileCandidate, ...]:
    """Return this repository's own files as candidates: some with their chunks, the others named only."""
    root = Path(workbench.__file__).parents[1]
    paths = [root / "pyproject.toml", root / ".github/workflows/ci.yml", root / "LICENSE"]
    paths += [*sorted((root / "workbench/plan").glob("*.py")), *sorted((root / "tests/plan").glob("*.py"))]
    paths = [path for path in paths if path.is_file()]
    count = token_counter()
    read = []
    for path in paths[:SHOWN]:
        data = path.read_bytes()
        language = "python" if path.suffix == ".py" else "text"
        read.append(content_of(str(path.relative_to(root)), data, extract_symbols(language, data)[0], count))
    placed = [
        PlacedFile(one.path, role_of(one.path), one.cut, one.data, 0.9 / number, {})
        for number, one in enumerate(read, 1)
    ]
    places = place_chances(load_chunk_model(), parse_intent(TASK), placed, len(paths))
    found = []
    for number, (one, chances) in enumerate(zip(read, places, strict=True), 1):
        offers = file_offers(one, chances, STYLES[style], count)
        found.append(FileCandidate(one.path, 1.0 / number, offers, chance=0.9 / number, fill=one.fill))
    for number, path in enumerate(paths[SHOWN:], SHOWN + 1):
        name = str(path.relative_to(root))
        offer = name_offer(name, STYLES[style], count)
        found.append(FileCandidate(name, 1.0 / number, (offer,), chance=0.5 / number))
    return tuple(found)


RULE = Passage(
    "r", "Rules", "Never push to main.", "CLAUDE.md:3", "absolute", utility=0.6, mandatory=True, priority=90
)


def fill_view(one: FileCandidate, offer: ViewOffer) -> FileView:
    """Return an offer's view with its lines."""
    return offer.view if one.fill is None else one.fill(offer.view)


@given(
    st.integers(1, 8000), st.sampled_from(sorted(STYLES)), st.sampled_from([1, 2, 5, 12, 99]), st.booleans()
)
def test_no_pack_is_empty_while_a_piece_fits(budget: int, style: str, most: int, ruled: bool) -> None:
    """With real files, any budget and any style, the text holds something if anything fits alone."""
    files, rules = offered(style)[-most:] if budget % 2 else offered(style)[:most], [RULE] if ruled else []
    counter = token_counter()
    pack = compose(rules, files, budget, STYLES[style], counter)
    alone = [render_pack(STYLES[style], [one], []) for one in rules]
    if not pack.text:
        alone += [
            render_pack(STYLES[style], [], [fill_view(one, offer)])
            for one in files
            for offer in one.offers[1:]
        ]
        assert all(counter.count(text) > budget for text in alone)
        assert pack.report.efficiency_score == 0.0
    elif rules and counter.count(alone[0]) <= budget // 2:
        assert RULE in pack.passages


@pytest.mark.parametrize("style", sorted(STYLES))
def test_a_text_that_turns_out_longer_than_its_parts_is_made_shorter(style: str) -> None:
    """Where all offers together are believed to cost less than they do, the pack still holds what fits."""
    files = [
        replace(one, offers=tuple(replace(offer, tokens=offer.tokens * 4 // 5) for offer in one.offers))
        for one in offered(style)
    ]
    for budget in (300, 1000, 4000):
        report = compose([RULE], files, budget, STYLES[style], token_counter()).report
        assert 0.5 * budget < report.estimated_used <= budget


def test_a_draft_far_below_the_limit_does_not_come_out_again() -> None:
    """A text over the budget whose parts are well under the limit is given up for one that fits."""
    counter = token_counter()
    files = [replace(one, offers=one.offers[1:]) for one in (candidate(1, 30), candidate(2, 3))]
    cheap = replace(files[0], offers=tuple(replace(one, tokens=one.tokens // 2) for one in files[0].offers))
    whole = counter.count(render_pack(MARKDOWN, [], [one.offers[0].view for one in files]))
    pack = compose([], [cheap, files[1]], whole - 2, MARKDOWN, counter)
    assert [one.path for one, _offer in pack.files] == [files[0].path]
    roomy = compose([], [cheap, files[1]], 10 * whole, MARKDOWN, counter).report
    assert pack.report.upper_bound == roomy.upper_bound
    assert pack.report.efficiency_score < roomy.efficiency_score == 1.0


def test_an_empty_pack_achieves_nothing() -> None:
    """An empty pack scores 0, of something and of nothing."""
    assert compose([], [candidate(1, 3)], 3, MARKDOWN, token_counter()).report.efficiency_score == 0.0
    assert compose([], [], 3, MARKDOWN, token_counter()).report.efficiency_score == 0.0


def candidate(number: int, lines: int) -> FileCandidate:
    """Build a candidate with a path and a whole-file offer."""
    path = f"src/module_{number}.py"
    body = tuple(f"value_{number}_{line} = compute({line})" for line in range(lines))
    whole = FileView(path, Representation.FULL, ((1, lines),), body)
    count = token_counter().count
    return FileCandidate(
        path,
        1.0 / number,
        (
            ViewOffer(
                FileView(path, Representation.PATH),
                count(MARKDOWN.listed(ALSO, [path])),
                0,
            ),
            ViewOffer(whole, count(MARKDOWN.file(whole)), 0.9 * count(MARKDOWN.file(whole))),
        ),
        chance=1.0 / number,
    )


def test_the_budget_is_used() -> None:
    """With plenty to choose from, what stays free is too little for one more file."""
    files = [candidate(number, 12) for number in range(1, 60)]
    largest = max(offer.tokens for one in files for offer in one.offers)
    for budget in (500, 2000, 4000):
        used = compose([], files, budget, MARKDOWN, token_counter()).report.estimated_used
        assert budget - largest <= used <= budget


def test_a_budget_stays_free_rather_than_hold_what_is_unlikely() -> None:
    """Tokens have a price: a long file that is hardly needed is left out although there is room."""
    unlikely = candidate(9, 400)
    offers = tuple(replace(offer, utility=0.01 * offer.tokens) for offer in unlikely.offers)
    files = [candidate(1, 12), replace(unlikely, offers=offers)]
    pack = compose([], files, 20_000, MARKDOWN, token_counter())
    assert [offer.view.representation for _one, offer in pack.files] == [
        Representation.FULL,
        Representation.PATH,
    ]


def test_a_file_that_leads_shows_its_best_place_alone_where_none_is_worth_its_tokens() -> None:
    """Places below the price do not add up: without one that stands out the budget stays free."""
    longest = candidate(1, 200)
    views = [FileView(longest.path, Representation.SNIPPETS, ((1, 12 * size),)) for size in range(1, 9)]
    offers = tuple(ViewOffer(view, 120 * size, 6.0 * size) for size, view in enumerate(views, 1))
    content = tuple(f"line {number}" for number in range(1, 97))
    leading = replace(
        longest,
        offers=(longest.offers[0], *offers),
        leads=True,
        fill=lambda view: replace(view, lines=content[: view.spans[0][1]]),
    )
    pack = compose([], [leading], 4000, MARKDOWN, token_counter())
    assert [offer.view.spans for _one, offer in pack.files] == [((1, 12),)]


def test_a_place_comes_before_where_else_to_look() -> None:
    """A place that fits is shown without the other places of its file where those have no room.

    With them it costs what they do, too.
    """
    places = tuple(NamedPlace(f"Session.method_{number}", number, number + 9) for number in range(30))
    one, counter = candidate(1, 8), token_counter()
    whole = one.offers[1]
    wordy = replace(
        one,
        offers=(one.offers[0], replace(whole, view=replace(whole.view, lines=()))),
        fill=lambda view: replace(view, lines=whole.view.lines, places=places),
    )
    for budget in (250, 900):
        pack = compose([], [wordy], budget, MARKDOWN, counter, head=lambda _shown, _tokens: "Brief")
        assert [offer.view.representation for _one, offer in pack.files] == [Representation.FULL]
        assert (places[0].name in pack.text) == (budget == 900)
        assert counter.count(pack.text) - counter.count("Brief") == pytest.approx(
            pack.files[0][1].tokens, abs=2
        )


@pytest.mark.parametrize("style", sorted(STYLES))
@pytest.mark.parametrize("budget", [400, 1000, 2000, 4000, 8000])
def test_few_files_are_only_named(style: str, budget: int) -> None:
    """However many could be named, eight are at most, for some percent of the budget, likeliest first."""
    files = list(offered(style))
    pack = compose([], files, budget, STYLES[style], token_counter())
    named = [one for one, offer in pack.files if offer.view.representation is Representation.PATH]
    text = STYLES[style].listed(ALSO, [name_line(one.offers[0].view) for one in named])
    assert 0 < len(named) <= MOST_NAMES
    assert token_counter().count(text) <= NAMES_SHARE * budget + 8
    shown = {one.path for one, _offer in pack.files[: -len(named)]}
    left_out = [one.path for one in files if one.path not in shown and one.chance >= NAMED_FROM]
    assert [one.path for one in named] == left_out[: len(named)]


def test_all_fits_where_there_is_room() -> None:
    """Nothing is dropped while the budget holds everything, and the pack says it achieved all there was."""
    files = [candidate(number, 5) for number in range(1, 6)]
    pack = compose([], files, 100_000, MARKDOWN, token_counter())
    assert pack.dropped == ()
    assert pack.report.efficiency_score == 1.0
    assert all(offer.view.representation is Representation.FULL for _candidate, offer in pack.files)


def test_absolute_rules_come_before_files() -> None:
    """A mandatory rule is in even where every file is the better bargain, and stands first."""
    pack = compose([RULE], [candidate(1, 3)], 60, MARKDOWN, token_counter())
    assert pack.passages == (RULE,)
    assert pack.text.startswith("## Must hold\n- (absolute, CLAUDE.md:3) Never push to main.\n")


def test_files_that_are_only_named_come_last() -> None:
    """The order of files is the order of the text: shown first, named after."""
    files = [candidate(number, 30) for number in range(1, 9)]
    pack = compose([], files, 700, MARKDOWN, token_counter())
    kinds = [offer.view.representation is Representation.PATH for _candidate, offer in pack.files]
    assert kinds == sorted(kinds)
    assert True in kinds
    positions = [pack.text.index(one.path) for one, _offer in pack.files]
    assert positions == sorted(positions)


def test_the_tokenizer_reported_is_the_one_that_measured() -> None:
    """With the conservative estimate the text fits by that estimate, and it is named."""
    counter = token_counter(BOUND_TOKENIZER)
    pack = compose([], [candidate(number, 12) for number in range(1, 20)], 800, MARKDOWN, counter)
    assert pack.report.tokenizer == BOUND_TOKENIZER
    assert token_counter().count(pack.text) <= counter.count(pack.text) == pack.report.estimated_used <= 800


def test_two_candidates_of_one_path_are_refused() -> None:
    """Candidates are deduplicated before packing; a duplicate is the caller's error."""
    with pytest.raises(ValueError, match="same name"):
        compose([], [candidate(1, 3), candidate(1, 4)], 100, MARKDOWN, token_counter())


def test_the_price_follows_what_can_be_expected() -> None:
    """One place that is nearly sure makes tokens dear, many unlikely ones make them cheap, within bounds."""
    assert fair_price([0.9, 0.01], [20, 20]) == MOST_PRICE
    assert fair_price([0.01] * 100, [20] * 100) == LEAST_PRICE
    likely, vague = fair_price([0.4, 0.2, 0.1], [20] * 3), fair_price([0.2, 0.1, 0.05], [20] * 3)
    assert LEAST_PRICE < vague < likely < MOST_PRICE
    assert fair_price([], []) == fair_price([0.0], [9]) == LEAST_PRICE


def test_weak_evidence_shows_little() -> None:
    """Tasks whose places are hardly known may have a share of a large budget, and all of a small one."""
    assert text_limit(MOST_PRICE, 4000) == 4000
    assert LEAST_TEXT < text_limit(LEAST_PRICE, 4000) < text_limit(0.1, 4000) < 4000
    assert text_limit(LEAST_PRICE, 500) == 500


def test_what_binds_has_its_share_of_the_whole_budget() -> None:
    """Absolute rules come on top of what places may have: weak evidence of these leaves none of them out."""
    files = [candidate(number, 40) for number in range(1, 5)]
    rules = [
        replace(RULE, id=f"r{number}", text=f"Never push to main, number {number}.") for number in range(9)
    ]
    limits = {"most": 2 * files[0].offers[1].tokens + 50, "mandatory_share": 0.1}
    pack = compose(rules, files, 4000, MARKDOWN, token_counter(), **limits)  # type: ignore[arg-type]
    shown = [file for file, offer in pack.files if offer.view.representation is Representation.FULL]
    assert (len(pack.passages), len(shown)) == (9, 2)


@pytest.mark.parametrize("pinned", [False, True])
def test_what_is_shown_keeps_to_its_limit(pinned: bool) -> None:
    """However much of the budget is left; where a person pinned something it does not hold."""
    files = [replace(candidate(number, 40), pinned=pinned) for number in range(1, 5)]

    def shown(most: int | None) -> int:
        pack = compose([], files, 4000, MARKDOWN, token_counter(), most=most)
        return sum(offer.view.representation is Representation.FULL for _file, offer in pack.files)

    size = files[1].offers[1].tokens
    assert shown(None) == 4
    assert shown(2 * size + 50) == (4 if pinned else 2)
