"""The statements behind the history tables [img 6], and the columns that `staged` has for each."""

from __future__ import annotations

from typing import Final

CREATE_TOUCHED: Final = """
CREATE OR REPLACE TEMP TABLE touched_fingerprints (task_fingerprint VARCHAR);
CREATE OR REPLACE TEMP TABLE touched_sessions (session_id VARCHAR)
"""
SESSION: Final = {"session_id": "str"}
SELECT_STORED: Final = """
SELECT session_id FROM staged
WHERE session_id IN (SELECT session_id FROM episodes)
    OR session_id IN (SELECT session_id FROM episode_events)
"""
TOUCH_SESSIONS: Final = "INSERT INTO temp.touched_sessions SELECT session_id FROM staged"
TOUCH: Final = """
INSERT INTO temp.touched_fingerprints
SELECT DISTINCT task_fingerprint FROM episodes WHERE session_id IN (SELECT session_id FROM staged)
"""
DELETE_EPISODES: Final = "DELETE FROM episodes USING staged WHERE episodes.session_id = staged.session_id"
DELETE_TOLD: Final = """
DELETE FROM episode_events USING staged
WHERE episode_events.session_id = staged.session_id AND event_type <> 'feedback'
"""
_JUDGED = """
FROM (
    SELECT session_id,
        arg_max(outcome, id) FILTER (outcome IS NOT NULL) AS outcome,
        arg_max(rationale, id) FILTER (rationale IS NOT NULL) AS rationale
    FROM (
        SELECT session_id, id, json_extract_string(payload_json, '$.outcome') AS outcome,
            json_extract_string(payload_json, '$.rationale') AS rationale
        FROM episode_events
        WHERE event_type = 'feedback' AND session_id IN (SELECT session_id FROM staged)
    ) GROUP BY session_id
) AS judged
"""
# Feedback on an episode still counts when it is imported again.
JUDGE_EPISODES: Final = (
    "UPDATE episodes SET outcome = judged.outcome"
    + _JUDGED
    + "WHERE episodes.session_id = judged.session_id AND judged.outcome IS NOT NULL"
)
JUDGE_SOURCES: Final = (
    "UPDATE episode_sources SET outcome_evidence = 'feedback'"
    + _JUDGED
    + "WHERE episode_sources.session_id = judged.session_id AND judged.outcome IS NOT NULL"
)
JUDGE_LINKS: Final = (
    "UPDATE causal_links SET rationale = judged.rationale"
    + _JUDGED
    + "WHERE causal_links.session_id = judged.session_id AND judged.rationale IS NOT NULL"
)
DELETE_EVENTS: Final = (
    "DELETE FROM episode_events USING staged WHERE episode_events.session_id = staged.session_id"
)
DELETE_LINKS: Final = (
    "DELETE FROM causal_links USING staged WHERE causal_links.session_id = staged.session_id"
)
INSERT_EPISODES: Final = """
INSERT INTO episodes
SELECT session_id, project_id, task_text, task_fingerprint, query_type, started_at,
    TRY_CAST(ended_at AS BIGINT), outcome, TRY_CAST(token_budget AS BIGINT),
    TRY_CAST(token_used AS BIGINT), TRY_CAST(latency_ms AS BIGINT)
FROM staged ON CONFLICT DO NOTHING
"""
DELETE_SOURCES: Final = (
    "DELETE FROM episode_sources USING staged WHERE episode_sources.session_id = staged.session_id"
)
INSERT_SOURCES: Final = """
INSERT INTO episode_sources
SELECT session_id, source, parent_session, TRY_CAST(prompt_index AS BIGINT), outcome_evidence, '', number,
    haystack, cased
FROM staged ON CONFLICT DO NOTHING
"""
UPDATE_SOURCES: Final = """
UPDATE episode_sources SET
    outcome_evidence = coalesce(staged.outcome_evidence, episode_sources.outcome_evidence),
    closed_by = coalesce(staged.closed_by, episode_sources.closed_by)
FROM staged WHERE episode_sources.session_id = staged.session_id
"""
INSERT_EVENTS: Final = """
INSERT INTO episode_events
SELECT id, session_id, event_type, file_path, symbol, payload_json, "timestamp" FROM staged
"""
INSERT_LINKS: Final = """
INSERT INTO causal_links
SELECT id, session_id, issue_ref, commit_sha, change_path, change_kind, rationale, "timestamp" FROM staged
"""
UPDATE_EPISODES: Final = """
UPDATE episodes SET
    ended_at = coalesce(TRY_CAST(staged.ended_at AS BIGINT), episodes.ended_at),
    outcome = coalesce(staged.outcome, episodes.outcome),
    token_budget = coalesce(TRY_CAST(staged.token_budget AS BIGINT), episodes.token_budget),
    token_used = coalesce(TRY_CAST(staged.token_used AS BIGINT), episodes.token_used),
    latency_ms = coalesce(TRY_CAST(staged.latency_ms AS BIGINT), episodes.latency_ms)
FROM staged WHERE episodes.session_id = staged.session_id
"""
UPDATE_LINKS: Final = """
UPDATE causal_links SET
    commit_sha = coalesce(staged.commit_sha, causal_links.commit_sha),
    rationale = coalesce(staged.rationale, causal_links.rationale)
FROM staged WHERE causal_links.session_id = staged.session_id
    AND (staged.commit_sha IS NOT NULL OR staged.rationale IS NOT NULL)
"""
DELETE_COUNTS: Final = """
DELETE FROM session_counts WHERE session_id IN (SELECT session_id FROM temp.touched_sessions)
"""
INSERT_COUNTS: Final = """
INSERT INTO session_counts
SELECT session_id, count(file_path) FILTER (is_read = 1), count(file_path) FILTER (is_edit = 1),
    sum(events)::BIGINT, max(last_seen),
    coalesce(array_agg(file_path ORDER BY file_path) FILTER (
        is_read + is_edit > 0 AND file_path IS NOT NULL
    ), [])
FROM (
    SELECT session_id, file_path, max((event_type = 'read')::INTEGER) AS is_read,
        max((event_type IN ('edit', 'delta'))::INTEGER) AS is_edit,
        count(*) AS events, max("timestamp") AS last_seen
    FROM episode_events WHERE session_id IN (SELECT session_id FROM temp.touched_sessions)
    GROUP BY session_id, file_path
) GROUP BY session_id
"""
DELETE_AFFINITY: Final = """
DELETE FROM task_file_affinity
WHERE task_fingerprint IN (SELECT task_fingerprint FROM temp.touched_fingerprints)
"""
INSERT_AFFINITY: Final = """
INSERT INTO task_file_affinity
WITH touched AS (SELECT DISTINCT task_fingerprint FROM temp.touched_fingerprints),
uses AS (
    SELECT task_fingerprint, file_path, session_id,
        max((event_type = 'read')::INTEGER) AS is_read,
        max((event_type IN ('edit', 'delta'))::INTEGER) AS is_edit,
        max((event_type IN ('edit', 'delta') AND outcome = 'success')::INTEGER) AS is_success,
        max((event_type IN ('edit', 'delta') AND outcome = 'failed')::INTEGER) AS is_failed,
        max("timestamp") AS last_seen
    FROM episode_events JOIN episodes USING (session_id)
    WHERE event_type IN ('read', 'edit', 'delta') AND file_path IS NOT NULL
        AND task_fingerprint IN (SELECT task_fingerprint FROM touched)
    GROUP BY task_fingerprint, file_path, session_id
),
counts AS (
    SELECT task_fingerprint, file_path, sum(is_read)::BIGINT AS reads, sum(is_edit)::BIGINT AS edits,
        sum(is_success)::BIGINT AS success_edits, sum(is_failed)::BIGINT AS failed_edits,
        max(last_seen) AS last_seen
    FROM uses GROUP BY task_fingerprint, file_path
)
SELECT task_fingerprint, file_path, reads, edits, success_edits, last_seen,
    ((edits + success_edits - 0.5::DOUBLE * failed_edits + 0.3::DOUBLE * reads)
     * pow(0.5, (max(last_seen) OVER (PARTITION BY task_fingerprint) - last_seen) / (180.0 * 86400)))::REAL
FROM counts
"""

