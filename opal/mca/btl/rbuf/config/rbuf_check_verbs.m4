# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_CHECK_VERBS(FOUND, NOT FOUND)
# Is libibverbs there, and can it be asked whether a queue pair places data in order (rdma-core 42
# and later)? Sets rbuf_verbs_CFLAGS, rbuf_verbs_LIBS and rbuf_verbs_data_in_order (yes or no).
AC_DEFUN([RBUF_CHECK_VERBS], [
    RBUF_FIND_LIB([rbuf_verbs], [libibverbs], [-libverbs],
        [[@%:@include <infiniband/verbs.h>]], [[return ibv_fork_init();]],
        [RBUF_CHECK_DATA_IN_ORDER
         $1],
        [AC_MSG_WARN([libibverbs is missing (Debian: libibverbs-dev)])
         $2])
])

AC_DEFUN([RBUF_CHECK_DATA_IN_ORDER], [
    AC_MSG_CHECKING([for ibv_query_qp_data_in_order])
    rbuf_verbs_save_CPPFLAGS=$CPPFLAGS
    rbuf_verbs_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $rbuf_verbs_CFLAGS"
    LIBS="$rbuf_verbs_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <infiniband/verbs.h>]],
        [[return ibv_query_qp_data_in_order(0, IBV_WR_RDMA_WRITE, 0);]])],
        [rbuf_verbs_data_in_order=yes], [rbuf_verbs_data_in_order=no])
    CPPFLAGS=$rbuf_verbs_save_CPPFLAGS
    LIBS=$rbuf_verbs_save_LIBS
    AC_MSG_RESULT([$rbuf_verbs_data_in_order])
])
