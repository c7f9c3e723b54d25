"""The budget bar: cells add up, every kind is seen, and being over is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.bars import FREE, OVER, BudgetBar, Portion, cells
from tests.screens.widgets.staging import HOSTILE, Stage, seen

PORTIONS = st.lists(
    st.builds(Portion, st.sampled_from(["rules", "files", "stash"]), st.integers(0, 5000)), max_size=5
)


@given(portions=PORTIONS, limit=st.integers(0, 9000), width=st.integers(0, 60))
def test_cells_fill_the_bar(portions: list[Portion], limit: int, width: int) -> None:
    """All cells are given away; kinds with tokens have one where there is room; over shows when over."""
    found = cells(portions, limit, width)
    used = [portion for portion in portions if portion.tokens]
    over = sum(portion.tokens for portion in used) > limit
    assert width == sum(count for _, count in found)
    assert all(count > 0 for _, count in found)
    assert (over and width > 0) == (OVER in [kind for kind, _ in found])
    assert not (over and FREE in [kind for kind, _ in found])
    if not over and width >= len(used):
        assert [portion.kind for portion in used] == [kind for kind, _ in found if kind != FREE]


async def test_the_state_is_told_in_words_and_glyphs() -> None:
    """What is used, free and over can be read without colours."""
    app = Stage(lambda: BudgetBar(1000, [Portion("rules", 250), Portion("files", 500)]))
    async with app.run_test(size=(60, 20)) as pilot:
        text = seen(app)
        assert "750 of 1,000 tokens (75 %)" in text
        assert "250 free" in text
        assert f"{'█' * 15}{'■' * 30}{FREE * 15}" in text
        assert "█ rules 250  ■ files 500" in text
        budget = app.screen.query_one(BudgetBar)
        budget.show(500, [Portion("rules", 1000)])
        await pilot.pause()
        assert "! over by 500  1,000 of 500 tokens (200 %)" in seen(app)
        assert f"{'█' * 30}{OVER * 30}" in seen(app)
        assert (budget.used, budget.limit, budget.over) == (1000, 500, 500)


@pytest.mark.parametrize("text", HOSTILE)
async def test_kinds_are_literal(text: str) -> None:
    """A kind nobody knows is shown as it is."""
    app = Stage(lambda: BudgetBar(10, [Portion(text, 5)]))
    async with app.run_test(size=(60, 20)):
        assert "5 of 10 tokens" in seen(app)
