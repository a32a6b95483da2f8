#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates eager rings and one-sided epochs beside their papers' figures, and compares what it finds with
# golden/eager.csv and golden/one_sided.csv.
#
#   papers.sh [--update]
#
# --update writes the golden files anew. Exit status: 0; 1 if something differs or does not hold.

. "$(dirname "$0")/golden.sh"
check eager writes slots statements
check one_sided order packed copied statements
exit $status
