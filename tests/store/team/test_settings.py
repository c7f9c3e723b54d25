"""Which server a project's team has is for its owner alone, and no password is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.team.settings import (
    TEAM_FILE,
    TeamLook,
    TeamSettings,
    forget_settings,
    mask_url,
    read_look,
    read_settings,
    write_look,
    write_settings,
)
from workbench.errors import TeamError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://anna:secret@host:5432/team", "postgresql://anna:***@host:5432/team"),
        ("postgresql://anna@host/team", "postgresql://anna@host/team"),
        ("postgresql://anna:p%40ss:w@host/team", "postgresql://anna:***@host/team"),
        ("postgresql://anna:se@cret@host/team", "postgresql://anna:***@host/team"),
        ("postgresql:///team?password=secret&host=/tmp", "postgresql:///team?password=***&host=/tmp"),
        ("postgresql://h/t?x=1&PASSWORD=secret", "postgresql://h/t?x=1&PASSWORD=***"),
        ("anna:secret@host/team", "anna:***@host/team"),
        ("host=h password='a secret' user=anna", "host=h password=*** user=anna"),
        ("postgresql://[::1]:5432/team", "postgresql://[::1]:5432/team"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    """Wherever in a URL they are, and in what somebody took for one."""
    assert mask_url(url) == shown


@given(st.text("ab:/?#@&=% \n'é", min_size=1))
def test_no_password_is_shown_however_it_is_written(password: str) -> None:
    """Also one whose characters should have been percent-encoded."""
    assert mask_url(f"postgresql://anna:{password}@host/team") == "postgresql://anna:***@host/team"


def test_settings_are_private_and_may_be_missing_or_damaged(tmp_path: Path) -> None:
    """Nobody else may read the file; what cannot be read is an error with the next step."""
    assert read_settings(tmp_path) is None
    assert read_look(tmp_path) == TeamLook()
    settings = TeamSettings("postgresql://a:b@c/d", "shop", "here")
    write_settings(tmp_path, settings)
    path = tmp_path / "team" / TEAM_FILE
    assert (read_settings(tmp_path), path.stat().st_mode & 0o777) == (settings, 0o600)
    write_look(tmp_path, TeamLook(1.0, 2.0, "away", "wait"))
    assert read_look(tmp_path).fault == "away"
    path.write_bytes(b"{")
    with pytest.raises(TeamError, match="cannot be read") as refused:
        read_settings(tmp_path)
    assert "store use" in refused.value.hint
    forget_settings(tmp_path)
    forget_settings(tmp_path)
    assert read_settings(tmp_path) is None
