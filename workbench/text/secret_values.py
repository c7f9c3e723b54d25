"""Whether a value in the place of a secret is one: not a placeholder, a reference, a word.

Demands, weakest first: literal (in places where nothing but a secret goes), given (no name of a setting
either), mixed (letters and digits, or signs, no plain word), numbered, random (what a generator makes, not
what a person names things).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import log2
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.text.expressions import LazyPattern, read_rows

Check = Callable[[str], bool]

_PLACEHOLDER = LazyPattern(
    r"[$%{<@!][({<]?[\w.-]|[<{\[(].*[>}\])]\Z|\$|%[sdv]|[xX*.•_#?0-]+\Z|\.\.\."
    r"|(?:your|my|some|the|a|an|insert|enter|replace|change|put|add)[-_ ]?(?:\w|-)*"
    r"(?:key|token|secret|pass|pw|here|me\b|it\b|value)"
    r"|(?:none|null|nil|undefined|true|false|yes|no|on|off|empty|optional|required|string|str|text|bytes|int|number|"
    r"integer|bool|boolean|any|object|unknown|void|default|auto|env|hidden|masked|redacted|example|placeholder|todo|"
    r"tbd|n/?a|final|self|this|cls|type|await|new|async|lambda|function|process|import|return|static|const|let|var|"
    r"optional\[.*|readonly|secretstr|field|column|varchar|char)\b[;,?|)\]]?\Z"
    r"|.{0,40}(?:\[redacted|\[secret:|redacted\]|x{6}|\*{4}|123456789abcdef|example[-_.]?(?:key|token|secret)?\Z)",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCE = LazyPattern(
    r".*\$[{(]|.*\{\{|.*\(\)|[A-Za-z]:\\|https?://[^@]*\Z|--?[A-Za-z]|\\|.*=>"
    r"|(?:env|var|file|op|vault|secret|ssm|ref|arn|data|aws):"
)
_PATH = LazyPattern(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[;,)!?]*\Z"  # config.password
    r"|(?:~|\.{1,2})?/[\w.~+-]+(?:/|\Z)"
)
_NAME = LazyPattern(
    r"(?=[A-Za-z]+(?:[-_.:/ ][A-Za-z]+)*\Z)"
    r".*?(?:password|passwd|passphrase|secret|token|key|credential|auth)s?(?![A-Za-z])",
    re.IGNORECASE,
)
_METAVARIABLE = LazyPattern(r"[A-Z]+(?:_[A-Z]+)*\Z")
_ALPHABET = LazyPattern(r"[\w+/=.~:@%!#|$&*^-]+")
_BASE64 = LazyPattern(r"[A-Za-z0-9+/=-]")
_PIECE = LazyPattern(r"[-_./:+=~,@ ]+")
_WORD = LazyPattern(
    r"v?\d{1,4}|[a-z]?\d{0,2}[a-z]+\d{0,4}|[A-Z]+\d{0,4}|(?:[A-Z]?[a-z]+|[A-Z]{1,4})(?:[A-Z][a-z]+)+\d{0,3}"
    r"|[A-Z]?[a-z]+\d{0,5}(?:[A-Z][a-z]+\d{0,5})*"
)
_VOWELS = LazyPattern("[aeiouyAEIOUY]")
_HUMP = LazyPattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LOWER, _UPPER, _DIGIT = LazyPattern("[a-z]"), LazyPattern("[A-Z]"), LazyPattern(r"\d")
_SIGN = LazyPattern(r"[^\w\s]")
_UNREADABLE = LazyPattern(r"(?i)[bcdfghjklmnpqrstvwxz]{4}|q(?!u)|[jvx][bcdfghjklmnpqrstvwxz]|[aeiou]{4}")
_LONGEST_SPELT: Final = 16
SPELT: Final = str.maketrans("013457@$!|", "oieastasil")  # as people spell letters with digits

_WORDS: Final = (
    r"passw(?:or)?d|passphrase|passcode|pwd|pass|secret|token|credential|authorization|auth|bearer|jwt|dsn|salt|pepper|"
    r"signature|session[-_]?id|cookie|webhook|mnemonic|key|connection[-_]?string|conn[-_]?str|sas|pat"
)
_QUOTE: Final = r"[bBrRuUfF@$]{0,2}\\{0,3}"

# RE2 over bytes; groups: name's end, separator, then the value in double, single, back quotes, or bare.
EXPRESSION: Final = (
    rf"((?:{_WORDS})[\w-]{{0,24}})"
    r"(\\{0,3}[\"'`]?\]?\)?(?:\s{0,12}:\s{0,2}[A-Za-z][\w\[\]<>.|? ]{0,30}\s=\s{0,4}|"
    r"\s{0,40}(?::=|=>|={1,3}|:|!=)(?:\s{0,4}|[ \t]{5,24})>?|"
    r"\\{0,3}[\"'`]\s{0,2},\s{0,2}|\()\s{0,2})"
    rf"(?:{_QUOTE}\"((?:[^\"\\\r\n]|\\[^\"\r\n])+)|{_QUOTE}'((?:[^'\\\r\n]|\\[^'\r\n])+)|{_QUOTE}`([^`\r\n]+)`|"
    r"([^\s\"'`,;&|<>(){}\[\]\\]+))"
)

_SUFFIX = (
    r"(?:s|es|\d+|[-_]?(?:value|val|key|keys|token|secret|id|string|str|raw|base64|b64|hex|production|prod|dev|live|test|"
    r"staging|old|new|base|main|primary|secondary|default|admin|root|user|db|[a-z]?\d+))?"
)
_PASSWORD = LazyPattern(rf"(?:passw(?:or)?d|passphrase|passcode|pwd|mnemonic){_SUFFIX}\Z", re.IGNORECASE)
_SECRET = LazyPattern(
    r"(?:secret|private[-_]?key|signing[-_]?key|encryption[-_]?key|master[-_]?key|api[-_]?key|access[-_]?key|"
    rf"account[-_]?key|auth[-_]?key|credential|[-_.]pass|(?-i:[a-z]Pass)){_SUFFIX}\Z",
    re.IGNORECASE,
)
_KEY = LazyPattern(
    r"(?:token|auth|bearer|jwt|dsn|salt|pepper|signature|session[-_]?id|cookie|webhook(?:[-_]?url)?|authorization|"
    rf"connection[-_]?string|conn[-_]?str|sas|(?:^|[-_.])pat|(?-i:[a-z]Pat)|[-_.]key|(?-i:[a-z]Key)|^key){_SUFFIX}\Z",
    re.IGNORECASE,
)
_UPPER_PASS = LazyPattern(r"(?:\A|_)PASS\Z")
_HARMLESS = LazyPattern(
    r"public|primary[-_]?key|foreign|partition|sort[-_]?key|cache|idempoten|page|continuation|cursor|(?:^|[-_.])(?:num|max|"
    r"min|total|count|input|output|prompt|completion|stop|eos|bos|pad|unk|sep|cls|mask|special)[-_]|publishable|"
    r"bypass|compass|by[-_]?pass|key[-_]?(?:id|name|path|file|code|type)\Z|hot[-_]?key|short[-_]?cut|oauth\Z|author\Z|i18n|"
    r"translat|object[-_]?key|map[-_]?key|row[-_]?key|hash[-_]?key|range[-_]?key|data[-_]?key\Z|monkey|keyword|"
    r"checksum|integrity|digest|commit",
    re.IGNORECASE,
)
_VERSION = LazyPattern(r"[\^~<>=v ]*\d+(?:\.(?:\d+|[x*])){1,3}(?:[-+][\w.+-]+)?")
_JUDGEMENTS: Final = frozenset(
    "blank correct empty expired incorrect invalid missing needed optional required valid weak wrong".split()
)
_CALLS: Final = ("(", ",")
_LOOSE = LazyPattern(r"[\"'`\s]")


def is_given(value: str) -> bool:
    """Whether a value is literal: no placeholder, reference, option or name of a setting."""
    if len(value) < 3 or _PLACEHOLDER.match(value) or _REFERENCE.match(value):
        return False
    if _PATH.match(value) and not _is_noise(value):
        return False
    return not _NAME.match(value) and not _METAVARIABLE.match(value)


def is_mixed(value: str) -> bool:
    """Whether a value is literal and no plain word or number: two of letters, digits and signs."""
    if not is_given(value) or _are_words(value):
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    return letters and (digits or _entropy(value) >= 3.2 or not value.isalnum())


def is_literal(value: str) -> bool:
    """Whether a value in a place where nothing but a secret goes is written out, a word as well."""
    return (
        len(value) >= 3
        and not set(value) & set("{}()$")
        and not _PLACEHOLDER.match(value)
        and not _REFERENCE.match(value)
    )


def is_told(value: str) -> bool:
    """Whether prose gives a password: `the password is "…"`, and not what is wrong with one."""
    return is_literal(value) and value.strip(".,;:!?").lower() not in _JUDGEMENTS


def is_salted(value: str) -> bool:
    """Whether what looks like a hash with its salt has letters and digits in it, as replacements have not."""
    return _is_alphanumeric(value.rsplit("$", 1)[-1])


def is_numbered(value: str) -> bool:
    """Whether a value has letters and digits, and is not put together of words."""
    return any(map(str.isdigit, value)) and is_given(value) and not _are_words(value)


def is_random(value: str) -> bool:
    """Whether a value looks generated: long, of letters and digits, spread evenly, no words."""
    if len(value) < 12 or not _ALPHABET.fullmatch(value) or not is_given(value) or _are_words(value):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if not letters or not (digits or (len(value) >= 20 and _has_both_cases(value))):
        return False
    return _entropy(value) >= (2.8 if len(value) < 24 else 3.0)


def is_generated(value: str) -> bool:
    """Whether a generator made a value: random, or short and of three kinds of characters, and no words.

    What people spell with digits for letters is words: `s00pers3cret`, `Tr0ub4dor&3`.
    """
    if _read_as_words(value) or (len(value) <= _LONGEST_SPELT and _read_as_words(value.translate(SPELT))):
        return False
    if len(value) >= 12 and is_random(value):
        return True
    kinds = sum(one.search(value) is not None for one in (_LOWER, _UPPER, _DIGIT, _SIGN))
    return len(value) >= 8 and kinds >= 3


def _read_as_words(value: str) -> bool:
    """Whether the letters of a value are words, one after the other, with a few digits between."""
    humps = _HUMP.findall(value)
    letters = sum(map(len, humps))
    digits = sum(map(str.isdigit, value))
    readable = sum(len(hump) for hump in humps if len(hump) >= 3 and _is_readable(hump))
    long = letters >= 3 and letters >= 3.5 * len(humps)
    return long and digits <= max(4, letters // 2) and readable >= 0.75 * letters


def _is_readable(letters: str) -> bool:
    return letters.isupper() or (_VOWELS.search(letters) is not None and _UNREADABLE.search(letters) is None)


def _is_noise(value: str) -> bool:
    return (
        len(value) >= 13 and any(map(str.isdigit, value)) and _has_both_cases(value) and _entropy(value) > 3.2
    )


def _has_both_cases(value: str) -> bool:
    return value.lower() != value and value.upper() != value


def _are_words(value: str) -> bool:
    """Whether every part of a value is a word a person writes; a long one without vowels is not."""
    pieces = [piece for piece in _PIECE.split(value) if piece]
    return all(
        _WORD.fullmatch(piece) and (len(piece) < 5 or _VOWELS.search(piece)) for piece in pieces
    ) and not (len(pieces) == 1 and len(value) >= 16 and _entropy(value) > 3.9)


def _entropy(value: str) -> float:
    """Return Shannon's entropy in bits a character."""
    total = len(value)
    return -sum(count / total * log2(count / total) for count in Counter(value).values())


