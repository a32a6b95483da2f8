#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates protocol default beside the static ones, by network, length and share of buffers that are used again, and
# compares what it finds with golden/choice.csv.
#
#   choice.sh [--update]
#
# --update writes the golden file anew. Exit status: 0; 1 if something differs, or default is farther behind the best
# static protocol than choice.c allows.

. "$(dirname "$0")/golden.sh"
check choice cells
exit $status
