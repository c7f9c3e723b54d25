"""Corrections of users: how often one was made, and whether a rule should say it.

A correction is a fact in the journal. It becomes a learning, and is suggested as a rule, once it says itself
that it always holds, or was said in two sessions or three times. A sentence that many prompts share was
written once, and a prompt that a resumed session repeats was said once.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.records.learnings import SAID_SESSIONS, SAID_TIMES, Correction, Strength

SPOKEN: Final = 40
"""Words of a prompt that somebody typed for this once; equal sentences of longer ones are of one template."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a correction was made: times, in how many sessions, and whether as a standing instruction."""

    times: int
    sessions: int
    standing: bool

    @property
    def why(self) -> str:
        """Why a rule should say it, or empty."""
        if self.sessions >= SAID_SESSIONS:
            return f"said in {self.sessions} sessions"
        if self.times >= SAID_TIMES:
            return f"said {self.times} times"
        return "said to hold from then on" if self.standing else ""


def tally(said: Sequence[Correction]) -> Tally:
    """Count corrections; copies of a prompt and sentences of a template count once."""
    apart: dict[tuple[str, ...], Correction] = {}
    for one in said:
        key = (
            (one.template,)
            if one.template
            else (one.at, one.quote)
            if one.at
            else (one.session_id, one.quote)
        )
        apart.setdefault(key, one)
    sessions = {one.session_id for one in apart.values()}
    standing = any(one.strength == Strength.STANDING for one in said)
    return Tally(len(apart), len(sessions), standing)


def template_of(prompt: str, sentence: str) -> str:
    """Return the digest of a sentence in a long prompt, which loops send again and again, else empty."""
    if len(prompt.split()) <= SPOKEN:
        return ""
    folded = " ".join(sentence.casefold().split())
    return blake2b(folded.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def group_by_learning(corrections: Sequence[Correction]) -> dict[str, list[Correction]]:
    """Return {learning id: what was said of it}, in order, with what was said before it was learned."""
    learned = {correction.key: correction.learning_id for correction in corrections if correction.learning_id}
    found: dict[str, list[Correction]] = {}
    for one in corrections:
        identifier = one.learning_id or learned.get(one.key, "")
        if identifier:
            found.setdefault(identifier, []).append(one)
    return found