EPISODE: Final = {
    "session_id": "str",
    "project_id": "str",
    "task_text": "str",
    "task_fingerprint": "str",
    "query_type": "str",
    "started_at": "int64",
    "ended_at": "object",
    "outcome": "str",
    "token_budget": "object",
    "token_used": "object",
    "latency_ms": "object",
}
SOURCE: Final = {
    "session_id": "str",
    "source": "str",
    "parent_session": "str",
    "prompt_index": "object",
    "outcome_evidence": "str",
    "number": "int64",
    "haystack": "str",
    "cased": "str",
}
EVENT: Final = {
    "id": "int64",
    "session_id": "str",
    "event_type": "str",
    "file_path": "str",
    "symbol": "str",
    "payload_json": "str",
    "timestamp": "int64",
}
LINK: Final = {
    "id": "int64",
    "session_id": "str",
    "issue_ref": "str",
    "commit_sha": "str",
    "change_path": "str",
    "change_kind": "str",
    "rationale": "str",
    "timestamp": "int64",
}
PATCH: Final = {
    "session_id": "str",
    "ended_at": "object",
    "outcome": "str",
    "token_budget": "object",
    "token_used": "object",
    "latency_ms": "object",
    "commit_sha": "str",
    "rationale": "str",
    "closed_by": "str",
    "outcome_evidence": "str",
}
