# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_TSAN
# Can ThreadSanitizer be used, for tests of what threads share? Substitutes TSAN_FLAGS: its flags, or
# nothing where it does not run (old kernels, another sanitizer).
AC_DEFUN([RBUF_FIND_TSAN], [
    AC_REQUIRE([CC_SANITIZERS])
    TSAN_FLAGS="-fsanitize=thread -g"
    rbuf_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $TSAN_FLAGS"
    AC_MSG_CHECKING([whether programs of ThreadSanitizer run])
    AC_RUN_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no]); TSAN_FLAGS=],
        [AC_MSG_RESULT([not known]); TSAN_FLAGS=])
    CFLAGS=$rbuf_saved_CFLAGS
    AS_IF([test -n "$cc_sanitizers"], [TSAN_FLAGS=])
    AC_SUBST([TSAN_FLAGS])
])
