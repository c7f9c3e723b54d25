"""Secrets go out of texts; what only looks similar stays."""

# ruff: noqa: E501  cases are read as they are written

from __future__ import annotations

import json
import re
from itertools import compress, groupby
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.secret_formats import Leak, leaks
from tests.deep import sample, searches, times
from workbench.text.redact import Secret, find_secrets, mark_of, redact

# Assembled, so that no scanner takes this file for a leak.
PREFIXED = [
    ("aws-access-key", "AKIA" + "ABCDEFGHIJKLMNOP"),
    ("github-token", "ghp_" + "a1B2" * 9),
    ("github-token", "github_pat_" + "a1B2" * 8),
    ("anthropic-key", "sk-" + "ant-api03-" + "a1B2" * 8),
    ("stripe-key", "sk_" + "live_" + "a1B2" * 5),
    ("slack-token", "xoxb-" + "1234567890-abcdef"),
    ("jwt", "eyJ" + "hbGciOiJI." + "eyJzdWIiOiIx.abc"),
]
LEAKS = list(leaks(20_26))
DASHES = "-" * 5
KEY = f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n" + "Ab3+" * 16 + f"\n{DASHES}END RSA PRIVATE KEY{DASHES}"
PIECES = st.sampled_from(
    ["password", "=", ":", '"', "'", " ", "\n", "token", "Bearer ", "://", "@", "\\", "hunter22x", "[secret:jwt]", "[",
     "AKIA" + "ABCDEFGHIJKLMNOP", "ghp_" + "a1B2" * 9, "Cookie: a=", "é", "\ud800", "curl -u ", ";", "&sig=", "--token "]
)  # fmt: skip
ANY = st.one_of(st.text(), st.lists(PIECES, max_size=14).map("".join))


@pytest.mark.parametrize(("kind", "secret"), PREFIXED)
def test_keys_with_a_known_beginning_go(kind: str, secret: str) -> None:
    """The rest of the text stays, and the kind is counted."""
    redacted = redact(f"use {secret} now")

    assert f"use {mark_of(kind)} now" == redacted.text
    assert {kind: 1} == redacted.counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PASSWORD=hunter22 ls", "PASSWORD=[secret:password] ls"),
        ("DB_PASSWORD='hunter22' ls", "DB_PASSWORD='[secret:password]' ls"),
        ('{"api_key": "abcd1234"}', '{"api_key": "[secret:secret]"}'),
        ("curl -H 'Authorization: Bearer abcdef123456'", "curl -H 'Authorization: Bearer [secret:authorization]'"),
        ("https://kim:hunter22@example.org/x", "https://kim:[secret:url-login]@example.org/x"),
        ("curl -u ann:s3cretpw https://example.org", "curl -u ann:[secret:curl-login] https://example.org"),
        ("curl -k https://a/b \\\n  -u dev:yqDVtkq7", "curl -k https://a/b \\\n  -u dev:[secret:curl-login]"),
        ("curl -u ':d2LkV78zL' https://a", "curl -u ':[secret:curl-login]' https://a"),
        ("curl -u d2LkV78zLx!t: https://a", "curl -u [secret:curl-login]: https://a"),
        ("curl --user kim:'pRf7vG2h1' -iX PATCH", "curl --user kim:'[secret:curl-login]' -iX PATCH"),
        ('curl --header "Api-Token: Sk94HG7f6KB"', 'curl --header "Api-Token: [secret:curl-header]"'),
        ("Authorization: Api-Token 22cb987851bc", "Authorization: Api-Token [secret:authorization]"),
        ("tool --password s3cretpw -v", "tool --password [secret:command-line] -v"),
        (KEY + " x", "[secret:private-key]\n\n x"),
        (KEY.replace("\n", "\\n") + '"', '[secret:private-key]"'),
    ],
)  # fmt: skip
def test_what_a_name_or_a_place_announces_goes(text: str, expected: str) -> None:
    """The name stays, so that a reader sees what was there."""
    assert expected == redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "Server=#{host};Database=app;uid=#{name};pwd=#{secret}",
        'connect("Server=db;Database=app;Password=" + password)',
        "psexec \\\\db -u ann -p $Password cmd",
        "psexec \\\\db -u ann -p %password% cmd",
        'if the password is "invalid", ask again',
        'the password is "required".',
        "username '{{ user }}'\npassword '{{ password }}'",
        "username=${USER}\npassword=${PASSWORD}",
        'new NetworkCredential("ann", password)',
        "TC30 PASS: recovery",
        "price: $1$2$3",
        "jwt:\n  expires: 3600",
        "unseal the vault with the key",
        "hf_requiredCharacteristicTypesForDisplayMetadata",
        "images/2018-250-xoxo-indieweb-1.jpg",
        "curl -u $USER: https://a",
        '"pbkdf2-password": "1.2.1",\n"simple-password": "^0.9.4",\n"password-hash": "~2.x"',
    ],
)
def test_references_and_placeholders_stay(text: str) -> None:
    """References, variables and words about passwords in the places of secrets."""
    assert text == redact(text).text


