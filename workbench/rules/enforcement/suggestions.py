"""Checks proposed for absolute rules whose words say what a breach looks like.

Proposed only where a prohibition names a command, a path or a token of code directly: what is hedged, speaks
of a situation, or would need a guess gets none. A person accepts each; nothing is applied by itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from workbench.errors import UsageError
from workbench.records.rules import Authority, Check, Decision, Rule, is_unenforced
from workbench.rules.enforcement.checks import problems
from workbench.rules.enforcement.commands import parse_command

MAX_CHARS = 2_000  # longer texts are chapters, not rules

_MARKER = re.compile(r"^(?:[-*+•]|\d+[.)]|\[[ xX]\])\s+")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_NEVER = (
    r"(?:never|do not|don['’]t|must not|mustn['’]t|must never|may not|should never|cannot|can['’]t|"
    r"you are not allowed to|not allowed to|forbidden to|under no circumstances)"
)
_ADVERB = r"(?:ever |directly |manually |just |simply |automatically |hand[- ])?"
_SPAN = r"`([^`\n]{1,80})`"
_BETWEEN = r"(?:\s*,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+|\s*/\s*)"
_SPANS = rf"(?P<first>`[^`\n]{{1,80}}`)(?P<more>(?:{_BETWEEN}`[^`\n]{{1,80}}`)*)"
_RUN = re.compile(
    rf"\b{_NEVER} {_ADVERB}(?:run|use|execute|call|invoke|do|issue|type)(?:ning)? "
    rf"(?:(?:the|a|any|raw|plain|bare|commands? (?:like|such as)) )*{_SPANS}(?P<rest>[^.!;\n]*)",
    re.IGNORECASE,
)
_RUN_PLAIN = re.compile(
    rf"\b{_NEVER} {_ADVERB}(?P<command>force[- ]push|(?:use |run )?sudo)\b(?P<rest>[^.!;\n]*)", re.IGNORECASE
)
_RUN_BARE = re.compile(
    rf"\b(?i:{_NEVER} {_ADVERB}(?:run|use|execute|call|invoke|do|issue|type)) "
    r"(?P<command>[a-z][a-z0-9.-]*(?: [a-z][a-z-]*){0,2}(?: --?[A-Za-z][\w-]*)+)(?P<rest>[^.!;\n]*)"
)
"""A command without code marks: its options show where it ends."""
_FORCE_TO = re.compile(
    rf"\b{_NEVER} {_ADVERB}force[- ]push(?:es)? (?:to|on|onto) (?:the )?{_SPANS}(?P<rest>[^.!;\n]*)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    rf"\b{_NEVER} {_ADVERB}(?P<verb>edit|modify|change|touch|alter|write to|overwrite|update|commit|"
    r"delete|remove|read|open|access|stage)(?: or (?:edit|modify|delete|commit|remove|change|touch))? "
    r"(?:(?:the|any|anything|files?|code|contents|of|in|inside|under|within|existing|generated|to|your|a|an) "
    rf")*{_SPANS}(?P<rest>[^.!;\n]*)",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    rf"{_SPAN}(?: (?:files?|director(?:y|ies)|folders?))?"
    r" (?:must never|must not|should never|may not|can never|is never to|are never to) be "
    r"(?:directly |manually )?"
    r"(?P<verb>used|run|executed|edited|modified|changed|touched|committed|deleted|removed)"
    r"(?P<rest>[^.!;\n]*)",
    re.IGNORECASE,
)
_ENV = re.compile(
    rf"\b{_NEVER} commit (?:your |the |any )?(\.env)\b(?: files?)?(?P<rest>[^.!;\n]*)", re.IGNORECASE
)

_UNLESS = re.compile(
    r"^\W*(?:commands? |directly |manually |yourself |by hand )?(?:unless|except|without|until|before)\b",
    re.IGNORECASE,
)
_CLEAR = re.compile(
    r"^(?:commands?|directly|manually|yourself|by hand|ever|at all|under any circumstances|files?|"
    r"folders?|director(?:y|ies)|for any reason|in this (?:repo|repository|project|codebase)|here|"
    r"or similar|(?:to|into|in) (?:the )?(?:version control|source control|git|repo(?:sitory)?)|"
    r"branch(?:es)?|\W)*"
    r"(?:$|[,—–:(-]|\b(?:use|instead|as|because|since|always|it|they|this)\b)",
    re.IGNORECASE,
)
_OTHER_KIND = re.compile(
    r"^\W*(?:statements?|calls?|types?|syntax|keyword|imports?|hooks?|function|method|variable|values?|keys?|"
    r"prefix|suffix|tags?|flags?|option|argument|error|class|classes|component|library|package|api)\b",
    re.IGNORECASE,
)

_PROGRAMS = frozenset(
    "git gh npm npx pnpm yarn bun bunx pip pip3 pipenv poetry uv conda sudo rm rmdir mv cp chmod chown "
    "dd mkfs docker docker-compose podman kubectl helm terraform tofu aws gcloud az curl wget ssh scp "
    "make cargo go brew apt apt-get yum systemctl kill pkill killall shutdown reboot python python3 "
    "node deno tsc eslint prettier jest vitest pytest tox gradle mvn rails rake bundle composer php "
    "artisan alembic prisma supabase vercel netlify firebase heroku psql mysql redis-cli sed awk find "
    "grep cat ruff black mypy dotnet swift xcodebuild pod flutter dart mix truncate shred xargs nohup "
    "su crontab iptables".split()
)
# Said alone these are programs; `make`, `go`, `node` or `find` may be anything.
_ALONE = frozenset(
    "npm npx pnpm yarn bun bunx pip pip3 pipenv poetry conda sudo docker-compose brew apt apt-get yum "
    "curl wget eslint prettier jest vitest pytest terraform kubectl rm".split()
)
_EXTENSIONS = (
    r"py|pyi|js|jsx|mjs|cjs|ts|tsx|json|jsonc|ya?ml|toml|lock|md|mdx|txt|sql|css|scss|html|go|mod|sum|rs|"
    r"java|kt|rb|sh|cfg|ini|xml|proto|cs|csproj|c|h|cc|cpp|hpp|swift|php|vue|svelte|pem|key|snap|lockb|db|sqlite|csv|ipynb|env"
)
_PATH = re.compile(rf"(?:[\w.@*-]+/)+(?:[\w.@*-]+)?|[\w.*@-]+\.(?:{_EXTENSIONS})|\.[a-z][\w.-]*|\*\.[\w*.]+")
_NO_PATH = re.compile(
    r"^(?:and/or|either/or|\w+\(\)|@\w|\.\w+\()|//|^\.(?:then|map|catch|filter|forEach|only|skip)$"
)

_TOKENS = {
    "any": (r"(?::\s*|\bas\s+|[<,|]\s*)any\b", ("*.ts", "*.tsx", "*.mts", "*.vue", "*.svelte")),
    "as any": (r"\bas\s+any\b", ("*.ts", "*.tsx", "*.mts", "*.vue", "*.svelte")),
    "@ts-ignore": (r"@ts-ignore\b", ("*.ts", "*.tsx", "*.mts", "*.vue", "*.svelte")),
    "@ts-nocheck": (r"@ts-nocheck\b", ("*.ts", "*.tsx", "*.mts", "*.vue", "*.svelte")),
    "console.log": (r"\bconsole\.log\s*\(", ("*.js", "*.jsx", "*.mjs", "*.ts", "*.tsx", "*.vue", "*.svelte")),
    "eval": (r"\beval\s*\(", ("*.js", "*.jsx", "*.mjs", "*.ts", "*.tsx", "*.py", "*.php", "*.rb")),
    "!important": (r"!important\b", ("*.css", "*.scss", "*.less", "*.vue", "*.svelte")),
    "dangerouslysetinnerhtml": (r"\bdangerouslySetInnerHTML\b", ("*.jsx", "*.tsx", "*.js", "*.ts")),
    "# type: ignore": (r"#\s*type:\s*ignore", ("*.py", "*.pyi")),
    "debugger": (r"\bdebugger\s*;", ("*.js", "*.jsx", "*.ts", "*.tsx")),
}  # fmt: skip
_USE_TOKEN = re.compile(
    rf"\b(?:{_NEVER} {_ADVERB}(?:use|call|add|write|introduce|leave|commit)|never)(?: (?:the|any|a))? "
    rf"{_SPANS}"
    r"(?P<kind> (?:namespaces?|class(?:es)?|functions?|methods?|hooks?|apis?|types?|calls?|casts?|casting|"
    r"annotations?|comments?|directives?|statements?))?(?P<rest>[^.!;\n]*)",
    re.IGNORECASE,
)
# A name that means one thing wherever it stands: dotted, of several parts, decorated.
_DISTINCT = re.compile(
    r"@?(?:[A-Za-z_]\w*(?:\.|::))+\w+(?:\(\))?|@\w{4,}|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+(?:\(\))?|"
    r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]+){2,}(?:\(\))?|[a-z]+_[a-z_]+\(\)|[a-z]{2,}[A-Z][a-zA-Z]+\(\)"
)
_CODE_FILES = ("**", "!*.md", "!*.mdc", "!*.mdx", "!*.txt", "!*.rst")


@dataclass(frozen=True, slots=True)
class CheckSuggestion:
    """A check that a rule's words ask for, the words, and the command that accepts it."""

    rule: Rule
    check: Check
    words: str
    accept: str


