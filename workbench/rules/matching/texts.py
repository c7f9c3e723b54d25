"""The texts of rules that are embedded, by the keys of their vectors: of known ones no rule is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule, match_text
from workbench.text.vectors import KEY_BYTES, KeyedTexts, text_keys

Int64 = NDArray[np.int64]

MAX_TEXT: Final = 600


@dataclass(frozen=True, slots=True)
class RuleTexts:
    """The texts of rules that are embedded: those of rule `i` from `starts[i]` to `starts[i + 1]`."""

    texts: Sequence[str]
    starts: Int64


def read_texts(rules: Iterable[Rule]) -> RuleTexts:
    """Return the texts to embed: condition and action of each rule, then its examples."""
    parts = [texts_of(rule) for rule in rules]
    return RuleTexts(tuple(text for some in parts for text in some), _starts([len(some) for some in parts]))


def texts_of(rule: Rule) -> list[str]:
    """Return the texts of one rule."""
    return [match_text(rule)[:MAX_TEXT] or ".", *(example[:MAX_TEXT] or "." for example in rule.examples)]


def key_texts(rules: Sequence[Rule]) -> RuleTexts:
    """Return the texts of rules with their keys; each is read from its rule when it is asked for."""
    texts = read_texts(rules)
    return _with_keys(rules, text_keys(texts.texts), texts.starts)


def move_texts(
    before: RuleTexts, rules: Sequence[Rule], moved: NDArray[np.int32], fresh: Sequence[int]
) -> RuleTexts:
    """Return the keyed texts of rules most of which are those of before.

    `moved` int32 says where each rule of before is now, -1 for those that are not as they were; `fresh` are
    the positions of all others, ascending.
    """
    added = read_texts(rules[place] for place in fresh)
    kept, sizes = moved >= 0, np.diff(before.starts)
    now = np.empty(len(rules), np.int64)
    now[moved[kept]], now[fresh] = sizes[kept], np.diff(added.starts)
    starts = _starts(now)
    keys = np.empty((int(starts[-1]), KEY_BYTES), np.uint8)
    is_added = np.zeros(len(rules), np.bool_)
    is_added[fresh] = True
    rows = np.repeat(is_added, now)
    keys[rows] = text_keys(added.texts)
    keys[~rows] = text_keys(before.texts)[np.repeat(kept, sizes)]
    return _with_keys(rules, keys, starts)


def texts_arrays(texts: RuleTexts) -> dict[str, NDArray[Any] | bytes]:
    """Return the keys of texts as arrays by name, for whoever keeps them."""
    return {"keys": text_keys(texts.texts), "starts": texts.starts}


def texts_from(arrays: Mapping[str, NDArray[Any]], rules: Sequence[Rule]) -> RuleTexts:
    """Return the texts kept as arrays. Raises: ValueError, KeyError if they are of others."""
    keys, starts = arrays["keys"], arrays["starts"]
    if len(starts) != len(rules) + 1 or keys.shape != (int(starts[-1]), KEY_BYTES):
        raise ValueError("the texts are of other rules")
    if starts[0] != 0 or (np.diff(starts) < 1).any():
        raise ValueError("the texts of the rules do not follow one another")
    return _with_keys(rules, keys, starts)


def texts_with(texts: RuleTexts, rules: Sequence[Rule]) -> RuleTexts:
    """Return the same keyed texts, read from rules that are the same elsewhere."""
    return _with_keys(rules, text_keys(texts.texts), texts.starts)


def _with_keys(rules: Sequence[Rule], keys: NDArray[np.uint8], starts: Int64) -> RuleTexts:
    return RuleTexts(KeyedTexts(keys, _reader(rules, starts)), starts)


def _reader(rules: Sequence[Rule], starts: Int64) -> Callable[[int], str]:
    def read(row: int) -> str:
        place = int(np.searchsorted(starts, row, side="right")) - 1
        return texts_of(rules[place])[row - int(starts[place])]

    return read


def _starts(sizes: Sequence[int] | Int64) -> Int64:
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
