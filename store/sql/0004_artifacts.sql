-- The project index as tables. The engine replaces them as a whole; no journal stands behind them.

CREATE TABLE artifacts (
    path VARCHAR PRIMARY KEY,
    language VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    size BIGINT NOT NULL,
    mtime_ns BIGINT NOT NULL,
    content_hash VARCHAR NOT NULL,
    lines BIGINT NOT NULL,
    tokens BIGINT NOT NULL
);

CREATE TABLE artifact_edges (
    from_path VARCHAR NOT NULL,
    to_path VARCHAR NOT NULL,
    kind VARCHAR NOT NULL
);

CREATE TABLE symbols (
    path VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    line BIGINT NOT NULL,
    end_line BIGINT NOT NULL,
    signature VARCHAR NOT NULL,
    parent VARCHAR NOT NULL,
    exported BOOLEAN NOT NULL
);
