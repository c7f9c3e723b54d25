"""How binding a rule is, by its wording: absolute or default, and a priority within that."""

from __future__ import annotations

import re
from functools import lru_cache

from workbench.records.rules import Authority, Category
from workbench.text.instructions import judge
from workbench.text.prose import bare, sentences

# Words that bind wherever they stand, as their capitals mean them (RFC 2119 habit).
_SHOUTED = re.compile(
    r"\b(?:MUST(?: NOT)?|SHALL(?: NOT)?|NEVER|ALWAYS|DO NOT|DON'T|REQUIRED|MANDATORY|FORBIDDEN|PROHIBITED|"
    r"IMPORTANT|CRITICAL|NON-NEGOTIABLE|STRICTLY|UNDER NO CIRCUMSTANCES)\b"
)
_BINDING = re.compile(
    r"\b(?:must(?:n't| not| never| always)?|shall(?: not)?|under no circumstances|no exceptions?|"
    r"without exception|"
    r"non-negotiable|not (?:allowed|permitted|acceptable)|"
    r"(?:is|are|be) (?:strictly |absolutely |always )?(?:required|mandatory|forbidden|prohibited|"
    r"banned|disallowed)|"
    r"do not ever|don't ever|strictly (?:forbidden|prohibited|required))\b",
    re.IGNORECASE,
)
# "Always" and "never" bind as orders ("Always run", "you should never"), not in "it always returns".
_ORDERED = re.compile(
    r"(?:^|[,;:.—–]\s*|\band\s+|\bbut\s+|\bshould\s+|\bor\s+|\bto\s+|\bplease\s+|\bthen\s+|\bis\s+|"
    r"\bare\s+|-\s+)"
    r"(?:always|never)\b",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"^(?:important|critical|mandatory|required|non-negotiable|forbidden|must|absolute|strict)\b[^:]{0,30}:|"
    r"\((?:required|mandatory|non-negotiable|critical|must)\)",
    re.IGNORECASE,
)
_LIFTED = re.compile(
    r"\b(?:is|are|be)(?:n't| not| no longer| never) (?:strictly |absolutely |always )?(?:required|"
    r"mandatory|necessary|needed)|"
    r"\b(?:do|does|need|must) ?(?:not|n't)? (?:need|have) to\b|\bneed(?:n't| not)\b|\bnot always\b|"
    r"\bnot never\b|"
    r"\b(?:almost|nearly) (?:always|never)\b|\bnever mind\b|\bnot (?:strictly )?(?:required|mandatory)\b|"
    r"\bif (?:it is |they are )?(?:required|mandatory)\b|\b(?:if|when|where|whenever|unless|that|"
    r"which|what) (?:you|we|it|they|one) (?:must|never|always)\b|"
    r"\b(?:must|required|should|nice)[- ]haves?\b|"
    r"\b(?:if|unless|when|where|whenever|only) [^,.;:]{0,60}?\b(?:is|are) (?:\w+ )?(?:required|mandatory)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:prefer(?:ably|red|s)?|consider|try to|strive|aim|where (?:possible|appropriate|applicable|"
    r"practical)|"
    r"when (?:possible|appropriate|practical|feasible)|if possible|ideally|generally|usually|"
    r"typically|optional(?:ly)?|"
    r"recommended|encouraged|nice to have|may want)\b",
    re.IGNORECASE,
)
_STRICT_HEADING = re.compile(
    r"^\W*(?:always|never|critical)\W*$|\b(?:must(?!-)|never|forbidden|prohibited|mandatory|required|"
    r"non-negotiables?|"
    r"critical (?:rules?|requirements?|constraints?)|(?:hard|strict|absolute) \w+|not allowed)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]{0,200}\"|“[^”\n]{0,200}”")
_PREFERENCE = re.compile(r"\b(?:prefer|favou?r|like|style|instead of|rather than|over)\b", re.IGNORECASE)
_AGENT = re.compile(r"^(?:you are|act as|your role)\b", re.IGNORECASE)


def authority_of(text: str, section: tuple[str, ...] = (), lead: str = "") -> Authority:
    """Return absolute for a text whose main instruction binds without exception, by its words.

    Words in code spans and quotes don't count; "is not required" lifts an obligation, "must not" makes one.
    A strict heading or lead-in ("Never:", "Hard rules") binds what stands under it unless it hedges itself.
    """
    cleaned = _QUOTED.sub(" QUOTE ", bare(text))
    if _SHOUTED.search(_LIFTED.sub(" ", cleaned)):
        return Authority.ABSOLUTE
    orders = [part for part in sentences(cleaned) if judge(part, section, lead).instruction]
    binding = [part for part in orders if _binds(part)]
    if orders and (binding[:1] == orders[:1] or 2 * len(binding) >= len(orders)):
        return Authority.ABSOLUTE
    above = (lead, section[-1] if section else "")
    if any(_strict(name) for name in above if name) and not _HEDGED.search(cleaned):
        return Authority.ABSOLUTE
    return Authority.DEFAULT


@lru_cache(maxsize=4096)
def _strict(heading: str) -> bool:
    return bool(_STRICT_HEADING.search(bare(heading)))


@lru_cache(maxsize=4096)
def _grave(heading: str) -> bool:
    return bool(re.search(r"\b(?:critical|important|must|non-negotiable)\b", heading, re.IGNORECASE))


def _binds(sentence: str) -> bool:
    if _HEDGED.match(sentence):
        return False
    kept = _LIFTED.sub(" ", sentence)
    return bool(_LABELLED.search(kept) or _BINDING.search(kept) or _ORDERED.search(kept))


def priority_of(text: str, authority: Authority, section: tuple[str, ...] = ()) -> int:
    """Return 0 to 100: 50 for a default rule, 80 for an absolute one, more if shouted, less if hedged."""
    cleaned = bare(text)
    score = 80 if authority is Authority.ABSOLUTE else 50
    if authority is Authority.ABSOLUTE and _SHOUTED.search(cleaned):
        score += 10
    if any(_grave(name) for name in section):
        score += 5
    if authority is Authority.DEFAULT and re.search(r"\boptional|nice to have\b", cleaned, re.IGNORECASE):
        score -= 20
    elif authority is Authority.DEFAULT and _HEDGED.search(cleaned):
        score -= 10
    return max(0, min(100, score))


def category_of(text: str) -> Category:
    """Return what a rule speaks about: a taste, a way of working, or what the agent is."""
    cleaned = bare(text)
    if _AGENT.match(cleaned):
        return Category.AGENT
    if _PREFERENCE.search(cleaned):
        return Category.PREFERENCE
    return Category.BEHAVIOR
