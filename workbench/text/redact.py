"""Takes secrets out of text before it is shown or kept: keys, tokens, passwords by their well-known shapes.

It finds what announces itself, by prefix or by name. A password that looks like a word is not found.
"""

from __future__ import annotations

import re

MARK = "[redacted]"

_WHOLE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[opsur]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b|\bglpat-[\w-]{16,}"
    r"|\bsk-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{16,}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAIza[\w-]{30,}|\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    re.DOTALL,
)
_NAMED = re.compile(
    r"((?:\b|_)(?:pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|api[_-]?keys?|access[_-]?keys?|private[_-]?keys?|"
    r"auth[_-]?keys?|credentials?)[\"']?\s*(?:=|:|\s--?\s)\s*[\"']?)([^\s\"'&;|$<>()]{4,})",
    re.IGNORECASE,
)
_AUTHORIZED = re.compile(r"((?:bearer|basic|authorization:)\s+)([A-Za-z0-9+/=._~-]{8,})", re.IGNORECASE)
_LOGIN = re.compile(r"(://[^\s:/@]{0,64}:)([^\s/@]{1,200})(?=@)")


def redact(text: str) -> str:
    """Return the text with each secret replaced by MARK; the name that announces it stays."""
    text = _WHOLE.sub(MARK, text)
    for pattern in (_LOGIN, _AUTHORIZED, _NAMED):
        text = pattern.sub(lambda found: found[1] + MARK, text)
    return text
