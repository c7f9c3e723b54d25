"""Every regular expression of the product takes linear time, and the proof of it finds those that do not."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.expressions.collect import built, collect, every_expression, of_module
from bench.expressions.growth import find_growth
from tests.counted_matching import count_steps
from tests.deep import DEEP, searches

PROVED = set(
    """
    dd75013e6097d8d3
    cf4d5d52c42148c8
    d17a5c4bf1dfdd0d
    a380bd979203e170
    eb910b7738f7e028
    12ee81b8a7aff33e
    f8f87338bc515a80
    34146016b6252b46
    3f3f092e7f0e2b7b
    75ff6a8611863b21
    8013e1b505a8af5c
    8cf9ae9d3b89c90f
    c3ff06c408b6f828
    """.split()
)
"""Uses of expressions whose proofs take .1 s and more, as `make deep` has proved them; another form is proved
here."""


def digest(pattern: re.Pattern[Any], use: str) -> str:
    text = f"{use} {pattern.flags} {pattern.pattern}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@searches
def test_every_expression_of_the_product_is_linear() -> None:
    """No text makes the work of an expression grow faster than its length, however the expression is used."""
    uses = [(one, use) for one in every_expression() for use in sorted(one.uses)]
    digests = [digest(one.pattern, use) for one, use in uses]
    slow = {
        f"{one.place} ({use}): {one.pattern.pattern!r}": growth
        for (one, use), known in zip(uses, digests, strict=True)
        if (DEEP or known not in PROVED) and (growth := find_growth(one.pattern, use)) is not None
    }
    assert slow == {}
    assert {*digests} >= PROVED, "take out what is not there any more"


def test_no_expression_is_out_of_sight() -> None:
    """Each expression that only a run puts together is put together for the proof, too."""
    found, unknown = collect()
    assert sorted(set(unknown)) == sorted(built())
    assert len(found) > 500


SOURCE = r"""
import re
from dataclasses import dataclass

_ANCHORED = re.compile(r"\w+;")
_BOTH = re.compile(r"\d+;")
_WITHIN = {"one": (re.compile("a+b"),), "two": re.compile("a+c")}
_BOUND = re.compile("a+d").fullmatch

@dataclass
class Held:
    pattern: object = re.compile("a+e")

_HELD = Held()

class Own:
    PART = re.compile("a+f")

def use(text, word):
    return (
        _ANCHORED.match(text), _BOTH.match(text), _BOTH.match(text, 3), _WITHIN["two"].match(text),
        re.sub("a+g", "", text), re.search(rf"{re.escape(word)}a+h", text, re.DOTALL),
        re.split("a+" + "i", text), re.compile(word), lambda: re.match("a+j", text),
    )
"""


def test_expressions_are_found_wherever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In names, containers, records, classes, bound methods and calls, each with how it is used."""
    (tmp_path / "some.py").write_text(SOURCE, encoding="utf-8")
    module = ModuleType("some")
    module.__file__ = str(tmp_path / "some.py")
    monkeypatch.setitem(sys.modules, "some", module)
    exec(compile(SOURCE, "some.py", "exec"), vars(module))
    found, unknown = of_module(module)
    assert {one.pattern.pattern: "".join(one.uses) for one in found} == {
        r"\w+;": "match",
        r"\d+;": "search",
        "a+b": "search",
        "a+c": "match",
        "a+d": "fullmatch",
        "a+e": "search",
        "a+f": "search",
        "a+g": "search",
        "some namea+h": "search",
        "a+i": "search",
        "a+j": "match",
    }
    assert unknown == ["some: word"]


