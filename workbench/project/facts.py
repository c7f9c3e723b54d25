"""What one file's content says: language, role, symbols, imports, terms; a function of (path, bytes).

Secrets are masked first: neither a signature nor a term of the index holds one.
"""

from __future__ import annotations

from workbench.project.languages import language_of, role_of
from workbench.project.symbols import extract_symbols
from workbench.records.project import FileFacts
from workbench.text.redact import redact_bytes
from workbench.text.terms import count_terms
from workbench.text.tokens import estimated_tokens

MAX_TERMS_BYTES = 400_000  # beyond this only the head is tokenised; such files are data, not code


def extract_facts(path: str, data: bytes) -> FileFacts:
    """Return the facts of a file. Never raises on malformed content."""
    tokens = estimated_tokens(len(data))
    data, _ = redact_bytes(data)
    text = data[:MAX_TERMS_BYTES].decode("utf-8", "replace")
    language = language_of(path, text[:200].split("\n", 1)[0])
    symbols, imports = extract_symbols(language, data)
    return FileFacts(
        language=language,
        role=role_of(path),
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
        tokens=tokens,
        symbols=symbols,
        imports=imports,
        body_terms=count_terms(text),
        name_terms=count_terms(" ".join(symbol.name for symbol in symbols)),
    )
