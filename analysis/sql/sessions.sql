-- One row per session of the database, newest first and published tables last, with how many of its runs are ok.
SELECT
    session_id, suite, title, created_at, finished_at, command, quick, coalesce(tags, []) AS tags,
    imported IS NOT NULL AS imported,
    coalesce(sum(ok + oom + failed + timeout + interrupted + skipped + missing), 0)::BIGINT AS runs,
    coalesce(sum(ok), 0)::BIGINT AS ok,
    coalesce(sum(skipped), 0)::BIGINT AS skipped
FROM sessions
LEFT JOIN coverage USING (session_id)
WHERE $suite IS NULL OR suite = $suite
GROUP BY ALL
ORDER BY any_value(origin_of(sessions.imported)) = 'published', created_at DESC, session_id DESC;
