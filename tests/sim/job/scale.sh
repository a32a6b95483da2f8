#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Prints the table of what eager rings cost in jobs of 8 to 65536 ranks, and fails if it is not the one
# that is kept (scale.golden). A change that is meant is kept by: ./scale > scale.golden
#
#   scale.sh [PROGRAM]    scale of this folder by default

set -u
here=$(cd "$(dirname "$0")" && pwd)
found=$(mktemp) || exit 1
trap 'rm -f "$found"' EXIT
"${1:-./scale}" >"$found" || exit 1
cat "$found"
diff "$here/scale.golden" "$found" || {
    echo "the table has changed"
    exit 1
}
