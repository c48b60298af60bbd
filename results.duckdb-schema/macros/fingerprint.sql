-- How much a key of runs.fingerprint matters: `must_equal` keys have to agree for a like-for-like comparison;
-- `worth_knowing` keys may differ: the same program on other nodes of one cluster, or a commit that did not change the
-- code that ranks execute.
CREATE OR REPLACE MACRO fingerprint_class(key) AS (
    CASE
        WHEN key IN ('nodes', 'commit', 'scalebench', 'user_repository', 'user_commit') THEN 'worth_knowing'
        ELSE 'must_equal'
    END
);

-- The facts in which two lists of fingerprints differ, as a JSON list of objects with key, class, baseline and
-- candidate; `[]` if they agree, null if a side has no fingerprint. If a side has several values, they are listed; null
-- means that the side lacks the fact. The class is that of fingerprint_class, or `worth_knowing` if a side lacks the
-- fact, because it may be equal. Settings are ignored if two different cases are compared, because these differ
-- intentionally.
CREATE OR REPLACE MACRO fingerprint_difference(baseline_fingerprints, candidate_fingerprints, same_case) AS (
    WITH fingerprints AS (
        SELECT true AS is_baseline, unnest(baseline_fingerprints) AS fingerprint
        UNION ALL
        SELECT false, unnest(candidate_fingerprints)
    ),
    facts AS (
        SELECT is_baseline, fingerprint, unnest(json_keys(fingerprint)) AS key FROM fingerprints
    ),
    by_side AS (
        SELECT
            key,
            string_agg(DISTINCT fingerprint ->> key, ', ' ORDER BY fingerprint ->> key) FILTER (is_baseline)
                AS baseline,
            string_agg(DISTINCT fingerprint ->> key, ', ' ORDER BY fingerprint ->> key) FILTER (NOT is_baseline)
                AS candidate
        FROM facts
        GROUP BY key
    ),
    classed AS (
        SELECT
            *,
            CASE
                WHEN baseline IS NULL OR candidate IS NULL THEN 'worth_knowing'
                ELSE fingerprint_class(key)
            END AS class
        FROM by_side
    ),
    final AS (
        SELECT
            CASE
                WHEN len(baseline_fingerprints) > 0 AND len(candidate_fingerprints) > 0
                THEN coalesce(
                    to_json(list(
                        {'key': key, 'class': class, 'baseline': baseline, 'candidate': candidate} ORDER BY key
                    ) FILTER (baseline IS DISTINCT FROM candidate AND (same_case OR key <> 'settings'))),
                    '[]'::JSON
                )
            END AS difference
        FROM classed
    )
    SELECT difference FROM final
);

-- A value of a fingerprint as text, with 12 digits of each commit and 8 of each digest; `none` for null.
CREATE OR REPLACE MACRO fact_text(value) AS (
    coalesce(
        if(
            regexp_full_match(value, '(digest )?[0-9a-f]{16}') AND NOT regexp_full_match(value, '[0-9]*'),
            left(value, -8),
            regexp_replace(value, '\b([0-9a-f]{12})[0-9a-f]{28}\b', '\1', 'g')
        ),
        'none'
    )
);

-- Whether a fact of fingerprint_difference says that a file of the user's code differs. A file that only one side has
-- is a fact like any other.
CREATE OR REPLACE MACRO is_user_code(fact) AS (
    starts_with(fact['key'], 'content of ') AND fact['class'] = 'must_equal'
);

-- The names of the user's files whose content differs, from a list of fingerprint_difference's facts.
CREATE OR REPLACE MACRO code_files(facts) AS (
    [fact.key[12:] FOR fact IN facts IF is_user_code(fact)]
);

-- The files of the user's code that differ, from a list of fingerprint_difference's facts, with the commit if it
-- differs: `code: model.py, train/optim.py (commit 1a2b3c4d5e6f → 4d5e6f1a2b3c, changed)`; null if none do. It names
-- four files and counts the others.
CREATE OR REPLACE MACRO code_difference(facts) AS (
    'code: ' || nullif(array_to_string(code_files(facts)[:4], ', '), '')
    || CASE WHEN len(code_files(facts)) > 4 THEN ' and ' || (len(code_files(facts)) - 4) || ' more' ELSE '' END
    || coalesce(' (commit ' || [
        fact_text(fact.baseline) || ' → ' || fact_text(fact.candidate) FOR fact IN facts IF fact.key = 'user_commit'
    ][1] || ')', '')
);

