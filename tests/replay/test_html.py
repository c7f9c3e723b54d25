"""The report is one file that loads nothing, whose structure no text can change, and that stays small."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
import tree_sitter
import tree_sitter_javascript
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.made import made_run
from workbench.config import GatesConfig
from workbench.plan.reasons import by_phrase
from workbench.records.replay import ReplayRun, SystemRow
from workbench.replay.gates import GateEvidence, evaluate
from workbench.replay.html import MAX_BYTES, report_html
from workbench.replay.html_tasks import DETAILS
from workbench.text.sanitize import visible_line

VOID = {"meta", "input", "br"}
HOSTILE = (
    "</b></details><script>alert(1)</script><img src=x onerror=alert(1)>\"'`&amp;{{7*7}}<!--\x1b[2J\u202e"
)
PLAIN = "plain text of a task"


class Page(HTMLParser):
    """The tags, attributes and texts of a page; a tag that is closed out of order is an error."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.bodies: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(page.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text, and what script and style hold."""
        if self.open and self.open[-1] in ("script", "style"):
            self.bodies[self.open[-1]] = self.bodies.get(self.open[-1], "") + data
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """Refuse comments: none is written."""
        raise AssertionError(data)


def with_texts(text: str) -> ReplayRun:
    """Return a run in which every text that others write is the given one."""
    run = made_run(4, per_session=2)

    def odd(row: SystemRow) -> SystemRow:
        path = f"{text}/a.py"
        return replace(
            row,
            ranking=(path, "pkg/b.py"),
            packed={path: text},
            contributions={path: {text: 0.5, "affinity": -0.1}},
            missed={path: text},
            reasons={path: (text, text)},
        )

    rows = tuple(
        replace(
            row,
            id=f"{text}-{number}",
            session=f"{text}{number // 2}",
            head=text,
            query_type=text,
            revision=text,
            commit=text,
            truth=(f"{text}/a.py", text),
            missing=(text,),
            fault=text,
            systems={name: odd(did) for name, did in row.systems.items()},
        )
        for number, row in enumerate(run.rows)
    )
    scores = tuple(replace(score, system=text) if score.system == "bm25" else score for score in run.systems)
    return replace(
        run,
        id=text,
        at=text,
        project=text,
        version=text,
        settings={text: [text]},
        notes=(text,),
        degraded=(text,),
        systems=scores,
        rows=rows,
    )


def page_of(run: ReplayRun, text: str = "") -> Page:
    """Return the parsed report of a run with gates that quote the text."""
    gates = evaluate(
        run, GateEvidence((text,), 1, (text,), text, 1, 1), GatesConfig(reference=text or "last")
    )
    return Page(report_html(run, gates))


def test_no_text_can_change_the_page() -> None:
    """With hostile texts everywhere the tags are those of plain texts, and the texts are there as texts."""
    hostile, plain = page_of(with_texts(HOSTILE), HOSTILE), page_of(with_texts(PLAIN), PLAIN)
    assert plain.tags == hostile.tags
    assert hostile.open == []
    assert any(visible_line(HOSTILE) in text for text in hostile.texts)
    assert not {"\x1b", "\u202e"} & set("".join(hostile.texts))


@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=60))
def test_any_text_is_text(text: str) -> None:
    """Whatever is written in tasks, paths and reasons, lone surrogates included, the tags stay."""
    assert page_of(with_texts("x" + text), text).tags == page_of(with_texts(PLAIN), PLAIN).tags


