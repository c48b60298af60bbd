#!/bin/bash
# One session on two nodes with four GPUs each, for LSF: bsub < lsf.sh
# Submit it again to continue where it stopped.
#BSUB -J bench
#BSUB -n 2
#BSUB -R "span[ptile=1] affinity[core(32)]"
#BSUB -gpu "num=4/host"
#BSUB -W 1:00
#BSUB -o bench.%J.out

set -u
suite=(ddpm_scaling) # and options of `bench suite`
session=ddpm_scaling-1 # a job with the same name continues this session
results=$(pwd -P)/results # a folder that all nodes see
bench=(apptainer exec --nv --bind "$results" bench.sif bench) # on CPUs without --nv
mkdir -p "$results" || exit 2

# Two minutes before the time limit the session stops, and keeps what it has measured.
(sleep $((3600 - 120)) && touch "$results/$session/STOP") > /dev/null 2>&1 &
trap 'pkill -P $!' EXIT

# One task on each node, which may use all of its cores. This is for Open MPI; use (-ppn 1) for MPICH and Intel MPI.
each_node=(--map-by ppr:1:node --bind-to none)
mpiexec -n 2 "${each_node[@]}" "${bench[@]}" suite "${suite[@]}" \
    --session "$session" --results "$results" --no-load
code=$?
[ -e "$results/$session" ] || exit "$code"

# Also after failed runs: they are in the tables, too.
"${bench[@]}" load "$results"
"${bench[@]}" summary "$session" --results "$results"
"${bench[@]}" report "$session" --results "$results" --out "$results/public"
exit "$code"
