"""A rule that somebody else changed while it was edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from screens.rules.form_fields import LABELS, problems, record_values, value_text
from screens.rules.merging import TEXTS, field_merges
from screens.widgets.overtaken import OvertakenRecord, Wording
from workbench.records.rules import Rule


class OvertakenRule(OvertakenRecord):
    """Chooses a side for every field of a rule that both changed."""

    def __init__(
        self, seen: Rule, now: Rule, changes: Mapping[str, Any], *, extra_tags: Sequence[str] = ()
    ) -> None:
        tags = tuple(extra_tags)
        wording = Wording(
            LABELS,
            TEXTS,
            value_text,
            lambda name, text: record_values({name: text}, tags)[0][name],
            lambda name, text: problems({name: text}, tags).get(name, ""),
        )
        super().__init__(now.id[:13], field_merges(seen, now, changes), wording)
