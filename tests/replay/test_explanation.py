"""A replayed task is explained as it was ranked, or it is said that it is ranked otherwise now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.replay.made import made_run
from workbench.errors import UsageError
from workbench.plan.ranking import load_model
from workbench.records.plan import RankedFile
from workbench.replay.systems import SystemRanking
from workbench.replay.task_rows import explanation_text, find_task, weigh_files

RUN = made_run(3, per_session=0, head="fix [/] \x1b[31m")


def ranking(*paths: str) -> SystemRanking:
    """Return a ranking of these files, each with two features."""
    files = tuple(RankedFile(path, 1.0, {}, {"small": 0.1, "none": 0.0, "large": -2.0}) for path in paths)
    return SystemRanking(files, load_model(), weighed=True, fallback=False, milliseconds=1.0)


def test_a_task_is_found_by_its_id_or_its_beginning() -> None:
    """One that is not there or not told apart is refused with a next step."""
    assert find_task(RUN, "task-00001") is RUN.rows[1]
    assert find_task(RUN, RUN.rows[2].commit) is RUN.rows[2]
    for name in ("task-", "", "zzz"):
        with pytest.raises(UsageError) as caught:
            find_task(RUN, name)
        assert caught.value.hint


def test_kept_and_right_files_are_explained_in_order() -> None:
    """Files that nobody looks at are left out; contributions come the largest first."""
    row = RUN.rows[0]
    kept = row.systems["hybrid"].ranking
    explanation = weigh_files(RUN, row, "hybrid", ranking(*kept, "nobody.py"), {kept[0]: ("defines it",)})
    assert explanation.same
    assert [file.path for file in explanation.files] == list(kept)
    assert list(explanation.files[0].contributions) == ["large", "small"]
    assert [file.reasons for file in explanation.files[:2]] == [("defines it",), ()]
    assert {file.path for file in explanation.files if file.relevant} == set(row.truth) & set(kept)
    assert not weigh_files(RUN, row, "hybrid", ranking(*reversed(kept)), {}).same


def test_a_system_without_weights_has_no_contributions() -> None:
    """Only what features add to a score is shown, and no reason where it is a place alone."""
    row = RUN.rows[0]
    kept = row.systems["baseline"].ranking
    files = weigh_files(
        RUN, row, "baseline", replace(ranking(*kept), weighed=False), {kept[0]: ("no",)}
    ).files
    assert not any(file.contributions or file.reasons for file in files)


def test_an_explanation_is_text_that_holds_no_control_characters() -> None:
    """Tasks are data."""
    row = RUN.rows[0]
    kept = row.systems["hybrid"].ranking
    text = explanation_text(
        weigh_files(RUN, row, "hybrid", ranking(*kept), {kept[0]: ("contains “\x1b”", "tests it")})
    )
    assert "\x1b" not in text
    assert "; tests it\n    large -2.00, small +0.10" in text


def test_parts_of_a_score_are_said_in_words() -> None:
    """Forms of a signal are one part, and none has the name that the ranking gives it."""
    row = RUN.rows[0]
    parts = {"seed.raw": 2.0, "affinity_folder": 0.5, "affinity_folder.rank": 0.25}
    file = RankedFile(row.systems["hybrid"].ranking[0], 1.0, {}, parts)
    found = replace(ranking(), files=(file,))
    text = explanation_text(weigh_files(RUN, row, "hybrid", found, {}))
    assert "its folder changed in similar past tasks +0.75, a first estimate +2.00" in text
