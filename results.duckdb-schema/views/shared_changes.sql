-- One row per change of level that all cases of a suite share (history_changes), newest first, with what changed in the
-- first session that shows it: a change of code or software explains it, or else the machine does.
CREATE OR REPLACE VIEW shared_changes AS
WITH shared AS (
    SELECT * FROM history_changes WHERE case_name IS NULL
),
compared AS (
    SELECT session_id AS first_session_id, device_name, changes, also_changes, changed || also_changed AS keys
    FROM history
    WHERE previous_session_id IS NOT NULL AND session_id IN (SELECT first_session_id FROM shared)
),
told AS (
    SELECT first_session_id, device_name, string_agg(DISTINCT fact, '; ' ORDER BY fact) AS changes
    FROM (
        SELECT first_session_id, device_name, unnest(string_split(concat_ws('; ', changes, also_changes), '; ')) AS fact
        FROM compared
    ) AS facts
    WHERE fact <> ''
    GROUP BY first_session_id, device_name
),
kinds AS (
    SELECT
        first_session_id, device_name,
        bool_and(changes IS NOT NULL) AS is_known,
        bool_and(len([
            1 FOR key IN keys
            IF NOT list_contains(['nodes', 'cpu_model', 'cpus_given', 'gpu', 'gpu_power_limit_w'], key)
        ]) = 0) AS is_same_software
    FROM compared
    GROUP BY first_session_id, device_name
),
final AS (
    SELECT
        suite, session_id, session_order, direction, ratio,
        ratio_lo,
        ratio_hi,
        first_order, first_session_id, level_first_order, level_last_order, level_session_id, returns, assumed,
        -- subject: `all 12 cases`, `11 of 12 cases`; placements if a case has several
        if(placements = compared_placements, 'all ', placements || ' of ') || compared_placements
            || if(cases = compared_placements, ' cases', ' placements') AS subject,
        -- cause: the machine, if code and software are as in the session before; else something that they share
        if(is_known AND is_same_software, 'the machine', 'something that they share') AS cause,
        -- changes: keys of the fingerprint that differ from the session before, in words; null: unknown
        CASE WHEN is_known THEN coalesce(told.changes, '') END AS changes
    FROM shared
    LEFT JOIN kinds USING (first_session_id, device_name)
    LEFT JOIN told USING (first_session_id, device_name)
)
SELECT * FROM final ORDER BY suite, session_order DESC;
