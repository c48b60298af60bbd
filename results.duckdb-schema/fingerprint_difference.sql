-- The facts in which two lists of fingerprints differ, as JSON: [{"key": ..., "baseline": ..., "candidate": ...}], `[]`
-- where they are alike, null where a side has none. Several values of a side are listed; null: it has no such fact.
CREATE OR REPLACE MACRO fingerprint_difference(baseline_fingerprints, candidate_fingerprints) AS (
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
    final AS (
        SELECT
            CASE
                WHEN len(baseline_fingerprints) > 0 AND len(candidate_fingerprints) > 0
                THEN coalesce(to_json(list({'key': key, 'baseline': baseline, 'candidate': candidate} ORDER BY key)
                    FILTER (baseline IS DISTINCT FROM candidate)), '[]'::JSON)
            END AS difference
        FROM by_side
    )
    SELECT difference FROM final
);
