-- One row per process group that began collectives in a profiled step of a rank. Only of commands, traces and meshes,
-- whose dimensions are groups: any other training has one group, or the two of its strategy.
CREATE TABLE profile_groups (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    step INTEGER,                  -- same number as in profile
    group_name VARCHAR,            -- torch's name of the group; 0: that of all ranks
    description VARCHAR,           -- of the group by its maker, such as default_pg or mesh_tp; may be empty
    ranks INTEGER,                 -- ranks in the group
    calls INTEGER,                 -- collectives that the rank began
    -- message_bytes: sum over the calls, counted as in collectives; null: unknown, as for several groups of gloo
    message_bytes BIGINT,
    time_ns BIGINT,                -- union of the calls' intervals; null: unknown
    exposed_ns BIGINT              -- part of time_ns in which the rank computed nothing; null: unknown
);
