-- One row a measured operation. at is in seconds since the epoch, stages maps names to milliseconds,
-- cache maps a level to its hits and misses, degraded names what was missing.

CREATE TABLE metrics (
    id VARCHAR NOT NULL,
    "at" DOUBLE NOT NULL,
    operation VARCHAR NOT NULL,
    duration_ms DOUBLE NOT NULL,
    stages MAP(VARCHAR, DOUBLE) NOT NULL,
    cache MAP(VARCHAR, BIGINT[]) NOT NULL,
    tokens BIGINT,
    candidates BIGINT,
    degraded VARCHAR[] NOT NULL,
    ok BOOLEAN NOT NULL,
    "by" VARCHAR NOT NULL
);
