"""Which segments are of the files that a query names or has open, and which mention them.

The words of a file's name are common in its project ("manual", "commit", "hooks", "go"); the name as a whole
is not. So segments that are read from a file or change it are indexed by that, too, and a query is searched
for whole names besides its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np

from workbench.records.segments import StashQuery
from workbench.text.terms import iter_terms

if TYPE_CHECKING:
    from workbench.ports import Float32
    from workbench.stash.lexicon import Lexicon

BESIDE: Final = 0.5
"""What a name counts that the task or the last message has, where one in the request counts 1."""

OPEN: Final = (0.3, 0.7)
"""What the first of the open files counts, and each further one of what the one before it does."""

MENTIONED: Final = 0.5
"""What it counts that a text mentions the file, where being of the file counts 1."""

LONGEST_PATH: Final = 300
"""Characters of a path at most; what is longer are the contents of a file."""

_SOURCE: Final = re.compile(r"[^:#\n]*\w\.\w{1,8}")
"""What a source looks like that is a path, with an ending."""

_NAME: Final = re.compile(r"(?<![\w./-])[\w./-]{1,200}\.[A-Za-z]\w{0,7}(?!\w)")
_MARK: Final = "@"  # no term of a text begins with it


def source_file(source: str) -> str:
    """Return the name of the file that a segment is from, "" for what is from none."""
    return PurePosixPath(source).name if _SOURCE.fullmatch(source) else ""


def source_term(name: str) -> str:
    """Return the term by which segments of files of that name are indexed."""
    return f"{_MARK}{name.casefold()}"


def named_files(query: StashQuery) -> dict[str, float]:
    """Return the names of files that a query is about, without folders, with what each counts in (0, 1]."""
    request = query.text or query.task
    given = [(name, 1.0) for name in _names(request)]
    beside = (query.task if query.text else "", *query.messages[-1:])
    given += [(name, BESIDE) for text in beside for name in _names(text)]
    paths = [file for file in query.files if is_path(file)]
    first, less = OPEN
    given += [(PurePosixPath(one.replace("\\", "/")).name, first * less**at) for at, one in enumerate(paths)]
    found: dict[str, float] = {}
    for name, weight in given:
        found[name.casefold()] = max(weight, found.get(name.casefold(), 0.0))
    return found


def is_path(file: str) -> bool:
    """Whether an open file is given by its path; otherwise it is given by its contents."""
    return "\n" not in file and len(file) <= LONGEST_PATH


def file_shares(lexicon: Lexicon, named: Mapping[str, float]) -> Float32:
    """Return how far each segment is of the files named, or mentions them: float32 [n] in [0, 1].

    A name of a single word ("state.go") is mentioned by too many texts that are not about the file.
    """
    shares = np.zeros(len(lexicon), np.float32)
    for name, weight in named.items():
        wholes = [term for term in iter_terms(name.rpartition(".")[0] or name) if term.startswith("=")]
        counts = {source_term(name): weight, **dict.fromkeys(wholes, weight * MENTIONED)}
        for term, share in counts.items():
            rows = lexicon.holders(term)
            shares[rows] = np.maximum(shares[rows], np.float32(share))
    return shares


def _names(text: str) -> list[str]:
    return [PurePosixPath(found[0]).name for found in _NAME.finditer(text)]