-- How scalebench's own training code differs, from a list of fingerprint_difference's facts, by its commit and version:
-- `training code: commit 1a2b3c4d5e6f → 4d5e6f1a2b3c, scalebench 0.1.0 → 0.2.0`. The digests are named if both are the
-- same or unknown. Null if the code does not differ.
CREATE OR REPLACE MACRO training_code_difference(facts) AS (
    'training code: ' || coalesce(
        nullif(array_to_string([
            fact['key'] || ' ' || fact_text(fact['baseline']) || ' → ' || fact_text(fact['candidate'])
            FOR fact IN facts IF fact['key'] IN ('commit', 'scalebench')
        ], ', '), ''),
        'digest'
    ) || [
        CASE WHEN len([1 FOR other IN facts IF other['key'] IN ('commit', 'scalebench')]) = 0
            THEN ' ' || fact_text(fact['baseline']) || ' → ' || fact_text(fact['candidate']) ELSE '' END
        FOR fact IN facts IF fact['key'] = 'training_code' AND fact['class'] = 'must_equal'
    ][1]
);

-- The words in which two commands, JSON lists of words, differ, with the word before them:
-- `… --batch 64 → … --batch 128`. Null if a side is no such list.
CREATE OR REPLACE MACRO changed_words(baseline, candidate) AS (
    WITH words AS (
        SELECT
            from_json(CASE WHEN json_valid(baseline) THEN baseline END, '["VARCHAR"]') AS one,
            from_json(CASE WHEN json_valid(candidate) THEN candidate END, '["VARCHAR"]') AS other
    ),
    beginnings AS (
        SELECT
            one, other,
            least(len(one), len(other)) AS most,
            coalesce(list_position([one[place] = other[place] FOR place IN range(1, most + 1)], false) - 1, most)
                AS same
        FROM words
    ),
    ends AS (
        SELECT
            one, other, same,
            coalesce(
                list_position([one[-place] = other[-place] FOR place IN range(1, most - same + 1)], false) - 1,
                most - same
            ) AS same_at_end
        FROM beginnings
    )
    SELECT joined([
        if(same > 1, '… ', '') || joined(side[greatest(same, 1):len(side) - same_at_end], ' ')
            || if(same_at_end > 0, ' …', '')
        FOR side IN [one, other]
    ], ' → ')
    FROM ends
    WHERE one IS NOT NULL AND other IS NOT NULL
);

-- The training settings in which two run specifications (runs.config) differ, as text: `global_batch: 64 → 256,
-- train.precision: fp32 → bf16`; `none` if one side lacks the setting; null if both agree or one is unknown. Names are
-- the suite's keys. It lists only one batch setting: the one that the suite sets.
CREATE OR REPLACE MACRO settings_difference(baseline_config, candidate_config) AS (
    WITH named AS (
        SELECT unnest([
            'workload', 'workload_options', 'data', 'train', 'measure', 'strategy', 'strategy_options',
            'global_batch', 'batch_per_rank', 'threads'
        ]) AS part
    ),
    settings AS (
        SELECT
            part,
            json_extract(baseline_config, part) AS baseline,
            json_extract(candidate_config, part) AS candidate
        FROM named
        WHERE part <> CASE candidate_config ->> 'scaling' WHEN 'strong' THEN 'batch_per_rank' ELSE 'global_batch' END
    ),
    parts AS (
        SELECT *, 'OBJECT' IN (json_type(baseline), json_type(candidate)) AS has_keys FROM settings
    ),
    keys AS (
        SELECT
            part,
            unnest(list_distinct(list_concat(
                coalesce(json_keys(baseline), []::VARCHAR[]), coalesce(json_keys(candidate), []::VARCHAR[])
            ))) AS key,
            baseline,
            candidate
        FROM parts
        WHERE has_keys
    ),
    facts AS (
        SELECT
            part AS name,
            -- a custom workload without its folder
            regexp_extract(baseline ->> '$', '[^/]*$') AS baseline,
            regexp_extract(candidate ->> '$', '[^/]*$') AS candidate
        FROM parts
        WHERE has_keys IS NOT TRUE
        UNION ALL
        SELECT
            CASE part
                WHEN 'workload_options' THEN 'workload'
                WHEN 'strategy_options' THEN 'strategy'
                ELSE part
            END || '.' || key,
            baseline ->> key,
            candidate ->> key
        FROM keys
        -- The number of repeats, their stopping rule and the timeout do not change an ok run, nor does anything after
        -- its measured steps.
        WHERE part <> 'measure'
            OR key NOT IN (
                'repeats', 'until', 'until_efficiency', 'max_repeats', 'timeout_s', 'nonfinite', 'profiled',
                'selfcheck', 'wire', 'wire_rounds'
            )
    ),
    with_commands AS (
        SELECT
            *,
            CASE WHEN name = 'workload.command' THEN baseline END AS command,
            CASE WHEN name = 'workload.command' THEN candidate END AS other_command
        FROM facts
    ),
    with_words AS (
        SELECT *, changed_words(command, other_command) AS words FROM with_commands
    ),
    final AS (
        SELECT string_agg(
            name || ': ' || coalesce(words, coalesce(baseline, 'none') || ' → ' || coalesce(candidate, 'none')),
            ', ' ORDER BY name
        ) AS difference
        FROM with_words
        WHERE baseline IS DISTINCT FROM candidate
            AND baseline_config IS NOT NULL AND candidate_config IS NOT NULL
    )
    SELECT difference FROM final
);
