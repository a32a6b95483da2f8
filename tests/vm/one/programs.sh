#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Derived types and other programs of tests/mpi; with --all more of them, with a protocol that copies and one
# that does not, and with the others a few.

. "$(dirname "$0")/../common.sh"
one_device || exit
programs=(types onesided)
others=()
copying=() # where registrations are not the question
if [ "$vm_all" = yes ]; then
    others=(threads window forks remap readonly)
    copying=(order unexpected "truncate 1000000000" modes self storm persistent probe cancel comms collectives
        many_to_one copied scheduled rma_threads "epochs created allocated dynamic self"
        "epochs packed created allocated dynamic")
fi
[ "$vm_all" = yes ] || protocols=superpipeline
for protocol in $protocols; do
    mpi=(--mca btl_rbuf_protocol "$protocol")
    more=()
    [[ $protocol != superpipeline && $protocol != rcache ]] || more=("${others[@]}")
    [[ $protocol != superpipeline ]] || more+=("${copying[@]}")
    for program in "${programs[@]}" "${more[@]}"; do
        # shellcheck disable=SC2086 # the program is words
        try_mpi "$program, $protocol" 300 2 "$mpi_tests/"$program
    done
done
no_device
