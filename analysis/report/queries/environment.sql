-- One row per fact of the environment and value, with the nodes that have it.
SELECT key, value, string_agg(node::VARCHAR, ', ' ORDER BY node) AS nodes
FROM environment
WHERE session_id = $session_id
GROUP BY key, value
ORDER BY key, min(node);
