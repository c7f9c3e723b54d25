"""What people say of a rule: whatever it is, it becomes sound fields or a mistake that is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.records.rules import Level, value_problems
from workbench.rules.fields import check_fields, file_of, new_rule, read_lines

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**30)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        ["", " x ", "git", "path:*.py", "path:", "language:go", "a=b", "absolute", "step", "50"]
    )
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        *("rule", "text", "name", "scope", "category", "authority", "priority", "tags", "tag", "tool"),
        *("level", "condition", "when", "examples", "cooldown", "enabled", "check", "home", "file", "id"),
    ]
)


@given(given_fields=st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_value_is_taken_or_named(given_fields: dict[str, Any]) -> None:
    """Fields that pass make a sound rule, once it has an id; everything else is a UsageError."""
    try:
        fields, _ = check_fields({"rule": "Use tabs.", **given_fields})
    except UsageError:
        return
    rule = new_rule({**fields, "id": "rule-1"} | {"rule": fields["rule"]}, "p")
    assert value_problems(rule) == ()


@given(
    lines=st.lists(st.one_of(st.binary(max_size=30), VALUES.map(lambda value: json.dumps(value).encode())))
)
def test_every_line_is_a_rule_or_a_fault(lines: list[bytes]) -> None:
    """No line is lost, and the numbers are those of the file."""
    data = b"\n".join(lines)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    whole = [number for number, line in enumerate(lines, 1) if line.strip()]
    found, faults = read_lines("f", data)
    numbers = [int(line.place.removeprefix("f:")) for line in found] + [fault.line for fault in faults]
    assert sorted(numbers) == whole


def test_a_rule_for_paths_is_one_of_a_scenario() -> None:
    """Unless its level is given."""
    fields, _ = check_fields({"rule": "x", "scope": ["path:*.py"]})
    assert new_rule(fields, None).level is Level.SCENARIO
    assert new_rule({**fields, "level": Level.STEP}, None).level is Level.STEP


def test_files_are_named_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the current directory, else to the project; links on the way do not lead out or astray."""
    root, home = tmp_path / "project", tmp_path / "home"
    for place in (root / "app", home):
        place.mkdir(parents=True)
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(tmp_path / "link" / "app")
    assert file_of("AGENTS.md", root, home, own=False) == "app/AGENTS.md"
    assert file_of("../CLAUDE.md", root, home, own=False) == "CLAUDE.md"
    assert file_of(str(tmp_path / "link" / "CLAUDE.md"), root, home, own=False) == "CLAUDE.md"
    assert file_of(".claude/CLAUDE.md", root, home, own=True) == "~/.claude/CLAUDE.md"
    monkeypatch.chdir(home)
    assert file_of("CLAUDE.md", root, home, own=False) == "CLAUDE.md"
    for outside in ("../../CLAUDE.md", "/etc/CLAUDE.md"):
        with pytest.raises(UsageError, match="is outside of"):
            file_of(outside, root, home, own=False)
    with pytest.raises(UsageError, match="are not read"):
        file_of("CLAUDE.md", root, None, own=True)
