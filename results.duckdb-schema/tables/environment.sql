-- One row per fact about a node of a session.
CREATE TABLE environment (
    session_id VARCHAR,
    node INTEGER,
    key VARCHAR,                   -- such as torch, cpu_model, cuda
    value VARCHAR                  -- as text
);
