#!/usr/bin/env bash
# Run COMMAND with a Grid Engine of its own: one host, `node1`, with two slots and the parallel environment `mpi`.
#
#   unshare --net --uts --mount --pid --fork --mount-proc --kill-child tests/e2e/grid_engine.sh FOLDER COMMAND [ARGUMENT]...
#
# It needs root and Debian's gridengine-master, gridengine-exec and gridengine-client. The namespaces keep the daemons,
# the network and the mounts apart; the installed configuration is copied to FOLDER and stays unchanged.
set -euo pipefail
folder=$1
shift
export SGE_ROOT=/var/lib/gridengine SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445

# Grid Engine compares the names of addresses, and Open MPI uses no loopback: the host needs an address of its own.
hostname node1
ip link set lo up
ip link add network type veth peer name other
ip address add 10.9.8.1/24 dev network
ip link set network up
ip link set other up
printf '10.9.8.1 node1\n127.0.0.1 localhost\n' >"$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts
for place in /var/lib/gridengine /var/spool/gridengine; do
  copy=$folder/${place//\//-}
  cp -a "$place" "$copy"
  mount --bind "$copy" "$place"
done
echo node1 >"$SGE_ROOT/default/common/act_qmaster"

sge_qmaster
until qconf -sh >/dev/null 2>&1; do sleep 0.1; done
qconf -sh | grep -qx node1 || qconf -ah node1
qconf -as node1
sge_execd

# In its defaults Grid Engine refuses jobs of root, and those on a busy machine.
mkdir "$folder/conf"
qconf -sconf | sed -e 's/^min_uid .*/min_uid 0/' -e 's/^min_gid .*/min_gid 0/' -e 1d >"$folder/conf/global"
qconf -Mconf "$folder/conf/global"
cat >"$folder/environment" <<'MPI'
pe_name            mpi
slots              2
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $fill_up
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
MPI
qconf -Ap "$folder/environment"
qconf -sq | sed -e 's/^qname .*/qname all.q/' -e 's/^hostlist .*/hostlist node1/' -e 's/^pe_list .*/pe_list mpi/' \
  -e 's/^slots .*/slots 2/' -e 's/^load_thresholds .*/load_thresholds NONE/' -e 's|^shell .*|shell /bin/bash|' \
  >"$folder/queue"
qconf -Aq "$folder/queue"
until qstat -f | grep -q 'node1 .* lx-amd64 *$'; do sleep 0.1; done

"$@"
