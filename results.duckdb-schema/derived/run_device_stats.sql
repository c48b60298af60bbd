-- One row per node and device of an attempt that a sensor read. Runs that completed no step have a row too, which shows
-- how far they got.
WITH
-- Measured steps without a pause in between, such as a validation; most runs have one such stretch.
with_begins AS (
    SELECT
        session_id, run_id, attempt, end_ns,
        end_ns - step_ns AS begin_ns,
        lag(end_ns) OVER earlier AS previous_end_ns
    FROM step_stats
    WHERE kind = 'measured'
    WINDOW earlier AS (PARTITION BY session_id, run_id, attempt ORDER BY step)
),
numbered AS (
    SELECT
        *,
        count(*) FILTER (begin_ns IS DISTINCT FROM previous_end_ns)
            OVER (PARTITION BY session_id, run_id, attempt ORDER BY begin_ns) AS stretch
    FROM with_begins
),
stretches AS (
    SELECT session_id, run_id, attempt, stretch, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns
    FROM numbered
    GROUP BY session_id, run_id, attempt, stretch
),
-- The counter is assumed to rise evenly between two readings, and after the last reading as fast as before it.
counters AS (
    SELECT
        session_id, run_id, attempt, node, device, time_ns, energy_j,
        coalesce(
            (lead(energy_j) OVER in_time - energy_j) / nullif(lead(time_ns) OVER in_time - time_ns, 0),
            (energy_j - lag(energy_j) OVER in_time) / nullif(time_ns - lag(time_ns) OVER in_time, 0)
        ) AS j_per_ns
    FROM samples
    WHERE device IS NOT NULL AND energy_j IS NOT NULL
    WINDOW in_time AS (PARTITION BY session_id, run_id, attempt, node, device ORDER BY time_ns)
),
devices AS (
    SELECT DISTINCT session_id, run_id, attempt, node, device FROM counters
),
edges AS (
    SELECT devices.*, stretch, unnest([begin_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM stretches
    JOIN devices USING (session_id, run_id, attempt)
),
energies AS (
    SELECT
        edges.session_id, edges.run_id, edges.attempt, edges.node, edges.device,
        -- unknown before the first reading
        CASE WHEN count(j_per_ns) = count(*) THEN sum(sign * (energy_j + j_per_ns * (at_ns - time_ns))) END AS energy_j
    FROM edges
    ASOF LEFT JOIN counters
        ON counters.session_id = edges.session_id AND counters.run_id = edges.run_id
        AND counters.attempt = edges.attempt AND counters.node = edges.node AND counters.device = edges.device
        AND counters.time_ns <= edges.at_ns
    GROUP BY edges.session_id, edges.run_id, edges.attempt, edges.node, edges.device
),
-- Bits of NVML's mask (nvml.h, nvmlClocksEventReason...): SwPowerCap 0x04; SwThermalSlowdown 0x20 and HwThermalSlowdown
-- 0x40; HwSlowdown 0x08, which heat also sets, and HwPowerBrakeSlowdown 0x80. GpuIdle 0x01 and clocks that someone
-- requested (0x02, 0x10, 0x100) are no slowdown.
readings AS (
    SELECT
        session_id, run_id, attempt, node, device,
        avg(gpu_busy_share) AS gpu_busy_share,
        avg(sm_clock_mhz) AS sm_clock_mhz,
        max(temperature_c) AS temperature_c,
        count(throttle_reasons) AS throttle_readings,
        avg(((throttle_reasons & 4) > 0)::INTEGER) AS power_cap_share,
        avg(((throttle_reasons & 96) > 0)::INTEGER) AS heat_share,
        avg(((throttle_reasons & 136) > 0 AND (throttle_reasons & 96) = 0)::INTEGER) AS hardware_slowdown_share
    FROM samples
    JOIN stretches USING (session_id, run_id, attempt)
    WHERE device IS NOT NULL AND time_ns BETWEEN begin_ns AND end_ns
    GROUP BY session_id, run_id, attempt, node, device
),
whole_runs AS (
    SELECT
        session_id, run_id, attempt, node, device,
        count(*) AS readings,
        max(memory_used_bytes) AS memory_used_bytes_peak,
        -- Times count from the ranks' common barrier.
        arg_min(memory_used_bytes, time_ns) FILTER (time_ns < 0) AS memory_used_bytes_first,
        max(rss_bytes) AS rss_bytes_peak,
        avg(other_cpu_share) FILTER (time_ns >= 0) AS other_cpu_share
    FROM samples
    GROUP BY session_id, run_id, attempt, node, device
),
used AS (
    SELECT session_id, run_id, attempt, node, device, count(*) AS ranks
    FROM rank_places
    GROUP BY session_id, run_id, attempt, node, device
),
final AS (
    SELECT
        whole_runs.*,
        CASE WHEN device IS NOT NULL THEN coalesce(ranks, 0) END AS ranks,  -- ranks on the GPU; null: the host
        gpu_busy_share, sm_clock_mhz, temperature_c, throttle_readings, power_cap_share, heat_share,
        hardware_slowdown_share, energy_j
        -- device: null: the host
        -- readings: number of readings over the whole run, start-up included
        -- memory_used_bytes_peak: peak use of the device (on the host: of the machine), other processes included
        -- memory_used_bytes_first: at the first reading, if that is before the run's ranks start; else null
        -- rss_bytes_peak: host: peak resident sets of the node's ranks together
        -- other_cpu_share: host: mean share of the ranks' CPUs that other processes used, from the common barrier
        -- gpu_busy_share: GPU: share of time with a kernel running, mean of the readings during measured steps
        -- sm_clock_mhz: GPU: mean clock during measured steps
        -- temperature_c: GPU: hottest reading during measured steps
        -- throttle_readings: GPU: readings during measured steps that have NVML's reasons for lower clocks
        -- power_cap_share: share of these readings in which the GPU was at its power limit
        -- heat_share: likewise, slowed down because of heat
        -- hardware_slowdown_share: likewise, slowed down by protection of the GPU or the machine, heat not named
        -- energy_j: GPU: increase of its counter in measured steps; null without a counter
    FROM whole_runs
    LEFT JOIN readings USING (session_id, run_id, attempt, node, device)
    LEFT JOIN energies USING (session_id, run_id, attempt, node, device)
    LEFT JOIN used USING (session_id, run_id, attempt, node, device)
)
SELECT * FROM final;
