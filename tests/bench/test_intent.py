"""Texts with a known kind are read from commits without what would give the kind away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.intent import FIT, Example, commits, cooled, macro_f1, main, write
from workbench.plan.intent import kind_features, load_kinds, probabilities
from workbench.records.plan import QueryType

HEADS = (
    "fix(auth): the token is not refreshed (#12)",
    "feat!: allow a dark theme, closes #7",
    "refactor: move helpers",
    "fix(auth): the token is not refreshed (#13)",
    "docs: name the fields",
    "fix(deps): update all",
    "Merge the branch",
)


def test_commits_are_read_without_type_scope_and_references(make_work: Any) -> None:
    """Each head once, newest first; what has no type, and updates of dependencies, are left out."""
    work = make_work("shop")
    for number, head in enumerate(HEADS):
        work.write("a.txt", str(number))
        work.commit(head)
    found = [(commit.text, commit.kind) for commit in commits(work.root)]
    assert found == [
        ("name the fields", QueryType.GENERAL),
        ("the token is not refreshed", QueryType.BUGFIX),
        ("move helpers", QueryType.REFACTOR),
        ("allow a dark theme", QueryType.FEATURE),
    ]


def test_macro_f1_is_the_mean_over_kinds() -> None:
    """One of two fixes and the only feature found: F1 of 2/3 and 2/3."""
    bug, feature = QueryType.BUGFIX, QueryType.FEATURE
    assert macro_f1([(bug, bug), (bug, feature), (feature, feature)]) == pytest.approx(2 / 3)


def test_fitted_weights_tell_kinds_apart(tmp_path: Path) -> None:
    """What occurs with one kind in all repositories weighs for it, and the file is read back as written."""
    texts = {
        "the {} is lost": QueryType.BUGFIX,
        "allow a {}": QueryType.FEATURE,
        "move the {}": QueryType.REFACTOR,
        "describe the {}": QueryType.GENERAL,
    }
    examples = [
        Example(text.format(word), kind, repository)
        for repository in FIT
        for text, kind in texts.items()
        for word in ("token", "page", "file")
    ]
    model = cooled(examples, load_kinds())
    path = tmp_path / "intent.json"
    write(model, path)
    assert json.loads(path.read_text())["weights"] == {name: list(row) for name, row in model.weights.items()}
    chances = dict(zip(model.kinds, probabilities(model, kind_features("allow a zebra")), strict=True))
    assert max(chances, key=lambda kind: chances[kind]) is QueryType.FEATURE


def test_the_tables_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without repositories of enough commits the issues are measured alone."""
    rows = [{"text": f"it crashes {n}", "kind": "bugfix", "repository": f"owner/{n}"} for n in range(20)]
    file = tmp_path / "issues.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "repos").mkdir()
    assert main([str(tmp_path / "repos"), "--issues", str(file)]) == 0
    assert "| titles of issues |" in capsys.readouterr().out
