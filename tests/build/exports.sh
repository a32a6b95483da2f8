#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The component exports one symbol. Open MPI opens components with RTLD_GLOBAL, so any other name
# could bind calls of the application to code of ours. A sanitizer adds names of its own: skipped.

test "${RBUF_SANITIZED:-no}" = yes && exit 77
dso=${DSO_DIR:?}/mca_btl_rbuf.so
test -r "$dso" || { echo "$dso is not there"; exit 99; }
# NM may be a command with options.
names=$(${NM:-nm} -D --defined-only "$dso" | sed 's/.* //' | sort)
test "$names" = mca_btl_rbuf_component && exit 0
echo "$dso should export mca_btl_rbuf_component alone; it exports:" $names
exit 1
