-- The facts in which two lists of fingerprints differ, as JSON: a list of objects with key, class, baseline and
-- candidate, `[]` where they are alike, null where a side has none. Several values of a side are listed; null: it has
-- no such fact. The class is that of fingerprint_class, `worth_knowing` where a side has no such fact: it may be equal.
-- Two cases that are compared with each other differ in their settings by intent: of them these are left out.
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
                -- Of an import alone: elsewhere its absence says that scalebench measured.
                WHEN key = 'measured_by' THEN 'must_equal'
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
