#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What Open MPI 4 is told to use for ssh, so that it takes processes of one machine for those of
# several nodes:
#
#   mpirun -np 2 -H $(hostname),other --map-by node --bind-to none --mca plm_rsh_agent contrib/node_here.sh ...
#
# Each such node has a directory of its own in TMPDIR: daemons of one machine would share theirs, and that of
# the job before may still be removing it. It has a host name of its own, too, in a UTS name space: Open MPI
# names its segments of shared memory by it. Where none may be made both have one name, and then each node
# must have one rank: with more, Open MPI would take one node's segments for the other's.
host=$1
shift
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/node.XXXXXX") || exit
export TMPDIR
# shellcheck disable=SC2016 # for the shell in the name space
if unshare --uts true 2>/dev/null; then
    exec unshare --uts sh -c 'hostname "$1" && shift && exec sh -c "$*"' sh "$host" "$@"
fi
exec sh -c "$*"
