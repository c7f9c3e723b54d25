"""Pages of any length, read one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from workbench.lists.tables import MOST_ROWS, ListQuery, Page, read_page

if TYPE_CHECKING:
    from workbench.lists.tables import ListTable


class Numbers:
    """As many rows as asked for, the cursor says how many were before."""

    def __init__(self, total: int) -> None:
        self.total = total

    def page(self, query: ListQuery, cursor: str | None, limit: int, *, within: object = None) -> Page[int]:
        """Return at most `MOST_ROWS` rows."""
        assert 1 <= limit <= MOST_ROWS
        start = int(cursor or 0)
        end = min(start + limit, self.total)
        return Page(tuple(range(start, end)), self.total, str(end) if end < self.total else None)


@pytest.mark.parametrize("total", [0, 1, MOST_ROWS, 2 * MOST_ROWS, 2 * MOST_ROWS + 5])
@pytest.mark.parametrize("limit", [1, MOST_ROWS, MOST_ROWS + 1, 5 * MOST_ROWS])
def test_a_page_holds_what_is_asked_for(total: int, limit: int) -> None:
    """Also more than a table gives at once; the cursor goes on where it ends."""
    page = read_page(cast("ListTable[int]", Numbers(total)), ListQuery(), None, limit)
    assert page.rows == tuple(range(min(total, limit)))
    assert page.total == total
    assert page.cursor == (str(limit) if limit < total else None)
