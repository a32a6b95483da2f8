#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The assumption of the flagged blocks, on Soft-RoCE.

. "$(dirname "$0")/../common.sh"
one_device || exit
TALLY_TIMEOUT=300 try "$vm_test: no flag before its payload" "$vm_programs/flags" -w "$([ "$vm_all" = yes ] && echo 200 || echo 20)" \
    rxe0 rxe0
no_device
