-- One row per session whose place among others this load has changed, its own among them: of a suite of which a session
-- came or went, those that are not older than it (history); those on a device whose fastest multiplication is another
-- one now (utilisation).
CREATE OR REPLACE TEMP TABLE affected_sessions AS
WITH changed AS (
    SELECT suite, created_at FROM outgoing_sessions
    UNION ALL
    SELECT suite, created_at FROM sessions WHERE session_id IN (SELECT session_id FROM incoming_sessions)
),
began AS (
    SELECT suite, min(created_at) AS began FROM changed GROUP BY suite
),
rates AS (
    SELECT device_type, device_name, precision, threads_of_a_cpu, max(flops_per_s) AS flops_per_s
    FROM matmul_rates
    GROUP BY ALL
),
other_devices AS (
    SELECT device_type, device_name FROM (FROM rates EXCEPT FROM outgoing_rates)
    UNION
    SELECT device_type, device_name FROM (FROM outgoing_rates EXCEPT FROM rates)
),
final AS (
    SELECT session_id FROM sessions JOIN began USING (suite) WHERE coalesce(created_at >= began, true)
    UNION
    SELECT session_id FROM runs JOIN other_devices USING (device_type, device_name)
)
SELECT session_id FROM final;
