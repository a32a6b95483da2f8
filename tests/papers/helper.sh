#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Simulates the helper that registers by prediction, beside its rivals and beside its paper's figures, and
# compares what it finds with golden/helper.csv and golden/helper_paper.csv, to the nanosecond.
#
#   helper.sh [--update]
#
# --update writes the golden files anew. Exit status: 0; 1 if something differs or does not hold.

. "$(dirname "$0")/golden.sh"
needs helper
check helper sequences predictions statements
check helper_paper programs predictors helpers statements
exit $status
