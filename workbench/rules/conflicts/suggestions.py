"""What would settle a conflict, and why. Proposals are simple, deterministic and never invent a word."""

from __future__ import annotations

import re
from typing import Final

from workbench.comparison.similarity import normal_text
from workbench.comparison.statements import statements
from workbench.comparison.tokens import LIGHT, statement_terms
from workbench.records.conflicts import Action, ConflictKind, Suggestion
from workbench.records.rules import Authority, Rule, rule_file
from workbench.rules.conflicts.compare import Finding
from workbench.rules.conflicts.readings import Reading, profile_of, wider

CLEARLY: Final = 10
"""Points of priority by which one rule goes before another."""

_JOINING = frozenset("and or & plus then".split())
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def suggest(left: Reading, right: Reading, finding: Finding) -> Suggestion:
    """Return the resolution of a conflict that the rules themselves speak for."""
    if finding.kind is ConflictKind.CONTRADICTORY:
        return _settle(left, right)
    if finding.kind is ConflictKind.SUBSUMED:
        return _cover(left, right, finding)
    return _unite(left, right, finding)


def merge_text(left: str, right: str) -> str:
    """Return one wording for two rules that repeat each other: the longer, with the sentences it lacks.

    Mirrored arguments give the same text; every sentence is one of theirs.
    """
    if "```" in left or "```" in right:
        return max(left.strip(), right.strip(), key=lambda text: (len(text), text))
    first, second = sorted(
        (left.strip(), right.strip()), key=lambda text: (-len(_profile(text)), -len(text), text)
    )
    said = _profile(first)
    extra = [
        piece.strip()
        for piece in _SENTENCE.split(second)
        if piece.strip() and normal_text(piece) not in normal_text(first) and not _profile(piece) <= said
    ]
    if not extra:
        return first
    separator = "\n" if "\n" in first else " "
    head = first if first.endswith((".", "!", "?", ";", ":", "`")) else first + "."
    return separator.join([head, *extra])


def _profile(text: str) -> frozenset[str]:
    return profile_of(statements(text))


def _unite(left: Reading, right: Reading, finding: Finding) -> Suggestion:
    """Two wordings of one instruction: one rule in both files, or the better one."""
    exact = finding.kind is ConflictKind.EXACT
    text = left.rule.rule if exact else merge_text(left.rule.rule, right.rule.rule)
    if rule_file(left.rule) != rule_file(right.rule) and _agents(left.rule) != _agents(right.rule):
        return Suggestion(Action.MERGE, "Two agents' files hold it; one rule can be in both.", text=text)
    stronger = _stronger(left.rule, right.rule)
    if stronger is not None:
        return _keep(left, right, stronger[0] is left.rule, stronger[1])
    if wider(left.reach, right.reach):
        return _keep(left, right, True, "it also holds where the other one does")
    if wider(right.reach, left.reach):
        return _keep(left, right, False, "it also holds where the other one does")
    if left.reach != right.reach:
        return Suggestion(
            Action.MERGE, "Each holds where the other one does not; one rule can hold for both.", text=text
        )
    if exact:
        return _keep(left, right, _older(left.rule, right.rule), "the other one is a later copy")
    one_file = rule_file(left.rule) == rule_file(right.rule)
    if not text.startswith((left.rule.rule.strip(), right.rule.rule.strip())) or not one_file:
        return Suggestion(Action.MERGE, "They say the same; one wording is enough.", text=text)
    return _keep(left, right, text.startswith(left.rule.rule.strip()), "it says the most")


def _cover(left: Reading, right: Reading, finding: Finding) -> Suggestion:
    """One rule says more: either it narrows the other one down and adds nothing, or it demands more."""
    long_is_left = bool(finding.wider)
    long, short = (left, right) if long_is_left else (right, left)
    stronger = _stronger(left.rule, right.rule)
    if _limits(short, long):
        if stronger is not None and stronger[0] is long.rule:
            return Suggestion(Action.KEEP_BOTH, f"The longer one speaks of one case only, but {stronger[1]}.")
        if short.reach == long.reach or wider(short.reach, long.reach):
            return _keep(left, right, not long_is_left, "the other one only repeats it for one case")
        return Suggestion(Action.KEEP_BOTH, "The shorter one does not hold everywhere the longer one does.")
    if stronger is not None and stronger[0] is short.rule:
        return Suggestion(
            Action.KEEP_BOTH, f"The longer one demands more, but the shorter one weighs more: {stronger[1]}."
        )
    if short.reach == long.reach or wider(long.reach, short.reach):
        return _keep(left, right, long_is_left, "it says everything the other one says, and more")
    return Suggestion(Action.KEEP_BOTH, "The longer one does not hold everywhere the shorter one does.")


def _limits(short: Reading, long: Reading) -> bool:
    """Whether what the longer rule adds narrows it down, and is no further demand ("… and …", a sentence)."""
    if len(long.statements) > len(short.statements):
        return False
    known = {*statement_terms(short.normal), *LIGHT}
    joined = False
    for word in long.normal.split():
        terms = [term for term in statement_terms(word) if term not in LIGHT]
        if terms and not known.issuperset(terms):
            return not joined
        joined = word in _JOINING or (joined and not terms) or word[-1] in ",;:"
    return True


def _settle(left: Reading, right: Reading) -> Suggestion:
    """A contradiction: what binds more, the narrower as an exception, the newer; else a person's choice."""
    stronger = _stronger(left.rule, right.rule)
    if stronger is not None:
        return _keep(left, right, stronger[0] is left.rule, stronger[1])
    for first, second in ((left, right), (right, left)):
        if wider(first.reach, second.reach):
            return Suggestion(
                Action.NARROW_SCOPE,
                "One holds in more places; it can leave the narrower one's files to it.",
                keep=second.rule.id,
            )
    if left.rule.created_at and right.rule.created_at and left.rule.created_at != right.rule.created_at:
        newer = left.rule if left.rule.created_at > right.rule.created_at else right.rule
        return Suggestion(Action.SUPERSEDE, "The newer one can replace the older one.", keep=newer.id)
    if left.reach != right.reach:
        return Suggestion(Action.NARROW_SCOPE, "They meet only in part; each can keep to its own files.")
    return _keep(
        left, right, _older(left.rule, right.rule), "it came first, and nothing else speaks for either"
    )


def _keep(left: Reading, right: Reading, keep_left: bool, why: str) -> Suggestion:
    action, rule = (Action.KEEP_LEFT, left.rule) if keep_left else (Action.KEEP_RIGHT, right.rule)
    return Suggestion(action, f"Keep the {'left' if keep_left else 'right'} one: {why}.", keep=rule.id)


def _stronger(left: Rule, right: Rule) -> tuple[Rule, str] | None:
    """Return the rule that binds more and why, or None."""
    if left.authority is not right.authority:
        return (
            left if left.authority is Authority.ABSOLUTE else right
        ), "it is absolute, the other one a default"
    if abs(left.priority - right.priority) >= CLEARLY:
        return (left if left.priority > right.priority else right), "its priority is higher"
    return None


def _older(left: Rule, right: Rule) -> bool:
    """Whether the left rule came first: by time, file, line and id."""
    return _place(left) <= _place(right)


def _place(rule: Rule) -> tuple[str, str, int, str]:
    where = rule.provenance
    return (rule.created_at, where.file if where else "", where.line if where else 0, rule.id)


def _agents(rule: Rule) -> str:
    return rule.provenance.format if rule.provenance else ""
