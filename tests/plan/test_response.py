"""The answer as data: field for field as specified and as published, and the reasons a person reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.plan.conftest import PASSAGES, candidates
from workbench.entry.cli.output import to_json
from workbench.plan.compose import FileCandidate, ViewOffer, compose
from workbench.plan.intent import parse_intent
from workbench.plan.render import MARKDOWN, FileView, Passage
from workbench.plan.response import plan_response, rank_response, why_text
from workbench.records.answers.base import Answer
from workbench.records.answers.plan import DroppedCandidate, PlanConfidence, PlanResponse
from workbench.records.plan import RankedFile, Representation
from workbench.records.project import CacheStatus, Freshness, Layer
from workbench.text.tokens import token_counter

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
INTENT = parse_intent("bug: jwt token not refreshing on 401")
RANKED = RankedFile("src/auth.rs", 1.25, {"bm25_body": 0.5}, {"bm25_body": 0.9, "depth": -0.2}, ("lexical",))


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a published schema, itself checked."""
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def as_json(answer: Answer) -> Any:
    return json.loads(to_json(answer))


def example(**more: Any) -> PlanResponse:
    """Return the answer for one rule, one file that is in and one that is not."""
    view = FileView("src/auth.rs", Representation.SNIPPETS, ((12, 13),), ("fn refresh() {", "}"))
    rule = Passage(
        "r1", "Rules", "Never log tokens.", "CLAUDE.md:3", "absolute", "always applies", mandatory=True
    )
    files = [
        FileCandidate("src/auth.rs", 0.8, (ViewOffer(view, 25, 12.5, ("refresh",)),)),
        FileCandidate(
            "docs/auth.md", 0.1, (ViewOffer(FileView("docs/auth.md", Representation.FULL), 500, 90.0),)
        ),
    ]
    pack = compose([rule], files, 100, MARKDOWN, token_counter())
    return plan_response(
        pack,
        INTENT,
        cache_status=CacheStatus.HIT,
        freshness=Freshness.FRESH,
        layers=[Layer.L1, Layer.L3],
        ranked={"src/auth.rs": RANKED},
        reasons={"src/auth.rs": ("contains “refresh” (in 1 file)",)},
        dropped=[("secret.pem", "excluded by user")],
        chances={"src/auth.rs": 0.734},
        degraded=["embeddings", "history"],
        **more,
    )


def test_the_specified_fields_are_there_by_name() -> None:
    """The answer has each field of the specification's example, with values of the same kind."""
    answer = as_json(example())
    assert answer["cache_status"] == "hit"
    assert answer["freshness"] == "fresh"
    assert set(answer["intent"]) == {"predicted", "confidence", "task_fingerprint", "tags", "risk"}
    assert answer["budget_report"]["token_budget"] == 100
    assert answer["context"]["files"] == ["src/auth.rs"]
    assert answer["context"]["text"].startswith("### src/auth.rs:12-13\n")
    assert answer["decision_trace"] == [
        "CLAUDE.md:3: absolute rule, always applies",
        "src/auth.rs:12-13: snippets, 73% likely to be needed: contains “refresh” (in 1 file); shows refresh",
    ]
    assert answer["dropped_candidates"] == [
        {"file": "docs/auth.md", "reason": "over budget: needs 500 tokens"},
        {"file": "secret.pem", "reason": "excluded by user"},
    ]


def test_selection_says_what_is_shown_and_why() -> None:
    """Files of the text come with representation, ranges, score and features; rules with their place."""
    (selected,) = as_json(example())["selection"]
    assert selected["representation"] == "snippets"
    assert (selected["spans"], selected["lines"]) == ([[12, 13]], "12-13")
    assert selected["features"] == {"bm25_body": 0.5}
    assert selected["sources"] == ["lexical"]
    (rule,) = example().rules
    assert (rule.id, rule.origin, rule.authority, rule.why) == (
        "r1",
        "CLAUDE.md:3",
        "absolute",
        "always applies",
    )


def test_only_timing_differs_between_equal_requests() -> None:
    """All timings stand under one key; without it two answers are the same bytes."""
    first, second = example(timing={"total": 12.3456}), example(timing={"total": 99.0})
    assert first.timing == {"total": 12.346}
    assert replace(first, timing={}) == replace(second, timing={})


