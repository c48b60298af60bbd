-- Advice to cases that run a command: what the command can do takes the place of keys of a suite, which it does not obey.
-- Options stay if `bench suite` ran the session and the command obeys them: a batch only where its command has one.
-- Those of `measure` and repeats stay for `bench run`, too. Each session can be resumed.
UPDATE findings
SET
    advice = words_of_a_command(advice),
    alternatives = words_of_a_command(alternatives),
    options = CASE
        WHEN regexp_matches(options, '\b(data|train|strategy)\.|--trace') THEN NULL
        WHEN regexp_matches(options, '_batch=|batch_per_rank=') AND NOT takes_batch THEN NULL
        WHEN is_of_a_suite OR regexp_matches(options, '^(--resume|--repeats|--set (cases\.command\.)?measure\.)')
            THEN options
    END
FROM (
    SELECT
        session_id, case_name,
        bool_or(regexp_matches(config->>'workload_options', '[{](global_batch|batch_per_rank)[}]')) AS takes_batch,
        bool_or(sessions.command[2] = 'suite') AS is_of_a_suite
    FROM runs
    JOIN sessions USING (session_id)
    WHERE workload = 'command'
    GROUP BY session_id, case_name
) AS commands
WHERE finding NOT IN (SELECT finding FROM diagnosis_rules WHERE is_custom)
    AND findings.session_id = commands.session_id AND findings.case_name = commands.case_name
