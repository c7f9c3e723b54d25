"""What a text must be to be learned: framed where it instructs, without secrets, bounded, about something.

Junk stays out by default. Of texts that nobody wrote on purpose only those are kept that name something in
particular, hold for more than the moment, and are not about files that no task is about (F33).
"""

from __future__ import annotations

import re
from typing import Final

from workbench.memory.learnings.echoes import strip_frames
from workbench.records.learnings import MAX_TEXT, bounded
from workbench.text.redact import redact
from workbench.text.sanitize import visible

LEAST_WORDS: Final = 5
MOST_CHARACTERS: Final = 320

INFRASTRUCTURE: Final = re.compile(
    r"(?:^|/)(?:\.git|\.ralph|\.workbench|\.claude|\.codex|\.cursor|\.github/workflows|\.idea|\.vscode|node_modules|"
    r"\.venv|venv|__pycache__|dist|build|target|coverage|\.mypy_cache|\.pytest_cache|\.ruff_cache|\.tox|"
    r"\.next|\.cache|tmp)(?:/|$)"
    r"|(?:^|/)(?:[\w.-]*lock(?:\.json|\.yaml|b)?|go\.sum|\.DS_Store|\.gitignore|\.env[\w.]*|CLAUDE\.md|AGENTS\.md|"
    r"GEMINI\.md|\.cursorrules|PROMPT\.md|TO-?DO\.md|progress\.(?:md|txt)|fix_plan\.md|CHANGELOG\.md)$"
    r"|^/(?:tmp|var|private|dev|proc)/|\.(?:log|pyc|map|min\.js|jsonl)$",
    re.IGNORECASE,
)


def sanitize_learning_text(text: str) -> str:
    """Return a text as it may be stored: on one line, of MAX_TEXT characters, secrets masked, nothing hidden.

    What would instruct its reader is framed and not dropped (F20); what the workbench itself injected goes.
    """
    from workbench.text import injection

    return injection.sanitize_learning_text(strip_frames(text))


def plain_line(text: str) -> str:
    """Return what was seen, as a command or a message, in the same way but without a frame."""
    return bounded(" ".join(visible(redact(strip_frames(text)).text).split()), MAX_TEXT)


def instructs(text: str) -> bool:
    """Whether a text would instruct whoever reads it."""
    from workbench.text.injection import scan

    return scan(text).flagged


def should_exclude_from_auto_accumulation(path: str) -> bool:
    """Whether a file is part of the tooling rather than of any task: lock files, caches, state, settings."""
    return bool(INFRASTRUCTURE.search(path.replace("\\", "/")))


_NAMED = re.compile(
    r"`[^`\n]+`"  # code
    r"|\b\w+[._/:-]\w+[\w./:-]*"  # paths, dotted and dashed names, host:port
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[A-Z]{2,}[\w-]*|\b\w+_\w+"  # identifiers
    r"|(?<!\w)--?[a-z][\w-]*|\b\w+\(\)"  # options, calls
    r"|\b\d+(?:\.\d+)*\b|\"[^\"\n]{3,}\""  # numbers, quoted messages
)
_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_DEICTIC = re.compile(
    r"(?:this|that|these|those|it|here|there|they|he|she|both|all of (?:this|these|them)|the (?:above|below|"
    r"former|latter|following|same|other|fix|issue|problem|error|change|code|file|test|tests|user|plan|next|"
    r"last|first))\b",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"(?:let me|let's|i(?:'ll|'ve|'m| will| have| am| need| should| can| think| see| was| want| understand|"
    r" notice)|now\b|next\b|first\b|then\b|great|perfect|excellent|ok(?:ay)?\b|sure|done|good\b|alright|wait|"
    r"hmm|actually,? (?:i|let)|we(?:'ll|'ve| will| have| are| were)|you(?:'re| are|'ve)|sorry|thanks|"
    r"looks? like|seems?|summary|step \d|successfully|all tests|everything)",
    re.IGNORECASE,
)


def too_vague(text: str) -> str:
    """Return why a text says too little to be learned, or ''."""
    plain = text.strip().lstrip("-*•> ").strip()
    if len(_WORDS.findall(plain)) < LEAST_WORDS:
        return "it is too short to say something"
    if not _NAMED.search(plain):
        return "it names nothing in particular"
    if plain.endswith("?"):
        return "it asks"
    if _NARRATION.match(plain):
        return "it narrates what somebody did or will do"
    if _DEICTIC.match(plain):
        return "it points at something that is not in it"
    return ""
