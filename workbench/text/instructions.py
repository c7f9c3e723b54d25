"""Whether a piece of a rule file instructs somebody to do something, or describes.

A rule is an imperative ("Use uv"), an obligation ("tests must pass"), a prohibition ("no wildcard imports"),
a preference ("composition over inheritance") or a convention ("tests live in `tests/`"). Descriptions,
examples, personas, questions, links and labels are context.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from workbench.text.prose import CODE, LEADING, MAX_CHARS, bare, sentences, table_cells

_WORDS: Final[dict[str, list[str]]] = json.loads(
    (files(__package__) / "data" / "verbs.json").read_text(encoding="utf-8")
)
VERBS: Final = frozenset(" ".join(_WORDS["verbs"]).split())
"""The verbs with which instructions to programmers begin."""

_AMBIGUOUS: Final = frozenset(" ".join(_WORDS["ambiguous"]).split())  # verbs and nouns
_NOUN_FOLLOWERS: Final = frozenset(" ".join(_WORDS["noun_followers"]).split())  # after a noun, not a verb
_CLAUSE = re.compile(
    r",\s+(?:then\s+|and\s+|but\s+|so\s+|or\s+)?|\s+[—–-]{1,2}\s+|:\s+|\)\s+|\s+(?:and|then|but)\s+"
)
_LABEL = re.compile(r"^([^:.!?\n]{1,60}?)\s*:\s+(?=\S)")
_WORD = re.compile(r"[A-Za-z][\w'’-]*|\S")

_OBLIGATION = re.compile(
    r"\b(?:must|shall|should|ought to|needs? to|ha(?:s|ve) to|"
    r"(?:is|are|be|as|being) (?:strictly |absolutely |always )?(?:required|mandatory|forbidden|prohibited|"
    r"preferred|recommended|encouraged|discouraged|banned|disallowed|obligatory|not allowed|not permitted|"
    r"expected to)|"
    r"(?:may|can) only|may not|mustn't|shouldn't|not (?:be )?(?:allowed|permitted|acceptable)|"
    r"(?<!is )(?<!are )never(?! \w+s\b)|required for (?:all|any|every|each))\b",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\b(?:if|when|that|which|what|why|how|where|whether|because|since|so|until|unless|you|they|it|we|i|"
    r"users?|clients?|who)"
    r"\s+(?:\w+\s+)?(?:do not|don't|never|has to|have to|need to|needs to|cannot|can't|can not|should|"
    r"must|can only)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(
    r"\b(?:you|we|they|code|it) (?:must|should|shall|should not|must not|need to|have to)\b", re.IGNORECASE
)
_WHETHER = re.compile(r"\bwhether\b[^.;]*", re.IGNORECASE)
_ASIDE = re.compile(
    r"\b(?:if|when|that|which|what|why|how|where|whether) (?:you|we|they|it)\b", re.IGNORECASE
)
_PREFERENCE = re.compile(
    r"\b(?:instead of|rather than|in favou?r of|no exceptions|at all times|over|without exception)\b",
    re.IGNORECASE,
)
_CONVENTION = re.compile(
    r"\b(?:goes|go|lives?|belongs?|stays?|comes?|resides?) (?:in|into|under|inside|next to|beside|"
    r"alongside|first|last)\b"
    r"|\b(?:are|is|in|use|uses) (?:named|PascalCase|camelCase|snake_case|kebab-case|UPPER_CASE|"
    r"SCREAMING_SNAKE_CASE)\b"
    r"|\bfor (?:all|every|each|any)\b|\b(?:before|after|with) (?:every|each|all|any)\b"
    r"|\bonly\b.{0,20}\b(?:when|if|for|where|in|via|through)\b"
    r"|\b(?:at least|at most|no more than|maximum|minimum|max|min)\b.{0,12}\d|\d+%",
    re.IGNORECASE,
)
_PROHIBITION = re.compile(
    r"^(?:absolutely |strictly )?(?:no|not|never|none|zero|only|avoid|don't|do not|"
    r"without)\b(?!\s*[,:.]|\s+\w+\s*$(?<=yet))",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"^(?:when|whenever|if|before|after|while|for|in|on|during|once|unless|until|to|where|by|with|"
    r"within|as|at|"
    r"upon|from|under|given|since|because|instead|otherwise|rather|always|never|please|then|also|"
    r"first|second|"
    r"third|next|finally|lastly|additionally|furthermore|remember|critical|important|note|warning|mandatory|"
    r"tip|rule|required|recommended|exception|and|or|either|both)\b",
    re.IGNORECASE,
)
_ADVERB = re.compile(
    r"^(?:always|never|please|then|also|first|next|finally|instead|otherwise|only|just|now|simply|again|"
    r"thus|so|therefore|and|but|or|"
    r"(?!(?:previous|current|usual|typical|general|original|recent|automatical|ear|on|fami|assemb|rep|"
    r"app|supp|re)ly)\w+ly)$",
    re.IGNORECASE,
)
_FINITE = frozenset("is are was were has have should must will can may".split())
_OPENERS = frozenset("`\"'(<[{@$.#" + CODE)
_FORBIDS = re.compile(r"^(?:never|avoid|don't|do not)\b", re.IGNORECASE)
_FIRM = re.compile(
    r"^(?:(?:always|please|only) )?(?:use|run|prefer|avoid|never|keep|ensure|make sure|do not|don't|"
    r"follow)\b",
    re.IGNORECASE,
)  # what begins so is an order anywhere
_PAUSE = re.compile(r"[,:]\s+(?:and |but )?|\s[—–-]{1,2}\s")
_DASH = re.compile(r"\s(?:[—–-]{1,2}|→|=>|->)\s")
_FACT = re.compile(
    r"\b(?:is|are|was|were|has|have|will|would|can|uses?|makes?|works?|keeps?|reads?|lets?|allows?|"
    r"gets?|provides?|iterat\w+|\w+ed)\b",
    re.IGNORECASE,
)
_PLACED = re.compile(r"\b(?:go|goes|live|lives|belongs?) (?:in|into|under)\b", re.IGNORECASE)
_PERSONA = re.compile(r"^(?:you are|you're|act as|you act|you have|you will be|i am|i'm)\b", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"^(?:❌|✅|\W)*(?:e\.?g\.?|example|examples|for example|for instance|good|bad|correct|incorrect|"
    r"wrong|right|output|input|"
    r"result|before|after|source|see|see also|ref|reference|references|rationale|why|reason|benefit|benefits|"
    r"why this is needed|why this matters|generated by|user|assistant|version|author|date|license|licence|"
    r"copyright|status|last updated|effort|impact|symptom|symptoms|cause|description|purpose|problem|"
    r"solution|usage|"
    r"when to use|location|tool|tools|returns?|args|parameters|used by|used for)(?:\s*[(#\d].*)?$",
    re.IGNORECASE,
)
_CODE_LINE = re.compile(
    r"(?://|/\*|(?:const|let|var|import|export|function|class|def|return|public|private)\b[^.\n]*[=({;`])"
)
_CASE = re.compile(
    r"\b(?:PascalCase|camelCase|snake_case|kebab-case|UPPER_(?:SNAKE_)?CASE|SCREAMING_SNAKE_CASE)\b"
)
_LICENCE = re.compile(
    r"\b(?:copyright \(c\)|all rights reserved|licensed under|spdx-license|mit license|apache license)\b",
    re.I,
)
_DESCRIPTIVE = re.compile(
    r"^(?:table of contents|contents|toc|overview|introduction|background|about|context|architecture|"
    r"references?|"
    r"resources|further reading|links|licen[cs]e|changelog|glossary|examples?|sample|repo(?:sitory)? map|"
    r"(?:key |core |main |important )?(?:directories|files|components|modules|concepts|features)|"
    r"(?:project|repo(?:sitory)?|directory|folder|file) (?:structure|layout|overview|tree|map)|"
    r"(?:tech(?:nology)? )?stack|technologies|dependencies|environment variables|(?:common |useful |"
    r"key |available )?"
    r"commands?|scripts|usage|history|credits|acknowledg\w+|summary|purpose|what (?:is|this)\b.*|"
    r"why\b.*|how .* works?|"
    r"(?:key )?attributes|see also|additional resources|additional links|"
    r"documentation links|.*\breference|(?:execution|core|control|main) flow|"
    r"key (?:benefits|takeaways)|benefits|output|responses?|results?|troubleshooting)$",
    re.IGNORECASE,
)
_DIRECTIVE_HEADING = re.compile(
    r"\b(?:rules?|guidelines?|conventions?|standards?|requirements?|principles?|best practices?|"
    r"practices|do's|dos|"
    r"policy|policies|checklist|constraints?|instructions?|style|naming|always|must|mandatory|guardrails|"
    r"preferences?|patterns?|expectations|required)\b",
    re.IGNORECASE,
)
_NEGATIVE = (
    r"(?:(?:(?:what|things?|when|patterns?|practices|common) (?:not to(?: do)?|to avoid)|"
    r"do\s*n[o']t'?s?|do nots?|don'?ts|"
    r"never(?: ever)?|avoid(?:ed)?|forbidden|prohibited|banned|anti-?patterns?|not allowed|must not|"
    r"mustn't|should not|"
    r"you must (?:never|not)|disallowed|bad practices?)\b)"
)
_NEGATIVE_LABEL = re.compile(
    rf"^\W*{_NEGATIVE}(?:\W+(?:do|use|commit|add|edit|modify|touch|change|write|include|push|any|these|"
    rf"this|the|following|"
    r"patterns?|practices?|list|actions?|operations?|commands?|anything|of|things?|generate|create|"
    r"introduce|to|avoid))*\W*$",
    re.IGNORECASE,
)
_NEGATIVE_LEAD = re.compile(rf"^\W*{_NEGATIVE}[^.!?:]{{0,80}}:\W*$", re.IGNORECASE)
_GENERIC_LEAD = re.compile(
    r"\b(?:following|these|those|below|as follows|steps|rules|guidelines|this order)\b|"
    r"\b(?:ensure|make sure|must|should|shall|always|never|not|don't|consider|please|to|and|or|that)\W*$",
    re.IGNORECASE,
)
_NEGATIVE_START = re.compile(
    r"^[^\w]*(?:no|not|never|avoid|don'?t|do not|without|none|zero)\b", re.IGNORECASE
)
_DESCRIBING_LEAD = re.compile(
    r"\b(?:ensures|provides|includes|prevents|supports|gives|means|handles|contains|runs|offers|"
    r"enables|allows|"
    r"implement|implements|returns|exposes|performs|covers|responsible for|able to|such as|includ\w+|"
    r"key files|"
    r"how it works|works? as follows|for example|examples?)\b",
    re.IGNORECASE,
)
_CONVENTION_LABEL = re.compile(
    r"^(?:naming(?: conventions?)?|format|conventions?|style|indentation|indent|line length|"
    r"max(?:imum)? line length|quotes|"
    r"encoding|file names?|case|required \w+)$",
    re.IGNORECASE,
)
_DIRECTIVE_COLUMN = re.compile(
    r"\b(?:required|must|always|never|do|don't|avoid|use(?! cases?)|instead|rules?|read first|"
    r"requirements?|instructions?|"
    r"convention|guideline|prefer\w*)\b",
    re.IGNORECASE,
)
_DEFINES = re.compile(rf"^{CODE}\s*(?:\([^)]*\)\s*)?(?:[—–:-])\s")
_FACT_COLUMN = re.compile(r"^(?:required|rules?|instructions?|conventions?|requirements?)\W*$", re.IGNORECASE)
_PAST = re.compile(
    r"^(?:added|fixed|updated|removed|changed|created|generated|released|deprecated)\b", re.IGNORECASE
)


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
    return bool(_NEGATIVE_LABEL.match(words) or _NEGATIVE_LEAD.match(words))


def introduces_only(text: str) -> bool:
    """Whether an introduction is empty without its list ("Follow these rules:", "You must:")."""
    words = bare(text).rstrip(" :*_")
    return len(words.split()) < 4 or bool(_GENERIC_LEAD.search(words)) or not judge(words).instruction


def negative(text: str) -> bool:
    """Whether a text already begins as a prohibition."""
    return bool(_NEGATIVE_START.match(bare(text)))


@lru_cache(maxsize=4096)
def descriptive_heading(heading: str) -> bool:
    """Whether a heading announces facts (overview, structure, commands) rather than rules."""
    return bool(_DESCRIPTIVE.match(LEADING.sub("", bare(heading)).strip(" :.#")))


@lru_cache(maxsize=4096)
def judge(text: str, section: tuple[str, ...] = (), lead: str = "") -> InstructionJudgement:
    """Decide whether a unit of prose is an instruction, given the headings above it and its lead-in."""
    if _LICENCE.search(text[:400]):
        return InstructionJudgement(False, "licence")
    if _CODE_LINE.match(text):
        return InstructionJudgement(False, "code")
    raw = bare(text)
    parts = sentences(raw)
    words = sum(1 for word in _WORD.findall(raw) if word[0].isalpha())
    if not parts or words < 2:
        return InstructionJudgement(False, "too short")
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
    if _directive_section(section) and (_CONVENTION.search(raw) or _CASE.search(text[:MAX_CHARS])):
        return InstructionJudgement(True, "convention under a heading of rules")
    return InstructionJudgement(False, NO_INSTRUCTION)


def judge_row(row: str, header: str, section: tuple[str, ...] = ()) -> InstructionJudgement:
    """Decide whether a table's row is an instruction: one of its cells is, or a column says so."""
    cells = table_cells(row)
    if any(descriptive_heading(name) for name in section[-2:]) or not any(cell for cell in cells):
        return InstructionJudgement(False, "table of facts")
    names = (bare(cell) for cell in table_cells(header))
    if any(_DIRECTIVE_COLUMN.search(name) and not _FACT_COLUMN.match(name) for name in names):
        return InstructionJudgement(True, "under a column of instructions")
    for cell in cells:
        found = judge(cell)
        if found.instruction and found.reason in ("obligation", "prohibition"):
            return found
    return InstructionJudgement(False, "table of facts")


