-- Who told an episode, beside the tables of [img 6], which stay as specified. parent_session and prompt_index say
-- which prompt of a longer session it was, outcome_evidence what its outcome rests on, closed_by is 'timeout' where
-- nobody said that it ended.
CREATE TABLE episode_sources (
    session_id VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    parent_session VARCHAR NOT NULL,
    prompt_index BIGINT,
    outcome_evidence VARCHAR NOT NULL,
    closed_by VARCHAR NOT NULL
);

-- In the weight of task_file_affinity an edit of a failed episode counts half:
-- (edits + success_edits - 0.5 * failed edits + 0.3 * reads) * 0.5 ^ (age / 180 days).
