-- What sessions were given, one row a hand-over; session_id is empty for a pack that names no session. position is the
-- byte offset of its line, seen what the stream of sessions had then: what live sessions did later is beyond it.
CREATE TABLE handovers (
    position BIGINT NOT NULL,
    session_id VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    "at" DOUBLE NOT NULL,
    "by" VARCHAR NOT NULL,
    files MAP(VARCHAR, VARCHAR) NOT NULL,
    passages VARCHAR[] NOT NULL,
    matched VARCHAR[] NOT NULL,
    tokens BIGINT NOT NULL,
    why VARCHAR NOT NULL,
    subagent BOOLEAN NOT NULL,
    variant VARCHAR NOT NULL,
    seen BIGINT NOT NULL
);

-- Which files of instructions agents reported to have loaded by themselves.
CREATE TABLE loaded_instructions (
    position BIGINT NOT NULL,
    session_id VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    "at" DOUBLE NOT NULL
);

-- Calls of tools that broke rules, each once, whoever reported it: a hook or a transcript.
CREATE TABLE rule_breaches (
    position BIGINT NOT NULL,
    session_id VARCHAR,
    rule_id VARCHAR,
    call VARCHAR,
    decision VARCHAR NOT NULL,
    "at" DOUBLE NOT NULL,
    "by" VARCHAR NOT NULL,
    PRIMARY KEY (session_id, rule_id, call)
);
