"""What usually changes with the files shown, said so that each file is known by its name."""

from __future__ import annotations

import pytest

from tests.plan.test_signals import indexed
from workbench.plan.companions import find_companions
from workbench.records.episodes import ChangeKind, FileChange
from workbench.sessions.history import PastTask, build_history

CODE = "export const used = 1\n"
TREE = {path: CODE for one in ("a", "b") for path in (f"src/{one}/index.ts", f"src/{one}/index.test.ts")}


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (["src/a/index.ts"], "6 of the last 6 focused edits of index.ts"),
        (["src/a/index.ts", "src/b/index.ts"], "6 of the last 6 focused edits of a/index.ts"),
    ],
)
def test_files_of_one_name_are_said_with_their_folder(shown: list[str], said: str) -> None:
    """Where two files that are shown have a name, it alone would not say which of them is meant."""
    changes: list[tuple[FileChange, ...]] = [
        tuple(FileChange(f"src/{one}/index{end}.ts", ChangeKind.MODIFIED, 1, 1) for end in ("", ".test"))
        for one in "ab" * 6
    ]
    changes += [(FileChange("src/other.ts", ChangeKind.MODIFIED, 1, 1),)] * 40
    history = build_history(PastTask(99 - at, {}, each, (), True) for at, each in enumerate(changes))
    found = {one.path: one.why for one in find_companions(history, indexed(TREE), shown, {})}
    assert found["src/a/index.test.ts"] == said
