"""Identifier-aware terms, and the text of a task without trailers and URLs, split into head and body.

There is one tokenisation for queries, rules, commit messages, paths and code:
`HTTPServerError`, `http_server_error`, `http-server.error` and "http server errors" all reach the terms
`http server error`; whole identifiers are kept as well, so that an exact name outweighs its parts.
Scripts that are written without spaces (Han, kana, Hangul) give every pair of neighbouring characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from workbench.records.plan import TaskText

TERMS_VERSION: Final = 2
"""Changes when any text gives other terms: it is part of the key of whatever terms are stored in."""

_WORD = re.compile(r"\w+")
_UNSPACED = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003134f"
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")
_MAX_WORD = 64  # longer runs are hashes, base64 or minified code

STOPWORDS = frozenset(
    """
    a about after all also an and any are as at be because been before being but by can could did do does
    doing don for from had has have having he her here his how i if in into is it its itself just let like
    me more most my no nor not now of off on once only or other our out over own please same she should so
    some such than that the their them then there these they this those through to too under until up us
    very was we were what when where which while who whom why will with would you your
    """.split()
)


@lru_cache(maxsize=1)
def _stemmer() -> object:
    from py_rust_stemmers import SnowballStemmer

    return SnowballStemmer("english")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the English Snowball stem of a lower-case word; words of under four letters stay as they are."""
    if len(word) < 4 or not word.isascii():
        return word
    return _stemmer().stem_word(word)  # type: ignore[attr-defined,no-any-return]


@lru_cache(maxsize=200_000)
def parts(identifier: str) -> tuple[str, ...]:
    """Split an identifier at case changes, digits and underscores, lower-cased: `HTTPServer`, http server."""
    return tuple([part.lower() for part in _PART.findall(identifier)])


@lru_cache(maxsize=200_000)
def word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one word: stemmed parts, and the whole identifier if it has several parts.

    Stopwords, single characters and bare numbers of one digit give no term. A run of an unspaced script gives
    its bigrams, as a dictionary of words would have to be that of its language.
    """
    if word.isascii():
        if word.isalpha() and word.islower() and len(word) <= _MAX_WORD:
            # One part; most words are, and this is hot.
            return (stem(word),) if len(word) > 1 and word not in STOPWORDS else ()
    elif _IS_UNSPACED.search(word):
        runs = _RUN.findall(word)
        if len(runs) > 1:
            return tuple(term for run in runs for term in word_terms(run))
        return tuple(map("".join, pairwise(word))) or (word,)
    if len(word) > _MAX_WORD:
        return ()
    pieces = parts(word)
    terms = [stem(piece) for piece in pieces if len(piece) > 1 and piece not in STOPWORDS]
    if len(pieces) > 1:
        terms.append("=" + "".join(pieces))
    return tuple(terms)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, before they are split into terms; unspaced runs are words."""
    return (_RUN if is_unspaced(text) else _WORD).findall(text)


def iter_terms(text: str) -> Iterable[str]:
    """Yield the terms of a text in order, repeats included."""
    for word in words_of(text):
        yield from word_terms(word)


def count_terms(text: str) -> dict[str, int]:
    """Return {term: count} of a text, in order of first appearance.

    Words are counted before they are split, so the cost follows the number of distinct words.
    """
    counts: dict[str, int] = {}
    known = counts.get
    for word, times in Counter(words_of(text)).items():
        for term in word_terms(word):
            counts[term] = known(term, 0) + times
    return counts


def is_identifier(word: str) -> bool:
    """Whether a word of prose looks like code: mixed case inside, an underscore, or letters with digits."""
    return len(parts(word)) > 1


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script that is written without spaces."""
    return not text.isascii() and _IS_UNSPACED.search(text) is not None


_SCOPE = re.compile(r"^\s*(?:\[([\w ./+-]{1,40})\]|(\w+)\(([\w ,./@*+-]{1,60})\)!?:|([\w./+*{},-]{2,60}):)\s")
_TRAILER = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id|cherry picked from|git-svn-id|"
    r"entire-[\w-]+|reviewed-on|tested-by|helped-by|generated with|🤖)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\n\t"}

MAX_HEAD = 24_000  # characters
MAX_TAIL = 8_000

_URL = re.compile(r"https?://\S+")


def clean_task(task: str) -> str:
    """Return the task without trailers, URLs and control characters; line structure is kept.

    Of a text that is longer than any task, such as a pasted log, the beginning and the end count.
    """
    if len(task) > MAX_HEAD + MAX_TAIL:
        task = f"{task[:MAX_HEAD]}\n{task[-MAX_TAIL:]}"
    text = task.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return _URL.sub(" ", _TRAILER.sub("", text)).strip()


def split_head(text: str) -> tuple[str, str]:
    """Split a task into its head (the line that states what is to be done) and the rest.

    That is the first line, unless it only announces what follows ("Implement the following plan:").
    """
    head, _, body = text.strip().partition("\n")
    if head.rstrip().endswith(":") and body.strip():
        announced, _, rest = body.strip().partition("\n")
        return announced.strip(), f"{head.strip()}\n{rest.strip()}".strip()
    return head.strip(), body.strip()


def parse_task(task: str) -> TaskText:
    """Clean a task and split it into head and body."""
    text = clean_task(task)
    return TaskText(task, text, *split_head(text))


def scope_of(head: str) -> str:
    """Return the scope a head line declares: `auth` of `fix(auth): …`, `net/http` of `net/http: …`."""
    match = _SCOPE.match(head)
    if match is None:
        return ""
    bracket, _, conventional, prefix = match.groups()
    return bracket or conventional or prefix or ""


def count_shared(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many items two sequences begin with alike."""
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
