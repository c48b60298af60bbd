-- title: Short sequences
-- severity: notice
-- meaning: The computation of a step grows with its tokens; its communication does not. A model on short sequences has
--   little to compute for each byte that it exchanges, so efficiency falls as soon as there is a second rank.
--
-- Fires if an example has fewer than 128 tokens (the shorter of the two lengths that BERT was trained on: Devlin et al.
-- 2019, A.2), a rank computes for less than four times as long as it waits for exposed communication, and that costs at
-- least a tenth of the ranks' time, by the lower end of its interval if there is one, or if it is estimated, by its
-- point. Does not fire if small_model fires, which says so too. The advised length is the smallest power of two times
-- the current one at which computation takes four times as long as communication, up to 512.
WITH texts AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(round(tokens_per_example)::BIGINT) AS tokens_per_example,
        any_value(round(tokens_per_example * batch_per_rank)::BIGINT) AS tokens,
        bool_or(json_exists(config, '$.workload_options.sequence_length')) AS has_length
    FROM runs
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
found AS (
    SELECT
        losses.*, texts.* EXCLUDE (session_id, case_name, nodes, ranks_per_node, threads),
        step_parts.computation_ms, step_parts.communication_ms,
        compared, has_one_workload,
        least(512, tokens_per_example * 2 ** ceil(log2(4 * communication_ms / greatest(computation_ms, 0.001))))::BIGINT
            AS longer
    FROM efficiency_loss AS losses
    JOIN step_parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN texts USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN compared_cases USING (session_id, case_name)
    WHERE term = 'communication' AND NOT losses.oversubscribed AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
        AND least_share_of(losses.known_by, share, share_lo) >= 0.1 AND computation_ms < 4 * communication_ms
        AND tokens_per_example < 128
        -- not small_model
        AND NOT (least_share_of(losses.known_by, share, share_lo) >= 0.25 AND computation_ms < 2 * communication_ms)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    certainty_of(known_by, share_lo) AS certainty,
    share AS cost,
    format(
        '{} tokens per example, {:,} per rank and step: {} ms of computation compared with {} ms of communication, {} '
        'of the ranks'' time',
        tokens_per_example, tokens, number_text(computation_ms), number_text(communication_ms),
        share_text(share, share_lo, share_hi)
    ) AS evidence,
    format(
        'Pack several short texts into one sequence of about {} tokens, or train on longer ones; or raise the batch, '
        'which has the same effect on the computation of a step.', longer
    ) AS advice,
    CASE
        WHEN has_length AND has_one_workload THEN option_of_all(compared, 'workload.sequence_length', longer)
    END AS options
FROM found
