"""The exit codes of the command line: an interface that scripts rely on, owned here alone."""

from __future__ import annotations

OK = 0
ERROR = 1
USAGE = 2
STALE = 3
GATE = 4
ASK = 10
DENY = 11
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    OK: "done",
    ERROR: "it could not be done; the message says why and what to try;"
    " `rules lint`: it found a warning or worse (`--fail-on`)",
    USAGE: "the command, an option or a setting makes no sense as given",
    STALE: "`--strict` was asked and files changed since the index was made",
    GATE: "`--gate`: a gate failed or could not be evaluated; stderr names it",
    ASK: "`rules check`: a rule wants a person to be asked before the call runs",
    DENY: "`rules check`: a rule forbids the call",
    INTERRUPTED: "interrupted with Ctrl-C; nothing acknowledged is lost",
    BROKEN_PIPE: "the reader of stdout closed it",
}
