#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What Open MPI 4 is told to use for ssh, so that it takes processes of one machine for those of
# several nodes, and leaves shared memory alone:
#
#   mpirun -np 2 -H $(hostname),other --map-by node --bind-to none --mca plm_rsh_agent contrib/node_here.sh ...
#
# Each such node has a directory of its own in TMPDIR: daemons of one machine would share theirs, and that of
# the job before may still be removing it.
shift # the host
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/node.XXXXXX") || exit
export TMPDIR
exec sh -c "$*"
