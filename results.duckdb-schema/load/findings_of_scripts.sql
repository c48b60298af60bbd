-- Advice to cases that run a script: what the script can do takes the place of keys of a suite, which it does not obey.
UPDATE {table}
SET
    advice = words_of_a_script(advice),
    alternatives = words_of_a_script(alternatives),
    options = CASE WHEN NOT regexp_matches(options, '\b(data|train|strategy)\.|--trace') THEN options END
WHERE finding = '{finding}' AND (session_id, case_name) IN (
    SELECT (session_id, case_name) FROM runs WHERE workload = 'command'
)
