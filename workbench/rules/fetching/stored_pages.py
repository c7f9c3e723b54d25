"""Fetched pages of rules as caches hold them: their keys, and their bytes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from workbench.lists.tables import encode_cursor
from workbench.records.rules import Check, Provenance, Rule
from workbench.rules.fetching.queries import RulePage, RuleRequest, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable


NONE: Final = "none"
_EMPTY: Final = "%"  # the empty text; nothing that is escaped ends in a single %


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page and the key it was stored under."""

    key: str
    page: RulePage


def cache_key(request: RuleRequest) -> str:
    """Return the key of a request [rules, Caching]: `project:p|scope:a,b|category:none|…`.

    Different requests have different keys: what separates parts, and a text that reads like nothing given,
    is escaped inside of values.
    """
    asked = request.filter
    enabled = NONE if asked.enabled is None else str(asked.enabled).lower()
    cursor = NONE if request.after is None else encode_cursor(request.after, fingerprint(asked))
    return "|".join(
        (
            f"project:{NONE if asked.project_id is None else _escape(asked.project_id)}",
            f"scope:{_join(asked.scope)}",
            f"category:{asked.category or NONE}",
            f"authority:{asked.authority or NONE}",
            f"tools:{_join(asked.tool_targets)}",
            f"tags:{_join(asked.tags)}",
            f"enabled:{enabled}",
            f"limit:{request.limit}",
            f"cursor:{cursor}",
        )
    )


def shared_prefix(project_id: str) -> str:
    """Return what the names of a project's values in a shared cache begin with.

    It tells the form of rules, so that another version of the program never reads what it would misread. The
    braces keep a project's values on one node of a cluster.
    """
    return f"workbench:rules:{_form()}:{{{_escape(project_id)}}}"


def rules_held(page: RulePage) -> list[int]:
    """Return what tells the rules in memory that a page holds apart: pages of one rulebook share them."""
    return [id(rule) for rule in page.rules]


def encode_page(key: str, page: RulePage) -> bytes:
    """Return a page as bytes that tell which key they belong to."""
    import msgspec

    stored = StoredPage(key, page)
    try:
        return msgspec.json.encode(stored)
    except UnicodeEncodeError:
        # Names that are not UTF-8 are lone surrogates, which the standard library's JSON alone can write.
        return json.dumps(msgspec.to_builtins(stored)).encode("ascii")


def decode_page(key: str, data: bytes) -> RulePage | None:
    """Return the page of bytes, None if they are not what was stored under that key."""
    import msgspec

    from workbench.records.conversion import convert, decode_json

    try:
        if b"\\ud" in data or b"\\uD" in data:
            # Only the standard library reads lone surrogates back, and only they are worth its slowness.
            stored = convert(json.loads(data), StoredPage)
        else:
            stored = decode_json(data, StoredPage)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return stored.page if stored.key == key else None


def _join(values: Iterable[str]) -> str:
    return ",".join(map(_escape, values))


def _escape(text: str) -> str:
    if not text:
        return _EMPTY
    if text == NONE:
        return "%6Eone"
    return quote(text, safe="", errors="surrogatepass")


def _form() -> str:
    names = [item.name for kind in (Rule, Provenance, Check, RulePage) for item in fields(kind)]
    return hashlib.blake2b(" ".join(names).encode(), digest_size=4).hexdigest()
