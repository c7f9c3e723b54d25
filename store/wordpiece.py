"""The tokens of a short text for an uncased BERT, without the tokenizer library and its vocabulary in memory.

What Hugging Face's BertNormalizer, BertPreTokenizer and WordPiece do: a text is cleaned and its accents and
capitals go, words are split at spaces and punctuation, and the longest pieces of the vocabulary cover a word.
The vocabulary is a sorted table, in which a piece is found by halving.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Final

Table = tuple[bytes, bytes, bytes]
"""All pieces in order, where each begins and the last one ends, and their ids."""

MOST_CHARACTERS: Final = 1_000
_MAX_CHARACTERS: Final = 16_384
_LONGEST_WORD: Final = 100  # characters; a longer one is unknown
_UNKNOWN: Final = b"[UNK]"
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # whoever writes these means the tokens
_ASCII_SIGNS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def clean(text: str) -> str:
    """Return the part of a text that a model can see, with unpaired surrogates replaced."""
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def vocabulary_table(tokenizer: bytes) -> Table:
    """Return the table of a `tokenizer.json`. Raises: ValueError, KeyError, TypeError if it has none."""
    import json

    ids: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
    rows = sorted((piece.encode(), number) for piece, number in ids.items())
    starts = array("I", [0])
    for piece, _ in rows:
        starts.append(starts[-1] + len(piece))
    numbers = array("I", (number for _, number in rows))
    return b"".join(piece for piece, _ in rows), starts.tobytes(), numbers.tobytes()


def token_ids(table: Table, text: str) -> list[int] | None:
    """Return the ids of the tokens of a text between [CLS] and [SEP], None where that takes the library."""
    if len(text) > MOST_CHARACTERS or any(name in text for name in _SPECIAL) or not all(map(_is_old, text)):
        return None
    pieces, starts, ids = table[0], memoryview(table[1]).cast("I"), memoryview(table[2]).cast("I")
    rows = range(len(ids))

    def find(piece: bytes) -> int:
        row = bisect_left(rows, piece, key=lambda row: pieces[starts[row] : starts[row + 1]])
        return ids[row] if row < len(ids) and pieces[starts[row] : starts[row + 1]] == piece else -1

    spelled = "".join(map(_spell, text))
    result = [find(b"[CLS]")]
    for word in spelled.split(" "):
        if word:
            result += _cover(word, find) or [find(_UNKNOWN)]
    return [*result, find(b"[SEP]")]


def _cover(word: str, find: Callable[[bytes], int]) -> list[int]:
    """Return the ids of the longest pieces that make a word, none if there are no such."""
    if len(word) > _LONGEST_WORD:
        return []
    covered: list[int] = []
    begin = 0
    while begin < len(word):
        for end in range(len(word), begin, -1):
            piece = word[begin:end] if not begin else f"##{word[begin:end]}"
            if (number := find(piece.encode())) >= 0:
                break
        else:
            return []
        covered.append(number)
        begin = end
    return covered


@cache
def _is_old(character: str) -> bool:
    """Whether a character has been the same in all versions of Unicode that a library may know."""
    kind = unicodedata.category(character)
    return character.isascii() or (kind != "Cn" and kind == unicodedata.ucd_3_2_0.category(character))


@cache
def _spell(character: str) -> str:
    """Return what is left of a character, with spaces around what is a word by itself."""
    if character in " \t\n\r":
        return " "
    kind = unicodedata.category(character)
    if kind[0] == "C" or character == "\ufffd":
        return ""
    if character.isspace():
        return " "
    return "".join(_spell_part(part) for part in unicodedata.normalize("NFD", character))


def _spell_part(part: str) -> str:
    kind = unicodedata.category(part)
    if kind == "Mn":
        return ""
    if kind[0] == "P" or part in _ASCII_SIGNS or _is_ideograph(ord(part)):
        return f" {part} "
    return part.lower()


def _is_ideograph(code: int) -> bool:
    return code >= 0x3400 and any(first <= code <= last for first, last in _IDEOGRAPHS)


_IDEOGRAPHS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""First and last of each block that BERT splits into single characters."""
