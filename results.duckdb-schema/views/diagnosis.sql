-- One row per session, case and finding: what is wrong, its evidence, and what to change. Each rule is a file in rules/
-- or a custom rule (`bench load --rules DIR`); load has run all of them (findings). If a finding applies to several
-- placements of a case, the placement with the largest cost represents them; without a cost, the one with the largest
-- `magnitude`. A cause that was estimated is likely, and its first advice is to measure it.
CREATE OR REPLACE VIEW diagnosis AS
WITH places AS (
    SELECT DISTINCT
        session_id, case_name, nodes, ranks_per_node, threads, workers, world_size,
        placement_of(nodes, ranks_per_node, axis, threads) AS placement
    FROM runs
    WHERE probe IS NOT TRUE
),
suites AS (
    SELECT session_id, suite, imported, coalesce(is_busy, false) AS is_busy
    FROM sessions
    LEFT JOIN other_work USING (session_id)
),
placed AS (
    SELECT
        findings.*,
        try_cast(nullif(regexp_extract(options, '^--repeats (\d+)$', 1), '') AS INTEGER) AS repeats_asked,
        places.workers, places.world_size, places.placement,
        count(DISTINCT (nodes, ranks_per_node, threads)) OVER of_case AS times,
        row_number() OVER (
            -- rounded: the last digits of a sum depend on its order, which differs from load to load
            of_case ORDER BY
                round(cost, 9) DESC NULLS LAST, round(magnitude, 9) DESC NULLS LAST, certainty DESC, workers DESC, nodes
        ) AS place
    FROM findings
    LEFT JOIN places USING (session_id, case_name, nodes, ranks_per_node, threads)
    WINDOW of_case AS (PARTITION BY session_id, case_name, finding)
),
worded AS (
    SELECT
        placed.*, title, severity, meaning,
        certainty = 'estimated' AS is_estimated,
        coalesce(CASE WHEN is_estimated THEN 'by estimate, ' ELSE '' END || evidence, title) AS said,
        CASE
            WHEN is_estimated
            THEN 'Profile some steps first: until then, communication, slower computation and a rank that is slow in '
                'backward look alike.'
        END AS measure_first
    FROM placed
    JOIN diagnosis_rules USING (finding)
    WHERE place = 1
),
final AS (
    SELECT
        placed.session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, placement,
        point_id_of(placed.session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        finding,                       -- name of the rule
        title,                         -- what is wrong, in a few words
        severity,                      -- critical, warning, notice
        -- certainty: shown: supported by an interval or a count; likely: by points or an estimate only, or it costs
        -- time and other work kept the machine busy
        if(is_estimated OR (is_busy AND cost IS NOT NULL), 'likely', certainty) AS certainty,
        cost,                          -- share of the ranks' time that the finding explains; null if unknown
        magnitude,                     -- orders placements that have no cost: larger is worse
        -- evidence: all figures behind the finding
        concat_ws('; ', said, details) AS evidence,
        said AS short_evidence,        -- the figures that a terminal shows
        meaning,                       -- why it matters
        -- advice: what to change, what else may help, and side effects
        concat_ws(' ', measure_first, placed.advice, alternatives, caution) AS advice,
        -- short_advice: what a terminal shows of the advice: what to change, and side effects
        concat_ws(' ', measure_first, placed.advice, caution) AS short_advice,
        -- options: arguments of `bench suite` that try the advice; null if no setting does, or if measured elsewhere.
        -- All findings of a session that ask for repeats have the largest number, because one command serves all.
        CASE
            WHEN imported IS NULL AND is_estimated THEN profile_option()
            WHEN imported IS NULL THEN coalesce('--repeats ' || max(repeats_asked) OVER of_repeats, options)
        END AS options,
        times,                         -- number of placements of the case with this finding; evidence is from the worst
        -- finding_order: 1-based within the session: severity, then cost; critical findings without a cost come first
        row_number() OVER (
            PARTITION BY placed.session_id
            ORDER BY
                list_position(['critical', 'warning', 'notice'], severity), severity = 'critical' AND cost IS NOT NULL,
                cost DESC NULLS LAST, finding, case_name
        ) AS finding_order
    FROM worded AS placed
    JOIN suites ON suites.session_id = placed.session_id
    WINDOW of_repeats AS (PARTITION BY placed.session_id, repeats_asked > 0)
)
SELECT * FROM final;
