"""Regular expressions of checks, searched in time that grows with the text alone.

The engine is RE2: it has no backreferences and no look-around, and in exchange no expression and no text can
make a hook hang.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from workbench.errors import UsageError

MAX_PATTERN = 2_000  # characters
_MEMORY = 8 << 20  # bytes a compiled expression may take


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """Return a compiled expression that searches UTF-8 bytes. Raises: UsageError if it is not valid."""
    import re2

    if len(pattern) > MAX_PATTERN:
        raise UsageError(f"the pattern is longer than {MAX_PATTERN:,} characters", hint="Shorten it.")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8", "surrogatepass"), options=options)
    except re2.error as error:
        detail = error.args[0] if error.args else "invalid"
        told = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise UsageError(
            f"the pattern is not a regular expression this can run: {told}",
            hint="RE2 syntax: no look-ahead, no backreferences; escape ( [ { . * + ? with a backslash.",
        ) from error


def search(pattern: str, text: str) -> str | None:
    """Return the first text that the expression finds, None if there is none."""
    found = compile_pattern(pattern).search(text.encode("utf-8", "surrogatepass"))
    return None if found is None else found.group(0).decode("utf-8", "replace")
