"""What an agent decided, in the sentences in which it says so: "I'll use X because Y", "chose X over Y".

A decision picks one of several ways. What the agent is merely about to do ("I'll run the tests"), a question,
a proposal and what is in code do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from workbench.records.iterations import DecisionEntry

MAX_SENTENCE: Final = 600  # characters
_SHORTEST = 12

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[^\n]+")
_SPLIT = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[A-Z\"'`*(])")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+")
_MARKS = re.compile(r"\*\*|__|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)")

_WHO = r"\b(?:I|we)(?:'ve| have|'m| am|'re| are|'ll| will)?"
_ADVERB = r"(?: (?:also|then|finally|ultimately|therefore|deliberately|instead|intentionally|now))?"
_CHOSEN = re.compile(
    rf"{_WHO}{_ADVERB} (?:decided (?:to|on|against|not to|that)|cho(?:se|sen|osing)|opt(?:ed|ing) (?:for|to)|"
    r"settled on|picked|went with|going (?:to go )?with|go with|stick(?:ing)? with|opt for|"
    r"switched (?:\S+ ){0,4}(?:from|to)|keep using)\b"
    r"|^(?:design )?decision:"
    r"|^the decision (?:is|was)\b"
    r"|^(?:decided|chose|opted|settled) (?:to|for|on|against)\b"
    r"|^(?:let's|let me|going to) (?:go with|stick with|opt for)\b"
    r"|\bcho(?:se|osing) \S+(?: \S+){0,5} over\b"
    r"|^switched \S+(?: \S+){0,4} from \S+(?: \S+){0,3} to\b",
    re.IGNORECASE,
)
# What an agent looks at, runs or says next is its way of working and decides nothing about the work.
_LOOKS = (
    r"check|verify|inspect|wait|run|look|read|pull|review|search|confirm|try|fetch|compar|ask|continu|report|"
    r"open|load|watch|monitor|investigat|explor|grep|pin|see|find|need|us(?:e|ing) the \S+(?: \S+){0,2} "
    r"(?:workflow|skill|tool|agent|command)|hav|was|were|been|not|had|do|guess|can|could|may|might|would|going"
)
_INSTEAD = re.compile(
    rf"(?:{_WHO}{_ADVERB} (?:going to )?|^(?:let's |let me ))(?!{_LOOKS})\w+ .{{2,240}}?"
    r"\b(?:instead of|rather than|in favou?r of)\b"
    r"|^(?:used|using) .{2,160}?\b(?:instead of|rather than|in favou?r of)\b",
    re.IGNORECASE,
)
_BECAUSE = re.compile(
    rf"(?:{_WHO}{_ADVERB} (?:going to )?|^(?:let's |let me ))(?!{_LOOKS})"
    r"(?:us(?:e|ed|ing)|keep(?:ing)?|kept|avoid(?:ed|ing)?|rely(?:ing)?|relied|leav(?:e|ing)|left|skip(?:ped)?|"
    r"mak(?:e|ing)|made|creat(?:e|ed|ing)|stor(?:e|ed|ing)|put(?:ting)?|nam(?:e|ed|ing)|treat(?:ed|ing)?|"
    r"pass(?:ed|ing)?|set|edit(?:ing)?|appl(?:y|ying))\b"
    r".{2,240}?\b(?:because|since|so that|to avoid|as it)\b",
    re.IGNORECASE,
)
# Each pattern with words of which one is in whatever it finds: most sentences hold none.
_PATTERNS = (
    (("because", "since", "so that", "to avoid", "as it"), _BECAUSE),
    (("instead", "rather", "in favo"), _INSTEAD),
    (
        ("decid", "decision", "chose", "choos", "opt", "settled", "picked", "with", "switch", "keep using"),
        _CHOSEN,
    ),
)
_REASON = re.compile(
    r"[,;:(–—-]*\s*\b(because(?: of)?|since(?! v?\d)|so that|due to|in order to|to avoid|"
    r"as (?:it|this|that|they|the)\b(?= \w+)|which (?:avoids|keeps|makes|means|lets|allows|is))\s+",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\?\s*$"
    r"|^(?:if|should|would|could|do|does|can|shall|unless|whether|when|maybe|perhaps|alternatively|option|"
    r"error|warning)\b"
    r"|\b(?:you (?:could|can|may|might|should|decided|chose|want)|would you|if you|do you|let me know|"
    r"could (?:also )?(?:use|be)|(?:I|we) (?:could|might|should))\b",
    re.IGNORECASE,
)


def find_decisions(texts: Iterable[str]) -> Iterator[DecisionEntry]:
    """Yield the decisions in an agent's own words, each once, in their order; lengths are not bounded."""
    seen: set[str] = set()
    for text in texts:
        for sentence in sentences(text):
            if not is_decision(sentence):
                continue
            key = re.sub(r"\W+", " ", sentence).casefold().strip()
            if key not in seen:
                seen.add(key)
                yield with_reason(sentence)


def sentences(text: str, shortest: int = _SHORTEST) -> Iterator[str]:
    """Yield the sentences of a text in Markdown, without its code blocks, bullets and emphasis.

    Those of fewer than `shortest` characters are left out.
    """
    text = text.replace("\u2019", "'")
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    for line in _SENTENCE.findall(text):
        if line.lstrip().startswith("|") or len(line) > 20_000:
            continue
        line = _BULLET.sub("", line)
        if "*" in line or "__" in line:
            line = _MARKS.sub("", line)
        line = line.strip()
        for sentence in _SPLIT.split(line):
            if shortest <= len(sentence) <= MAX_SENTENCE:
                yield sentence.strip()


def is_decision(sentence: str) -> bool:
    """Whether a sentence says that one of several ways was chosen."""
    folded = sentence.casefold()
    for signs, pattern in _PATTERNS:
        if any(sign in folded for sign in signs) and pattern.search(sentence):
            return not _NOT.search(sentence)
    return False


def with_reason(sentence: str) -> DecisionEntry:
    """Split a decision from its reason, where it gives one in the same sentence."""
    reason = _REASON.search(sentence, _SHORTEST)
    if reason is None:
        return DecisionEntry(sentence.rstrip(" .;:"))
    because = reason[1].casefold().startswith(("because", "since", "due"))
    why = sentence[reason.end() if because else reason.start(1) :].strip().rstrip(".;:)")
    told = sentence[: reason.start()].rstrip(" ,;:(–—-")
    if len(told) < _SHORTEST or len(why) < 4:
        return DecisionEntry(sentence.rstrip(" .;:"))
    return DecisionEntry(told, why)
