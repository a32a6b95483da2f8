# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_CHECK
# Is the unit test library Check there? Optional: without it the unit tests are left out and
# configure says so. Sets CHECK_CFLAGS, CHECK_LIBS and the conditional HAVE_CHECK.
AC_DEFUN([RBUF_FIND_CHECK], [
    PKG_CHECK_MODULES([CHECK], [check >= 0.12],
        [rbuf_have_check=yes
         rbuf_check_summary="with Check"],
        [rbuf_have_check=no
         rbuf_check_summary="left out, Check is missing (Debian: check)"])
    AM_CONDITIONAL([HAVE_CHECK], [test "$rbuf_have_check" = yes])
])
