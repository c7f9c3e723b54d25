"""Which texts in the user's name the user wrote: without what agents, hooks and commands put there.

Slash commands, hook injections, caveats, reminders, outputs of local commands and summaries of
compactions are no prompts. What the user adds to a command of their own is one: the words are theirs.
"""

from __future__ import annotations

import re
from typing import Final

from workbench.records.dataclass import dataclass
from workbench.text.expressions import read_expressions, read_words

_FORMS: Final = read_expressions(__package__, "prompts.toml")
_WORDS: Final = read_words(__package__, "prompts.toml")


MIN_WORDS = 4  # of a command's arguments that make a task

_SUMMARIES = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
)
_SPOKEN_FOR = (
    "Caveat: The messages below were generated",
    "# AGENTS.md instructions for",
    "Stop hook feedback:",
    "PreToolUse:",
    "PostToolUse:",
    "Warning: apply_patch was requested",
    "Your task is to create a detailed summary of the conversation",
)

_BARE: Final = re.compile(
    r"(?:(?:yes|y|yep|yeah|ok|okay|sure|please|no|continue|go|on|ahead|proceed|do|it|this|that|all|and|then|now|"
    r"commit|push|merge|the|changes|keep|going|next|resume|retry|again|try|great|thanks|thank|you|good|perfect|"
    r"\d+|[a-d]|done|approved?|lgtm|ship|run|tests?|fix)\b[\s.,!?:)]*){1,6}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class UserText:
    """A text in the user's name: what the user wrote (empty if nothing), or why it is not a prompt."""

    text: str = ""
    why_not: str = ""
    interrupted: bool = False


def is_bare(text: str) -> bool:
    """Whether a prompt says nothing by itself: `continue`, `yes, do it`, `commit`."""
    return _BARE.fullmatch(text) is not None


def user_text(text: str) -> UserText:
    """Return what of a text is the user's own."""
    if interrupted := _FORMS["interrupted"].match(text):
        rest = text[interrupted.end() :].partition("</turn_aborted>")
        own = (rest[2] if rest[1] else "" if "<turn_aborted>" in text else rest[0]).strip()
        return UserText(own, "" if own else "interruption", interrupted=True)
    head = text.lstrip()[:200]
    if head.startswith(_SUMMARIES):
        return UserText(why_not="summary of a compaction")
    if head.startswith(_SPOKEN_FOR):
        return UserText(why_not="put in by the agent or a hook")
    if "<command-name>" in text:
        return _of_command(text)
    own = _without_injections(_FORMS["editor"].sub("", text))
    if "<task-notification" in text:
        own = _FORMS["pointer"].sub("", own)
    own = _FORMS["picture"].sub("", own).strip()
    if own:
        return UserText(own)
    return UserText(why_not="picture" if _FORMS["picture"].search(text) else "put in by the agent or a hook")


def _without_injections(text: str) -> str:
    """Return the text without what is in known tags; one that never ends counts only at the beginning."""
    kept, at = [], 0
    unclosed: set[str] = set()
    folded = text.casefold() if text.isascii() else text
    while (opening := _FORMS["opening"].search(text, at)) is not None:
        name = opening[1].casefold()
        closing = f"</{name.split()[0] if name.startswith('permissions') else name}"
        end = -1 if name in unclosed else folded.find(closing, opening.end())
        kept.append(text[at : opening.start()])
        if end < 0:
            unclosed.add(name)
            if not text[: opening.start()].strip():
                return ""
            kept.append(opening[0])
            at = opening.end()
            continue
        close = text.find(">", end)
        at = len(text) if close < 0 else close + 1
    return "".join((*kept, text[at:]))


def _of_command(text: str) -> UserText:
    parts = {name: inner.strip() for name, inner in _FORMS["command"].findall(text)}
    name = parts.get("name", "").lstrip("/")
    arguments = _without_injections(parts.get("args", "")).strip()
    if (
        name in _WORDS["built_in"]
        or len(re.findall(r"\w{2,}", arguments)) < MIN_WORDS
        or arguments.startswith("-")
    ):
        return UserText(why_not="slash command")
    return UserText(arguments)
