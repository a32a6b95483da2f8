# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_CHECK_HWLOC
# Is hwloc there? With it the nearest device is chosen, without it the first. Sets rbuf_hwloc_CFLAGS,
# rbuf_hwloc_LIBS, rbuf_have_hwloc (1 or 0) and rbuf_hwloc_summary.
AC_DEFUN([RBUF_CHECK_HWLOC], [
    RBUF_FIND_LIB([rbuf_hwloc], [hwloc], [-lhwloc],
        [[@%:@include <hwloc.h>]],
        [[hwloc_topology_t topology; return hwloc_topology_init(&topology);]],
        [rbuf_have_hwloc=1
         rbuf_hwloc_summary="nearest device first (hwloc)"],
        [rbuf_have_hwloc=0
         rbuf_hwloc_summary="devices in the order found, hwloc is missing (Debian: libhwloc-dev)"])
])
