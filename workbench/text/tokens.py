"""Counting tokens, so that a budget means what a model will be charged.

The tables of o200k and cl100k come with rs-bpe (or bpe-openai, where rs-bpe has no wheel); without either a
conservative estimate is used, under its own name, and a pack simply ends a little earlier. Counts are exact
for a whole text. A sum over pieces is close to, but not a bound of, the count of their concatenation: whoever
adds counts up must count the final text once more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from workbench.records.dataclass import dataclass

DEFAULT_TOKENIZER = "o200k_base"
BOUND_TOKENIZER = "utf8-bound"
_SHORT = 4096  # characters up to which counts are remembered: headings and outlines recur
_REMEMBERED = 4096
_LONGEST_WORD = 16
TOKENIZERS = (DEFAULT_TOKENIZER, "cl100k_base", BOUND_TOKENIZER)

_SURROGATE = re.compile("[\ud800-\udfff]")
# Hashes and base64, then what the real tables split at: letters by case, digits by three, blanks, punctuation
# (with the blank before it), bytes outside ASCII, control characters.
_PIECE = re.compile(
    r"(?P<hash>(?=[A-Za-z+/]{0,256}[0-9])[A-Za-z0-9+/]{12,})|(?P<letters> ?(?:[A-Z]?[a-z]+|[A-Z]+))"
    r"|(?P<digits>[0-9]{1,3})|(?P<sign> ?[!-/:-@\[-`{-~])|(?P<blank>[ \t]+|[\r\n]+)|(?P<wide>[^\x00-\x7f]+)"
    r"|(?P<control>[\x00-\x1f\x7f])"
)


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens by the tokenizer called `name`, the one a budget report names."""

    name: str
    _count: Callable[[str], int]
    _count_short: Callable[[str], int]

    def count(self, text: str) -> int:
        """Return the number of tokens of a text; lone surrogates count as the replacement character."""
        if not text:
            return 0
        count = self._count_short if len(text) <= _SHORT else self._count
        try:
            return count(text)
        except UnicodeEncodeError:
            return count(_SURROGATE.sub("\ufffd", text))


def table_counter(name: str, cache: Path) -> TokenCounter:
    """Return a counter that loads the tokenizer only where its table in the user's cache does not do.

    The counts are the same. Raises: ValueError if no tokenizer has that name.
    """
    from workbench.text.token_table import TABLED, TableCount, open_table, table_path

    rows = open_table(table_path(cache)) if name == TABLED and find_spec("rs_bpe") else None
    if rows is None:
        return token_counter(name)
    count = TableCount(rows, lambda: token_counter(name).count)
    return TokenCounter(name, count, lru_cache(maxsize=_REMEMBERED)(count))


def write_token_table(cache: Path) -> None:
    """Write the table for `table_counter`, unless it is there whole or no tokenizer is. Raises: OSError."""
    from workbench.text.token_table import TOKENS, open_table, table_path, write_table

    path = table_path(cache)
    if open_table(path) is not None:
        return
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return
    pairs = openai.o200k_base().bpe()
    write_table(path, (pairs.decode_tokens([rank]) for rank in range(TOKENS)))


def utf8_bound(text: str) -> int:
    """Estimate tokens from above without any table.

    A word costs one token and one more for every three letters after the first, three digits one, punctuation
    one each, blanks one a run. Text outside ASCII and long runs that mix letters and digits like a hash cost
    one for every byte, the strict bound of any byte-level BPE; letters in runs longer than words three for
    four. On source code and documentation this is 1.5 to 2 times the o200k count for most files and below it
    for none of 800 measured; single short lines can fall below.
    """
    total = 0
    for match in _PIECE.finditer(text):
        length = match.end() - match.start()
        kind = match.lastgroup
        if kind == "letters":
            total += 1 + (length - 1) // 3 if length <= _LONGEST_WORD else length * 3 // 4
        elif kind == "hash":
            total += length
        elif kind == "blank":
            total += 1 + length // 8
        elif kind == "wide":
            total += len(match.group().encode("utf-8", "surrogatepass"))
        else:
            total += 2 if kind == "control" else 1
    return total


def token_counter(name: str = DEFAULT_TOKENIZER) -> TokenCounter:
    """Return the counter of that name, or the conservative estimate if its tables are not installed.

    Loading the tables takes about a tenth of a second, once for a process.

    Raises: ValueError if no tokenizer has that name.
    """
    if name not in TOKENIZERS:
        known = ", ".join(TOKENIZERS)
        raise ValueError(f"unknown tokenizer {name!r}; known are {known}")
    return _load(name)


@lru_cache(maxsize=len(TOKENIZERS))
def _load(name: str) -> TokenCounter:
    exact = None if name == BOUND_TOKENIZER else _from_rs_bpe(name) or _from_bpe_openai(name)
    count = exact or utf8_bound
    remembered = lru_cache(maxsize=_REMEMBERED)(count)
    return TokenCounter(name if exact else BOUND_TOKENIZER, count, remembered)


def _from_rs_bpe(name: str) -> Callable[[str], int] | None:
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return None
    tokenizer = openai.o200k_base() if name == DEFAULT_TOKENIZER else openai.cl100k_base()
    count: Callable[[str], int] = tokenizer.count
    return count


def _from_bpe_openai(name: str) -> Callable[[str], int] | None:
    try:
        module = import_module("bpe_openai")
    except ImportError:
        return None
    encode = module.get_encoding(name).encode_ordinary
    return lambda text: len(encode(text))


def estimated_tokens(size: int) -> int:
    """Return about how many tokens a file of so many bytes has; a plan counts those of what it reads."""
    return size // 4
