# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# CC_SANITIZERS
# Is everything to be built with AddressSanitizer or UndefinedBehaviorSanitizer? Appends to CFLAGS
# and LDFLAGS, and sets cc_sanitizers to what is on. Meant for tests: a library built so can be loaded
# only where the sanitizer's library is preloaded.
AC_DEFUN([CC_SANITIZERS], [
    AC_ARG_ENABLE([asan],
        [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer (for the tests)])],
        [], [enable_asan=no])
    AC_ARG_ENABLE([ubsan],
        [AS_HELP_STRING([--enable-ubsan],
            [build with UndefinedBehaviorSanitizer (for the tests)])],
        [], [enable_ubsan=no])

    cc_sanitizers=
    AS_IF([test "$enable_asan" = yes], [CC_ADD_SANITIZER([address], [-fsanitize=address])])
    AS_IF([test "$enable_ubsan" = yes],
        [CC_ADD_SANITIZER([undefined], [-fsanitize=undefined -fno-sanitize-recover=all])])
])

# CC_ADD_SANITIZER(NAME, FLAGS)
# Turns the sanitizer on, or stops if the compiler has it not.
AC_DEFUN([CC_ADD_SANITIZER], [
    CFLAGS="$CFLAGS $2 -fno-omit-frame-pointer"
    LDFLAGS="$LDFLAGS $2"
    AC_MSG_CHECKING([whether $CC links with $2])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])
         cc_sanitizers="$cc_sanitizers $1"],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([the $1 sanitizer was asked for, and $CC cannot link with it])])
])
