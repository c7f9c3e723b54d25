"""What is inserted into JSON with comments means what it should, and goes again without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.entry.install import jsonc
from workbench.entry.install.jsonc import insert, parse_jsonc, remove, trailing_commas
from workbench.errors import ParseError

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
SPACES = st.sampled_from(
    ["", " ", "\n", "\n  ", "\r\n\t", " // c\n", "/* c */", "/* a\n b */ ", "\n// x, }\n    "]
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw an object, and a text that means it: with comments, odd spaces and trailing commas."""
    value = draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=3))
    if draw(st.booleans()):
        value["hooks"] = draw(
            st.dictionaries(st.sampled_from(["Stop", "x", ""]), st.lists(VALUES, max_size=2))
        )

    def write(one: Any) -> str:
        if isinstance(one, dict):
            parts = [
                f"{json.dumps(key)}{draw(SPACES)}:{draw(SPACES)}{write(inner)}" for key, inner in one.items()
            ]
            return "{" + wrapped(parts) + "}"
        if isinstance(one, list):
            return "[" + wrapped([write(inner) for inner in one]) + "]"
        return json.dumps(one, ensure_ascii=draw(st.booleans()))

    def wrapped(parts: list[str]) -> str:
        text = ",".join(f"{draw(SPACES)}{part}{draw(SPACES)}" for part in parts)
        return text + ("," if draw(st.booleans()) and parts else "") + draw(SPACES)

    return draw(SPACES) + write(value) + draw(SPACES), value


OURS = {"command": "workbench hook Stop --agent claude"}


@given(documents())
def test_a_text_means_what_was_written(document: tuple[str, dict[str, Any]]) -> None:
    """Comments, spaces and trailing commas change nothing of the value."""
    text, value = document
    assert parse_jsonc(text).value == value


@given(
    documents(), st.sampled_from([("workbench",), ("hooks", "Stop"), ("hooks", "new"), ("fresh", "b", "c")])
)
def test_an_insertion_is_one_piece_and_goes_again(
    document: tuple[str, dict[str, Any]], path: tuple[str, ...]
) -> None:
    """The value is there and all else as it was; strict readers are no worse off; one piece is the change."""
    text, value = document
    listed = isinstance(value.get("hooks", {}).get(path[-1]), list)
    done = insert(text, path, OURS)
    assert any(text[:at] + done.piece + text[at:] == done.text for at in range(len(text)))
    assert trailing_commas(done.text) == trailing_commas(text)
    now = wanted = parse_jsonc(done.text).value
    for key in path:
        now = now[key]
    assert now == [OURS, *value["hooks"]["Stop"]] if listed else now == OURS
    left = remove(done.text, path, lambda one: one == OURS)
    assert trailing_commas(left) == trailing_commas(text)
    emptied = value
    for key in path[:-1]:
        emptied = emptied.setdefault(key, {})
    assert parse_jsonc(left).value == value
    assert wanted != value


@given(documents(), st.integers(0, 5))
def test_elements_are_taken_out_wherever_they_are(document: tuple[str, dict[str, Any]], place: int) -> None:
    """Ours among others, by meaning: the others are as they were, in their order."""
    text, value = document
    stops = value.get("hooks", {}).get("Stop")
    if not stops:
        return
    node = parse_jsonc(text)
    for key in ("hooks", "Stop"):
        found = node.member(key)
        assert found is not None
        node = found[1]
    end = node.members[place % len(node.members)][2].end
    text = f"{text[:end]},\n  {json.dumps(OURS)}{text[end:]}"
    left = remove(text, ("hooks", "Stop"), lambda one: one == OURS)
    assert parse_jsonc(left).value == value
    assert trailing_commas(left) <= trailing_commas(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 01}', 1),
        ('{"a": NaN}', 1),
        ('{\n"a": [1, // x\n{"b": Infinity}]}', 3),
        ("[" * 102 + "]" * 102, 1),
    ],
)
def test_what_one_reader_refuses_the_other_does(text: str, line: int) -> None:
    """Strict JSON is read by the standard library, which takes more than JSON; none of that is accepted."""
    with pytest.raises(ParseError) as refused:
        parse_jsonc(text)
    assert refused.value.line == line


@pytest.mark.parametrize("comment", ["", "// c\n"])
def test_a_large_file_is_read_a_few_times_and_not_member_by_member(
    monkeypatch: pytest.MonkeyPatch, comment: str
) -> None:
    """What an agent keeps beside its settings grows without end: what is not on the way is not placed."""
    kept = {f"/p{n}": {"history": [{"display": "x", "n": [{}, {}]}] * 10} for n in range(200)}
    text = comment + json.dumps({"projects": kept, "mcpServers": {}}, indent=2)
    placed: list[str] = []
    place = jsonc._string
    monkeypatch.setattr(jsonc, "_string", lambda text, at: placed.append(text) or place(text, at))  # type: ignore[func-returns-value]
    done = insert(text, ("mcpServers", "workbench"), OURS)
    assert remove(done.text, ("mcpServers", "workbench"), lambda one: one == OURS)
    assert len(placed) < 20
