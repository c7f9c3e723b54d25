"""The text of a task: without trailers and URLs, split into head and body, its declared scope."""

from __future__ import annotations

import re

from workbench.records.plan import TaskText

_SCOPE = re.compile(r"^\s*(?:\[([\w ./+-]{1,40})\]|(\w+)\(([\w ,./@*+-]{1,60})\)!?:|([\w./+*{},-]{2,60}):)\s")
_TRAILER = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id|cherry picked from|git-svn-id|"
    r"entire-[\w-]+|reviewed-on|tested-by|helped-by|generated with|🤖)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\n\t"}

MAX_HEAD = 24_000  # characters
MAX_TAIL = 8_000

_URL = re.compile(r"https?://\S+")


def clean_task(task: str) -> str:
    """Return the task without trailers, URLs and control characters; line structure is kept.

    Of a text that is longer than any task, such as a pasted log, the beginning and the end count.
    """
    if len(task) > MAX_HEAD + MAX_TAIL:
        task = f"{task[:MAX_HEAD]}\n{task[-MAX_TAIL:]}"
    text = task.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return _URL.sub(" ", _TRAILER.sub("", text)).strip()


def split_head(text: str) -> tuple[str, str]:
    """Split a task into its head (the line that states what is to be done) and the rest.

    That is the first line, unless it only announces what follows ("Implement the following plan:").
    """
    head, _, body = text.strip().partition("\n")
    if head.rstrip().endswith(":") and body.strip():
        announced, _, rest = body.strip().partition("\n")
        return announced.strip(), f"{head.strip()}\n{rest.strip()}".strip()
    return head.strip(), body.strip()


def parse_task(task: str) -> TaskText:
    """Clean a task and split it into head and body."""
    text = clean_task(task)
    return TaskText(task, text, *split_head(text))


def scope_of(head: str) -> str:
    """Return the scope a head line declares: `auth` of `fix(auth): …`, `net/http` of `net/http: …`."""
    match = _SCOPE.match(head)
    if match is None:
        return ""
    bracket, _, conventional, prefix = match.groups()
    return bracket or conventional or prefix or ""
