-- The time of a rank's step before it first waits for other ranks, in the unit of its phases; null for a strategy whose
-- waits are not known. DDP's ranks meet in backward. FSDP's meet in forward, to gather parameters; its optimizer may
-- wait for the norm of gradients, so that data alone is the rank's own.
CREATE OR REPLACE MACRO before_wait_of(strategy, data, forward) AS (
    CASE strategy WHEN 'ddp' THEN data + forward WHEN 'fsdp' THEN data END
);
