#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Each component exports one symbol. Open MPI opens components with RTLD_GLOBAL, so any other name
# could bind calls of the application to code of ours. A sanitizer adds names of its own: skipped.
# For Open MPI 6 each has a pointer to it besides, hidden, which Open MPI looks for if it has the
# component in its library: both have one, or none.

test "${RBUF_SANITIZED:-no}" = yes && exit 77

# NM may be a command with options.
check() { # DSO COMPONENT
    test -r "$1" || { echo "$1 is not there"; exit 99; }
    names=$(${NM:-nm} -D --defined-only "$1" | sed 's/.* //' | sort)
    test "$names" = "$2" || { echo "$1 should export $2 alone; it exports:" $names; exit 1; }
}

has_pointer() { # DSO COMPONENT
    ${NM:-nm} "$1" | grep -q " ${2}_ptr$" && echo yes || echo no
}

btl=${DSO_DIR:?}/mca_btl_rbuf.so osc=${OSC_DSO_DIR:?}/mca_osc_rbuf.so
check "$btl" mca_btl_rbuf_component
check "$osc" mca_osc_rbuf_component
pointers=$(has_pointer "$btl" mca_btl_rbuf_component)/$(has_pointer "$osc" mca_osc_rbuf_component)
test "$pointers" = yes/yes || test "$pointers" = no/no || {
    echo "a pointer for a static Open MPI 6: btl/rbuf $pointers osc/rbuf"
    exit 1
}
