"""The labelled decisions are places in texts, and what is found is held against them."""

from __future__ import annotations

import json
from collections import Counter

from bench.decisions import LABELS, judge


def test_labels_hold_no_text() -> None:
    """Each label is a place in a recorded session, of one half, and none is in both halves."""
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    assert Counter(label["half"] for label in labels) == {"fit": 200, "test": 200}
    halves = [{label["session"] for label in labels if label["half"] == half} for half in ("fit", "test")]
    assert halves[0].isdisjoint(halves[1])
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