SLOW = [
    # What files, tasks, messages and commands were read with: each took seconds for 40,000 characters.
    (r"[^\W_]+(?:_+[^\W_]+)*|_*[^\W_]+", 0, "search"),
    (r"\s*\(?\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b\.?\)?,?\s*", re.IGNORECASE, "search"),
    (r"([A-Za-z_]\w*)(?:\[[^\]\n]*\])?\+?=", 0, "search"),
    (r"(?:\d*|\{\w+\})(<<<|<<-|<<|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|(&>>?)", 0, "search"),
    (r"(?:[a-z+]+://)?(?:[^@/]+@)?([^:/]+)(?::\d+)?[:/]+(.+?)(?:\.git)?/*\Z", re.IGNORECASE, "match"),
    (r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?:$|[: ])", 0, "search"),
    (r"\(?(?:pass|ok|skip)\b|[✓✔√]|\d+ \||\d+ (?:pass|expect)|Found \d+ errors?\b", re.IGNORECASE, "search"),
    # What is not closed is looked for from each place that opens it.
    (r"/\*.*?\*/", re.DOTALL, "search"),
    (r'"(?:[^"\\]|\\.)*"', 0, "search"),
    (r"[^x]*y", 0, "search"),
    (r"a(?:[^b]*b)?", 0, "search"),
    (r"(?=\w*x)a", 0, "search"),
    (r"<(b|i)>(.*?)</\1>", 0, "search"),
    # White space before the end of a line, and lines before what begins one.
    (r"\s+$", 0, "search"),
    (r"^\s*x", re.MULTILINE, "search"),
    # Two ways through the same text.
    (r"(a+)+b", 0, "match"),
    (r"(?:a|ab|b)*c", 0, "match"),
    (r"\s*,?\s*x", 0, "match"),
    (r"(?: here| was|,? turns out,?)*x", 0, "match"),
    (r"[ \t]+(.+?)[ \t]*$", 0, "match"),
    (r".*-.*-x", 0, "match"),
    (r"a{0,4000}b", 0, "search"),
]


@pytest.mark.parametrize(("source", "flags", "use"), SLOW)
def test_what_is_slow_is_found(source: str, flags: int, use: str) -> None:
    """The forms that some expressions of the product had, and the patterns of such, are no linear ones."""
    assert find_growth(re.compile(source, flags), use) is not None


@pytest.mark.parametrize(
    ("source", "use"),
    [
        (r"[^\W_]+(?:_+[^\W_]+)*|(?<!_)_+[^\W_]+", "search"),
        (r"\w+", "search"),
        (r"[A-Z]\w+\b", "search"),
        (r"\b\w+\(", "search"),
        (r"(?<!\w)\w+x", "search"),
        (r"\w+(?:\s+\w+)*", "search"),
        (r"\w+:", "match"),
        (r"\w++:", "match"),
        (r"(?>.*?:)\w+$", "match"),
        (r"`[^`\n]*`", "search"),
        (r"<!--(?:(?!<!--|-->).)*-->", "search"),
        (r"[^\n]+\n?|\n", "search"),
        (r"(?: here| was|,? turns out,?+)*x", "match"),
        (r"\w{3,60}x", "search"),
        (r"(?m)^[ \t]*x", "search"),
    ],
)
def test_what_is_linear_is_proved(source: str, use: str) -> None:
    """Anchors, what gives nothing back, what ends at what begins it, and small repetitions are understood."""
    assert find_growth(re.compile(source), use) is None


ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "\\b", "^", "$", "(?!a)", "(?=b)", "(?<!a)", "(?!ab)"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "*+", "++", "?+", "{0,2}"])


def _grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.builds(lambda part, repeat: f"(?:{part}){repeat}", parts, REPEATS)
    return st.one_of(
        st.builds("".join, st.lists(repeated, min_size=1, max_size=3)),
        st.builds(lambda left, right: f"(?:{left}|{right})", parts, parts),
        st.builds(lambda part: f"(?>{part})", parts),
        st.builds(lambda part: f"(?={part})", parts),
        st.builds(lambda part: f"(?!{part})", parts),
    )


@given(
    source=st.recursive(ATOMS, _grown, max_leaves=6),
    before=st.text("ab\n", max_size=2),
    text=st.text("ab\n", min_size=1, max_size=3),
    after=st.text("abc\n", max_size=1),
    use=st.sampled_from(["search", "match", "fullmatch"]),
)
def test_what_is_proved_takes_steps_in_proportion(
    source: str, before: str, text: str, after: str, use: str
) -> None:
    """Of an expression that is proved, twice the text takes about twice the steps at most."""
    pattern = re.compile(source)
    assume(find_growth(pattern, use) is None)
    steps = [count_steps(pattern, before + text * (size // len(text)) + after, use) for size in (24, 48, 96)]
    assert steps[2] - steps[1] <= 2.5 * max(steps[1] - steps[0], 0) + 200
