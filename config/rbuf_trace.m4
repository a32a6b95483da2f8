# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_ENABLE_TRACE
# Are traces of states to be compiled in (core/base/trace.h)?
AC_DEFUN([RBUF_ENABLE_TRACE], [
    AC_ARG_ENABLE([trace],
        [AS_HELP_STRING([--enable-trace], [compile in traces of states, written where RBUF_TRACE in
            the environment says])],
        [], [enable_trace=no])
    AS_IF([test "$enable_trace" = yes], [CPPFLAGS="$CPPFLAGS -DRBUF_TRACE"])
])
