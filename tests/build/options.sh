#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What configure is told reaches the package within the tree, contrib/softhca: the same compiler, flags,
# sanitizers and folders. RBUF_BUILD is the build directory.

set -u
build=${RBUF_BUILD:?}
status=0

# A variable of a Makefile of the build.
value() { # MAKEFILE VARIABLE
    sed -n "s/^$2 = //p" "$build/$1"
}

for pair in CC CFLAGS LDFLAGS RBUF_CFLAGS:SOFTHCA_CFLAGS prefix libdir bindir mandir PACKAGE_VERSION; do
    ours=$(value Makefile "${pair%:*}")
    theirs=$(value contrib/softhca/Makefile "${pair#*:}")
    if test "$ours" = "$theirs"; then
        echo "$pair: $ours"
    else
        echo "FAIL  $pair: '$ours', and '$theirs' in contrib/softhca"
        status=1
    fi
done
exit $status
