"""A unit of a rule file as a rule: its text made understandable alone, when it applies, how binding it is."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from workbench.records.dataclass import dataclass
from workbench.records.rules import PATH_SCOPE, Authority, Category, Level, Provenance, Rule, rule_id
from workbench.rules.curation.versions import AS_IMPORTED, MANAGED, ORDERS, derived_values
from workbench.rules.formats.frontmatter import Reach
from workbench.rules.formats.markdown import Kind
from workbench.rules.globs import anchor, escape
from workbench.rules.reading.discovery import RuleSource
from workbench.rules.reading.units import Unit
from workbench.rules.taxonomy import tags_of
from workbench.text.injection import find_orders
from workbench.text.instructions import (
    NO_INSTRUCTION,
    descriptive_heading,
    introduces_only,
    judge,
    judge_row,
    negative,
    negative_lead,
)
from workbench.text.prose import bare, plain, sentences, short_name, table_cells

SOURCE_PREFIX = "import:"
MAX_RULE_CHARS = 8000  # a longer unit is a document pasted in one line, not an instruction
CHECKBOX = re.compile(r"^\[[ xX~]\]\s+")
PROSE = frozenset({Kind.BULLET, Kind.PARAGRAPH})


@dataclass(frozen=True, slots=True)
class Batch:
    """What all rules of an import share: the project that owns them, how tokens are counted, the time."""

    project_id: str
    count_tokens: Callable[[str], int]
    now: str


def is_rule(unit: Unit) -> bool:
    """Whether a unit is an instruction that stands for itself; what the workbench wrote as a rule is one."""
    if unit.stated is not None:
        return True
    if len(unit.text) > MAX_RULE_CHARS or (unit.introduces and introduces_only(unit.own)):
        return False
    if unit.kind is Kind.TABLE_ROW:
        return judge_row(unit.text, unit.lead, unit.section).instruction
    return unit.kind in PROSE and judge(unit.own, unit.section, unit.lead).instruction


def why_no_rule(unit: Unit) -> str:
    """Return what about a unit that is no rule makes it none, as a clause."""
    if len(unit.text) > MAX_RULE_CHARS:
        return f"it is longer than {MAX_RULE_CHARS:,} characters"
    if unit.introduces and introduces_only(unit.own):
        return "it introduces the list below it"
    if unit.kind is Kind.TABLE_ROW:
        return "no cell of its row is an order"
    if unit.kind not in PROSE:
        return f"it reads as a {unit.kind.value.replace('_', ' ')}"
    reason = judge(unit.own, unit.section, unit.lead).reason
    announced = next((name for name in unit.section[-2:] if descriptive_heading(name)), "")
    if reason == NO_INSTRUCTION and announced:
        return (
            f"below the heading {announced!r}, which announces facts, only orders such as 'Use …' are taken"
        )
    return _NO_RULE.get(reason, reason)


_NO_RULE = {
    NO_INSTRUCTION: "it begins with no verb that orders something, and holds no 'must', 'never' or 'only'",
    "question": "it is a question",
    "too short": "it is a single word",
    "sample": "it introduces an example of what is right or wrong",
    "code": "it begins like a line of code",
    "licence": "it reads as a notice of copyright or licence",
}


def globs_for(source: RuleSource, reach: Reach) -> tuple[str, ...]:
    """Return the globs of a file's rules from the project's root; a nested file is for its directory."""
    if reach.globs:
        return tuple(anchor(glob, source.directory) for glob in reach.globs)
    return (f"/{escape(source.directory)}/",) if source.directory else ()


def build_rule(
    unit: Unit, where: Provenance, reach: Reach, occurrences: Counter[tuple[str, str]], batch: Batch
) -> Rule:
    """Return the rule a unit is. `occurrences` counts (file, text) seen so far and is counted up."""
    text, lead = _rule_and_lead(unit)
    said = None if unit.stated is None else unit.stated.authority
    authority = said or authority_of(text if unit.kind is Kind.TABLE_ROW else unit.own, unit.section, lead)
    priority = priority_of(text, authority, unit.section)
    normal = " ".join(text.split()).casefold()
    occurrence = occurrences[where.file, normal]
    occurrences[where.file, normal] += 1
    owner = "home" if where.home else batch.project_id
    action = plain(text)
    category = category_of(action)
    condition = _condition(unit, reach, where.globs)
    tags = tags_of(f"{condition} {action}", where.globs, priority)
    rule = Rule(
        id=rule_id(owner, where.file, text, occurrence),
        name=short_name(action),
        rule=text,
        category=category,
        authority=authority,
        scope=tuple(PATH_SCOPE + glob for glob in where.globs),
        source=SOURCE_PREFIX + where.format,
        created_at=batch.now,
        updated_at=batch.now,
        project_id=None if where.home else batch.project_id or None,
        priority=priority,
        token_cost=batch.count_tokens(text),
        tags=tags,
        condition_text=condition,
        action_text=action,
        level=Level.SCENARIO if where.globs else Level.GLOBAL,
        provenance=where,
    )
    metadata: dict[str, object] = {AS_IMPORTED: derived_values(rule)}
    if orders := find_orders(f"{condition}\n{text}"):
        metadata[ORDERS] = list(orders)
        rule = replace(rule, enabled=False)
    if unit.stated is not None:
        metadata[MANAGED] = True
    if reach.description:
        metadata["description"] = reach.description
    if lead:
        metadata["lead"] = lead
    if reach.kept:
        metadata["front_matter"] = {
            key: value if isinstance(value, str) else list(value) for key, value in reach.kept.items()
        }
    return replace(rule, metadata={**metadata, "imported": _fingerprint(rule, metadata)})


def _fingerprint(rule: Rule, metadata: dict[str, object]) -> str:
    """Return a digest of all that an import decides about a rule; times, counts and lines are not in it."""
    values = {name: value for name, value in derived_values(rule).items() if name != "condition_text"}
    metadata = {**metadata, AS_IMPORTED: values}  # the condition is in the rule: journals have such digests
    where = None if rule.provenance is None else replace(rule.provenance, line=0, end_line=0)
    decided = replace(rule, created_at="", updated_at="", metadata={}, provenance=where)
    return hashlib.sha256(repr((decided, metadata)).encode("utf-8", "replace")).hexdigest()[:16]


def rule_text(unit: Unit) -> str:
    """Return a unit's text as its rule says it: understandable on its own."""
    return _rule_and_lead(unit)[0]


