"""Asking a language model about texts of others, and what it costs.

The texts go as one JSON object in the user's turn, the instructions in the system's: a text cannot end its
string, cannot hold a control token of a chat template, and hides no character. Every call is accounted for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import ModelError
from workbench.ports import LanguageModel
from workbench.text.sanitize import visible
from workbench.text.tokens import utf8_bound

CountTokens = Callable[[str], int]

# Templates mark turns with <|im_start|>, <start_of_turn>, [INST] and the like, and servers read them as such
# wherever they are. All begin with one of these, which JSON can write otherwise.
_MARKS = re.compile(r"[<>]|\[(?=/?[A-Z_]{3,}\])")


@dataclass(frozen=True, slots=True)
class Cost:
    """What asking a model took, in tokens; all of it stays on the machine the model runs on.

    `prompt_tokens` is the larger of what was counted here and what the server reports, which leaves out what
    it has cached. `failed` says why no answer came; its tokens were spent all the same.
    """

    model: str
    prompt_tokens: int
    answer_tokens: int
    failed: str = ""

    def sentence(self) -> str:
        """Say it: `asked ollama:tiny: 412 tokens sent, 80 received`."""
        return f"asked {self.model}: {self.prompt_tokens:,} tokens sent, {self.answer_tokens:,} received"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model's answer, None if it failed, and the cost."""

    value: Mapping[str, Any] | None
    cost: Cost


def ask(
    model: LanguageModel,
    system: str,
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    *,
    timeout: float,
    max_tokens: int,
    count_tokens: CountTokens = utf8_bound,
) -> ModelAnswer:
    """Ask once about `data`. A failure is reported in the cost, with what to do about it.

    `timeout` is in seconds for the whole call, `max_tokens` bounds the answer.
    """
    prompt = quote(data)
    sent = count_tokens(system) + count_tokens(prompt)
    try:
        found = model.complete_json(prompt, schema, system=system, timeout=timeout, max_tokens=max_tokens)
    except ModelError as error:
        return ModelAnswer(
            None, Cost(model.model, sent, 0, " ".join(filter(None, (error.message + ".", error.hint))))
        )
    return ModelAnswer(found.value, Cost(model.model, max(sent, found.prompt_tokens), found.answer_tokens))


def quote(data: Mapping[str, Any]) -> str:
    """Return data as JSON whose texts are shown whole and mark nothing in a chat template."""
    text = json.dumps(_sanitize(data), ensure_ascii=False)
    return _MARKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _sanitize(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(str(name)): _sanitize(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sanitize(part) for part in value]
    return value