@lru_cache(maxsize=4096)
def _directive_section(section: tuple[str, ...]) -> bool:
    return any(_DIRECTIVE_HEADING.search(name) for name in section)


@lru_cache(maxsize=4096)
def _describes(lead: str) -> bool:
    """Whether a list's introduction announces facts ("The script ensures:")."""
    return bool(lead) and (bool(_DESCRIBING_LEAD.search(lead)) or descriptive_heading(lead))


def _sentence_reason(sentence: str, described: bool) -> str:
    """Return the test by which one sentence is an instruction, or ''."""
    if _PERSONA.match(sentence) or _PAST.match(sentence):
        return ""
    label = _LABEL.match(sentence)
    head, rest = (label.group(1), sentence[label.end() :]) if label else ("", sentence)
    if head and _EXAMPLE.match(head) and not _OBLIGATION.search(head):
        return ""
    if sentence.endswith("?"):
        return ""
    if _is_obligation(sentence):
        return "obligation"
    if described:
        return "imperative" if _FIRM.match(rest) and _imperative(rest) else ""
    if head.startswith(CODE):
        return ""
    if _PROHIBITION.match(rest) and len(rest.split()) > 1:
        return "prohibition"
    if head and _CONVENTION_LABEL.match(head):
        return "convention"
    if _imperative(sentence) or (head and (_imperative(head) or _imperative(rest))):
        return "imperative"
    clauses = _CLAUSE.split(rest)
    if any(_FORBIDS.match(clause) for clause in _PAUSE.split(rest)[1:]):
        return "prohibition after a condition"
    if _SUBORDINATE.match(rest) and any(_imperative(clause) for clause in clauses[1:]):
        return "imperative after a condition"
    dashed = _DASH.split(rest)
    if (
        len(dashed[0].split()) <= 6
        and not dashed[0].startswith(CODE)
        and any(_orders(item) for item in dashed[1:])
    ):
        return "imperative after a label"
    if _PREFERENCE.search(rest) and not _FACT.search(rest):
        return "preference"
    if _PLACED.search(rest):
        return "convention"
    return ""


def _orders(clause: str) -> bool:
    return _imperative(clause) or bool(_FORBIDS.match(clause))


def _is_obligation(sentence: str) -> bool:
    """Whether an obligation is in the sentence, outside of descriptions ("what you must know")."""
    if _OBLIGATION.search(_DESCRIBED.sub(" ", _WHETHER.sub(" ", sentence))):
        return True
    return bool(_ADDRESSED.search(sentence)) and not _ASIDE.search(sentence)


def _imperative(clause: str) -> bool:
    """Whether a clause begins with a verb in the imperative, adverbs before it allowed."""
    words = _WORD.findall(LEADING.sub("", clause.strip()))[:8]
    while words and (_ADVERB.match(words[0]) or words[0] in "\"'(*,"):
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
