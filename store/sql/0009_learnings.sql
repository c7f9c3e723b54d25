-- What was said of learnings, from the streams memory/<feature> of both journals, one row an entry. position is the
-- byte offset of its line; moment the greatest entry id of the stream so far, which orders entries of all streams.
-- kind is put, removed, hit or contradicted; a put has the learning's fields and all of it in body.
CREATE TABLE learning_events (
    origin VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    position BIGINT NOT NULL,
    entry_id VARCHAR NOT NULL,
    moment VARCHAR NOT NULL,
    event VARCHAR NOT NULL,
    learning_id VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL,
    step VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    iteration BIGINT,
    feature VARCHAR,
    task_id VARCHAR,
    text VARCHAR,
    reason VARCHAR,
    source VARCHAR,
    kind VARCHAR,
    state VARCHAR,
    reviewed BOOLEAN,
    "timestamp" VARCHAR,
    first_hits BIGINT,
    successor VARCHAR,
    project_id VARCHAR,
    body JSON,
    PRIMARY KEY (origin, stream, position)
);

-- Learnings as they stand. hit_count counts the sessions that found one out, contradictions the outcomes against it.
CREATE VIEW learnings AS
WITH latest AS (
    SELECT *, row_number() OVER (PARTITION BY learning_id ORDER BY moment DESC, position DESC) AS newest
    FROM learning_events WHERE event IN ('put', 'removed')
), notes AS (
    SELECT learning_id, event, count(DISTINCT coalesce(nullif(session_id, ''), entry_id)) AS times,
        list(DISTINCT session_id) AS sessions, max("at") AS last
    FROM learning_events WHERE event IN ('hit', 'contradicted') GROUP BY learning_id, event
)
SELECT latest.learning_id AS id, origin, feature, task_id, text, reason, source, kind, state, reviewed,
    iteration, session_id, "timestamp", first_hits
        + coalesce(hits.times - (session_id <> '' AND list_contains(hits.sessions, session_id))::BIGINT, 0)
        AS hit_count,
    hits.last AS last_hit, coalesce(against.times, 0) AS contradictions, successor, project_id, body
FROM latest
LEFT JOIN notes AS hits ON hits.learning_id = latest.learning_id AND hits.event = 'hit'
LEFT JOIN notes AS against ON against.learning_id = latest.learning_id AND against.event = 'contradicted'
WHERE newest = 1 AND latest.event = 'put';
