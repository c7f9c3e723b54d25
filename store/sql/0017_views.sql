-- What [img 6] keeps as tables of its own, as views: the questions that caches were asked, all that was recorded in its
-- order, and the projects that records are of.
CREATE VIEW cache_stats AS SELECT id, "at", operation, level, "cache"[level][1] AS hits, "cache"[level][2] AS misses
FROM (SELECT id, "at", operation, "cache", unnest(map_keys("cache")) AS level FROM metrics);
CREATE VIEW events AS
SELECT started_at::DOUBLE AS "at", 'started' AS kind, session_id, task_text AS about FROM episodes
UNION ALL SELECT ended_at::DOUBLE, 'ended', session_id, outcome FROM episodes WHERE ended_at IS NOT NULL
UNION ALL SELECT "timestamp"::DOUBLE, event_type, session_id, coalesce(file_path, '') FROM episode_events
UNION ALL SELECT "at", 'handover', session_id, event FROM handovers
UNION ALL SELECT "at", 'call', '', operation FROM metrics;
CREATE VIEW projects AS SELECT project_id, count(*) AS tasks, min(started_at) AS first_at,
    max(coalesce(ended_at, started_at)) AS last_at FROM episodes GROUP BY project_id;
