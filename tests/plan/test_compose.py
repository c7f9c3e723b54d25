"""The finished pack: the text as a whole stays under the budget, always, and says the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.conftest import PASSAGES, candidates
from workbench.plan.compose import FileCandidate, ViewOffer, compose
from workbench.plan.render import MARKDOWN, STYLES, FileView, Passage
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
            ViewOffer(FileView(path, Representation.PATH), count(MARKDOWN.paths([path])), 0.1 / number),
            ViewOffer(whole, count(MARKDOWN.file(whole)), 1.0 / number),
        ),
    )


def test_the_budget_is_used() -> None:
    """With plenty to choose from, the text fills the budget to the last few percent."""
    files = [candidate(number, 12) for number in range(1, 60)]
    for budget in (500, 2000, 4000):
        used = compose([], files, budget, MARKDOWN, token_counter()).report.estimated_used
        assert 0.93 * budget <= used <= budget


def test_all_fits_where_there_is_room() -> None:
    """Nothing is dropped while the budget holds everything, and the pack says it achieved all there was."""
    files = [candidate(number, 5) for number in range(1, 6)]
    pack = compose([], files, 100_000, MARKDOWN, token_counter())
    assert pack.dropped == ()
    assert pack.report.efficiency_score == 1.0
    assert all(offer.view.representation is Representation.FULL for _candidate, offer in pack.files)


def test_absolute_rules_come_before_files() -> None:
    """A mandatory rule is in even where every file is the better bargain, and stands first."""
    rule = Passage(
        "r", "Rules", "Never push to main.", "CLAUDE.md:3", "absolute", mandatory=True, priority=90
    )
    pack = compose([rule], [candidate(1, 3)], 60, MARKDOWN, token_counter())
    assert pack.passages == (rule,)
    assert pack.text.startswith("## Rules\n- (absolute, CLAUDE.md:3) Never push to main.\n")


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
