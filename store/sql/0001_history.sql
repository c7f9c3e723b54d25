-- The tables of [img 6]. Times are seconds since the epoch. Ids of derived rows are the byte offset of their
-- journal line plus their place in it, so that a rebuild gives the same ids.

CREATE TABLE episodes (
    session_id VARCHAR PRIMARY KEY,
    project_id VARCHAR NOT NULL,
    task_text VARCHAR NOT NULL,
    task_fingerprint VARCHAR NOT NULL,
    query_type VARCHAR NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    outcome VARCHAR,
    token_budget BIGINT,
    token_used BIGINT,
    latency_ms BIGINT
);

CREATE TABLE episode_events (
    id BIGINT PRIMARY KEY,
    session_id VARCHAR NOT NULL,
    event_type VARCHAR NOT NULL,
    file_path VARCHAR,
    symbol VARCHAR,
    payload_json VARCHAR,
    "timestamp" BIGINT NOT NULL
);

-- reads, edits and success_edits count episodes, not events: saving a file forty times in one session says no
-- more about the task than saving it once. weight is
-- (edits + success_edits + 0.3 * reads) * 0.5 ^ (age / 180 days), age counted back from the fingerprint's own
-- newest use: comparable among the files of one fingerprint, and a function of the journal alone.
CREATE TABLE task_file_affinity (
    task_fingerprint VARCHAR NOT NULL,
    file_path VARCHAR NOT NULL,
    reads BIGINT NOT NULL DEFAULT 0,
    edits BIGINT NOT NULL DEFAULT 0,
    success_edits BIGINT NOT NULL DEFAULT 0,
    last_seen BIGINT NOT NULL,
    weight REAL NOT NULL DEFAULT 0.0,
    PRIMARY KEY (task_fingerprint, file_path)
);

CREATE TABLE causal_links (
    id BIGINT PRIMARY KEY,
    session_id VARCHAR NOT NULL,
    issue_ref VARCHAR,
    commit_sha VARCHAR,
    change_path VARCHAR NOT NULL,
    change_kind VARCHAR NOT NULL,
    rationale VARCHAR,
    "timestamp" BIGINT NOT NULL
);

CREATE TABLE model_registry (
    model_id VARCHAR PRIMARY KEY,
    model_kind VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    params_json VARCHAR NOT NULL,
    created_at BIGINT NOT NULL,
    active INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX idx_episodes_project_time ON episodes (project_id, started_at);
CREATE INDEX idx_episode_events_session ON episode_events (session_id, "timestamp");
CREATE INDEX idx_affinity_task_weight ON task_file_affinity (task_fingerprint, weight);
CREATE INDEX idx_causal_commit ON causal_links (commit_sha);
