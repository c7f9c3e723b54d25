-- Learnings as they are, one row each, for lists. body is the learning with what was counted of it; against_since are
-- the outcomes against it since its review, suggested why its corrections have it wait. learned_at and heard_at are
-- seconds since the epoch: when it was learned, and when it was last learned, reviewed or found out.
DROP VIEW learnings;
CREATE TABLE learnings (
    id VARCHAR PRIMARY KEY,
    origin VARCHAR NOT NULL,
    feature VARCHAR NOT NULL,
    task_id VARCHAR,
    text VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    reviewed BOOLEAN NOT NULL,
    iteration BIGINT,
    session_id VARCHAR NOT NULL,
    "timestamp" VARCHAR NOT NULL,
    hit_count BIGINT NOT NULL,
    last_hit VARCHAR NOT NULL,
    contradictions BIGINT NOT NULL,
    successor VARCHAR NOT NULL,
    project_id VARCHAR,
    body JSON NOT NULL,
    number BIGINT NOT NULL,
    haystack VARCHAR NOT NULL,
    cased VARCHAR NOT NULL,
    files VARCHAR[] NOT NULL,
    scope VARCHAR[] NOT NULL,
    confidence DOUBLE NOT NULL,
    against_since BIGINT NOT NULL,
    learned_at DOUBLE,
    heard_at DOUBLE,
    updated_at VARCHAR NOT NULL,
    reviewed_by VARCHAR NOT NULL,
    suggested VARCHAR NOT NULL
);

-- What users said of how things are done, one row an entry.
CREATE TABLE corrections (
    origin VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    entry_id VARCHAR NOT NULL,
    moment VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "key" VARCHAR NOT NULL,
    folded VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    quote VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    prompt BIGINT NOT NULL,
    strength VARCHAR NOT NULL,
    feature VARCHAR NOT NULL,
    learning_id VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    against BOOLEAN NOT NULL,
    template VARCHAR NOT NULL,
    PRIMARY KEY (origin, stream, position)
);

-- Conflicts of learnings somebody settled, or reopened, as of moment.
CREATE TABLE learning_conflicts (
    id VARCHAR PRIMARY KEY,
    moment VARCHAR NOT NULL,
    settled BOOLEAN NOT NULL,
    left_id VARCHAR NOT NULL,
    right_id VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL
);

-- What the last searches found among rules and among learnings. No journal is behind it: a search replaces it.
CREATE TABLE conflicts (
    "of" VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    score DOUBLE NOT NULL,
    left_id VARCHAR NOT NULL,
    right_id VARCHAR NOT NULL,
    left_text VARCHAR NOT NULL,
    right_text VARCHAR NOT NULL,
    left_where VARCHAR NOT NULL,
    right_where VARCHAR NOT NULL,
    left_file VARCHAR NOT NULL,
    right_file VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    suggested VARCHAR NOT NULL,
    scope VARCHAR[] NOT NULL,
    updated VARCHAR NOT NULL,
    evidence JSON NOT NULL,
    suggestion JSON NOT NULL,
    haystack VARCHAR NOT NULL,
    cased VARCHAR NOT NULL,
    PRIMARY KEY ("of", id)
);
CREATE TABLE conflict_searches ("of" VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL);
