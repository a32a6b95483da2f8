# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_CHECK_VERBS(FOUND, NOT FOUND)
# Is libibverbs there, and can it be asked whether a queue pair places data in order (rdma-core 42
# and later), and which order (rdma-core 50 and later)? Sets rbuf_verbs_CFLAGS, rbuf_verbs_LIBS,
# rbuf_verbs_data_in_order and rbuf_verbs_data_in_order_caps (yes or no).
# --with-verbs and --with-verbs-libdir mean what they mean in Open MPI 4.1, whose own they are there.
AC_DEFUN([RBUF_CHECK_VERBS], [
    m4_ifdef([OPAL_CHECK_VERBS_DIR], [], [RBUF_VERBS_OPTIONS])
    AS_CASE([$with_verbs],
        [no|yes|''], [],
        [RBUF_VERBS_AT([$with_verbs])])
    AS_IF([test "$with_verbs" = no],
        [AC_MSG_NOTICE([rbuf: not built without verbs])
         $2],
        [RBUF_FIND_LIB([rbuf_verbs], [libibverbs], [-libverbs],
            [[@%:@include <infiniband/verbs.h>]], [[return ibv_fork_init();]],
            [RBUF_CHECK_DATA_IN_ORDER
             $1],
            [AS_IF([test -n "$with_verbs"],
                [AC_MSG_ERROR([--with-verbs=$with_verbs: libibverbs is not there])])
             AC_MSG_WARN([libibverbs is missing (Debian: libibverbs-dev)])
             $2])])
])

AC_DEFUN([RBUF_VERBS_OPTIONS], [
    AC_ARG_WITH([verbs],
        [AS_HELP_STRING([--with-verbs=DIR],
            [libibverbs of DIR (default: what pkg-config or the compiler finds)])])
    AC_ARG_WITH([verbs-libdir],
        [AS_HELP_STRING([--with-verbs-libdir=DIR], [the folder of the library itself])])
])

# RBUF_VERBS_AT(DIR): the flags for the libibverbs of DIR, unless the caller of configure gave some.
AC_DEFUN([RBUF_VERBS_AT], [
    rbuf_verbs_libdir=$with_verbs_libdir
    for rbuf_dir in "$1/lib" "$1/lib64" "$1/lib32"; do
        AS_IF([test -z "$rbuf_verbs_libdir" && ls "$rbuf_dir"/libibverbs.* >/dev/null 2>&1],
            [rbuf_verbs_libdir=$rbuf_dir])
    done
    AS_IF([test -z "$rbuf_verbs_CFLAGS$rbuf_verbs_LIBS"],
        [rbuf_verbs_CFLAGS="-I$1/include"
         rbuf_verbs_LIBS="${rbuf_verbs_libdir:+-L$rbuf_verbs_libdir }-libverbs"])
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
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <infiniband/verbs.h>]],
        [[return ibv_query_qp_data_in_order(0, IBV_WR_RDMA_WRITE,
                                            IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS);]])],
        [rbuf_verbs_data_in_order_caps=yes], [rbuf_verbs_data_in_order_caps=no])
    CPPFLAGS=$rbuf_verbs_save_CPPFLAGS
    LIBS=$rbuf_verbs_save_LIBS
    AC_MSG_RESULT([$rbuf_verbs_data_in_order, flags $rbuf_verbs_data_in_order_caps])
])
