-- One row per session, case and placement of the cases that keep the global batch: the rows of scaling with that mode.
CREATE OR REPLACE VIEW strong_scaling AS
SELECT * FROM scaling WHERE scaling_mode = 'strong';
