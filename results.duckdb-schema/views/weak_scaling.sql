-- One row per session, case and placement of the cases that keep the batch per rank: the rows of scaling with that
-- mode. Its speedup is the scaled speedup.
CREATE OR REPLACE VIEW weak_scaling AS
SELECT * FROM scaling WHERE scaling_mode = 'weak';
