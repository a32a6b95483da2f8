#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# NAS IS over two guests; it verifies its result.

. "$(dirname "$0")/../common.sh"
for protocol in $some_protocols; do
    mpi=(--mca btl_rbuf_protocol "$protocol")
    try_mpi "class S, $protocol" 300 2 "$RBUF_PREFIX/libexec/rbuf/nas_is" --class S
done
mpi=()
try_mpi "class W" 300 2 "$RBUF_PREFIX/libexec/rbuf/nas_is" --class W
if [ "$vm_all" = yes ]; then
    mpi=()
    try_mpi "class W, 4 ranks" 600 4 "$RBUF_PREFIX/libexec/rbuf/nas_is" --class W
fi
