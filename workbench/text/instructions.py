"""Whether a piece of a rule file instructs somebody to do something, or describes.

A rule is an imperative ("Use uv"), an obligation ("tests must pass"), a prohibition ("no wildcard imports"),
a preference ("composition over inheritance") or a convention ("tests live in `tests/`"). Descriptions,
examples, personas, questions, links and labels are context.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Final

from workbench.places import data_file
from workbench.records.dataclass import dataclass
from workbench.text.expressions import read_expressions
from workbench.text.prose import CODE, LEADING, MAX_CHARS, bare, sentences, table_cells

_FORMS: Final = read_expressions(__package__, "instructions.toml")


_WORDS: Final[dict[str, list[str]]] = json.loads(
    data_file(__package__, "verbs.json").read_text(encoding="utf-8")
)
VERBS: Final = frozenset(" ".join(_WORDS["verbs"]).split())
"""The verbs with which instructions to programmers begin."""

_AMBIGUOUS: Final = frozenset(" ".join(_WORDS["ambiguous"]).split())  # verbs and nouns
_NOUN_FOLLOWERS: Final = frozenset(" ".join(_WORDS["noun_followers"]).split())  # after a noun, not a verb

_FINITE = frozenset("is are was were has have should must will can may".split())
_OPENERS = frozenset("`\"'(<[{@$.#" + CODE)
_DEFINES = re.compile(rf"^{CODE}\s*(?:\([^)]*\)\s*)?(?:[—–:-])\s")


NO_INSTRUCTION: Final = "no instruction"


@dataclass(frozen=True, slots=True)
class InstructionJudgement:
    """Whether a text is an instruction, and the test that decided it."""

    instruction: bool
    reason: str


@lru_cache(maxsize=4096)
def negative_lead(text: str) -> bool:
    """Whether a heading or introduction makes prohibitions of what follows ("Forbidden", "Do not commit:").

    A heading that is a prohibition by itself ("Avoid wildcard imports") doesn't: what follows explains it.
    """
    words = bare(text)
    return bool(_FORMS["negative_label"].match(words) or _FORMS["negative_lead"].match(words))


def introduces_only(text: str) -> bool:
    """Whether an introduction is empty without its list ("Follow these rules:", "You must:")."""
    words = bare(text).rstrip(" :*_")
    return (
        len(words.split()) < 4 or bool(_FORMS["generic_lead"].search(words)) or not judge(words).instruction
    )


def negative(text: str) -> bool:
    """Whether a text already begins as a prohibition."""
    return bool(_FORMS["negative_start"].match(bare(text)))


@lru_cache(maxsize=4096)
def descriptive_heading(heading: str) -> bool:
    """Whether a heading announces facts (overview, structure, commands) rather than rules."""
    return bool(_FORMS["descriptive"].match(LEADING.sub("", bare(heading)).strip(" :.#")))


@lru_cache(maxsize=4096)
def judge(text: str, section: tuple[str, ...] = (), lead: str = "") -> InstructionJudgement:
    """Decide whether a unit of prose is an instruction, given the headings above it and its lead-in."""
    if _FORMS["licence"].search(text[:400]):
        return InstructionJudgement(False, "licence")
    if _FORMS["code_line"].match(text):
        return InstructionJudgement(False, "code")
    raw = bare(text)
    parts = sentences(raw)
    words = sum(1 for word in _FORMS["word"].findall(raw) if word[0].isalpha())
    if not parts or words < 2:
        return InstructionJudgement(False, "too short")
    if raw.endswith(":") and _FORMS["sample"].match(text):
        return InstructionJudgement(False, "sample")
    if raw.endswith("?") and len(parts) == 1:
        return InstructionJudgement(False, "question")
    heading = section[-1] if section else ""
    if lead and negative_lead(lead):
        return InstructionJudgement(True, "under a prohibition")
    if heading and negative_lead(heading) and not raw.endswith(":"):
        return InstructionJudgement(True, "under a prohibiting heading")
    described = any(descriptive_heading(name) for name in section[-2:]) or _describes(lead)
    for part in parts:
        reason = _sentence_reason(part, described)
        if reason:
            return InstructionJudgement(True, reason)
    if described or raw.endswith(":"):
        return InstructionJudgement(False, NO_INSTRUCTION)
    if lead and not _DEFINES.match(raw) and judge(lead.rstrip(" :")).instruction:
        return InstructionJudgement(True, "under an instruction")
    if _directive_section(section) and (
        _FORMS["convention"].search(raw) or _FORMS["case"].search(text[:MAX_CHARS])
    ):
        return InstructionJudgement(True, "convention under a heading of rules")
    return InstructionJudgement(False, NO_INSTRUCTION)


def judge_row(row: str, header: str, section: tuple[str, ...] = ()) -> InstructionJudgement:
    """Decide whether a table's row is an instruction: one of its cells is, or a column says so."""
    cells = table_cells(row)
    if any(descriptive_heading(name) for name in section[-2:]) or not any(cell for cell in cells):
        return InstructionJudgement(False, "table of facts")
    names = (bare(cell) for cell in table_cells(header))
    if any(
        _FORMS["directive_column"].search(name) and not _FORMS["fact_column"].match(name) for name in names
    ):
        return InstructionJudgement(True, "under a column of instructions")
    for cell in cells:
        found = judge(cell)
        if found.instruction and found.reason in ("obligation", "prohibition"):
            return found
    return InstructionJudgement(False, "table of facts")


