#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Checked messages of 1 B to 4 MB with every protocol.

. "$(dirname "$0")/../common.sh"
one_device || exit
for protocol in $protocols; do
    brief=(brief) # but with --all for the two that most code of the others belongs to
    [ "$vm_all" = no ] || [[ $protocol != superpipeline && $protocol != rcache ]] || brief=()
    mpi=(--mca btl_rbuf_protocol "$protocol" --mca btl_rbuf_report 2)
    try_mpi "$protocol" 300 2 "$mpi_tests/pingpong" "${brief[@]}"
done
no_device
