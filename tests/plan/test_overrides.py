"""What the caller pins and excludes: names in full, refused with a suggestion, and plans that follow them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plan.test_pipeline import TASK, opened, planned, project, settled, shown
from workbench.errors import UsageError
from workbench.plan.overrides import Overrides, resolve_overrides, unknown_names
from workbench.records.answers.plan import DroppedCandidate

__all__ = ["project"]
PATHS = {"src/auth.py", "src/http/client.py", "README.md"}
IDS = {"rule-abc123", "rule-abd999"}


def test_names_are_resolved_to_paths_and_ids() -> None:
    """A path may begin with ./, an id may be cut or lack its prefix; each is named once."""
    found = resolve_overrides(("./src/auth.py", "src/auth.py", "abc"), ("rule-abd9",), PATHS, IDS)
    assert found == Overrides(("src/auth.py", "rule-abc123"), ("rule-abd999",))
    assert not resolve_overrides((), (), PATHS, IDS)


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        (
            "src/client.py",
            "no file, rule, learning or segment 'src/client.py'",
            "Did you mean src/http/client.py?",
        ),
        ("src/auht.py", "no file, rule, learning or segment", "Did you mean src/auth.py?"),
        ("rule-ab", "2 ids begin with 'rule-ab'", "rule-abc123, rule-abd999"),
        ("zzz", "no file, rule, learning or segment 'zzz'", "workbench rank"),
        ("\x1b[31m", "no file, rule, learning or segment", "workbench rank"),
        ("", "no file, rule, learning or segment ''", "workbench rank"),
    ],
)
def test_an_unknown_name_is_refused_with_what_may_have_been_meant(name: str, said: str, hint: str) -> None:
    """Nothing that is not there is passed over; the error shows no control character."""
    with pytest.raises(UsageError, match=r"no file|ids begin") as refused:
        resolve_overrides((), (name,), PATHS, IDS)
    assert "\x1b" not in refused.value.message
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_a_thing_cannot_be_both() -> None:
    """Pinned and excluded at once is refused, also under two names."""
    with pytest.raises(UsageError, match="both pinned and excluded"):
        resolve_overrides(("src/auth.py",), ("./src/auth.py",), PATHS, IDS)


def test_names_that_went_away_are_found() -> None:
    """What was remembered and is not there any more is told, in order."""
    assert unknown_names(("rule-x", "README.md", "gone.py"), PATHS, IDS) == ("rule-x", "gone.py")


def rules_of(result: Any) -> dict[str, str]:
    """Return {text: id} of the rules in a plan."""
    return {passage.text: passage.id for passage in result.pack.passages}


def test_a_pinned_file_is_packed_and_says_so(project: Any) -> None:
    """A file that nothing speaks for is in the pack when it is pinned, within the same budget."""
    project.write("notes/holidays.txt", "the office is closed in August\n")
    project.commit("notes")
    for number in range(3):  # so that it is not what was changed last
        project.write(f"pkg/later_{number}.py", f"def later_{number}():\n    return {number}\n")
        project.commit(f"later {number}")
    place = opened(project.root)
    assert "notes/holidays.txt" not in shown(planned(place, token_budget=400))
    result = planned(place, token_budget=400, pinned=("notes/holidays.txt",))
    assert "closed in August" in shown(result)
    assert result.pack.report.estimated_used <= 400
    trace = result.response.decision_trace
    assert any(line.startswith("notes/holidays.txt: full, pinned by you") for line in trace)
    kept = planned(place, token_budget=400, pinned=("notes/holidays.txt",))
    assert settled(kept.response) == settled(result.response)


@pytest.mark.parametrize("baseline", [False, True])
def test_an_excluded_file_is_dropped_and_says_so(project: Any, baseline: bool) -> None:
    """An excluded file is nowhere in the text, and the reason is the caller's wish."""
    from workbench.plan.pipeline import plan
    from workbench.records.plan import PlanRequest

    place = opened(project.root)
    request = PlanRequest(str(project.root), TASK, token_budget=1500, excluded=("pkg/module_1.py",))
    result = plan(place.workspace, place.planner, request, baseline=baseline)
    assert "pkg/module_1.py" not in shown(result)
    dropped = result.response.dropped_candidates
    assert dropped.count(DroppedCandidate("pkg/module_1.py", "excluded by you")) == 1
    assert [one.file for one in dropped].count("pkg/module_1.py") == 1


def test_rules_are_pinned_and_excluded_by_id(project: Any) -> None:
    """An excluded rule is dropped; a pinned one is in whatever its relevance, first and marked."""
    place = opened(project.root)
    found = rules_of(planned(place))
    binding = found["Never log tokens."]
    without = planned(place, excluded=(binding,))
    assert binding not in rules_of(without).values()
    dropped = without.response.dropped_candidates
    assert DroppedCandidate(binding, "excluded by you") in dropped
    small = next(r.id for r in place.workspace.rulebook.rules if "small functions" in r.rule)
    pinned = planned(place, pinned=(small,))
    assert pinned.pack.passages[0].id == small
    assert pinned.pack.passages[0].why == "pinned by you"


def test_a_pin_that_does_not_fit_says_so_in_the_trace(project: Any) -> None:
    """A budget too small for the smallest form is never exceeded, and the trace names what is missing."""
    place = opened(project.root)
    result = planned(place, token_budget=3, pinned=("pkg/module_1.py",))
    assert result.pack.report.estimated_used <= 3
    trace = result.response.decision_trace
    assert any(line.startswith("pkg/module_1.py: pinned by you, but its smallest form") for line in trace)


def test_a_pinned_file_that_cannot_be_read_says_so(project: Any, tmp_path: Path) -> None:
    """Binary content is not packed for being pinned."""
    project.write("logo.dat", b"\0\1\2" * 100)
    project.commit("logo")
    place = opened(project.root)
    planned(place)
    if "logo.dat" not in place.workspace.index.positions:
        with pytest.raises(UsageError, match="no file, rule, learning or segment"):
            planned(place, pinned=("logo.dat",))
    else:
        trace = planned(place, pinned=("logo.dat",)).response.decision_trace
        assert any(line.startswith("logo.dat:") for line in trace)


def test_without_wishes_nothing_changes(project: Any) -> None:
    """An empty wish is no wish: the same bytes."""
    place = opened(project.root)
    planned(place)
    assert settled(planned(place).response) == settled(planned(place, pinned=(), excluded=()).response)
