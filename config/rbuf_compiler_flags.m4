# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_COMPILER_FLAGS
# Which flags is our own code compiled with? Sets and substitutes RBUF_CFLAGS: gnu11, warnings, and
# with --enable-werror warnings as errors.
AC_DEFUN([RBUF_COMPILER_FLAGS], [
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
        [], [enable_werror=no])

    RBUF_CFLAGS="-std=gnu11"
    RBUF_TRY_CFLAG([-Wall])
    RBUF_TRY_CFLAG([-Wextra])
    RBUF_TRY_CFLAG([-Wstrict-prototypes])
    AS_IF([test "$enable_werror" = yes], [RBUF_TRY_CFLAG([-Werror])])
    AC_SUBST([RBUF_CFLAGS])
])

# RBUF_TRY_CFLAG(FLAG)
# Adds FLAG to RBUF_CFLAGS if the compiler takes it.
AC_DEFUN([RBUF_TRY_CFLAG], [
    AC_MSG_CHECKING([whether $CC takes $1])
    rbuf_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])
         RBUF_CFLAGS="$RBUF_CFLAGS $1"],
        [AC_MSG_RESULT([no])])
    CFLAGS=$rbuf_save_CFLAGS
])
