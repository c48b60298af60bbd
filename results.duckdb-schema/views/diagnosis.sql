-- One row per session, case and finding: what is wrong, how that shows, and what to change. Each rule is a file in
-- rules/, or of one's own (`bench load --rules DIR`); load has asked them all (findings). Of several placements of a
-- case the one that it costs most stands for all; where a finding has no cost, the one where it is largest: `magnitude`
-- of its rule.
CREATE OR REPLACE VIEW diagnosis AS
WITH places AS (
    SELECT DISTINCT
        session_id, case_name, nodes, ranks_per_node, threads, workers, world_size,
        placement_of(nodes, ranks_per_node, axis, threads) AS placement
    FROM runs
    WHERE probe IS NOT TRUE
),
suites AS (
    SELECT session_id, suite, imported FROM sessions
),
placed AS (
    SELECT
        findings.*,
        places.workers, places.world_size, places.placement,
        count(*) OVER of_case AS times,
        row_number() OVER (
            of_case ORDER BY cost DESC NULLS LAST, magnitude DESC NULLS LAST, certainty DESC, workers DESC, nodes
        ) AS place
    FROM findings
    LEFT JOIN places USING (session_id, case_name, nodes, ranks_per_node, threads)
    WINDOW of_case AS (PARTITION BY session_id, case_name, finding)
),
final AS (
    SELECT
        placed.session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, placement,
        finding,                       -- the rule's name
        title,                         -- in a few words
        severity,                      -- critical, warning, notice
        -- certainty: shown: an interval or a count supports it; likely: points alone, or a part of an efficiency
        -- that is not decided
        certainty,
        cost,                          -- share of the ranks' time that it explains; null where that is not known
        magnitude,                     -- by which placements are ordered where there is no cost: larger is worse
        evidence,                      -- the figures that it was found by
        meaning,                       -- why it matters
        advice,                        -- what to change
        -- knob: arguments for `bench suite` that try it; null where no setting does, and where others measured
        CASE WHEN imported IS NULL THEN knob END AS knob,
        times,                         -- placements of the case at which it was found; evidence is of the worst
        -- finding_order: 1-based within the session: severity, then cost
        row_number() OVER (
            PARTITION BY placed.session_id
            ORDER BY
                list_position(['critical', 'warning', 'notice'], severity), cost DESC NULLS LAST, finding, case_name
        ) AS finding_order
    FROM placed
    JOIN diagnosis_rules USING (finding)
    JOIN suites ON suites.session_id = placed.session_id
    WHERE place = 1
)
SELECT * FROM final;