@given(PASSAGES, candidates(), st.integers(0, 300))
def test_every_answer_validates(passages: list[Passage], files: list[FileCandidate], budget: int) -> None:
    """Whatever goes in, the answer follows the published schema after a trip through JSON."""
    pack = compose(passages, files, budget, MARKDOWN, token_counter())
    answer = plan_response(pack, INTENT, cache_status=CacheStatus.MISS, freshness=Freshness.DIRTY, layers=[])
    validator("plan-response.schema.json").validate(as_json(answer))


def test_the_full_example_validates() -> None:
    """The answer with every optional part follows the published schema."""
    validator("plan-response.schema.json").validate(as_json(example(timing={"rank": 1.0})))


@pytest.mark.parametrize("name", ["cache_status", "intent", "context", "dropped_candidates", "timing"])
def test_the_schema_misses_nothing(name: str) -> None:
    """An answer that lacks a field, or has one that is not published, does not validate."""
    answer = as_json(example())
    with pytest.raises(jsonschema.ValidationError):
        validator("plan-response.schema.json").validate({**answer, "surprise": 1})
    del answer[name]
    with pytest.raises(jsonschema.ValidationError):
        validator("plan-response.schema.json").validate(answer)


def test_rank_validates() -> None:
    """The rank answer is path, role, score and features, in order, as published."""
    answer = as_json(rank_response([RANKED], low_confidence=True))
    files = [
        {
            "path": "src/auth.rs",
            "role": "source",
            "score": 1.25,
            "features": {"bm25_body": 0.5},
            "reasons": [],
        }
    ]
    assert answer == {"files": files, "low_confidence": True, "confidence": None, "known": True}
    validator("rank-response.schema.json").validate(answer)


def test_a_person_reads_why_and_why_not() -> None:
    """The footer has the budget, what was missing, a line for each thing that is in, and the first drops."""
    text = why_text(example(), dropped=1)
    assert "rely on" not in text
    assert "the evidence is weak" in why_text(replace(example(), low_confidence=True))
    sure = why_text(replace(example(), confidence=PlanConfidence(0.82, 0.6)))
    assert "60% chance that no file is missing, 82% among the first ten" in sure
    assert text.splitlines() == [
        text.splitlines()[0],
        "  without: embeddings, history",
        "  + CLAUDE.md:3: absolute rule, always applies",
        f"  + {example().decision_trace[1]}",
        "  - docs/auth.md: over budget: needs 500 tokens",
        "  - and 1 more (all of them with --format json)",
    ]
    assert "of 100 tokens (o200k_base)" in text
    assert text.splitlines()[0].endswith("; bugfix (95% sure), authentication, high risk; index fresh")


def test_rules_that_were_left_out_are_told_before_files() -> None:
    """What a rule needs to hold is not lost behind files, nor are files behind many rules."""
    answer = example()
    files, rule = answer.dropped_candidates, "rule-" + "0" * 20
    answer = replace(answer, dropped_candidates=(*files, *[DroppedCandidate(rule, "is for codex")] * 9))
    drops = [line for line in why_text(answer, dropped=7).splitlines() if line.startswith("  - ")]
    assert drops[:6] == [f"  - {rule}: is for codex"] * 6
    assert drops[6:] == [
        "  - docs/auth.md: over budget: needs 500 tokens",
        "  - and 4 more (all of them with --format json)",
    ]


def test_candidates_left_out_for_one_reason_share_a_line() -> None:
    """What is particular to each is left to the full answer; missing embeddings are reported elsewhere."""
    dropped = (
        DroppedCandidate("a.py", "unlikely to be needed (0.4%)"),
        DroppedCandidate("b.py", "over budget: needs 12 tokens"),
        DroppedCandidate("c\n.py", "unlikely to be needed (0.2%)"),
    )
    answer = replace(example(), degraded=(), dropped_candidates=dropped)
    assert why_text(answer).splitlines()[-2:] == [
        "  - 2 unlikely to be needed: a.py, c\u240a.py",
        "  - b.py: over budget: needs 12 tokens",
    ]
    assert "without" not in why_text(answer)


def test_reasons_of_several_lines_are_told_on_one() -> None:
    """A name in code that spans lines, such as a test's title, is prose there."""
    view = FileView("a.js", Representation.SNIPPETS, ((1, 1),), ("test(`a\n  b`)",))
    files = [FileCandidate("a.js", 0.8, (ViewOffer(view, 25, 12.5, ("a\n  b",)),))]
    pack = compose([], files, 100, MARKDOWN, token_counter())
    answer = plan_response(pack, INTENT, cache_status=CacheStatus.HIT, freshness=Freshness.FRESH, layers=[])
    assert answer.decision_trace == ("a.js:1: snippets; shows a b",)
