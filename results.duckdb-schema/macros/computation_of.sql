-- The seconds of computation in a phase that was measured with its exposed communication: exposed_time_of turned round.
-- gathered: what every micro-batch has the same share of; reduced: what comes with the last one; both of a whole step.
-- Each exposed part is the larger of two straight lines; so the phase is the largest of four, its inverse the least.
CREATE OR REPLACE MACRO computation_of(phase, gathered, reduced, micro_batches, pieces) AS (
    micro_batches * greatest(0, least(
        (phase - (gathered + reduced) / pieces) / micro_batches,
        (phase - gathered * (1 - 1 / micro_batches) - (gathered / micro_batches + reduced) / pieces)
            / ((micro_batches - 1) / pieces + 1),
        (phase - gathered * (1 - 1 / micro_batches) / pieces - gathered / micro_batches - reduced)
            / (micro_batches - 1 + 1 / pieces),
        (phase - gathered - reduced) / (micro_batches / pieces)
    ))
);
