"""Reasons are true of their file: every word, definition, task and file that one names is really there."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Work, make_repository
from tests.deep import times
from workbench.config import Config
from workbench.entry.project import OpenedProject, open_project
from workbench.plan.pipeline import Plan, plan
from workbench.plan.planner import rank
from workbench.plan.ranking import DEFAULT_MODEL, LEXICAL_MODEL, load_model
from workbench.plan.reasons import ESTIMATE, SENTENCES, by_phrase, phrase, reasons_of
from workbench.plan.response import why_text
from workbench.records.plan import PlanRequest, RankedFile
from workbench.text.terms import count_terms, iter_terms, parts, stem

TASK = "refresh_session forgets the cookie of a nested session after login (#12)"
SECRET = "ghp_" + "a1B2" * 9
WORDS = (
    "refresh refreshing values session cookie login nested parse config widget test docs "
    "refresh_session parseConfig pkg/session.py session.py zebra value return #12 changelog"
).split()


@cache
def made(root: Path) -> Work:
    """Make a repository whose files import, test and accompany each other."""
    work = make_repository(root)
    work.write("pkg/__init__.py", "")
    for number in range(25):
        work.write(f"pkg/other_{number}.py", f"def compute_{number}(value):\n    return value + {number}\n")
    work.write("pkg/session.py", "def refresh_session(session):\n    return session.cookie\n")
    work.write("pkg/config.py", "def parse_config(text):\n    return text\n")
    work.write(
        "pkg/app.py", "from pkg.session import refresh_session\n\n\ndef login(widget):\n    return widget\n"
    )
    work.write(
        "tests/test_session.py", "from pkg.session import refresh_session\n\n\ndef test_cookie():\n    pass\n"
    )
    work.write("docs/login.md", f"# Login\n\nA zebra of nested cookies, {SECRET}.\n")
    work.commit("Begin")
    for turn in range(4):
        work.write("pkg/session.py", f"def refresh_session(session):\n    return session.cookie + {turn}\n")
        work.write("pkg/config.py", f"def parse_config(text):\n    return text + '{turn}'\n")
        work.commit(f"fix: the session \x1b[31mcookie “{turn}” is lost (#12), not {SECRET}")
    return work


def opened(root: Path) -> OpenedProject:
    return open_project(root, Config(), dict(os.environ))


@cache
def kept(root: Path) -> OpenedProject:
    return opened(made(root).root)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> OpenedProject:
    """The repository, indexed in memory and only read."""
    return kept(tmp_path_factory.getbasetemp() / "reasoned")


def planned(found: OpenedProject, task: str, **request: Any) -> Plan:
    return plan(found.workspace, found.planner, PlanRequest(str(found.root), task, **request))


def in_words(text: str, words: str) -> bool:
    """Whether a text has all terms of some words."""
    if words.endswith("…"):
        return any(one.startswith(words[:-1].lower()) for one in re.findall("[a-z]+", text.lower()))
    return {*iter_terms(words)} <= count_terms(text).keys() | {stem(one) for one in parts(text)}


def messages(root: Path, path: str) -> list[str]:
    done = subprocess.run(
        ["git", "log", "--format=%B%x00", "--", path], cwd=root, capture_output=True, check=True, text=True
    )
    return [one.strip() for one in done.stdout.split("\0") if one.strip()]


def check(found: OpenedProject, task: str, path: str, reason: str) -> None:
    """Hold that what a reason names is in the task, the file or the history."""
    text = (found.root / path).read_text()
    known = {one.rpartition("/")[2]: one for one in found.workspace.index.paths}
    words = re.findall("“([^”]*)”", re.sub("(, such as “|, “|changed in “).*", "", reason))
    assert all(in_words(task, word) for word in words), reason
    if reason.startswith("contains "):
        assert words
        assert all(in_words(text, word) for word in words), reason
        counts = map(int, re.findall(r"\(in (\d+) files?\)", reason))
        bodies = [(found.root / one).read_text() for one in found.workspace.index.paths]
        for word, count in zip(words, counts, strict=True):
            assert word.endswith("…") or count == sum(
                {*iter_terms(word)} <= count_terms(one).keys() for one in bodies
            ), reason
    elif match := re.match(r"defines (\S+), (?:(\d+) of its (\d+) parts? in|which is in) the task", reason):
        assert re.search(rf"def {match[1]}\b|^# {match[1]}$", text, re.M), reason
        if match[2]:
            pieces = {stem(one) for one in parts(match[1])}
            inside = {stem(one) for word in re.findall(r"\w+", task) for one in parts(word)}
            assert (len(pieces & inside), len(pieces)) == (int(match[2]), int(match[3])), reason
    elif match := re.match(r"changed in (\d+) past tasks? with", reason):
        assert int(match[1]) == sum(
            all(in_words(one, word) for word in words) for one in messages(found.root, path)
        )
    elif match := re.match(r"changed with (\S+) in (\d+) of its (\d+) past tasks?", reason):
        mine, theirs = messages(found.root, path), messages(found.root, known.get(match[1], match[1]))
        assert (len({*mine} & {*theirs}), len(mine)) == (int(match[2]), int(match[3])), reason
    elif match := re.match(r"(imports|imported by|tests|tested by|same folder as|named like) (\S+)$", reason):
        other = known.get(match[2], match[2])
        assert (found.root / other).is_file(), reason
        if match[1] == "imports":
            assert Path(other).stem in text, reason
        if match[1] == "same folder as":
            assert Path(other).parent == Path(path).parent
    elif reason.startswith(("its path has", "its name", "its folder")):
        assert all("".join(parts(word)) in path.lower() or in_words(path, word) for word in words), reason
    elif reason.startswith("changed for #12"):
        assert any("#12" in one for one in messages(found.root, path))
    else:
        assert reason == ESTIMATE or reason.startswith(("named in the task", "its kind,")), reason


@settings(max_examples=times(20, 60))
@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
def test_what_a_reason_names_is_there(project: OpenedProject, words: list[str]) -> None:
    """Whatever the task: each word, count, definition, task and file of each reason can be found again."""
    task = " ".join(words)
    ranking = rank(project.workspace, project.planner, task)
    reasons = reasons_of(ranking)
    for file in ranking.files[:12]:
        found = reasons.of(file, 5)
        assert len({*found}) == len(found)
        assert ESTIMATE not in found[:-1]
        for reason in found:
            check(project, task, file.path, reason)


def test_the_best_file_is_led_by_what_matched(project: OpenedProject) -> None:
    """The words, the definition and the past tasks that everybody would name are the reasons of the first."""
    ranking = rank(project.workspace, project.planner, TASK)
    first = ranking.files[0]
    assert first.path == "pkg/session.py"
    found = " ".join(reasons_of(ranking).of(first, 8))
    assert "defines refresh_session, which is in the task" in found
    assert "“cookie”" in found
    assert "changed for #12 before" in found


def test_reasons_are_one_line_without_secrets(project: OpenedProject) -> None:
    """Control characters of a message, and a secret of a message or of the task itself, are in no face."""
    task = f"{TASK} {SECRET}"
    made_plan = planned(project, task)
    reasons = reasons_of(made_plan.ranking)
    every = [reason for one in made_plan.ranked for reason in reasons.of(one, len(SENTENCES))]
    assert any("cookie “" in one for one in every)
    for text in (*every, why_text(made_plan.response), *made_plan.response.decision_trace):
        assert SECRET not in text
        assert "\x1b" not in text
    assert all("\n" not in one and len(one) < 240 for one in every)


def test_every_face_has_the_same_sentences(project: OpenedProject) -> None:
    """JSON, the trace and the reasons under a pack say of a file what its ranking says."""
    made_plan = planned(project, TASK)
    reasons = reasons_of(made_plan.ranking)
    by_path = {one.path: one for one in made_plan.ranked}
    shown = [one for one in made_plan.response.selection if one.path in by_path]
    assert shown
    for one in shown:
        assert one.reasons == reasons.of(by_path[one.path])
        assert any("; ".join(one.reasons) in line for line in made_plan.response.decision_trace)
    assert "; ".join(shown[0].reasons) in why_text(made_plan.response)


def test_what_cannot_be_named_never_leads(project: OpenedProject) -> None:
    """A file that is only large, recent or often changed has a first estimate alone."""
    ranking = rank(project.workspace, project.planner, TASK)
    reasons = reasons_of(ranking)
    plain = RankedFile(
        "pkg/other_3.py", 1.0, {"frequency": 1.0, "seed": 1.0}, {"frequency": 2.0, "seed": 1.0}
    )
    assert reasons.of(plain) == (ESTIMATE,)
    assert reasons.of(replace(plain, contributions={"frequency": -2.0})) == ()
    known = RankedFile("pkg/session.py", 1.0, {"bm25_body": 1.0}, {"bm25_body": 0.2, "frequency": 3.0})
    assert reasons.of(known)[0].startswith("contains ")
    assert reasons.of(known)[-1] == ESTIMATE
    assert reasons.of(replace(known, contributions={"bm25_body": 3.0, "frequency": 0.2}))[-1] != ESTIMATE


def test_the_first_look_counts_for_what_it_summed_up(project: OpenedProject) -> None:
    """What a first look gave a file is a reason of what it was made of."""
    ranking = rank(project.workspace, project.planner, TASK)
    file = RankedFile("pkg/session.py", 1.0, {"bm25_body": 1.0, "seed": 1.0}, {"seed": 2.0})
    (reason,) = reasons_of(ranking).weigh(file)
    assert reason.text.startswith("contains ")
    assert reason.strength == pytest.approx(2.0)


def test_every_weight_of_a_shipped_model_can_be_said_in_words() -> None:
    """No feature that moves a file is shown to a person under its internal name."""
    for model_id in (DEFAULT_MODEL, LEXICAL_MODEL):
        model = load_model(model_id)
        for feature in (*model.weights, *(model.trees.names if model.trees else ())):
            assert "_" not in phrase(feature), feature


def test_forms_of_one_signal_are_summed() -> None:
    """Relative, absolute and rank form of a signal are one number; the first estimate comes last."""
    contributions = {
        "seed.raw": 9.0,
        "frequency": -0.5,
        "frequency.raw": 2.0,
        "bm25_body_head": 1.0,
        "bm25_body.rank": 0.75,
    }
    assert list(by_phrase(contributions).items()) == [
        ("words of the task in its text", 1.75),
        ("changed often", 1.5),
        (ESTIMATE, 9.0),
    ]
