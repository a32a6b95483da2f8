# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_CHECK_UNWIND
# Is libunwind there? With it protocol helper tells the places of a program apart from which it
# communicates, without it only its buffers. Sets rbuf_unwind_CFLAGS, rbuf_unwind_LIBS,
# rbuf_have_unwind (1 or 0) and rbuf_unwind_summary.
AC_DEFUN([RBUF_CHECK_UNWIND], [
    RBUF_FIND_LIB([rbuf_unwind], [libunwind], [-lunwind],
        [[@%:@define UNW_LOCAL_ONLY
@%:@include <libunwind.h>]],
        [[void *frame; return unw_backtrace(&frame, 1);]],
        [rbuf_have_unwind=1
         rbuf_unwind_summary="by stack frames (libunwind)"],
        [rbuf_have_unwind=0
         rbuf_unwind_summary="by buffers alone, libunwind is missing (Debian: libunwind-dev)"])
])
