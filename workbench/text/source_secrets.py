"""Which secrets of source text are credentials: whoever edits code needs it as it is, tests and all.

Prose that is kept loses whatever looks like a secret (`redact`). In source text placeholders, passwords of
tests, examples of manuals and keys that are published with a page stay. Formats of issuers, private keys,
what a generator made, and outside of tests and documents passwords that a person thought up are masked.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from workbench.records.dataclass import dataclass
from workbench.records.project import Role
from workbench.text.expressions import read_expressions, read_words
from workbench.text.redact import SecretSpan, find_spans, join_spans, replace_spans
from workbench.text.secret_values import SPELT, is_generated, is_given, is_mixed

_ROUNDS: Final = 16  # what hides behind a secret is found in the next round
_BEFORE: Final = 120  # bytes of a line in front of a value that may name it
_NEAR: Final = 500  # bytes around a key in which its settings are
_BY_PLACE: Final = frozenset(
    "password secret token url-login url-parameter authorization cookie command-line netrc curl-login "
    "curl-header password-hash".split()
)
"""Kinds that are found by what is around them: the value has to look like a credential itself."""

_THOUGHT_UP: Final = frozenset("password url-login url-parameter command-line netrc curl-login".split())
"""Kinds of which people think up values themselves; keys and tokens come from generators."""

_PEOPLE: Final = frozenset({Role.SOURCE, Role.CONFIG, Role.BUILD, Role.CI, Role.OTHER})
_BARE: Final = frozenset({Role.CONFIG, Role.BUILD, Role.CI, Role.OTHER})
_STARRED: Final = re.compile(rb"[^\n]")  # a placeholder for every check, and no line is lost
_KEY_TEXT: Final = re.compile(rb"[A-Za-z0-9+/=]{40}")
_LOGIN: Final = re.compile(rb"[\w.@-]+:[^\0-\x1f]*")
_WHOLE_DSN: Final = re.compile(r"[0-9a-f]{32}:[0-9a-f]{32}@|^[0-9a-f]{32}:[0-9a-f]{32}$")
_LETTERS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PHRASE: Final = re.compile(r"[a-z]+(?: [a-z]+){11,}")
_HASH: Final = re.compile(r"\$[\w=,.$/+-]{20,}")


@dataclass(frozen=True, slots=True)
class MaskedSource:
    """A file's bytes without credentials, line for line, and (line, kind) of each, in order; lines from 1."""

    data: bytes
    masked: tuple[tuple[int, str], ...] = ()


def mask_source(data: bytes, role: Role) -> MaskedSource:
    """Return source text in UTF-8, or nearly that, without its credentials, and which there were."""
    credentials = find_credentials(data, role)
    if not credentials:
        return MaskedSource(data)
    masked = []
    line, at = 1, 0
    for span in credentials:
        line += data.count(b"\n", at, span.start)
        at = span.start
        masked.append((line, span.kind))
    return MaskedSource(replace_spans(data, credentials), tuple(masked))


def find_credentials(data: bytes, role: Role) -> tuple[SecretSpan, ...]:
    """Return the credentials in a file of a role, in order, none touching another."""
    hidden = bytearray(data)
    found: list[SecretSpan] = []
    for _ in range(_ROUNDS):
        spans = [
            span for span in find_spans(bytes(hidden)) if set(hidden[span.start : span.end]) - set(b"*\n")
        ]
        if not spans:
            break
        for span in spans:
            if _is_credential(data, span, role):
                found.append(span)
            hidden[span.start : span.end] = _STARRED.sub(b"*", data[span.start : span.end])
    return tuple(join_spans(found, []))


def _is_credential(data: bytes, span: SecretSpan, role: Role) -> bool:
    expressions = read_expressions(__package__, "source_secrets.toml")
    value = data[span.start : span.end].decode("utf-8", "replace")
    if span.kind == "url-login":
        value = value.partition("@")[0]  # with what a second one in the URL adds
    before = _text_before(data, span.start)
    near = data[max(0, span.start - _NEAR) : span.end + _NEAR].decode("utf-8", "replace")
    if span.kind == "private-key":
        return _KEY_TEXT.search(data, span.start, span.end) is not None
    if expressions["example"].search(value) or _is_sequence(value) or expressions["client_key"].match(value):
        return False
    if expressions["published"].search(before):
        return False
    if span.kind == "google-key":
        return not expressions["firebase"].search(near)
    if span.kind == "sentry-dsn":
        return _WHOLE_DSN.search(value) is not None  # without its secret half it is written into pages
    if span.kind not in _BY_PLACE:
        return True
    if span.kind in ("secret", "token") and expressions["search_box"].search(near):
        return False
    people = role in _PEOPLE and span.kind in _THOUGHT_UP
    if span.kind == "url-login":
        after = data[span.end : span.end + 80].decode("utf-8", "replace")
        people = people and not expressions["no_host"].match(after)
    elif role not in _BARE:
        people = people and before[-1:] in ("'", '"', "`")  # without quotes it is an expression
    return any(_is_credential_value(part, people=people) for part in _parts(span.kind, value))


def _text_before(data: bytes, at: int) -> str:
    start = max(data.rfind(b"\n", 0, at) + 1, at - _BEFORE)
    return data[start:at].decode("utf-8", "replace")


def _parts(kind: str, value: str) -> Sequence[str]:
    """Return what of a value may be a credential: values of cookies, the password in an encoded login."""
    if kind == "cookie":
        return [part.partition("=")[2].strip() for part in value.split(";")]
    if kind == "command-line":
        return [value.rpartition("=")[2]]
    if kind in ("authorization", "secret") and len(value) % 4 == 0:
        try:
            login = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return [value]
        text = login.decode("utf-8", "ignore")
        if _LOGIN.fullmatch(login) or (
            len(text.encode()) == len(login) and ":" in text and text.isprintable()
        ):
            return [login.partition(b":")[2].decode("utf-8", "replace")]
    return [value]


def _is_credential_value(value: str, *, people: bool) -> bool:
    """Whether a value looks like a credential; with `people` also one that a person may have thought up."""
    if _PHRASE.fullmatch(value) or _HASH.fullmatch(value):
        return True
    plain = unquote(value).strip("\"'.,;:")
    code = read_expressions(__package__, "source_secrets.toml")["code"]
    if not plain.isascii() or code.search(plain) or not is_given(plain) or _is_sequence(plain):
        return False
    if is_generated(plain):
        return True
    numbered = any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    return people and len(plain) >= 6 and (numbered or is_mixed(plain)) and not _is_test_word(plain)


def _is_test_word(value: str) -> bool:
    """Whether a password is put together of the words that tests use, as `S3cret!` and `test_user1`."""
    words = read_words(__package__, "source_secrets.toml")["test"]
    spelt = [value, value.translate(SPELT), value.lower().translate(SPELT)]
    return any(
        bool(parts) and all(part.lower() in words for part in parts) for parts in map(_LETTERS.findall, spelt)
    )


def _is_sequence(value: str) -> bool:
    """Whether most of a value is counted up, down or repeated: `sk_live_1234567890abcdef`, `aaaa…`."""
    body = re.split(r"[-_.]", value)[-1] if "_" in value[:12] or "-" in value[:12] else value
    body = body if len(body) >= 8 else value
    counted = run = 1
    steps = 0
    for one, two in pairwise(body):
        step = ord(two) - ord(one)
        run = run + 1 if step in (0, 1, -1) and (run == 1 or step == steps) else 1
        steps = step
        counted += 1 if run > 1 else 0
    return len(body) >= 8 and counted >= 0.6 * len(body)
