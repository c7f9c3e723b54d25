"""Words that exclude each other, words that mean the same, and what one of several things does.

The lists are in `data/`: curated, small and by hand. Two strengths: of instructions, words are opposites only
if whoever follows one side cannot follow the other; of sentences, if one cannot hold while the other does. In
both the callers find out whether two texts speak of the same subject.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from typing import Any, Final

from workbench.places import data_file
from workbench.records.dataclass import dataclass
from workbench.text.terms import stem


@cache
def _sections(name: str) -> dict[str, list[list[str]]]:
    """Return the lines of a list in `data/` by their heading, each as its words."""
    text = data_file(__package__, f"{name}.txt").read_text(encoding="utf-8")
    found: dict[str, list[list[str]]] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif line and not line.startswith("#"):
            found.setdefault(current, []).append(line.split())
    return found


def word_list(name: str) -> frozenset[str]:
    """Return a list of `data/words.txt` by its heading."""
    return frozenset(word for line in _sections("words")[name] for word in line)


@lru_cache(maxsize=1)
def antonym_pairs() -> frozenset[tuple[str, str]]:
    """Return the pairs of stems that oppose each other, each in both orders."""
    found = set()
    for line in _sections("opposites")["instructions"]:
        first, second = (canonical(word) for word in line)
        found.update({(first, second), (second, first)})
    return frozenset(found)


def antonyms(first: str, second: str) -> bool:
    """Whether two stems oppose each other."""
    return (first, second) in antonym_pairs()


@lru_cache(maxsize=1)
def antonym_groups() -> dict[str, str]:
    """Return {stem: name of its group}, groups being words connected by opposition."""
    groups: dict[str, str] = {}
    linked: dict[str, set[str]] = {}
    for first, second in sorted(antonym_pairs()):
        linked.setdefault(first, set()).add(second)
    for word in sorted(linked):
        if word in groups:
            continue
        todo = [word]
        while todo:
            current = todo.pop()
            if current not in groups:
                groups[current] = word
                todo.extend(linked[current])
    return groups


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A job that one of several things does. `implied` are words that name the job itself."""

    name: str
    members: tuple[str, ...]
    implied: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(data_file(__package__, "choices.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def choices() -> tuple[Alternatives, ...]:
    """Return the jobs that one of several things does."""
    rows = _table()["choices"]
    return tuple(Alternatives(row["name"], tuple(row["members"]), tuple(row["implied"])) for row in rows)


@lru_cache(maxsize=1)
def english() -> frozenset[str]:
    """Return the members that are English words as well: meant only as code, or as what is used."""
    return frozenset(_table()["english"])


@lru_cache(maxsize=1)
def phrases() -> dict[tuple[str, ...], str]:
    """Return {one or two words: the member that they name}."""
    return {tuple(words.split()): member for words, member in _table()["phrases"].items()}


@lru_cache(maxsize=1)
def synonyms() -> dict[str, str]:
    """Return {stem: the stem that stands for it}."""
    found: dict[str, str] = {}
    for line in _sections("synonyms")["instructions"]:
        words = [stem(word) for word in line]
        for word in words[1:]:
            found.setdefault(word, words[0])
    return found


@lru_cache(maxsize=1)
def choices_of() -> dict[str, tuple[int, ...]]:
    """Return {member in lower case: the positions in `choices()` that it is in}."""
    found: dict[str, tuple[int, ...]] = {}
    for position, choice in enumerate(choices()):
        for member in choice.members:
            found[member.lower()] = (*found.get(member.lower(), ()), position)
    return found


@lru_cache(maxsize=1)
def implied_terms() -> tuple[frozenset[str], ...]:
    """Return the canonical stems that each of `choices()` implies."""
    return tuple(frozenset(canonical(word) for word in choice.implied) for choice in choices())


@lru_cache(maxsize=1)
def named_things() -> frozenset[str]:
    """Return the canonical stems of what naming conventions are about."""
    return frozenset(canonical(word) for word in _table()["named_things"])


@lru_cache(maxsize=1)
def measures() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Return (unit, stems that name the measure, stems that it implies) of each quantity a project fixes."""
    return tuple(
        (
            item["unit"],
            frozenset(canonical(word) for word in item["named"]),
            frozenset(canonical(word) for word in item["implied"]),
        )
        for item in _table()["measures"]
    )


@lru_cache(maxsize=1)
def units() -> dict[str, str]:
    """Return {word: the unit that it names}."""
    return {word: unit for unit, words in _table()["units"].items() for word in words}


def canonical(word: str) -> str:
    """Return the stem that stands for a lower-case word and its synonyms."""
    root = stem(word)
    return synonyms().get(root, root)


@lru_cache(maxsize=1)
def _meanings() -> dict[str, str]:
    """Return {canonical stem: the canonical stem that stands for its group}; the first group wins."""
    found: dict[str, str] = {}
    for line in _sections("synonyms")["sentences"]:
        head = found.get(canonical(line[0]), canonical(line[0]))
        for word in line:
            found.setdefault(canonical(word), head)
    return found


_ISE: Final = re.compile(r"(?<=\w{4})is(?=(?:e|ed|es|ing|ations?)$)")  # British spelling


@lru_cache(maxsize=200_000)
def meaning(word: str) -> str:
    """Return the stem that stands for a lower-case word and all that means the same, forms included."""
    root = canonical(_irregular().get(word) or _ISE.sub("iz", word))
    return _meanings().get(root, root)


@lru_cache(maxsize=1)
def _read_opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    lines = [[meaning(word) for word in line] for line in _sections("opposites")["sentences"]]
    known = [[_meanings().get(word, word) for word in pair] for pair in sorted(antonym_pairs())]
    for first, second in [*lines, *known]:
        if first != second:
            found.setdefault(first, set()).add(second)
            found.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in found.items()}


_NONE: Final = frozenset[str]()


def opposites_of(term: str) -> frozenset[str]:
    """Return the meanings that exclude a meaning."""
    return _read_opposites().get(term, _NONE)


@lru_cache(maxsize=1)
def _irregular() -> dict[str, str]:
    return {form: line[0] for line in _sections("forms")[""] for form in line[1:]}
