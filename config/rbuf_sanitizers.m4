# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_SANITIZERS
# Is everything to be built with AddressSanitizer or UndefinedBehaviorSanitizer? Appends to CFLAGS
# and LDFLAGS; sets rbuf_sanitizers to what is on, and the conditional RBUF_SANITIZED. Meant for the
# unit tests, and for tests/robust/sanitized.sh: a DSO built so can be loaded only where the
# sanitizer's library is preloaded.
AC_DEFUN([RBUF_SANITIZERS], [
    AC_ARG_ENABLE([asan],
        [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer (for the unit tests)])],
        [], [enable_asan=no])
    AC_ARG_ENABLE([ubsan],
        [AS_HELP_STRING([--enable-ubsan],
            [build with UndefinedBehaviorSanitizer (for the unit tests)])],
        [], [enable_ubsan=no])

    rbuf_sanitizers=
    AS_IF([test "$enable_asan" = yes], [RBUF_ADD_SANITIZER([address], [-fsanitize=address])])
    AS_IF([test "$enable_ubsan" = yes],
        [RBUF_ADD_SANITIZER([undefined], [-fsanitize=undefined -fno-sanitize-recover=all])])
    AM_CONDITIONAL([RBUF_SANITIZED], [test -n "$rbuf_sanitizers"])
])

# RBUF_ADD_SANITIZER(NAME, FLAGS)
# Turns the sanitizer on, or stops if the compiler has it not.
AC_DEFUN([RBUF_ADD_SANITIZER], [
    CFLAGS="$CFLAGS $2 -fno-omit-frame-pointer"
    LDFLAGS="$LDFLAGS $2"
    AC_MSG_CHECKING([whether $CC links with $2])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])
         rbuf_sanitizers="$rbuf_sanitizers $1"],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([the $1 sanitizer was asked for, and $CC cannot link with it])])
])

# RBUF_FIND_TSAN
# Can ThreadSanitizer be used, for tests of what threads share? Substitutes TSAN_FLAGS: its flags, or
# nothing where it does not run (old kernels, another sanitizer).
AC_DEFUN([RBUF_FIND_TSAN], [
    AC_REQUIRE([RBUF_SANITIZERS])
    TSAN_FLAGS="-fsanitize=thread -g"
    rbuf_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $TSAN_FLAGS"
    AC_MSG_CHECKING([whether programs of ThreadSanitizer run])
    AC_RUN_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no]); TSAN_FLAGS=],
        [AC_MSG_RESULT([not known]); TSAN_FLAGS=])
    CFLAGS=$rbuf_saved_CFLAGS
    AS_IF([test -n "$rbuf_sanitizers"], [TSAN_FLAGS=])
    AC_SUBST([TSAN_FLAGS])
])
