#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The assumption of the flagged blocks, on Soft-RoCE: a kernel that keeps the order of a write keeps it always.
# Where one does not, the words that were early are counted in the log, and all payloads come in the end.

. "$(dirname "$0")/../common.sh"
one_device || exit
writes=20
[ "$vm_all" = no ] || writes=200
name="$vm_test: no flag before its payload"
writes_are_ordered || name="$vm_test: each payload comes, before or after its flag"
TALLY_TIMEOUT=900 try "$name" "$vm_programs/flags" -e $order -w $writes rxe0 rxe0
no_device
