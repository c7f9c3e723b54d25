"""Brace expansion and field splitting of a shell word, on marks that its reader puts in.

Only unquoted braces, commas and blanks of expansions are marks, so that what was quoted stays as it is.
"""

from __future__ import annotations

SPLIT, OPEN, COMMA, CLOSE = "\x01", "\x02", "\x03", "\x04"
MAX_WORDS = 64
_PLAIN = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}", SPLIT: " "})


def fields(word: str) -> list[str]:
    """Return the words that a marked word expands to: `a{b,c}` gives two, an empty one none.

    Braces that would give more than MAX_WORDS words stay as they are written.
    """
    if OPEN not in word and SPLIT not in word:
        return [word.translate(_PLAIN)] if word else []
    found = [part for choice in _choices(word) for part in choice.split(SPLIT)]
    return [part.translate(_PLAIN) for part in found if part]


def _choices(word: str) -> list[str]:
    done: list[str] = []
    todo = [word]
    while todo:
        current = todo.pop()
        group = _innermost(current)
        if group is None:
            done.append(current)
        else:
            start, end, choices = group
            todo.extend(current[:start] + choice + current[end:] for choice in reversed(choices))
        if len(done) + len(todo) > MAX_WORDS:
            return [word]
    return done


def _innermost(word: str) -> tuple[int, int, list[str]] | None:
    """Return (start, end, choices) of a group with choices and none such inside, None without one."""
    opened: list[int] = []
    commas: list[bool] = []
    for position, char in enumerate(word):
        if char == OPEN:
            opened.append(position)
            commas.append(False)
        elif char == COMMA and opened:
            commas[-1] = True
        elif char == CLOSE and opened:
            start = opened.pop()
            if commas.pop():
                return start, position + 1, word[start + 1 : position].split(COMMA)
    return None
