# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FEATURE(NAME, WHAT)
# Is this part to be built? Yes, unless configure is told --without-NAME. Sets rbuf_have_NAME (1 or 0), and
# adds the names of what is left out to rbuf_left_out.
AC_DEFUN([RBUF_FEATURE], [
    AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [rbuf: leave out $2])], [], [with_$1=yes])
    AC_MSG_CHECKING([whether rbuf has $2])
    AS_CASE([$with_$1],
        [yes], [rbuf_have_$1=1],
        [no], [rbuf_have_$1=0
            rbuf_left_out="$rbuf_left_out $1"],
        [AC_MSG_ERROR([--with-$1 is yes or no, not '$with_$1'])])
    AC_MSG_RESULT([$with_$1])
])

# RBUF_FEATURES
# The parts that can be left out: their sources are not compiled, and their parameters do not exist.
AC_DEFUN([RBUF_FEATURES], [
    rbuf_left_out=
    RBUF_FEATURE([helper], [protocol helper, which registers memory ahead of its use])
    RBUF_FEATURE([reuse], [reuse, which sends from frequently used buffers without a copy])
    AC_SUBST([rbuf_left_out])
])