def is_key_block(value: str) -> bool:
    """Whether what is between two marks of a key is one: short, and nearly all of it Base64."""
    return len(value) <= 40_000 and len(_BASE64.findall(value)) >= 0.7 * len(value)


def kind_of(name: str, separator: str, value: str, *, quoted: bool, after: str) -> str | None:
    """Return the kind of secret that a named value is, or None.

    `name` is the whole name, `after` the character behind the value: calls and subscripts are not values.
    A version is no secret: packages have "password" in their names.
    """
    if _HARMLESS.search(name) or _VERSION.fullmatch(value):
        return None
    strict = _LOOSE.sub("", separator).strip("\\])") in _CALLS
    if _PASSWORD.search(name) or (_UPPER_PASS.search(name) and (":" not in separator or "_" in name)):
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


@dataclass(frozen=True, slots=True)
class SecretShape:
    """How secrets of a kind look. Where the expression is too loose, `holds` judges what it found."""

    kind: str
    expression: str
    holds: Check | None = None


@cache
def secret_shapes(table: str) -> tuple[SecretShape, ...]:
    """Return the shapes of a table of `secrets.toml`: tokens, places or commands."""
    rows = read_rows(__package__, "secrets.toml", table)
    return tuple(
        SecretShape(kind, source, *(_CHECKS[name] for name in check)) for kind, source, *check in rows
    )


_CHECKS: Final = {
    check.__name__: check
    for check in (is_given, is_key_block, is_literal, is_mixed, is_numbered, is_random, is_salted, is_told)
}
