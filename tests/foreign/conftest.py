"""Hostile projects for tests of every face, each made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.foreign.repositories import Hostile, make_linked, make_planted, make_state


@pytest.fixture(scope="module")
def _strangers() -> Iterator[None]:
    """Commit as somebody, before any test has its own environment."""
    with pytest.MonkeyPatch.context() as patch:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "A Stranger")
            patch.setenv(f"GIT_{role}_EMAIL", "stranger@example.org")
        yield


@pytest.fixture(scope="module", params=[make_linked, make_state], ids=["linked", "state"])
def hostile(
    _strangers: None, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Hostile:
    """A project with links that lead out of it: in its commits, or in its state."""
    made: Hostile = request.param(tmp_path_factory.mktemp("hostile"))
    return made


@pytest.fixture(scope="module")
def planted(_strangers: None, tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """A project with modules and programs that must not run, and enough files for workers to be started."""
    return make_planted(tmp_path_factory.mktemp("planted"))
