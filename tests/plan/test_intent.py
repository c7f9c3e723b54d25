"""A task is understood the same way everywhere: what it names, what kind it is, its fingerprint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from workbench.plan.intent import (
    MAX_BODY,
    MAX_HEAD,
    classify,
    find_entities,
    fingerprint,
    kind_features,
    parse_intent,
    query_terms,
    subject_of,
)
from workbench.records.plan import QueryType, Risk
from workbench.text.terms import split_head

ROOT = Path(workbench.__file__).resolve().parents[1]

TRACE = """KeyError: 'token' in refresh()
Traceback (most recent call last):
  File "src/auth/session.py", line 42, in refresh_token
    return self.tokens[name]
KeyError: 'token'
"""


def test_what_a_task_names_is_found() -> None:
    """Paths, symbols, errors, stack frames and issues are told apart, in the order they stand."""
    found = find_entities(f"{TRACE}\nSee docs/auth.md, `TokenStore.renew` and GH-12, #7, ABC-99.")
    assert "src/auth/session.py" in found.paths
    assert "docs/auth.md" in found.paths
    assert found.frames == (("src/auth/session.py", 42, "refresh_token"),)
    assert {"refresh_token", "TokenStore"} <= set(found.symbols)
    assert found.errors == ("KeyError",)
    assert found.issue_refs == ("#12", "#7", "ABC-99")


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("at Object.run (src/app.ts:10:5)", ("src/app.ts", 10, "Object.run")),
        ("at com.x.Auth.login(Auth.java:31)", ("Auth.java", 31, "com.x.Auth.login")),
        ("thread 'main' panicked at src/main.rs:7:9", ("src/main.rs", 7, "")),
        ("main.go:12: undefined: token", ("main.go", 12, "")),
    ],
)
def test_stack_frames_of_many_languages_are_found(text: str, frame: tuple[str, int, str]) -> None:
    """A frame gives its file, line and, where the language tells it, its function."""
    assert frame in find_entities(text).frames


@pytest.mark.parametrize(
    "text", ["e.g. this", "v1.2.3", "3.14", "and/or maybe...", "https://example.org/a/b.html"]
)
def test_what_looks_like_a_path_and_is_none(text: str) -> None:
    """Abbreviations, versions, numbers and addresses are no paths of the project."""
    paths = parse_intent(text).entities.paths
    assert not [path for path in paths if path in ("e.g", "v1.2.3", "3.14", "example.org/a/b.html")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("fix: crash when the token is empty", QueryType.BUGFIX),
        ("[Feature Request]: a dark theme", QueryType.FEATURE),
        ("docs(api): name the fields", QueryType.GENERAL),
        ("add support for refresh tokens", QueryType.FEATURE),
        ("refactor the session store into two modules", QueryType.REFACTOR),
        ("rename utils to helpers", QueryType.REFACTOR),
        ("session cookie is not refreshed when X is set", QueryType.BUGFIX),
        ("loading an empty file raises TypeError", QueryType.BUGFIX),
        ("simplify returns wrong sign for nested sqrt of negative rational", QueryType.BUGFIX),
        ("panic when --replace is used with --multiline and --max-columns", QueryType.BUGFIX),
        ("Response.json() crashes on an empty body", QueryType.BUGFIX),
        ("login page returns 502 for all users since the deploy", QueryType.INCIDENT),
        ("investigate the outage of the payment service", QueryType.INCIDENT),
        ("", QueryType.UNKNOWN),
        ("zzz", QueryType.UNKNOWN),
    ],
)
def test_the_kind_of_a_task(text: str, kind: QueryType) -> None:
    """Tasks are of the kind they announce or describe; nothing to go by is unknown with confidence 0."""
    found, confidence = classify(text)
    assert found is kind
    assert (confidence == 0) == (kind is QueryType.UNKNOWN)


@pytest.mark.parametrize("text", ["`" * 30_000, "'" * 30_000, "- " * 15_000, "a.b:1 " * 5_000, "(" * 30_000])
def test_what_is_weighed_of_a_task_is_bounded(text: str) -> None:
    """A long text has no more features than its beginning gives."""
    head, body = split_head(f"{text}\n{text}")
    assert kind_features(head, body) == kind_features(head[:MAX_HEAD], body[:MAX_BODY])


@pytest.mark.parametrize(
    ("text", "tags", "risk"),
    [
        ("jwt is not refreshed on 401", ("authentication",), Risk.HIGH),
        ("the checkout total is wrong", ("payment",), Risk.HIGH),
        ("the site is down, roll back", (), Risk.HIGH),
        ("fix a typo in the readme", ("documentation",), Risk.LOW),
        ("`httpTimeout` of config.toml is ignored", ("configuration", "network"), Risk.MEDIUM),
        ("zzz", (), Risk.MEDIUM),
    ],
)
def test_what_a_task_touches_and_what_is_at_stake(text: str, tags: tuple[str, ...], risk: Risk) -> None:
    """Tags name areas by the words of the task; access, money, secrets and incidents are of high risk."""
    intent = parse_intent(text)
    assert (intent.tags, intent.risk) == (tags, risk)


def test_a_kind_that_is_given_is_believed() -> None:
    """An explicit kind overrides the words, with confidence 1."""
    intent = parse_intent("fix the crash", query_type=QueryType.FEATURE)
    assert (intent.predicted, intent.confidence) == (QueryType.FEATURE, 1.0)


@given(st.lists(st.sampled_from(["token", "session", "refresh", "store", "login"]), min_size=1, max_size=8))
def test_a_fingerprint_ignores_order_and_repetition(words: list[str]) -> None:
    """The same words in any order and number are the same task; project and kind make another one."""
    terms = query_terms(" ".join(words))
    other = query_terms(" ".join(sorted(words * 2)))
    assert fingerprint(terms, "p", QueryType.BUGFIX) == fingerprint(other, "p", QueryType.BUGFIX)
    assert fingerprint(terms, "p", QueryType.BUGFIX) != fingerprint(terms, "q", QueryType.BUGFIX)
    assert fingerprint(terms, "p", QueryType.BUGFIX) != fingerprint(terms, "p", QueryType.FEATURE)


@given(st.text(max_size=300))
def test_any_text_has_an_intent(text: str) -> None:
    """Nothing raises, and the same text gives the same intent."""
    assert parse_intent(text) == parse_intent(text)


def test_an_intent_is_the_same_in_every_process() -> None:
    """The seed of string hashes does not show."""
    code = f"from workbench.plan.intent import parse_intent\nprint(parse_intent({TRACE!r}))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("head", "subject"),
    [
        ("Document how to retry", "how to retry"),
        ("add the option and document the default", "add the option and the default"),
        ("document `--retry`", "`--retry`"),
        ("the document is empty", "the document is empty"),
        ("Document loader fails", "Document loader fails"),
    ],
)
def test_to_document_is_no_subject(head: str, subject: str) -> None:
    """The verb is not searched for, the thing is."""
    assert subject_of(head) == subject
    assert ("document" in dict(parse_intent(head).terms)) == ("ocument" in subject)
