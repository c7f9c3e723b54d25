"""In source text credentials are masked, and what tests, manuals and pages hold stays as it is."""

# ruff: noqa: E501  cases are read as they are written

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deep import sample, searches
from tests.text.test_redact import ANY, KEY, LEAKS, PREFIXED
from workbench.records.project import Role
from workbench.text.redact import redact
from workbench.text.source_secrets import find_credentials, mask_source

ROLES = st.sampled_from(sorted(Role))
# Assembled, so that no scanner takes this file for a leak.
RANDOM = "q7Rv" + "2xKd9ZpW4mTb"
HEX = "4ae31ed2a0f0dd62" + "609e51cd95b1c3d0"
CLOUD = "AIza" + "SyD4Kq9Rw2Xv7Tn1Lp8Jm3Hb6Fc5Gd0Sa"
STAYS = [
    (Role.TEST, 'auth = DigestAuth(username="user", password="password123")'),
    (Role.TEST, "auth: {username: 'kim', password: 's00pers3cret'}"),
    (Role.TEST, 'Url("http://user:pass%5B%7F@example.com/")'),
    (Role.TEST, 'password = "CircleOfLife"'),
    (Role.TEST, 'headers = {"Authorization": "Basic dXNlcjpwYXNzd29yZDEyMw=="}'),
    (Role.TEST, 'headers["Authorization"] = "Basic dXNlcjpwYXNzw6k="'),
    (Role.TEST, "cookie: 'cookie1=value1; cookie2=value2',"),
    (Role.TEST, "token = 'abcdefg12345-._~+/='"),
    (Role.TEST, 'assert!(!tags.contains_key("4ddef08debfff48117586296e49d5caa0800d1b5"));'),
    (Role.TEST, 'socket.write("Sec-WebSocket-Key: q3JJHMbDL1EzLkh9GBhXDw==")'),
    (Role.SOURCE, 'API_KEY = "changeme"'),
    (Role.SOURCE, 'DB_PASSWORD = "xxx"'),
    (Role.SOURCE, 'posthog_project_api_key = "phc_99T7muzafUMMZX15H8XePbMSreEUzahHbtWjy3l5Qbv"'),
    (Role.SOURCE, 'stripe.key = "pk_' + 'live_51H8XePbMSreEUzahHbtWjy3l5Qbv"'),
    (Role.SOURCE, f'dsn: "https://{HEX}@o1.ingest.sentry.io/42"'),
    (Role.SOURCE, f'const app = {{ apiKey: "{CLOUD}",\n  authDomain: "shop.firebaseapp.com" }}'),
    (Role.SOURCE, f"docsearch({{ apiKey: '{HEX}', indexName: 'docs' }})"),
    (Role.SOURCE, "request.withCredentials = !!_config.withCredentials;"),
    (Role.SOURCE, "} else if (key === 'dangerouslySetInnerHTML') {"),
    (Role.SOURCE, "Password: b64Pwd,"),
    (Role.DOCS, "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE"),
    (Role.DOCS, "aider --api-key openai=your-key-goes-here"),
    (Role.DOCS, "const apiKey = 'sk_live_" + "1234567890abcdef'"),
    (Role.CONFIG, "POSTGRES_PASSWORD: postgres"),
    (Role.DATA, '"CredentialsPassword": "パスワード"'),
    (
        Role.TEST,
        "const pem = `-----BEGIN PRIVATE KEY-----\\n${encodeBase64(exported)}\\n-----END PRIVATE KEY-----`",
    ),
]
MASKED = [
    (Role.TEST, f'password = "{RANDOM}"', RANDOM),
    (Role.TEST, f"token: '{HEX}'", HEX),
    (Role.SOURCE, f'API_KEY = "{HEX}"', HEX),
    (Role.SOURCE, f'client = Client(key="{CLOUD}")', CLOUD),
    (Role.SOURCE, f'password="{RANDOM[:9]}"', RANDOM[:9]),
    (Role.SOURCE, 'connect(password="winter-coat-88")', "winter-coat-88"),
    (Role.SOURCE, 'postgres://app:Winter88coat@db.acme.io/shop', "Winter88coat"),
    (Role.TEST, f"postgres://app:{RANDOM}@localhost/shop", RANDOM),
    (Role.CONFIG, "DB_PASSWORD=Winter88coat", "Winter88coat"),
    (Role.SOURCE, 'SECRET_KEY = "l!t+dmzf97rt9s*yrsux1py_1@odvz1szr&6&m!f@-nxq6k%%p"', "dmzf97rt9s"),
    (Role.SOURCE, f'dsn: "https://{HEX}:{HEX[::-1]}@o1.ingest.sentry.io/42"', HEX[::-1]),
    (Role.SOURCE, f'x = {{"password": "password123", "password": "{RANDOM}"}}', RANDOM),
    (Role.TEST, f"auth('user:password123', password='test', token='{RANDOM}')", RANDOM),
]  # fmt: skip