@lru_cache(maxsize=4096)
def _directive_section(section: tuple[str, ...]) -> bool:
    return any(_FORMS["directive_heading"].search(name) for name in section)


@lru_cache(maxsize=4096)
def _describes(lead: str) -> bool:
    """Whether a list's introduction announces facts ("The script ensures:")."""
    return bool(lead) and (bool(_FORMS["describing_lead"].search(lead)) or descriptive_heading(lead))


def _sentence_reason(sentence: str, described: bool) -> str:
    """Return the test by which one sentence is an instruction, or ''."""
    if _FORMS["persona"].match(sentence) or _FORMS["past"].match(sentence):
        return ""
    label = _FORMS["label"].match(sentence)
    head, rest = (label.group(1), sentence[label.end() :]) if label else ("", sentence)
    if head and _FORMS["example"].match(head) and not _FORMS["obligation"].search(head):
        return ""
    if sentence.endswith("?"):
        return ""
    if _is_obligation(sentence):
        return "obligation"
    if described:
        return "imperative" if _FORMS["firm"].match(rest) and _imperative(rest) else ""
    if head.startswith(CODE):
        return ""
    if _FORMS["prohibition"].match(rest) and len(rest.split()) > 1:
        return "prohibition"
    if head and _FORMS["convention_label"].match(head):
        return "convention"
    if _imperative(sentence) or (head and (_imperative(head) or _imperative(rest))):
        return "imperative"
    clauses = _FORMS["clause"].split(rest)
    if any(_FORMS["forbids"].match(clause) for clause in _FORMS["pause"].split(rest)[1:]):
        return "prohibition after a condition"
    if _FORMS["subordinate"].match(rest) and any(_imperative(clause) for clause in clauses[1:]):
        return "imperative after a condition"
    dashed = _FORMS["dash"].split(rest)
    if (
        len(dashed[0].split()) <= 6
        and not dashed[0].startswith(CODE)
        and any(_orders(item) for item in dashed[1:])
    ):
        return "imperative after a label"
    if _FORMS["preference"].search(rest) and not _FORMS["fact"].search(rest):
        return "preference"
    if _FORMS["placed"].search(rest):
        return "convention"
    return ""


def _orders(clause: str) -> bool:
    return _imperative(clause) or bool(_FORMS["forbids"].match(clause))


def _is_obligation(sentence: str) -> bool:
    """Whether an obligation is in the sentence, outside of descriptions ("what you must know")."""
    if _FORMS["obligation"].search(_FORMS["described"].sub(" ", _FORMS["whether"].sub(" ", sentence))):
        return True
    return bool(_FORMS["addressed"].search(sentence)) and not _FORMS["aside"].search(sentence)


def _imperative(clause: str) -> bool:
    """Whether a clause begins with a verb in the imperative, adverbs before it allowed."""
    words = _FORMS["word"].findall(LEADING.sub("", clause.strip()))[:8]
    if _FORMS["always"].match(clause.strip()):
        return True
    while words and (_FORMS["adverb"].match(words[0]) or words[0] in "\"'(*,"):
        words = words[1:]
    if not words:
        return False
    first = words[0].lower()
    after = words[1] if len(words) > 1 else ""
    if "-" in first and first.split("-")[0] in {
        "re",
        "double",
        "auto",
        "pre",
        "co",
        "cross",
        "under",
        "over",
    }:
        first = first.split("-", 1)[1]
    if first in _AMBIGUOUS:
        return bool(after) and (after[0].isalpha() or after in _OPENERS) and not _noun_phrase(words)
    return first in VERBS and bool(after) and after not in {":", "/", "=", "."}


def _noun_phrase(words: list[str]) -> bool:
    """Whether words that begin with a noun or a verb go on as a noun's would ("Test coverage")."""
    second = words[1].lower()
    third = words[2].lower() if len(words) > 2 else ""
    if (
        second in _FINITE
        or second in ("and", "or", "of")
        or (third in _FINITE and second not in ("the", "a", "an"))
    ):
        return True
    if second.endswith("ing") and not second.endswith("thing") and "-" not in second:
        return True
    if second in _NOUN_FOLLOWERS:
        return not (second.endswith("s") and len(words) >= 5 and third.isalpha())
    return False
