"""Every setting: its type, its default, and what it does. `config_layers` says where values come from."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

import msgspec

from workbench.records.dataclass import dataclass

Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(ge=0)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=6)]
Few = Annotated[int, msgspec.Meta(ge=1, le=30)]
Characters = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=600)]
Wait = Annotated[float, msgspec.Meta(ge=0.0, le=600)]
Hours = Annotated[float, msgspec.Meta(ge=0.01, le=10_000)]
Days = Annotated[float, msgspec.Meta(ge=1, le=10_000)]
ChunkTokens = Annotated[int, msgspec.Meta(ge=32, le=8192)]
Above = Annotated[float, msgspec.Meta(ge=1, le=4)]


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
    """What of a project is indexed. `exclude` holds gitignore patterns.

    With `embed` the commands `index` and `refresh` embed what plans compare by meaning, if a model is here.
    """

    max_files: Positive = 50_000
    max_file_bytes: Positive = 1_000_000
    history_commits: Count = 2000
    exclude: tuple[str, ...] = ()
    embed: bool = True


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

    With `propose` the language model, where one is set up, proposes messages for each rule that is added;
    they count once somebody accepts them.

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
    propose: bool = True
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
    deadline: Wait = 1.0
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

    Graphs [ralph] link a vector to `m` others, and a search of a server's graph compares `ef` candidates at
    least, one of a batch here a quarter of that. `m` is of collections and graphs that are made from then on.
    """

    store: Literal["local", "postgres", "qdrant"] = "local"
    qdrant_url: str = ""
    kinds: tuple[str, ...] = ("stash", "rules")
    here: Count = 2_000_000
    timeout: Seconds = 2.0
    retry: Weight = 60.0
    m: Annotated[int, msgspec.Meta(ge=4, le=64)] = 16
    ef: Annotated[int, msgspec.Meta(ge=16, le=1_000)] = 256


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
