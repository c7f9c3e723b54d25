"""What a tag may be [rules, Tags System]: `category:value`, with a suggestion for what was probably meant.

Categories are closed: an unknown one is refused. Values are open, since no list holds every language and
tool, so a value that is not known but looks like a misspelling of one that is gets a warning and stays.
Only `priority` is closed, because its three values are ordered. `custom:anything` is for tags that fit
nowhere, and the setting `rules.tags` makes further `category:value` pairs, and with them categories, known.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from workbench.errors import UsageError
from workbench.places import data_file
from workbench.records.dataclass import dataclass
from workbench.records.rules import Rule
from workbench.suggest import did_you_mean, near_miss, suggest
from workbench.text.sanitize import visible_line

_WORD = re.compile(r"[a-z][a-z0-9+#.-]*")
_TABLES: Mapping[str, Mapping[str, Any]] = json.loads(
    data_file(__package__, "tags.json").read_text(encoding="utf-8")
)
VOCABULARY: Mapping[str, Mapping[str, str]] = _TABLES["words"]
"""By category the values that an import gives, each with the words that lead to it."""
_BY_WORD: dict[str, tuple[str, ...]] = {}
for _kind, _values in VOCABULARY.items():
    for _value, _words in _values.items():
        for _word in _words.split():
            _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), f"{_kind}:{_value}")


def tags_of(text: str, globs: Iterable[str] = (), priority: int = 50) -> tuple[str, ...]:
    """Return the tags of a rule, sorted; the priority tag only where the wording stands out."""
    words = {word.rstrip(".") for word in _WORD.findall(text.lower())}
    words.update(ending for glob in globs for ending in re.findall(r"\w+", glob.lower().rpartition(".")[2]))
    found = {tag for word in words for tag in _BY_WORD.get(word, ())}
    if priority >= 90:
        found.add("priority:critical")
    elif priority >= 80:
        found.add("priority:important")
    elif priority <= 30:
        found.add("priority:optional")
    return tuple(sorted(found))


CUSTOM = "custom"
CLOSED = frozenset({"priority"})
MAX_TAG = 64  # characters

PREDEFINED = {category: tuple(values.split()) for category, values in _TABLES["predefined"].items()}
"""The categories and values of [rules], in their order."""

# Other names, so that they are neither taken for misspellings nor missed as what somebody meant.
_OTHERS: Mapping[str, str] = _TABLES["others"]
_OTHER_WORDS: Mapping[str, Mapping[str, str]] = _TABLES["meant"]
_FORM = re.compile(r"[a-z0-9][a-z0-9+#._/-]*")
_FREE = re.compile(r"\S(?:.*\S)?")

Known = Mapping[str, frozenset[str]]
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class TagProblem:
    """What is wrong with a tag and, where known, the tag that was probably meant ('' otherwise).

    A refused tag must not be stored; another is only pointed out.
    """

    tag: str
    message: str
    suggestion: str
    refused: bool


@dataclass(frozen=True, slots=True)
class TagReport:
    """The tags that may be stored, in the order given and once each, and what is wrong with the others."""

    valid: tuple[str, ...]
    problems: tuple[TagProblem, ...]

    @property
    def refused(self) -> tuple[TagProblem, ...]:
        """The problems that keep a tag from being stored."""
        return tuple(problem for problem in self.problems if problem.refused)


@dataclass(frozen=True, slots=True)
class TagUse:
    """A tag, how many rules have it, and what is wrong with it if anything."""

    tag: str
    rules: int
    problem: TagProblem | None


def validate_tags(tags: Iterable[str], extra: Sequence[str] = ()) -> TagReport:
    """Check tags against the taxonomy; `extra` are the known tags of the setting `rules.tags`."""
    known = taxonomy(tuple(extra))
    valid: list[str] = []
    problems: list[TagProblem] = []
    for tag in dict.fromkeys(tags):
        problem = check_tag(tag, known)
        if problem is not None:
            problems.append(problem)
        if problem is None or not problem.refused:
            valid.append(tag)
    return TagReport(tuple(valid), tuple(problems))


def check_tag(tag: str, known: Known) -> TagProblem | None:
    """Return what is wrong with one tag, None if nothing is."""
    category, colon, value = tag.partition(":")
    if not colon:
        return _bare(tag, known)
    if category == CUSTOM:
        return _custom(tag, value)
    if category not in known:
        return _unknown_category(tag, category, value, known)
    if value in known[category]:
        return None
    meant = _known_value(category, value, known[category])
    suggestion = f"{category}:{meant}" if meant else ""
    if category in CLOSED:
        choices = ", ".join(PREDEFINED[category])
        return TagProblem(tag, f"{category} is one of {choices}", suggestion, True)
    if len(tag) > MAX_TAG or not _FORM.fullmatch(value):
        normal = _normal(value)
        tidy = f"{category}:{normal}"[:MAX_TAG] if normal else ""
        message = f"a value has lower-case letters, digits and +#._/- and a tag {MAX_TAG} characters at most"
        return TagProblem(tag, message, suggestion or tidy, True)
    if suggestion:
        return TagProblem(tag, f"{value} is not a known {category}", suggestion, False)
    return None


def tag_uses(rules: Iterable[Rule], extra: Sequence[str] = ()) -> tuple[TagUse, ...]:
    """Return the tags in use, the most used first, then by name."""
    known = taxonomy(tuple(extra))
    counts = Counter(tag for rule in rules for tag in dict.fromkeys(rule.tags))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(TagUse(tag, count, check_tag(tag, known)) for tag, count in ordered)


@lru_cache(maxsize=8)
def taxonomy(extra: tuple[str, ...] = ()) -> Known:
    """Return {category: known values}: predefined, given by the importer, well known, and the user's own.

    Entries of `extra` that are no `category:value`, or would open a closed category, are left out
    (`extra_problems` names them).
    """
    known = {category: set(values) for category, values in PREDEFINED.items()}
    for category, words in VOCABULARY.items():
        known[category].update(words)
    for category, names in _OTHERS.items():
        known[category].update(names.split())
    for tag in extra:
        if not extra_problem(tag):
            category, _, value = tag.partition(":")
            known.setdefault(category, set()).add(value)
    return {category: frozenset(values) for category, values in known.items()}


def extra_problem(tag: str) -> str:
    """Return why an entry of `rules.tags` makes nothing known, or ''."""
    category, _, value = tag.partition(":")
    if category in CLOSED or category == CUSTOM:
        return f"{category} takes no further values"
    if len(tag) > MAX_TAG or not (_FORM.fullmatch(category) and _FORM.fullmatch(value)):
        return f"a tag is written category:value, in lower case, with {MAX_TAG} characters at most"
    return ""


def choose(kind: type[Choice], text: str) -> Choice:
    """Return the member of an enumeration of rules that a text names, in any case.

    Raises: UsageError with all values, and the nearest one as hint.
    """
    values = [member.value for member in kind]
    wanted = text.strip().casefold()
    if wanted in values:
        return kind(wanted)
    message = f"{kind.__name__.lower()} is one of {', '.join(values)}, not {visible_line(text)!r}"
    raise UsageError(message, hint=did_you_mean(text, values))


def _custom(tag: str, value: str) -> TagProblem | None:
    if len(tag) <= MAX_TAG and _FREE.fullmatch(value) and value.isprintable():
        return None
    message = f"a custom tag has some text on one line, {MAX_TAG} characters at most"
    return TagProblem(tag, message, "", True)


def _bare(tag: str, known: Known) -> TagProblem:
    """A tag without a category: the category whose value it is, else a custom tag."""
    value = _normal(tag)
    homes = [category for category in PREDEFINED if value in PREDEFINED[category]]
    homes += [category for category in known if value in known[category]]
    homes += [category for category in known if _known_value(category, value, known[category])]
    if homes:
        found = value if value in known[homes[0]] else _known_value(homes[0], value, known[homes[0]])
        suggestion = f"{homes[0]}:{found}"
    else:
        suggestion = f"{CUSTOM}:{value}"[:MAX_TAG] if value else ""
    return TagProblem(tag, "a tag is written category:value", suggestion, True)


def _unknown_category(tag: str, category: str, value: str, known: Known) -> TagProblem:
    message = f"{category or 'nothing'} is not a category: use {', '.join((*known, CUSTOM))}"
    right = suggest(category, (*known, CUSTOM))
    normal = _normal(value)
    if right == CUSTOM or not normal:
        return TagProblem(tag, message, f"{CUSTOM}:{normal}" if normal else "", True)
    if not right:
        exact = next((one for one in known if normal in known[one]), CUSTOM)
        return TagProblem(tag, message, f"{exact}:{normal}"[:MAX_TAG], True)
    meant = normal if normal in known[right] else _known_value(right, normal, known[right]) or normal
    return TagProblem(tag, message, f"{right}:{meant}"[:MAX_TAG], True)


def _known_value(category: str, value: str, values: frozenset[str]) -> str:
    """Return the known value that another one stands for: the same in lower case, an alias, a slip."""
    normal = _normal(value)
    if normal in values:
        return normal
    if category == "language":  # words for a language are its other names; words for a tool are not
        for name, words in VOCABULARY[category].items():
            if normal in words.split():
                return name
    if normal in _OTHER_WORDS.get(category, {}):
        return _OTHER_WORDS[category][normal]
    choices = sorted(values)
    return suggest(normal, choices) if category in CLOSED else near_miss(normal, choices)


def _normal(text: str) -> str:
    joined = re.sub(r"\s+", "-", text.strip().lower())
    return re.sub(r"[^a-z0-9+#._/-]", "", joined).lstrip("+#._/-")
