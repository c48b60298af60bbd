-- The weight of a key of runs.fingerprint: `must_equal` for two runs to be compared as like with like, or
-- `worth_knowing`: the same program on other nodes of one cluster, or a commit that left what ranks execute as it was.
CREATE OR REPLACE MACRO fingerprint_class(key) AS (
    CASE WHEN key IN ('nodes', 'commit', 'scalebench') THEN 'worth_knowing' ELSE 'must_equal' END
);
