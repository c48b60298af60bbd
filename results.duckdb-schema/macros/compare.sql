-- One row per case and placement that both sides ran: throughput of the candidate over that of the baseline, with its
-- interval and verdict. A side is a session id, or a list of ids. Verdict: `faster` or `slower` where the interval
-- excludes 1, `same` where it lies within 1 ± margin, else `inconclusive`; null where a side has no ok repeat or was
-- oversubscribed. A case is the same where its name, workload, scaling and strategy are.
CREATE OR REPLACE MACRO compare(baseline_session, candidate_session, margin := 0.02, max_regression := 0.05) AS TABLE
FROM compare_sides(
    baseline_session, NULL::VARCHAR, candidate_session, NULL::VARCHAR,
    margin := margin, max_regression := max_regression
);
