-- Rules in force, as both journals together have them: a rule that another one replaces is gone, whichever
-- journal it is in. lineage are the ids of a rule and of its earlier versions, whose use counts as its own.
-- usage_count and last_used follow rule_usage.

ALTER TABLE rules ADD COLUMN "check" JSON;
ALTER TABLE rules ADD COLUMN lineage VARCHAR[];
ALTER TABLE rules ADD COLUMN position BIGINT;

-- Every change of a rule that a journal holds: who made it, when, why, and in which step. position is the byte
-- offset of its line. change is put or removed; body is the rule as it was put.
CREATE TABLE rule_versions (
    origin VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    rule_id VARCHAR NOT NULL,
    change VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    step VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    undoes VARCHAR NOT NULL,
    redoes VARCHAR NOT NULL,
    successor VARCHAR NOT NULL,
    version BIGINT,
    rule VARCHAR,
    replaces VARCHAR[],
    usage_count BIGINT,
    last_used VARCHAR,
    body JSON,
    PRIMARY KEY (origin, position)
);

-- One row for each time a session was given a rule. number counts within an entry.
CREATE TABLE rule_usage (
    origin VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    number BIGINT NOT NULL,
    rule_id VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL,
    PRIMARY KEY (origin, position, number)
);

-- Conflicts that are settled, and how.
CREATE TABLE rule_conflicts (
    id VARCHAR PRIMARY KEY,
    origin VARCHAR NOT NULL,
    left_id VARCHAR NOT NULL,
    right_id VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL
);

-- Rule files as they were last brought in step. anchors say where each rule stands.
CREATE TABLE rule_files (
    file VARCHAR PRIMARY KEY,
    origin VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    named BOOLEAN NOT NULL,
    anchors JSON NOT NULL,
    "at" VARCHAR NOT NULL
);

-- When something was last said of a rule, a conflict or a file, and by which entry: of two journals the later
-- word counts, in whatever order they are read.
CREATE TABLE rule_moments (
    kind VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    moment VARCHAR NOT NULL,
    PRIMARY KEY (kind, id)
);

-- The greatest id of a journal's entries so far: a later entry is later, though its clock may have been wrong.
CREATE TABLE rule_clocks (
    origin VARCHAR PRIMARY KEY,
    moment VARCHAR NOT NULL
);