@pytest.mark.parametrize(("role", "text"), STAYS)
def test_what_is_no_credential_stays(role: Role, text: str) -> None:
    """Placeholders, values of tests and manuals, keys that every visitor of a page sees, and code."""
    data = text.encode()

    assert mask_source(data, role).data == data
    assert mask_source(data, role).masked == ()


@pytest.mark.parametrize(("role", "text", "secret"), MASKED)
def test_credentials_are_masked_whatever_is_beside_them(role: Role, text: str, secret: str) -> None:
    """What a generator made goes everywhere, what a person thought up outside of tests and documents."""
    source = mask_source(text.encode(), role)

    assert secret not in source.data.decode()
    assert [line for line, _ in source.masked] == [1]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize(("kind", "secret"), [*PREFIXED, ("private-key", KEY)])
def test_formats_of_issuers_and_private_keys_are_masked_in_every_file(
    role: Role, kind: str, secret: str
) -> None:
    """Real ones are found in tests and documents, too; the line of each is noted."""
    if kind in ("aws-access-key", "slack-token"):
        secret = {
            "aws-access-key": "AKIA" + "Q4RT7ZKPW2MXN5VB",
            "slack-token": "xoxb-" + "2398475486-x8Kq2m",
        }[kind]
    source = mask_source(f"a = 1\nb = '{secret}'\nc = 3\n".encode(), role)

    assert source.masked == ((2, kind),)
    assert source.data.count(b"\n") == 3 + secret.count("\n")
    assert secret.encode() not in source.data


@searches
def test_what_generators_make_is_masked_in_tests_too() -> None:
    """Of leaks in all formats and places nearly as many as prose loses; logins of pages stay."""
    published = {"sentry-dsn"}
    found = sample([leak for leak in LEAKS if leak.format not in published], 700)
    lost = [leak for leak in found if not any(part in redact(leak.text).text for part in leak.parts)]
    masked = [mask_source(leak.text.encode(), Role.TEST).data.decode() for leak in lost]

    kept = [leak for leak, text in zip(lost, masked, strict=True) if any(part in text for part in leak.parts)]

    assert len(lost) > 0.85 * len(found)
    assert len(kept) <= 0.01 * len(lost), [leak.text for leak in kept[:20]]


@given(ANY, ROLES)
def test_lines_keep_their_numbers_and_nothing_else_changes(text: str, role: Role) -> None:
    """Whatever a file holds: what is masked was a secret for prose, too, and the rest is byte for byte there."""
    data = text.encode("utf-8", "surrogatepass")
    source = mask_source(data, role)
    spans = find_credentials(data, role)

    assert source.data.count(b"\n") == data.count(b"\n")
    assert len(source.masked) == len(spans)
    rest, at = [], 0
    for span in spans:
        assert span.start >= at
        rest.append(data[at : span.start])
        at = span.end
    rest.append(data[at:])
    assert all(piece in source.data for piece in rest)
