"""Secrets go out of texts; what only looks similar stays."""

from __future__ import annotations

import pytest

from workbench.text.redact import MARK, redact

# Assembled, so that no scanner takes this file for a leak.
PREFIXED = [
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2" * 8,
    "sk-" + "ant-api03-" + "a1B2" * 8,
    "sk_" + "live_" + "a1B2" * 5,
    "xoxb-" + "1234567890-abcdef",
    "eyJ" + "hbGciOiJI." + "eyJzdWIiOiIx.abc",
]


@pytest.mark.parametrize("secret", PREFIXED)
def test_keys_with_a_known_beginning_go(secret: str) -> None:
    """The rest of the text stays."""
    assert redact(f"use {secret} now") == f"use {MARK} now"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PASSWORD=hunter22 ls", f"PASSWORD={MARK} ls"),
        ("DB_PASSWORD='hunter22' ls", f"DB_PASSWORD='{MARK}' ls"),
        ('{"api_key": "abcd1234"}', f'{{"api_key": "{MARK}"}}'),
        ("curl -H 'Authorization: Bearer abcdef123456'", f"curl -H 'Authorization: Bearer {MARK}'"),
        ("https://kim:hunter22@example.org/x", f"https://kim:{MARK}@example.org/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- x", f"{MARK} x"),
    ],
)
def test_what_a_name_announces_goes(text: str, expected: str) -> None:
    """The name stays, so that a reader sees what was there."""
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    ["git push --force", "tokens are counted", "token: int", "password reset page", "a sk-learn pipeline",
     "https://example.org:8080/a@b", "def token(x): pass", "PASSWORD=$SECRET"],
)  # fmt: skip
def test_ordinary_text_stays(text: str) -> None:
    """Words that only speak of secrets are kept."""
    assert redact(text) == text
