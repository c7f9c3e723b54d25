-- What lists of sessions are filtered and sorted by, besides the columns of [img 6]. number is the row's for good: a
-- digest of the id. cased has the searched texts, separated by U+001E, their values by U+001F; haystack the same in
-- lower case.
ALTER TABLE episode_sources ADD COLUMN number BIGINT;
ALTER TABLE episode_sources ADD COLUMN haystack VARCHAR;
ALTER TABLE episode_sources ADD COLUMN cased VARCHAR;

-- What the events of a session add up to. It has no key: rows are deleted and written again in one transaction.
CREATE TABLE session_counts (
    session_id VARCHAR NOT NULL,
    reads BIGINT NOT NULL,
    edits BIGINT NOT NULL,
    events BIGINT NOT NULL,
    last_event BIGINT NOT NULL,
    files VARCHAR[] NOT NULL
);

CREATE VIEW sessions AS
SELECT episode_sources.rowid AS rowid, number, session_id AS id, haystack, cased, task_text, query_type, started_at,
    ended_at, coalesce(outcome, 'unknown') AS outcome, source, parent_session, prompt_index, outcome_evidence,
    closed_by, coalesce(reads, 0) AS reads, coalesce(edits, 0) AS edits, coalesce(events, 0) AS events,
    greatest(started_at, coalesce(ended_at, started_at), coalesce(last_event, started_at)) AS last_at,
    coalesce(files, []) AS files
FROM episodes JOIN episode_sources USING (session_id) LEFT JOIN session_counts USING (session_id);
