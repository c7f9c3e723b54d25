"""The values of every field among the records that are shown, with how many have them, to filter by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from screens.commands import widget_bindings
from screens.curation.dialog import Dialog
from screens.filter_matching import filter_rows
from screens.safe_text import safe
from screens.widgets.bars import bar
from screens.widgets.dialogs import DIALOG_CSS
from screens.widgets.filter import FilterBar
from screens.widgets.table import Column, ListRows, VirtualTable
from workbench.lists.filters import Facet, Field, Filter
from workbench.lists.tables import ListType, ValueCounts

_BAR: Final = 12
_FIELDS: Final = (Field("value"), Field("field"))


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A value of a field, and how many of `total` records have it."""

    field: str
    value: str
    count: int
    total: int

    @property
    def key(self) -> str:
        """The id of the value in the list."""
        return f"{self.field}:{self.value}"


def facet_counts(counts: ValueCounts) -> tuple[FacetCount, ...]:
    """Return the values of all fields, field by field."""
    return tuple(
        FacetCount(name, one.value, one.count, counts.total)
        for name, values in counts.fields.items()
        for one in values
    )


def facets_of(
    keys: Iterable[str], counts: Sequence[FacetCount], fields: Sequence[Field]
) -> tuple[Facet, ...]:
    """Return the facets that let through what has any of the chosen values of each field."""
    chosen = set(keys)
    values: dict[str, list[str]] = {}
    for one in counts:
        if one.key in chosen:
            values.setdefault(one.field, []).append(one.value)
    choices = {field.name: field.choices for field in fields}
    return tuple(
        Facet(name, tuple(value.lower() if choices[name] else value for value in found))
        for name, found in values.items()
    )


def plain_facets(query: Filter) -> list[Facet]:
    """Return the terms of a filter that the counts can show: values of a field, not negated."""
    found = [term for term in query.terms if isinstance(term, Facet)]
    return [term for term in found if not term.negated and not term.op.value]


class FacetDialog(Dialog[tuple[Facet, ...] | None]):
    """Marks values; gives the facets that are to hold, or None where nothing shall change."""

    DEFAULT_CSS = f"""FacetDialog {{
        {DIALOG_CSS}
        & > .dialog {{ width: 84; height: 90%; }}
    }}"""
    BINDINGS: ClassVar[list[BindingType]] = widget_bindings("facets")

    def __init__(self, of: ListType, counts: ValueCounts, active: Sequence[Facet] = ()) -> None:
        super().__init__()
        self._of = of
        self._counts = facet_counts(counts)
        self._active = {f"{facet.field}:{value}" for facet in active for value in facet.values}
        self._active |= {one.key for one in self._counts if one.key.lower() in self._active}

    def compose(self) -> ComposeResult:
        """Lay out the values."""
        with self.box("Filter by values"):
            yield FilterBar(_FIELDS, wait=0.05)
            yield VirtualTable(
                (
                    Column("field", "Field", "What is counted.", 10, priority=4),
                    Column("value", "Value", "A value of the field; enter filters by it.", priority=5),
                    Column(
                        "count",
                        f"{self._of.noun.capitalize()}s",
                        "How many of those listed have it.",
                        9,
                        align="right",
                        priority=3,
                    ),
                    Column(
                        "bar", "Share", "Their share of the most frequent value of all.", _BAR, priority=1
                    ),
                ),
                ListRows(self._counts, key=lambda one: one.key, cells=facet_cells),
                empty="There is nothing to count.",
            )
            yield Static(
                safe("space marks · enter filters by marked values or this one · / finds · escape leaves"),
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Mark what is filtered by already."""
        table = self.query_one(VirtualTable)
        table.set_marks({one.key for one in self._counts if one.key in self._active})
        table.focus()

    @on(FilterBar.Changed)
    def _handle_query(self, event: FilterBar.Changed) -> None:
        event.stop()
        self._list(event.query)

    def _list(self, query: Filter) -> None:
        order: Sequence[int] | None = None
        if query:
            counts = self._counts
            steps = filter_rows(
                query,
                lambda index: {"value": counts[index].value, "field": counts[index].field},
                len(counts),
                fields=_FIELDS,
                seconds=60,
            )
            order = list(steps)[-1].order
        rows = ListRows(self._counts, key=lambda one: one.key, cells=facet_cells, order=order)
        self.query_one(VirtualTable).set_rows(rows)

    @on(VirtualTable.Opened)
    def _handle_open(self, event: VirtualTable.Opened) -> None:
        event.stop()
        table = self.query_one(VirtualTable)
        self.dismiss(facets_of(table.marks or [event.key], self._counts, self._of.fields))

    def action_apply(self) -> None:
        """Filter by exactly what is marked."""
        self.dismiss(facets_of(self.query_one(VirtualTable).marks, self._counts, self._of.fields))

    def action_filter(self) -> None:
        """Find a value."""
        self.query_one(FilterBar).open()


def facet_cells(one: FacetCount) -> tuple[Content, ...]:
    """Return a value's cells."""
    return (
        safe(one.field, "$text-muted"),
        safe(one.value),
        Content(f"{one.count:,}"),
        Content.styled(bar(one.count, one.total, _BAR), "$text-primary"),
    )
