"""Corrections of users: who made one when, how often, and whether a rule should say it.

A correction is a fact in the journal. It becomes a learning, and is suggested as a rule, once it says itself
that it always holds, or was said in two sessions or three times. A sentence that many prompts share was
written once, and a prompt that a resumed session repeats was said once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

from workbench.records.learnings import SAID_SESSIONS, SAID_TIMES

SPOKEN: Final = 40
"""Words of a prompt that somebody typed for this once; equal sentences of longer ones are of one template."""


class Strength(StrEnum):
    """How surely a sentence is meant for more than the task at hand."""

    STANDING = "standing"  # it says so itself: always, never, from now on
    CORRECTING = "correcting"  # one way instead of another, after an agent did something
    PASSING = "passing"  # it may be for now: it counts once it is said again


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that was said. `at` is when (ISO 8601), `prompt` its number in the session, from 1.

    `key` is the rule as it was first said, shared by all repetitions; `text` as it was said now, `quote`
    the sentence. `learning_id` is empty while nothing was learned of it. `rule` is the text of a rule in
    force that says so already, or, with `against`, that says otherwise. `template` is a digest of a sentence
    in a long prompt, else empty.
    """

    at: str
    key: str
    text: str
    quote: str
    session_id: str
    prompt: int
    strength: str
    feature: str = ""
    learning_id: str = ""
    rule: str = ""
    against: bool = False
    template: str = ""


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


def correction_body(one: Correction) -> dict[str, Any]:
    """Return a correction as a journal body."""
    return {name: getattr(one, name) for name in Correction.__slots__}


def read_correction(body: Mapping[str, Any]) -> Correction | None:
    """Return the correction of a journal body, None for a malformed one (F36: nothing is guessed)."""
    import msgspec

    from workbench.records.conversion import convert

    try:
        return convert({name: body[name] for name in Correction.__slots__ if name in body}, Correction)
    except msgspec.ValidationError:
        return None


def group_by_learning(corrections: Sequence[Correction]) -> dict[str, list[Correction]]:
    """Return {learning id: what was said of it}, in order, with what was said before it was learned."""
    learned = {one.key: one.learning_id for one in corrections if one.learning_id}
    found: dict[str, list[Correction]] = {}
    for one in corrections:
        identifier = one.learning_id or learned.get(one.key, "")
        if identifier:
            found.setdefault(identifier, []).append(one)
    return found
