"""Whether a value in the place of a secret is one: not a placeholder, a reference, a word.

Demands, weakest first: given (something literal), mixed (letters and digits, or signs, no plain word),
numbered, random (what a generator makes, not what a person names things).
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

_PLACEHOLDER = re.compile(
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
_REFERENCE = re.compile(
    r".*\$[{(]|.*\{\{|.*\(\)|[A-Za-z]:\\|https?://[^@]*\Z|--?[A-Za-z]|\\|.*=>"
    r"|(?:env|var|file|op|vault|secret|ssm|ref|arn|data|aws):"
)
_PATH = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[;,)!?]*\Z"  # config.password
    r"|(?:~|\.{1,2})?/[\w.~+-]+(?:/|\Z)"
)
_NAME = re.compile(
    r"(?:[A-Za-z]+[-_.:/ ])*[A-Za-z]*(?:password|passwd|passphrase|secret|token|key|credential|auth)s?"
    r"(?:[-_.:/ ][A-Za-z]+)*\Z",
    re.IGNORECASE,
)
_METAVARIABLE = re.compile(r"[A-Z]+(?:_[A-Z]+)*\Z")
_ALPHABET = re.compile(r"[\w+/=.~:@%!#|$&*^-]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/=-]")
_PIECE = re.compile(r"[-_./:+=~,@ ]+")
_WORD = re.compile(
    r"v?\d{1,4}|[a-z]?\d{0,2}[a-z]+\d{0,4}|[A-Z]+\d{0,4}|(?:[A-Z]?[a-z]+|[A-Z]{1,4})(?:[A-Z][a-z]+)+\d{0,3}"
    r"|[A-Z]?[a-z]+\d{0,5}(?:[A-Z][a-z]+\d{0,5})*"
)
_VOWELS = re.compile("[aeiouyAEIOUY]")


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


def is_numbered(value: str) -> bool:
    """Whether a value has letters and digits, and is not put together of words."""
    return any(map(str.isdigit, value)) and is_given(value) and not _are_words(value)


def is_random(value: str) -> bool:
    """Whether a value looks generated: long, of letters and digits, spread evenly, no words."""
    if len(value) < 12 or not _ALPHABET.fullmatch(value) or not is_given(value) or _are_words(value):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    if not letters or not (digits or (len(value) >= 20 and _cased(value))):
        return False
    return _entropy(value) >= (2.8 if len(value) < 24 else 3.0)


def _is_noise(value: str) -> bool:
    return len(value) >= 13 and any(map(str.isdigit, value)) and _cased(value) and _entropy(value) > 3.2


def _cased(value: str) -> bool:
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
