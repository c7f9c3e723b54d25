"""Messages that a new rule may be relevant to, proposed by a language model: option D of [adr2].

They count for nothing until somebody accepts them: a bad example makes a rule answer to everything like it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from workbench.config import Config
from workbench.entry.project import language_model
from workbench.records.rules import Rule
from workbench.rules.curation.versions import PROPOSED
from workbench.rules.matching.examples import generate_examples, sift
from workbench.text.counts import plural
from workbench.text.sanitize import visible_line

PATIENCE: Final = 30.0  # seconds that adding a rule may take longer


def with_proposals(config: Config, rule: Rule) -> tuple[Rule, str]:
    """Return a rule that is to be added with what the language model proposes, and what to say of that.

    Nothing is asked without a model, for a rule with examples of its own, and where `rules.propose` is off. A
    model that fails costs the proposals alone.
    """
    if rule.examples or not config.rules.propose:
        return rule, ""
    model = language_model(config)
    if model is None:
        return rule, ""
    found = generate_examples(rule, model, timeout=PATIENCE)
    if found.failed:
        return rule, visible_line(f"no messages were proposed for it: {found.failed}")
    proposed = replace(rule, metadata={**rule.metadata, PROPOSED: list(found.examples)})
    return proposed, visible_line(
        f"{model.model} proposed {plural(len(found.examples), 'message')} it may be relevant to, which count "
        "once you accept them: `workbench rules examples ID --accept`"
    )


def proposed_examples(rule: Rule) -> tuple[str, ...]:
    """Return what was proposed for a rule as it was added and still waits: nothing once it has examples."""
    texts = () if rule.examples else rule.metadata.get(PROPOSED, ())
    return sift(rule, [text for text in texts if isinstance(text, str)], generated=True).examples
