"""A rule in a form over the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from screens.rules.form_fields import problems, record_values
from screens.widgets.record_fields import Field
from screens.widgets.record_form import RecordForm

Save = Callable[[RecordForm, dict[str, Any]], None]
"""Is given the form and what was changed; ends with `done` or `refused` of the form."""


class EditRule(RecordForm):
    """A form of a rule's fields."""

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        save: Save,
        *,
        extra_tags: Sequence[str] = (),
        new: bool = False,
    ) -> None:
        tags = tuple(extra_tags)
        super().__init__(
            title,
            fields,
            save,
            validate=partial(problems, extra_tags=tags),
            convert=lambda values: record_values(values, tags)[0],
            new=new,
        )
