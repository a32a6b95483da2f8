# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# FIND_VERBS
# Is libibverbs there, with its headers? Stops if not. --with-verbs=DIR appends to CPPFLAGS and LDFLAGS.
# Substitutes VERBS_LIBS.
AC_DEFUN([FIND_VERBS], [
    AC_ARG_WITH([verbs],
        [AS_HELP_STRING([--with-verbs=DIR], [libibverbs of DIR (default: what the compiler finds)])])
    AC_ARG_WITH([verbs-libdir],
        [AS_HELP_STRING([--with-verbs-libdir=DIR], [the folder of the library itself])])
    AS_CASE([$with_verbs],
        [yes|''], [],
        [no], [AC_MSG_ERROR([--without-verbs: softhca stands in for libibverbs, and cannot be built without it])],
        [FIND_VERBS_AT([$with_verbs])])
    VERBS_LIBS=-libverbs
    AC_SUBST([VERBS_LIBS])
    AC_MSG_CHECKING([for libibverbs])
    find_save_LIBS=$LIBS
    LIBS="$VERBS_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <infiniband/verbs.h>]], [[return ibv_fork_init();]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([libibverbs or its headers are missing (Debian: libibverbs-dev; RHEL: rdma-core-devel); config.log has the compiler's words])])
    LIBS=$find_save_LIBS
])

# FIND_VERBS_AT(DIR)
AC_DEFUN([FIND_VERBS_AT], [
    find_libdir=$with_verbs_libdir
    for find_dir in "$1/lib" "$1/lib64" "$1/lib32"; do
        AS_IF([test -z "$find_libdir" && ls "$find_dir"/libibverbs.* >/dev/null 2>&1], [find_libdir=$find_dir])
    done
    CPPFLAGS="$CPPFLAGS -I$1/include"
    AS_IF([test -n "$find_libdir"], [LDFLAGS="$LDFLAGS -L$find_libdir"])
])
