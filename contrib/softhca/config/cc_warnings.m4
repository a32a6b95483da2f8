# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# CC_WARNINGS
# Which flags is our own code compiled with? Sets cc_warnings: gnu11, warnings, and with
# --enable-werror warnings as errors. The caller passes them on.
AC_DEFUN([CC_WARNINGS], [
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
        [], [enable_werror=no])

    cc_warnings="-std=gnu11"
    CC_TRY_FLAG([-Wall])
    CC_TRY_FLAG([-Wextra])
    CC_TRY_FLAG([-Wstrict-prototypes])
    AS_IF([test "$enable_werror" = yes], [CC_TRY_FLAG([-Werror])])
])

# CC_TRY_FLAG(FLAG)
# Adds FLAG to cc_warnings if the compiler takes it.
AC_DEFUN([CC_TRY_FLAG], [
    AC_MSG_CHECKING([whether $CC takes $1])
    cc_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])
         cc_warnings="$cc_warnings $1"],
        [AC_MSG_RESULT([no])])
    CFLAGS=$cc_save_CFLAGS
])