@searches
def test_nearly_no_secret_of_any_known_format_survives() -> None:
    """Recall over all formats in all contexts is far above what is asked for, and no format is missed everywhere."""
    by_format = groupby(sorted(LEAKS, key=attrgetter("format")), key=attrgetter("format"))
    samples = [sample(list(leaks), 5, first=at) for at, (_, leaks) in enumerate(by_format)]
    leaks = [leak for each in samples for leak in each]
    redacted = [redact(leak.text).text for leak in leaks]
    hidden = [
        not any(part in text for part in leak.parts) for leak, text in zip(leaks, redacted, strict=True)
    ]

    assert hidden.count(False) <= 0.01 * len(leaks)
    assert {leak.format for leak in LEAKS} == {leak.format for leak in compress(leaks, hidden)}


@settings(max_examples=times(20, 60), deadline=None)
@given(
    st.lists(
        st.sampled_from([leak for leak in LEAKS if leak.context in ("env", "json", "prose")]), max_size=6
    )
)
def test_secrets_beside_each_other_all_go(chosen: list[Leak]) -> None:
    """What hides one secret never keeps another."""
    text = "".join(leak.text for leak in chosen)
    alone = [part for leak in chosen for part in leak.parts if part not in redact(leak.text).text]

    assert [part for part in alone if part in redact(text).text] == []


@given(ANY)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    """Marks are no secrets, whatever stands around them; it never raises."""
    once = redact(text).text

    assert once == redact(once).text


@searches
def test_lines_of_json_stay_json() -> None:
    """A transcript without its secrets is read as before."""
    for leak in sample(LEAKS, 300):
        line = json.dumps({"content": leak.text, "more": [json.dumps({"inner": leak.text})], "end": 1})

        assert json.loads(redact(line).text)["end"] == 1, leak


@given(ANY)
def test_lines_keep_their_numbers(text: str) -> None:
    """A key over several lines leaves its line feeds."""
    assert text.count("\n") == redact(text).text.count("\n")


@given(st.text(alphabet=st.characters(categories=["L", "Zs"])))
def test_words_stay(text: str) -> None:
    """Text of letters and spaces holds nothing to take out."""
    assert text == redact(text).text or re.search(r"(?i)bearer|basic|pass|login", text)


def test_findings_have_kinds_places_and_lines() -> None:
    """Characters are counted, not bytes; lines from 1."""
    text = "é\nPASSWORD=hunter22\n"

    assert (Secret("password", 11, 19, 2),) == find_secrets(text)


def test_a_very_long_line_is_read_to_its_end() -> None:
    """No line is too long, and what stands at its end is found."""
    text = "a=b;" * 1_000_000 + "PASSWORD=hunter22"

    assert redact(text).text.endswith(mark_of("password"))


@pytest.mark.parametrize(
    "text",
    ["git push --force", "tokens are counted", "token: int", "password reset page", "a sk-learn pipeline",
     "https://example.org:8080/a@b", "def token(x): pass", "PASSWORD=$SECRET",
     "privateKey: Uint8Array;", "token = get_token()", "password: string", "secret = os.environ['SECRET']",
     "password=args.password", '"password": "${DB_PASSWORD}"', "API_KEY=your-api-key-here", "max_tokens: 4096",
     'integrity "sha512-abcdefGHIJKL0123456789abcdefGHIJKL0123456789"', "cache-key: v1-deps-2024",
     "id: 123e4567-e89b-12d3-a456-426614174000", "commit 3f786850e387550fdab836ed7e6dc881de23001b"],
)  # fmt: skip
def test_ordinary_text_stays(text: str) -> None:
    """Words that only speak of secrets are kept."""
    assert text == redact(text).text


@pytest.mark.parametrize(
    "text",
    ["log in with sunflower", 'vault = "correct horse battery staple"', "password: sesame",
     'PASSWORD="correct horse battery staple"', "ghp_abcdefghijklm and nopqrstuvwxyz0123456789"],
)  # fmt: skip
def test_what_looks_like_words_is_not_found(text: str) -> None:
    """What the document says is missed: alone like a word, of several words, cut into pieces."""
    assert text == redact(text).text
    assert "sesame" not in redact("PASSWORD=sesame").text
    assert "horse" not in redact('{"passphrase": "correct horse battery staple"}').text