def lead_in(unit: Unit) -> str:
    """Return what comes before a unit's own text in its rule ("Never commit: "), '' where nothing does."""
    if unit.kind is Kind.TABLE_ROW or unit.stated is not None:
        return ""
    whole = _rule_and_lead(unit)[0]
    return whole[: len(whole) - len(CHECKBOX.sub("", unit.text))]


def _rule_and_lead(unit: Unit) -> tuple[str, str]:
    """Return a rule's text, understandable on its own, and the introduction that stays a condition."""
    if unit.stated is not None:
        return unit.text, ""
    if unit.kind is Kind.TABLE_ROW:
        pairs = zip(table_cells(unit.lead), table_cells(unit.text), strict=False)
        return "; ".join(f"{head}: {cell}" if head else cell for head, cell in pairs if cell), ""
    text = CHECKBOX.sub("", unit.text)
    heading = unit.section[-1] if unit.section else ""
    if unit.lead and negative_lead(unit.lead):
        return (text if negative(unit.own) else _join(unit.lead, text)), unit.lead
    if heading and negative_lead(heading) and not negative(unit.own):
        return _join(heading, text), unit.lead
    if unit.lead and not judge(unit.own, unit.section).instruction:
        return _join(unit.lead, text), unit.lead
    return text, unit.lead


def _join(lead: str, text: str) -> str:
    return f"{lead.rstrip(' :')}: {text}"


def _condition(unit: Unit, reach: Reach, globs: tuple[str, ...]) -> str:
    """Return when a rule is about a task, in words: description, headings, introduction, globs."""
    lead = unit.lead if unit.kind is not Kind.TABLE_ROW else ""
    parts = [reach.description[:200], " > ".join(unit.section[-3:]), lead[:200].rstrip(" :")]
    if globs:
        parts.append("files " + ", ".join(glob.strip("/") for glob in globs[:8]))
    return "; ".join(part for part in parts if part)


# Words that bind wherever they are, as their capitals mean them (RFC 2119 habit).
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
    A strict heading or lead-in ("Never:", "Hard rules") binds what is under it unless it hedges itself.
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
