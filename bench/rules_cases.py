"""Rule sets with messages and the rule each is about, for fitting and measuring how rules are matched."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workbench.records.rules import Rule
from workbench.replay.datasets import Split, read_rules
from workbench.rules.matching.relevance import rule_texts, rule_vectors
from workbench.rules.matching.search import RuleIndex, index_rules

Float32 = NDArray[np.float32]
Bool = NDArray[np.bool_]

CLINC: Final = "intents/clinc150.jsonl"
SAMPLED: Final = 4  # one train message in so many is asked about in fitting


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors float32 [n, d] of texts, and the model they are of."""

    model: str
    embed: Callable[[Sequence[str]], Float32]


@dataclass(frozen=True, slots=True)
class Intents:
    """CLINC150: train and held-back messages by intent, and messages of none."""

    train: dict[str, tuple[str, ...]]
    messages: dict[str, tuple[str, ...]]
    outside: tuple[str, ...]

    def names(self, fit: bool | None = None) -> list[str]:
        """Return the intents, sorted: all, or those of the fit half or the test half."""
        return [name for name in sorted(self.train) if fit is None or (_hash(name) % 2 == 0) == fit]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Rules, messages, their vectors, and which rules each message is about, bool [messages, rules]."""

    rules: tuple[Rule, ...]
    index: RuleIndex
    messages: tuple[str, ...]
    vectors: Float32
    right: Bool

    @property
    def inside(self) -> Bool:
        """Which messages some rule is about."""
        return np.asarray(self.right.any(axis=1), np.bool_)


def read_intents(data: Path) -> Intents:
    """Read the messages. Exits with a message if they are not there."""
    place = data / CLINC
    if not place.is_file():
        sys.exit(f"{data} lacks {CLINC}: lines of {{text, intent, split}} with split train, val or oos_val.")
    with place.open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = [json.loads(line) for line in file]
    inside = [row for row in rows if not row["split"].startswith("oos")]
    names = sorted({row["intent"] for row in inside})

    def texts(name: str, train: bool) -> tuple[str, ...]:
        found = {
            row["text"] for row in inside if row["intent"] == name and (row["split"] == "train") == train
        }
        return tuple(sorted(found, key=_hash))

    return Intents(
        {name: texts(name, True) for name in names},
        {name: texts(name, False) for name in names},
        tuple(row["text"] for row in rows if row["split"].startswith("oos")),
    )


def intent_rule(name: str, examples: Sequence[str]) -> Rule:
    """Return the rule of an intent: its name in words as the condition, and example messages."""
    words = name.replace("_", " ")
    return Rule(id=name, name=words, rule="", condition_text=words, examples=tuple(examples))


def held_back(intents: Intents, examples: int, embedding: Embedding) -> Case:
    """All intents as rules, their first train messages as examples, asked with the held-back messages."""
    rules = [intent_rule(name, intents.train[name][:examples]) for name in intents.names()]
    asked = [(text, name) for name in intents.names() for text in intents.messages[name]]
    return make_case(rules, [*asked, *((text, "") for text in intents.outside)], embedding)


def sampled(
    intents: Intents, names: Sequence[str], rules: int, examples: int, seed: int, embedding: Embedding
) -> Case:
    """Some of the intents as rules, asked with messages of all of them: those of the others match none."""
    random = np.random.default_rng([seed, rules, examples])
    chosen = set(random.permutation(np.array(names))[:rules].tolist())
    taken = {
        name: [intents.train[name][at] for at in random.permutation(len(intents.train[name]))[:examples]]
        for name in sorted(chosen)
    }
    asked = [
        (text, name if name in chosen else "")
        for name in names
        for text in (
            *intents.messages[name],
            *(one for one in intents.train[name] if _hash(one) % SAMPLED == 0),
        )
        if text not in taken.get(name, ())
    ]
    return make_case([intent_rule(name, taken[name]) for name in sorted(chosen)], asked, embedding)


def benchmark_case(
    folder: Path, split: Split, embedding: Embedding, *, rules: int | None = None, seed: int = 0
) -> Case:
    """Return the messages of one half of a rules benchmark, against all of its rules or some of them."""
    data = read_rules(folder)
    chosen = sorted(data.rules, key=lambda rule: rule.id)
    if rules is not None:
        kept = np.sort(np.random.default_rng([seed, rules]).permutation(len(chosen))[:rules])
        chosen = [chosen[at] for at in kept]
    messages = [message for message in data.messages if message.split is split]
    case = make_case(chosen, [(message.text, "") for message in messages], embedding)
    right = np.array([[rule.id in message.expected for rule in chosen] for message in messages], np.bool_)
    return Case(case.rules, case.index, case.messages, case.vectors, right)


def make_case(rules: Sequence[Rule], asked: Sequence[tuple[str, str]], embedding: Embedding) -> Case:
    """Return a case of (message, the id of the rule it is about or '')."""
    texts = rule_texts(rules)
    vectors = rule_vectors(texts, embedding.embed(texts.texts), embedding.model)
    messages = tuple(text for text, _ in asked)
    ids = np.array([rule.id for rule in rules])
    right = np.array([name for _, name in asked])[:, None] == ids[None]
    return Case(tuple(rules), index_rules(rules, vectors=vectors), messages, embedding.embed(messages), right)


def embedding() -> Embedding:
    """Return the configured model with its cache. Exits with a message if there is none."""
    from store.embedding import EmbeddingSettings, resolve_embedder
    from store.embedding_cache import cache_embeddings
    from workbench.places import user_cache

    found, report = resolve_embedder(EmbeddingSettings(cache=user_cache()))
    if found is None:
        sys.exit("No embedding model: " + "; ".join(f"{o.source}: {o.reason}" for o in report.options))
    return Embedding(found.model, cache_embeddings(found, user_cache() / "embeddings").embed)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
