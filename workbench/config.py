"""Every setting: its default, its type, and which of five layers decided it.

Layers, weakest first: defaults < user file < project file < environment < flags. `load` merges them into a
frozen `Config` and remembers an `Origin` per value, so `workbench config show` can say where each came from.
A project's file is shared with everyone who clones it and may be hostile: it cannot set what reaches outside
the project or starts anything (`USER_ONLY`), can only add to what privacy excludes, never take away, and what
is wrong in it is ignored with a warning, where the user's own mistakes are errors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from workbench.beneath import open_beneath
from workbench.config_file import key_line, read_text
from workbench.errors import ConfigError
from workbench.records.conversion import convert
from workbench.records.dataclass import dataclass
from workbench.suggest import did_you_mean

Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(ge=0)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=6)]
Few = Annotated[int, msgspec.Meta(ge=1, le=30)]
Characters = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=600)]
Hours = Annotated[float, msgspec.Meta(ge=0.01, le=10_000)]
Days = Annotated[float, msgspec.Meta(ge=1, le=10_000)]
ChunkTokens = Annotated[int, msgspec.Meta(ge=32, le=8192)]
Above = Annotated[float, msgspec.Meta(ge=1, le=4)]
Layer = Literal["default", "user", "project", "environment", "flag"]


@dataclass(frozen=True, slots=True)
class PlanConfig:
    """What `workbench plan` does by default. `budget` counts tokens of the whole text.

    `ml_mode` is off (words and structure alone), fast (embeddings) or full (a second stage, too).
    """

    budget: Positive = 4000
    format: Literal["text", "markdown", "xml", "json"] = "text"
    strict: bool = False
    ml_mode: Literal["off", "fast", "full"] = "fast"
    tokenizer: Literal["o200k_base", "cl100k_base", "utf8-bound"] = "o200k_base"


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """What of a project is indexed. `exclude` holds gitignore patterns."""

    max_files: Positive = 50_000
    max_file_bytes: Positive = 1_000_000
    history_commits: Count = 2000
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelsConfig:
    """Which models are used; with `download` false nothing is ever fetched.

    `llm` is a language model that the Ollama server at `llm_url` runs; with either empty none is ever asked.
    With `background` a plan starts a process that embeds the project's past at low priority, and ends.
    """

    embedding: str = "sentence-transformers/all-MiniLM-L6-v2"
    embedding_path: str = ""
    download: bool = False
    background: bool = False
    ranking: str = ""
    llm: str = ""
    llm_url: str = ""


@dataclass(frozen=True, slots=True)
class RerankConfig:
    """The second stage of plans with `ml_mode` full [img §7.4], which rates the first `top` files again.

    The cross-encoder in the directory `cross_encoder` rates them, or without one the language model, either
    within `timeout` seconds. Between the best and the worst rating are `weight` log-odds of being needed.
    With `intent` the language model is asked for the kind of a task, too, where its words leave that open.
    """

    top: Few = 12
    weight: Bound = 2.0
    timeout: Seconds = 10.0
    cross_encoder: str = ""
    intent: bool = False


@dataclass(frozen=True, slots=True)
class GrepaiConfig:
    """With `search` plans ask the program grepai for more candidates, `timeout` seconds at most."""

    search: bool = False
    timeout: Seconds = 2.0


@dataclass(frozen=True, slots=True)
class RulesConfig:
    """How rules are matched [adr2]: at most `max` whose score reaches `threshold`.

    `global_weight`, `scenario_weight` and `step_weight` are what a rule's level counts in the scope's part.
    With `recheck` the language model is asked about the first `recheck_top`, `recheck_timeout` seconds in
    all. `tags` are `category:value` tags known besides the predefined ones; every layer adds to them. `tool`
    is the agent that plans and matches are for where none is named.

    With `variant`, such as `threshold=0.4, max=5`, a share `variant_share` of sessions is matched with these
    numbers instead, always the same sessions; `workbench stats --usage` compares them with the others.
    """

    threshold: Share = 0.5
    max: Count = 10
    over_fetch: Positive = 30
    vector_weight: Weight = 0.7
    lexical_weight: Weight = 0.3
    hybrid_weight: Weight = 0.6
    priority_weight: Weight = 0.3
    scope_weight: Weight = 0.1
    global_weight: Weight = 1.0
    scenario_weight: Weight = 1.1
    step_weight: Weight = 1.2
    home: bool = True
    recheck: bool = False
    recheck_top: Few = 5
    recheck_timeout: Seconds = 20.0
    tool: str = ""
    tags: tuple[str, ...] = ()
    variant: tuple[str, ...] = ()
    variant_share: Share = 0.5


@dataclass(frozen=True, slots=True)
class SessionsConfig:
    """How recorded sessions count. One that nobody ended is over after `timeout_hours` without a word.

    An edit of a success weighs `success_weight`, of a failure `failed_weight`, where 1 is one that nobody
    judged; a verdict counts half after `feedback_half_life` days, and none does for a file with fewer than
    `feedback_min_samples` of them. With `archive` the transcripts that sessions are imported from are copied
    into the project's state before their agent deletes them, `archive_mb` megabytes at most.
    """

    timeout_hours: Hours = 12.0
    success_weight: Above = 1.25
    failed_weight: Share = 0.5
    feedback_half_life: Days = 90.0
    feedback_min_samples: Positive = 3
    archive: bool = True
    archive_mb: Positive = 500


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """How iterations are searched: at most `search_limit` whose score reaches `search_threshold`."""

    search_limit: Positive = 8
    search_threshold: Share = 0.2


@dataclass(frozen=True, slots=True)
class StashConfig:
    """What the stash keeps, how it is searched, and what plans get of it [rag §7].

    Segments needed within `keep_days` are kept, at most so many segments and tokens; 0 is without a limit.
    With `collect` the first addition of a day removes the others, which can be undone.

    A search brings back `top_k` segments with a similarity of `min_similarity` at least. They are ordered by
    similarity, by age (which counts 1/e after `temporal_days`) and by time in the stash (after
    `recency_days`), with these weights. Similarity rises or falls by `feedback_weight` at most as a segment
    was used when it came back. At most `per_session` come from one session, any number if that is 0. Texts
    are embedded in chunks of `chunk_tokens`. `models` holds `type=MODEL` for types of segments that have an
    embedding model of their own, a directory or a name.

    Segments take `share` of a plan's budget at most; with 0 none is in a plan. A summary that somebody asks
    for has `summary_tokens` at most, and the language model is waited for `summary_timeout` seconds.
    """

    keep_days: Count = 30
    max_segments: Count = 0
    max_tokens: Count = 0
    collect: bool = True
    top_k: Positive = 5
    min_similarity: Share = 0.2
    similarity_weight: Weight = 0.6
    temporal_weight: Weight = 0.2
    recency_weight: Weight = 0.2
    temporal_days: Days = 30.0
    recency_days: Days = 7.0
    feedback_weight: Share = 0.1
    per_session: Count = 0
    chunk_tokens: ChunkTokens = 200
    models: tuple[str, ...] = ()
    share: Share = 0.15
    summary_tokens: Positive = 800
    summary_timeout: Seconds = 60.0


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    """Paths whose content is never read, as gitignore patterns; every layer adds to them."""

    exclude: tuple[str, ...] = (
        *(".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template"),
        *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.age"),
        *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub"),
        *(".netrc", "_netrc", ".pgpass", ".htpasswd", ".git-credentials", ".pypirc"),
        *("credentials.json", "service-account*.json", "*.tfstate"),
        *("secrets/", ".aws/", ".ssh/", ".gnupg/"),
    )


@dataclass(frozen=True, slots=True)
class ClipboardConfig:
    """How text is copied; `file` is where it goes when no clipboard takes it (empty: the state directory)."""

    mode: Literal["auto", "native", "osc52", "file"] = "auto"
    file: str = ""


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """What hooks of coding agents may add, and how long they may take.

    `session_chars`, `prompt_chars` and `task_chars` are characters that the start of a session, a prompt and
    the prompt of a sub-agent get at most, 0 for nothing. Files are added only where the likeliest of them is
    needed with a chance of `threshold`. After `deadline` seconds the agent goes on without an answer. With
    `WORKBENCH_HOOKS=0` in its environment no hook does anything. With `stash` what a session's transcript
    holds is put into the stash before its context is compacted.
    """

    session_chars: Characters = 4_000
    prompt_chars: Characters = 8_000
    task_chars: Characters = 8_000
    threshold: Share = 0.3
    deadline: Seconds = 1.0
    stash: bool = True


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The state on disk. `metrics` keeps figures for `workbench stats`.

    What was recorded of sessions is kept for `keep_days`, always with 0; of past tasks that plans weigh their
    words, files and outcome stay. What was curated stays. `tables` is where lists and figures are read from:
    a file, or the server of the project's team, where they are the member's own.
    """

    metrics: bool = True
    keep_days: Count = 90
    tables: Literal["duckdb", "postgres"] = "duckdb"


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How long, and how many, fetched rules are cached: in the process, and in the Redis at `redis_url`.

    An empty URL means no Redis. One that failed is left alone for `redis_retry` seconds.
    """

    seconds: Count = 300
    rules: Count = 1000
    redis_url: str = ""
    redis_seconds: Positive = 1800
    redis_rules: Positive = 10_000
    redis_retry: Weight = 30.0


@dataclass(frozen=True, slots=True)
class VectorsConfig:
    """Where vectors are searched: here, or by a server where they are too many for this machine's memory.

    `store` is local, postgres (the team's server) or qdrant (the one at `qdrant_url`, whose key is in the
    environment's QDRANT_API_KEY). A server gets the vectors of `kinds`: stash, and with Qdrant rules and
    iterations, too. More than `here` vectors of the stash are searched there, up to so many on this machine,
    and all while it does not answer in `timeout` seconds. It is asked again `retry` seconds after it failed.
    """

    store: Literal["local", "postgres", "qdrant"] = "local"
    qdrant_url: str = ""
    kinds: tuple[str, ...] = ("stash", "rules")
    here: Count = 2_000_000
    timeout: Seconds = 2.0
    retry: Weight = 60.0


@dataclass(frozen=True, slots=True)
class GatesConfig:
    """What `--gate` demands of a replay [img 14], of `system` against the baseline.

    At most `stale` files served as they no longer are and `p95_ms` milliseconds a task at the 95th
    percentile; at least `precision` more precision@10 (0.25 is a quarter more), with a p of at most
    `significance`, and `tokens` less context in the median. With a `reference`, an earlier run, it must not
    rank worse than that one. With `allow_missing` a gate that cannot be evaluated does not fail.
    """

    system: str = "hybrid"
    stale: Count = 0
    p95_ms: Weight = 150.0
    precision: Weight = 0.25
    significance: Share = 0.05
    tokens: Share = 0.3
    reference: str = ""
    allow_missing: bool = False


@dataclass(frozen=True, slots=True)
class AppConfig:
    """How the app looks and which keys it has. `keys` holds `command=key,key` for commands to remap.

    `theme` is a name that the app's list of themes shows. An empty one is the workbench's own dark one,
    or `ansi-dark` in a terminal of 16 colours.
    """

    theme: str = ""
    keys: tuple[str, ...] = ()
    mouse: bool = True


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, by section."""

    plan: PlanConfig = field(default_factory=PlanConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    models: ModelsConfig = field(default_factory=ModelsConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    grepai: GrepaiConfig = field(default_factory=GrepaiConfig)
    rules: RulesConfig = field(default_factory=RulesConfig)
    sessions: SessionsConfig = field(default_factory=SessionsConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    stash: StashConfig = field(default_factory=StashConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    clipboard: ClipboardConfig = field(default_factory=ClipboardConfig)
    hooks: HooksConfig = field(default_factory=HooksConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    vectors: VectorsConfig = field(default_factory=VectorsConfig)
    gates: GatesConfig = field(default_factory=GatesConfig)
    app: AppConfig = field(default_factory=AppConfig)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which layer decided a value, and where in it: a file and line, a variable or a flag."""

    layer: Layer
    where: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """A merged configuration. `origins` has one entry for each `section.key`; `warnings` are sentences."""

    config: Config
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A value some layer gives for a key, before types are checked."""

    key: str
    value: object
    origin: Origin


USER_ONLY = frozenset(
    """
    app.theme app.keys app.mouse models.embedding models.embedding_path models.download
    models.background models.ranking models.llm models.llm_url plan.ml_mode
    rerank.top rerank.weight rerank.timeout rerank.cross_encoder rerank.intent
    grepai.search grepai.timeout clipboard.mode clipboard.file
    store.metrics store.keep_days store.tables sessions.archive sessions.archive_mb rules.home
    rules.recheck rules.recheck_top rules.recheck_timeout rules.variant rules.variant_share
    cache.redis_url cache.redis_seconds cache.redis_rules cache.redis_retry
    stash.keep_days stash.max_segments stash.max_tokens stash.collect
    stash.models stash.summary_tokens stash.summary_timeout
    hooks.session_chars hooks.prompt_chars hooks.task_chars hooks.threshold hooks.deadline
    hooks.stash
    vectors.store vectors.qdrant_url vectors.kinds vectors.here vectors.timeout vectors.retry
    """.split()
)
ADDING = frozenset({"privacy.exclude", "rules.tags"})
ENVIRONMENT_PREFIX = "WORKBENCH_"
DIRECTORY = "context-workbench"  # in the platform's places for the user's files
PROJECT_FILE = Path(".workbench") / "config.toml"
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def user_cache(env: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of what can be made again: `WORKBENCH_CACHE` or the platform's."""
    if cache_directory := env.get("WORKBENCH_CACHE"):
        return Path(cache_directory).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path(DIRECTORY, appauthor=False)


def user_file(env: Mapping[str, str] = os.environ) -> Path:
    """Return the user's configuration file, which need not exist."""
    if home := env.get("WORKBENCH_HOME"):
        return Path(home).expanduser() / "config.toml"
    from platformdirs import user_config_path

    return user_config_path(DIRECTORY, appauthor=False) / "config.toml"


def project_file(project: Path) -> Path:
    """Return the project's configuration file, which need not exist."""
    return project / PROJECT_FILE


@cache
def schema() -> Mapping[str, Any]:
    """Return {`section.key`: type} in the order of declaration."""
    types: dict[str, Any] = {}
    for section, section_type in get_type_hints(Config).items():
        hints = get_type_hints(section_type, include_extras=True)
        types.update({f"{section}.{item.name}": hints[item.name] for item in fields(section_type)})
    return types


def values(config: Config) -> dict[str, Any]:
    """Return {`section.key`: value} of a configuration, in the order of declaration."""
    return {key: getattr(getattr(config, section), name) for key, section, name in _split_keys()}


def load(
    *,
    project: Path | None = None,
    env: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
    user: Path | None = None,
) -> Settings:
    """Merge all layers. `flags` maps `section.key` to a typed value; None values count as not given.

    Raises: ConfigError for unknown keys and values of the wrong type, naming the file and line, but for those
    of the project's file: they are ignored with a warning.
    """
    given = [*read_file(user or user_file(env), "user")]
    ignored = ""
    if project is not None:
        try:
            given += given_by(project_text(project), project_file(project), "project")
        except ConfigError as error:
            ignored = f"the project's settings are ignored: {error.message}"
    given += read_environment(env)
    for key, value in (flags or {}).items():
        if value is not None:
            given.append(Given(key, value, Origin("flag", "--" + key.partition(".")[2].replace("_", "-"))))
    settings = merge(given)
    return replace(settings, warnings=(ignored, *settings.warnings)) if ignored else settings


def merge(given: list[Given]) -> Settings:
    """Lay the given values over the defaults in order, checking names and types."""
    config = Config()
    merged = values(config)
    origins = {key: Origin("default") for key in merged}
    warnings: list[str] = []
    for item in given:
        try:
            value = check(item)
        except ConfigError as error:
            if item.origin.layer != "project":
                raise
            warnings.append(f"{error.message}; the project's setting is ignored")
            continue
        if item.origin.layer == "project":
            if item.key in USER_ONLY:
                warnings.append(
                    f"{item.origin.where}: {item.key} is ignored, because a project's file "
                    "cannot set it; use the user's file, the environment or a flag"
                )
                continue
            if item.key in ADDING and any(pattern.startswith("!") for pattern in value):
                warnings.append(f"{item.origin.where}: patterns with ! are ignored in a project's {item.key}")
                value = tuple(pattern for pattern in value if not pattern.startswith("!"))
        if item.key in ADDING:
            value = tuple(dict.fromkeys((*merged[item.key], *value)))
        merged[item.key] = value
        origins[item.key] = item.origin
    return Settings(_assemble(config, merged), origins, tuple(warnings))


def check(item: Given) -> Any:  # noqa: ANN401 - as the setting is typed
    """Return the value with its declared type. Raises ConfigError with the place and a suggestion."""
    expected = schema().get(item.key)
    place = f"{item.origin.where}: " if item.origin.where else ""
    if expected is None:
        raise ConfigError(f"{place}unknown setting {item.key!r}", hint=_known_settings(item.key))
    try:
        value = convert(item.value, expected)
        if isinstance(value, float) and not isfinite(value):
            raise msgspec.ValidationError("Expected a finite number")
        return value
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "").split(" - at ")[0]
        raise ConfigError(
            f"{place}{item.key} = {item.value!r}: {reason[0].lower()}{reason[1:]}",
            hint=f"{item.key} is {describe(item.key)}.",
        ) from None


def describe(key: str) -> str:
    """Return the type of a setting in words: `a whole number >= 1`, `one of text, json`."""
    return _describe_type(schema()[key])


def read_file(path: Path, layer: Layer) -> Iterator[Given]:
    """Yield what the user's file, or one named instead, gives; a missing one nothing. Raises ConfigError."""
    return given_by(user_text(path), path, layer)


def user_text(path: Path) -> str | None:
    """Return the text of a file of the user's, whose links may lead anywhere. Raises ConfigError."""
    return read_text(path, lambda: os.open(path, _OPEN))


def project_text(project: Path) -> str | None:
    """Return the text of the project's file; no link leads out of the project. Raises ConfigError."""
    return read_text(project_file(project), lambda: open_beneath(str(project), PROJECT_FILE.as_posix()))


def given_by(text: str | None, path: Path, layer: Layer) -> Iterator[Given]:
    """Yield what the text of a file gives. Raises ConfigError if it is no TOML."""
    if not text:
        return
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}", hint="Correct or move the file.") from error
    for section, table in document.items():
        items = table.items() if isinstance(table, dict) else [("", table)]
        for name, value in items:
            key = f"{section}.{name}" if name else section
            yield Given(key, value, Origin(layer, f"{path}:{key_line(text, section, name)}"))


def read_environment(env: Mapping[str, str]) -> Iterator[Given]:
    """Yield what variables like `WORKBENCH_PLAN_BUDGET` give, converted from text, in key order.

    Variables that name no section (`WORKBENCH_HOME`) belong to others and are left alone.
    """
    sections = tuple(dict.fromkeys(section for _, section, _ in _split_keys()))
    for variable in sorted(env):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        section, _, name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().partition("_")
        if section in sections and name:
            key = f"{section}.{name}"
            yield Given(key, parse(key, env[variable]), Origin("environment", variable))


def parse(key: str, text: str) -> object:
    """Turn the text of a variable or of `config set` into a value of the key's type where it can.

    What cannot be turned stays text, and `check` refuses it with the place it came from.
    Lists are written with commas; booleans as true/false, yes/no, on/off or 1/0.
    """
    expected = _bare(schema().get(key, str))
    if expected is bool:
        return _BOOLEANS.get(text.strip().lower(), text)
    if expected in (int, float):
        try:
            return expected(text.strip().replace("_", ""))
        except ValueError:
            return text
    if get_origin(expected) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _bare(expected: Any) -> Any:  # noqa: ANN401 - as the setting is typed
    return get_args(expected)[0] if get_origin(expected) is Annotated else expected


def _split_keys() -> list[tuple[str, str, str]]:
    return [(key, *key.split(".", 1)) for key in schema()]  # type: ignore[misc]


def _assemble(config: Config, merged: Mapping[str, Any]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for key, section, name in _split_keys():
        sections.setdefault(section, {})[name] = merged[key]
    return replace(
        config, **{name: replace(getattr(config, name), **part) for name, part in sections.items()}
    )


def _describe_type(expected: Any) -> str:  # noqa: ANN401 - as the setting is typed
    bare = _bare(expected)
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(get_args(bare))
    if get_origin(bare) is tuple:
        return "a list of texts"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[bare]
    if bare is not expected:
        low, high = get_args(expected)[1].ge, get_args(expected)[1].le
        words += f" of at least {low}" if high is None else f" from {low} to {high}"
    return words


def _known_settings(key: str) -> str:
    return did_you_mean(key, schema(), "`workbench config show` lists every setting.")