def test_the_page_needs_nothing_else() -> None:
    """No attribute runs or loads anything, and the policy allows only the style and script in the page."""
    page = page_of(made_run(6))
    assert [
        one for one in page.attributes if one[1] in ("src", "srcset", "style") or one[1][:2] == "on"
    ] == []
    assert all(value.startswith("#t") for _, name, value in page.attributes if name == "href")
    policy = next(value for _, name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    for body in page.bodies.values():
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(r"https?:|url\(|@import|innerHTML|fetch\(|eval\(", "".join(page.bodies.values()))
    assert page.tags.count(("script", ())) == 1


def test_the_script_parses_and_names_what_is_there() -> None:
    """The script is sound JavaScript, and every element it looks up by id is in the page."""
    page = page_of(made_run(6))
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
    assert not parser.parse(page.bodies["script"].encode()).root_node.has_error
    wanted = set(re.findall(r'getElementById\("(\w+)"\)', page.bodies["script"]))
    assert wanted <= {value for _, name, value in page.attributes if name == "id"}
    used = set(re.findall(r"elements\.(\w+)", page.bodies["script"]))
    assert used == {value for tag, name, value in page.attributes if name == "name" and tag != "meta"}
    orders = set(re.findall(r"^    (\w+): \(a, b\)", page.bodies["script"], re.M))
    assert orders <= {value for tag, _, value in page.attributes if tag == "option"}


def test_both_rankings_features_and_misses_are_there() -> None:
    """A task shows what each side ranked, what features added, what was missed and why."""
    run = made_run(8, per_session=4)
    text = " ".join(page_of(run).texts)
    for row in run.rows:
        did = row.systems["hybrid"]
        assert row.head in text
        assert all(path in text for path in did.ranking)
        assert all(f"{path}: {why}" in text for path, why in did.missed.items())
        first = list(by_phrase(did.contributions[did.ranking[0]]).items())
        assert all(f"{words} {value:+.2f}" in text for words, value in first[: DETAILS[0].features])
        assert "; ".join(did.reasons[did.ranking[0]]) in text
    assert "session-1" in text
    assert "G3 precision" in text
    assert "a note" in text


def test_it_can_be_read_without_a_script() -> None:
    """What only a script can work is hidden until the script shows it."""
    page = report_html(made_run(3)).decode()
    assert '<form id="filter" hidden>' in page
    assert '<button id="theme" type="button" hidden>' in page
    assert page.count("<details id=") == 3


def test_sides_that_were_not_run_are_left_out() -> None:
    """One system alone, none at all, tasks without any: a page all the same."""
    alone = page_of(made_run(3, systems=("baseline",)))
    assert "baseline" in "".join(alone.texts)
    run = made_run(2)
    faulty = replace(run, rows=tuple(replace(row, systems={}, fault="no tree") for row in run.rows))
    assert "Not replayed: no tree" in "".join(page_of(faulty).texts)
    empty = replace(run, rows=(), systems=())
    assert "0 tasks" in "".join(page_of(empty).texts)


def test_a_time_far_off_is_a_date() -> None:
    """Clocks that went wrong do not stop a report."""
    run = made_run(2)
    rows = tuple(replace(row, at=at) for row, at in zip(run.rows, (-5, 10**18), strict=True))
    text = "".join(page_of(replace(run, rows=rows)).texts)
    assert "1970-01-01" in text
    assert "9999-12-31" in text


@pytest.mark.parametrize(
    ("tasks", "given_texts"),
    [
        (1000, {}),
        (1000, {"path": "a/long/way/down/to/the/module_{}/" + "x" * 60, "head": "h" * 300}),
        (1500, {"path": "&" * 250 + "{}", "head": "<" * 300}),
    ],
)
def test_a_thousand_tasks_stay_small(tasks: int, given_texts: dict[str, Any]) -> None:
    """A page of many tasks is at most 5 MB, says what it leaves out, and loses no task while lines fit."""
    page = report_html(made_run(tasks, **given_texts))
    assert len(page) <= MAX_BYTES == 5_000_000
    assert page.count(b"<details id=") == tasks
    assert (b"To keep the page small" in page) == bool(given_texts)


def test_hostile_sizes_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not even the lines fit, the rest is counted."""
    monkeypatch.setattr("workbench.replay.html.MAX_BYTES", 120_000)
    page = report_html(made_run(300, head="é&" * 200))
    assert len(page) <= 120_000
    assert re.search(rb"left out at the end: \d+ tasks", page)


def test_the_same_run_is_the_same_page() -> None:
    """A report is determined by its run."""
    assert report_html(made_run(5)) == report_html(made_run(5))