def suggest_checks(rules: Iterable[Rule]) -> tuple[CheckSuggestion, ...]:
    """Return checks for enabled absolute rules that have none, by priority, then id."""
    wanted = [rule for rule in rules if is_unenforced(rule)]
    wanted.sort(key=lambda rule: (-rule.priority, rule.id))
    found = ((rule, suggest_check(rule.rule)) for rule in wanted)
    return tuple(
        CheckSuggestion(rule, check[0], check[1], accept_command(rule.id, check[0]))
        for rule, check in found
        if check
    )


def could_be_checked(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return enabled default rules whose words ask for a check: it would decide if they were absolute."""
    return tuple(
        rule
        for rule in rules
        if rule.enabled
        and rule.check is None
        and rule.authority is Authority.DEFAULT
        and suggest_check(rule.rule)
    )


def unenforced_sentence(rules: Sequence[Rule]) -> str:
    """Return that no hook enforces absolute rules of some, and the next step; "" where there are none."""
    found = [rule for rule in rules if is_unenforced(rule)]
    if not found:
        return ""
    if len(found) > 1:
        return (
            f"no hook enforces {len(found):,} of them: absolute rules without a check. "
            "`workbench rules check --suggest` proposes one where their words name it"
        )
    proposed = suggest_checks(found)
    lead = f"no hook enforces {found[0].id[:13]}: it is absolute and has no check."
    if not proposed:
        return f"{lead} Its words name no command, path or token to propose one from; --check gives it one"
    return f"{lead} This accepts what its words ask for: {proposed[0].accept}"


def suggest_check(text: str) -> tuple[Check, str] | None:
    """Return (check, the words it is read from) of a rule's text, None if they name nothing checkable."""
    if len(text) > MAX_CHARS:
        return None
    for sentence in _SENTENCE.split(_MARKER.sub("", " ".join(text.replace("**", "").split()))):
        for read in _READERS:
            check = read(sentence)
            if check is not None and not problems(check):
                return check, sentence
    return None


def accept_command(identifier: str, check: Check) -> str:
    """Return the shell command that puts a check on a rule."""
    default = msgspec.to_builtins(Check())
    given = {name: value for name, value in msgspec.to_builtins(check).items() if value != default[name]}
    given["decision"] = check.decision.value
    return shlex.join(
        ["workbench", "rules", "edit", identifier, "--check", msgspec.json.encode(given).decode()]
    )


def _decision(rest: str) -> Decision | None:
    """Return what a breach gets by the words after it: none of it if they describe a situation."""
    if _OTHER_KIND.match(rest):
        return None
    if _UNLESS.match(rest):
        return Decision.ASK
    if not _CLEAR.match(rest):
        return None
    return (
        Decision.ASK
        if re.search(r"\b(?:unless|except|without|until)\b", rest, re.IGNORECASE)
        else Decision.DENY
    )


def _spans(found: re.Match[str]) -> list[str]:
    return [span.strip() for span in re.findall(r"`([^`]+)`", found["first"] + found["more"])]


def _run(sentence: str) -> Check | None:
    match = _RUN.search(sentence)
    if match is None:
        return None
    decision = _decision(match["rest"])
    commands = [span for span in _spans(match) if _is_command(span)]
    if decision is None or len(commands) != len(_spans(match)):
        return None
    return Check(command="\n".join(commands), decision=decision)


def _run_plain(sentence: str) -> Check | None:
    match = _RUN_PLAIN.search(sentence)
    decision = _decision(match["rest"]) if match else None
    if match is None or decision is None:
        return None
    return Check(
        command="sudo" if "sudo" in match["command"].lower() else "git push --force", decision=decision
    )


def _run_bare(sentence: str) -> Check | None:
    match = _RUN_BARE.search(sentence)
    decision = _decision(match["rest"]) if match else None
    if match is None or decision is None or not _is_command(match["command"]):
        return None
    return Check(command=match["command"], decision=decision)


def _is_command(span: str) -> bool:
    try:
        pattern = parse_command(span)
    except UsageError:
        return False
    if any(mark in span for mark in "<>[]{}…") or "..." in span:
        return False  # a placeholder
    alone = not pattern.options and not pattern.operands
    return pattern.program in (_ALONE if alone else _PROGRAMS)


def _change(sentence: str) -> Check | None:
    match = _CHANGE.search(sentence)
    return None if match is None else _about_paths(match["verb"].lower(), _spans(match), match["rest"])


def _passive(sentence: str) -> Check | None:
    match = _PASSIVE.search(sentence)
    if match is None:
        return None
    verb, span, decision = match["verb"].lower(), match[1].strip(), _decision(match["rest"])
    if verb in ("used", "run", "executed"):
        return Check(command=span, decision=decision) if decision and _is_command(span) else None
    return _about_paths(_ACTIVE.get(verb, "edit"), [span], match["rest"])


_ACTIVE = {"committed": "commit", "deleted": "delete", "removed": "remove"}


def _env(sentence: str) -> Check | None:
    match = _ENV.search(sentence)
    return None if match is None else _about_paths("commit", [match[1]], match["rest"])


def _about_paths(verb: str, spans: list[str], rest: str) -> Check | None:
    decision = _decision(rest)
    if decision is None or not all(_PATH.fullmatch(span) and not _NO_PATH.search(span) for span in spans):
        return None
    paths = tuple(spans)
    if verb in ("commit", "stage"):
        return Check(paths=paths, command="git add\ngit commit\ngit stage", decision=decision)
    if verb in ("delete", "remove"):
        return Check(paths=paths, command="rm\nrmdir\ngit rm\nunlink", decision=decision)
    return Check(paths=paths, writes=verb not in ("read", "open", "access"), decision=decision)


def _token(sentence: str) -> Check | None:
    match = _USE_TOKEN.search(sentence)
    if match is None or not (_CLEAR.match(match["rest"]) or _UNLESS.match(match["rest"])):
        return None
    spans = _spans(match)
    known = _TOKENS.get(spans[0].strip("()").lower()) if len(spans) == 1 else None
    if known is not None:
        pattern, paths = known
        return Check(paths=paths, pattern=pattern, writes=True, decision=Decision.ASK)
    if not all(_DISTINCT.fullmatch(span) and not _PATH.fullmatch(span) for span in spans):
        return None
    pattern = "|".join(_name_pattern(span) for span in spans)
    return Check(paths=_CODE_FILES, pattern=pattern, writes=True, decision=Decision.ASK)


def _name_pattern(span: str) -> str:
    """Return the expression that finds a name of code, called or not, as a whole word."""
    name = span.removesuffix("()")
    return ("" if name.startswith("@") else r"\b") + re.escape(name) + (r"\s*\(" if name != span else r"\b")


def _force_push(sentence: str) -> Check | None:
    match = _FORCE_TO.search(sentence)
    if match is None or not _CLEAR.match(match["rest"]):
        return None
    spans = _spans(match)
    if not all(re.fullmatch(r"[\w./-]+", span) for span in spans):
        return None
    return Check(command="\n".join(f"git push --force {span}" for span in spans), decision=Decision.DENY)


_READERS: tuple[Callable[[str], Check | None], ...] = (
    _run,
    _run_plain,
    _run_bare,
    _force_push,
    _change,
    _passive,
    _env,
    _token,
)
