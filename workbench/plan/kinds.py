"""Kinds of files: which a task asks for, by name, kind or the language of a translation, and which are alike.

What such a task is about leads, whatever else changed with such tasks; what else it mentions is its subject:
"document how to test with Pilot" asks for documentation, and for no test.

Translations, copies in other folders and siblings made after one pattern are a family: a pack shows one of
them and names the others with it. What counts is the name and the share of terms that two contents have in
common, which the cuts of both have already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workbench.parsed import read_parsed
from workbench.plan.cuts import FileCut
from workbench.plan.news import is_news
from workbench.plan.signals import ROLE_CUES
from workbench.project.languages import role_of
from workbench.records.plan import Intent, RankedFile
from workbench.records.project import Role
from workbench.text.terms import STOPWORDS, stem, words_of

IsKind = Callable[[str], bool]
"""Whether a path is of a kind."""


def _is_written_news(path: str) -> bool:
    return is_news(path) and role_of(path) in (Role.DOCS, Role.OTHER)


def _is_readme(path: str) -> bool:
    return path.rpartition("/")[2].lower().startswith("readme")


_UNDOCUMENTED = re.compile(
    r"\b(?:not|never|isn['’]t|aren['’]t) documented\b|\bundocumented\b"
    r"|\b(?:in|to|from) the (?:docs|documentation|manual|user guide)\W*$",
    re.I,
)
"""What says anywhere in a head that pages are to change."""
_IN_SOURCE = re.compile(
    r"doc[- ]?strings?|\bcomments?\b|java ?doc|jsdoc|xml doc|rust ?doc|type ?hints?|\btypings?\b", re.I
)
_DOCUMENTS = re.compile(r"\A\W*(?:docs?(?:\([^()\n]{1,60}\))?!?:\s|(?:please )?document(?:ing)?\s)", re.I)


def _is_page(path: str) -> bool:
    return role_of(path) is Role.DOCS and not is_news(path)


_KINDS: Mapping[re.Pattern[str], IsKind] = {
    _DOCUMENTS: _is_page,
    re.compile(
        r"(?:(?:in|of|for|to) (?:the )?|(?:fix|update|improve|clarify|extend|rewrite|correct) (?:\w+ ){0,2})"
        r"(?:docs|documentation|user guide|manual|tutorial|faq)\b(?! ?(?:string|comment))",
        re.I,
    ): _is_page,
    re.compile(r"\b(?:change[- ]?logs?|release[- ]notes|what'?s[- ]new)\b", re.I): _is_written_news,
    re.compile(r"\breadme\b", re.I): _is_readme,
    re.compile(
        r"\b(?:add|write|extend|improve|update|fix)\b(?: \w+){0,2} tests?\b(?= (?:for|of|that)\b|\W*$)", re.I
    ): lambda path: role_of(path) is Role.TEST,
}
"""How a task names the kind of files that it is about in its first words, and which these are."""
_AHEAD = 0.01  # of the score that a file which leads has more than the next
_FIRST_WORDS = 4  # before the name of a kind
_CHANGES_FILE = re.compile(r"\bCHANGES\b|\bchanges\.\w")
_VERBS = frozenset({stem("changes")})
_EDITS = frozenset(
    map(stem, "add change clean edit fix improve polish refresh revise tweak update write".split())
)
_TRANSLATION = re.compile(r"\btranslat|\blocali[sz]|\blocales?\b|\bi18n\b|\bl10n\b|\blanguage\b", re.I)
COPIES: Final = 0.6  # of the terms of two files of one name that both have
SIBLINGS: Final = 0.8  # of those of two files of one folder and ending
LEAST_TERMS: Final = 8  # of a smaller file nothing can be told
_LOCALE: Final = re.compile(
    r"(?:(?<=/)|(?<=^)|(?<=[._-]))(?:ar|bn|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nl|no|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)"
    r"(?:[-_](?:[A-Za-z]{2}|hans|hant|Hans|Hant))?(?=/|\.)"
)


def lead_with_kind(files: tuple[RankedFile, ...], intent: Intent) -> tuple[RankedFile, ...]:
    """Return files, best first, led by the likeliest of the kind that a task is about.

    "Update the changelog" begins in the changelog, whatever else such tasks changed.
    """
    is_kind = named_kind(intent)
    at = 0 if is_kind is None else next((place for place, one in enumerate(files) if is_kind(one.path)), 0)
    if not at:
        return files
    return (replace(files[at], score=files[0].score + _AHEAD), *files[:at], *files[at + 1 :])


def named_kind(intent: Intent) -> IsKind | None:
    """Return what says whether a path is of the one kind of files that a task is about by its first words."""
    head = intent.task.head
    if (codes := _named_locales(head)) is not None:
        return lambda path: codes.search(path) is not None
    if _UNDOCUMENTED.search(head) and not _IN_SOURCE.search(head):
        return _is_page
    for form, is_kind in _KINDS.items() if len(asked_roles(intent)) == 1 else ():
        match = None if is_kind is _is_page and _IN_SOURCE.search(head) else form.search(head)
        if match is not None and len(head[: match.start()].split()) <= _FIRST_WORDS:
            return is_kind
    return None


def says_no_more(intent: Intent) -> bool:
    """Whether a task says nothing but which kind of files to edit: `update README`."""
    cues = frozenset().union(*ROLE_CUES.values())
    words = (word for word in words_of(intent.task.head.lower()) if word not in STOPWORDS)
    return all(stem(word) in _EDITS or stem(word) in cues for word in words)


@lru_cache(maxsize=1)
def _languages() -> Mapping[str, str]:
    """Return the codes that files of a language have in their names, by its English name, longest first."""
    names: dict[str, str] = read_parsed(__package__, "languages.json", json.loads)
    return dict(sorted(names.items(), key=lambda one: -len(one[0])))


def _named_locales(head: str) -> re.Pattern[str] | None:
    """Return what finds the paths of translations into the language that a task is about."""
    text = " ".join(words_of(head.lower()))
    name = next((one for one in _languages() if one in text and re.search(rf"\b{one}\b", text)), "")
    if not name or not (_TRANSLATION.search(head) or re.search(rf"\bin(?:to)? (?:the )?{name}\b", text)):
        return None
    code = "|".join((*_languages()[name].split(), name.replace(" ", "[-_]?")))
    return re.compile(rf"(?:^|[/._-])(?:{code})(?:[-_](?:[a-z]{{2}}|hans|hant))?(?=[/.])", re.I)


def named_files(intent: Intent, pinned: Collection[str] = ()) -> frozenset[str]:
    """Return the files that are asked for by name: pinned, in the task, or in its stack trace."""
    frames = (path for path, _line, _function in intent.entities.frames)
    return frozenset((*pinned, *intent.entities.paths, *frames))


def asked_roles(intent: Intent) -> frozenset[Role]:
    """Return the kinds of files that the head of a task asks for.

    "changes" does only as the name of a file: in "when the value changes" it is a verb. What a task documents
    may be anything.
    """
    head = intent.task.head
    if _DOCUMENTS.match(head) or (_UNDOCUMENTED.search(head) and not _IN_SOURCE.search(head)):
        return frozenset({Role.DOCS})
    stems = {stem(word) for word in words_of(head.lower())}
    if not _CHANGES_FILE.search(head):
        stems -= _VERBS
    return frozenset(role for role, cues in ROLE_CUES.items() if cues & stems)


def find_head(path: str, cut: FileCut, likelier: Sequence[tuple[str, FileCut]]) -> str:
    """Return the likelier file that a file is like, empty where there is none.

    A translation is like another one whatever it holds.
    """
    key = _LOCALE.sub("*", path)
    if key != path:
        for other, _ in likelier:
            if _LOCALE.sub("*", other) == key:
                return other
    folder, _, name = path.rpartition("/")
    ending = name.rpartition(".")[2]
    for other, its_cut in likelier:
        its_folder, _, its_name = other.rpartition("/")
        least = COPIES if name == its_name else SIBLINGS if folder == its_folder else 1.0
        if least < 1.0 and its_name.endswith(ending) and common_share(cut.terms, its_cut.terms) >= least:
            return other
    return ""


def common_share(terms: NDArray[np.uint32], others: NDArray[np.uint32]) -> float:
    """Return the share of the terms of two files that both have (Jaccard, 1912), 0 for small files.

    terms, others: uint32 [t], ascending and distinct.
    """
    if min(len(terms), len(others)) < LEAST_TERMS:
        return 0.0
    common = len(np.intersect1d(terms, others, assume_unique=True))
    return common / (len(terms) + len(others) - common)
