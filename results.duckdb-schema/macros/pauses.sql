-- `--pauses` of a command, from runs.config: count, leave-out; null: pauses of an unknown kind count as training.
CREATE OR REPLACE MACRO pauses_of(config) AS (
    config ->> '$.workload_options.pauses'
);
