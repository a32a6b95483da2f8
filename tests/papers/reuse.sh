#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates frequently used buffers beside their paper's figures, and compares what it finds with
# golden/reuse.csv.
#
#   reuse.sh [--update]
#
# --update writes the golden file anew. Exit status: 0; 1 if something differs or does not hold.

. "$(dirname "$0")/golden.sh"
needs reuse
check reuse latency spectrum statements
exit $status
