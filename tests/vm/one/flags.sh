#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The assumption of the flagged blocks, on Soft-RoCE.

. "$(dirname "$0")/../common.sh"
one_device || exit
writes=20
[ "$vm_all" = no ] || writes=200
TALLY_TIMEOUT=300 try "$vm_test: no flag before its payload" "$vm_programs/flags" -w $writes rxe0 rxe0
no_device
