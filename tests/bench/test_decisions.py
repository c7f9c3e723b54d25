"""The labelled decisions are places in texts, and what is found is held against them."""

from __future__ import annotations

import json
from collections import Counter

from bench.decisions import LABELS, judge


def test_labels_hold_no_text() -> None:
    """Each label is a place in a recorded session, and no session is in two parts."""
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    sizes = {"fit": 200, "test": 200, "fit-2": 197, "test-2": 164, "test-3": 150}
    assert sizes == Counter(label["half"] for label in labels)
    assert len({label["session"] for label in labels}) == len(
        {(label["session"], label["half"]) for label in labels}
    )
    assert all(
        isinstance(number, int)
        for label in labels
        for decision in label["decisions"]
        for place in decision["said"]
        for number in place
    )


def test_what_is_found_is_held_against_labels() -> None:
    """A decision is a hit by any of its sentences; what is open counts neither way."""
    text = "I chose A over B. I chose C over D today. I chose E over F again. Kept the old table of users."
    label = {
        "decisions": [{"said": [[0, 0, 17], [0, 18, 23]], "reason": True}, {"said": [[0, 66, 28]]}],
        "open": [],
    }
    wrong = Counter(decisions=2, hits=1, judged=3, right=2, reasoned=1, reasons=0)
    assert wrong == judge([text], label, show=False)
    open_ = {**label, "open": [[0, 42, 23]]}
    assert {**wrong, "judged": 2} == dict(judge([text], open_, show=False))
