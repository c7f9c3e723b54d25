"""Values beside a name that says secret: `DB_PASSWORD=…`, `"api_key": "…"`, `client_secret: …`.

Names of passwords make any literal value a secret; names of keys and tokens ask for a value that looks
generated, because programs are full of tokens and keys that are words.
"""

from __future__ import annotations

import re
from typing import Final

from workbench.text.secrets.values import is_given, is_mixed, is_random

_WORDS: Final = (
    r"passw(?:or)?d|passphrase|passcode|pwd|pass|secret|token|credential|authorization|auth|bearer|jwt|dsn|salt|pepper|"
    r"signature|session[-_]?id|cookie|webhook|mnemonic|key|connection[-_]?string|conn[-_]?str|sas|pat"
)
_QUOTE: Final = r"[bBrRuUfF@$]{0,2}\\{0,3}"

# RE2 over bytes; groups: name's end, separator, then the value in double, single, back quotes, or bare.
EXPRESSION: Final = (
    rf"((?:{_WORDS})[\w-]{{0,24}})"
    r"(\\{0,3}[\"'`]?\]?\)?(?:\s{0,12}:\s{0,2}[A-Za-z][\w\[\]<>.|? ]{0,30}\s=\s{0,4}|"
    r"\s{0,40}(?::=|=>|={1,3}|:|!=)\s{0,4}>?|"
    r"\\{0,3}[\"'`]\s{0,2},\s{0,2}|\()\s{0,2})"
    rf"(?:{_QUOTE}\"((?:[^\"\\\r\n]|\\[^\"\r\n])+)|{_QUOTE}'((?:[^'\\\r\n]|\\[^'\r\n])+)|{_QUOTE}`([^`\r\n]+)`|"
    r"([^\s\"'`,;&|<>(){}\[\]\\]+))"
)

_SUFFIX = (
    r"(?:s|es|\d+|[-_]?(?:value|val|key|keys|token|secret|id|string|str|raw|base64|b64|hex|production|prod|dev|live|test|"
    r"staging|old|new|base|main|primary|secondary|default|admin|root|user|db|[a-z]?\d+))?"
)
_PASSWORD = re.compile(rf"(?:passw(?:or)?d|passphrase|passcode|pwd|mnemonic){_SUFFIX}\Z", re.IGNORECASE)
_SECRET = re.compile(
    r"(?:secret|private[-_]?key|signing[-_]?key|encryption[-_]?key|master[-_]?key|api[-_]?key|access[-_]?key|"
    rf"account[-_]?key|auth[-_]?key|credential|[-_.]pass|(?-i:[a-z]Pass)){_SUFFIX}\Z",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?:token|auth|bearer|jwt|dsn|salt|pepper|signature|session[-_]?id|cookie|webhook(?:[-_]?url)?|authorization|"
    rf"connection[-_]?string|conn[-_]?str|sas|(?:^|[-_.])pat|(?-i:[a-z]Pat)|[-_.]key|(?-i:[a-z]Key)|^key){_SUFFIX}\Z",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"public|primary[-_]?key|foreign|partition|sort[-_]?key|cache|idempoten|page|continuation|cursor|(?:^|[-_.])(?:num|max|"
    r"min|total|count|input|output|prompt|completion|stop|eos|bos|pad|unk|sep|cls|mask|special)[-_]|publishable|"
    r"bypass|compass|by[-_]?pass|key[-_]?(?:id|name|path|file|code|type)\Z|hot[-_]?key|short[-_]?cut|oauth\Z|author\Z|i18n|"
    r"translat|object[-_]?key|map[-_]?key|row[-_]?key|hash[-_]?key|range[-_]?key|data[-_]?key\Z|monkey|keyword|"
    r"checksum|integrity|digest|commit",
    re.IGNORECASE,
)
_CALLS: Final = ("(", ",")
_LOOSE = re.compile(r"[\"'`\s]")


def kind_of(name: str, separator: str, value: str, *, quoted: bool, after: str) -> str | None:
    """Return the kind of secret that a named value is, or None.

    `name` is the whole name, `after` the character behind the value: calls and subscripts are no values.
    """
    if _HARMLESS.search(name):
        return None
    strict = _LOOSE.sub("", separator).strip("\\])") in _CALLS
    if _PASSWORD.search(name):
        return "password" if _is_password(name, separator, value, quoted, strict, after) else None
    if _SECRET.search(name):
        return "secret" if _is_secret(name, separator, value, quoted, strict, after) else None
    if _KEY.search(name) and " " not in value and after not in ("(", "[") and is_random(value):
        return "token" if quoted or not _is_identifier(value) else None
    return None


def _is_password(name: str, separator: str, value: str, quoted: bool, strict: bool, after: str) -> bool:
    if " " in value.strip():
        return (quoted and "phrase" in name.lower()) or "mnemonic" in name.lower()
    if strict:
        return quoted and len(value) >= 8 and is_mixed(value)
    if quoted:
        return len(value) >= 4 and is_given(value) and not _is_label(value)
    return _is_bare(name, separator, value, after)


def _is_secret(name: str, separator: str, value: str, quoted: bool, strict: bool, after: str) -> bool:
    if " " in value.strip():
        return False
    if strict:
        return quoted and is_random(value)
    if quoted:
        return len(value) >= 8 and (is_mixed(value) or (is_given(value) and _is_alphanumeric(value)))
    return len(value) >= 8 and _is_bare(name, separator, value, after) and is_mixed(value)


def _is_bare(name: str, separator: str, value: str, after: str) -> bool:
    """Whether a value without quotes is literal: of a shell or a settings file, not an expression."""
    if (
        after in ("(", "[", "{")
        or len(value) < 4
        or "!" in separator
        or "==" in separator
        or not is_given(value)
    ):
        return False
    if name.isupper() and (" " not in separator or ":" in separator):
        return True
    if value.isidentifier():
        return _is_alphanumeric(value) and not _is_identifier(value)
    return is_mixed(value)


def _is_alphanumeric(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_identifier(value: str) -> bool:
    """Whether a value reads as a variable: parts joined by underscores, one of them a word."""
    parts = value.split("_")
    return len(parts) > 1 and value.isidentifier() and any(len(part) > 2 and part.isalpha() for part in parts)


def _is_label(value: str) -> bool:
    """Whether a text is one that programs show or compare: `current-password`, `auth.password.label`."""
    return re.fullmatch(r"[a-z]+(?:[-_.:][a-z]+)+", value) is not None
