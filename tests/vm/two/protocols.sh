#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Checked messages, derived types and one-sided operations from guest to guest.

. "$(dirname "$0")/../common.sh"
for protocol in $some_protocols; do
    mpi=(--mca btl_rbuf_protocol "$protocol")
    try_mpi "$protocol" 300 2 "$mpi_tests/pingpong" brief
done
mpi=()
programs=(types)
# Open MPI 4.1.4 is not for dynamic windows of another node.
[ "$vm_all" = no ] || programs+=(order onesided copied "epochs created allocated" "epochs packed created allocated")
for program in "${programs[@]}"; do
    # shellcheck disable=SC2086 # the program is words
    try_mpi "$program" 300 2 "$mpi_tests/"$program
done
