# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_LIB(VARIABLE, PKG-CONFIG MODULES, FALLBACK LIBS, HEADER LINES, BODY, FOUND, NOT FOUND)
# Does BODY link? Asks pkg-config for the flags if it is there and knows the modules, otherwise
# tries FALLBACK LIBS with the compiler's own paths. Sets VARIABLE_CFLAGS and VARIABLE_LIBS; both
# may be given by the caller of configure. It needs no other macro, so that it works in an Open MPI
# tree too.
AC_DEFUN([RBUF_FIND_LIB], [
    AC_MSG_CHECKING([for $2])
    AS_IF([test -z "$$1_CFLAGS$$1_LIBS"],
        [AS_IF([${PKG_CONFIG:-pkg-config} --exists "$2" >/dev/null 2>&1],
            [$1_CFLAGS=`${PKG_CONFIG:-pkg-config} --cflags "$2"`
             $1_LIBS=`${PKG_CONFIG:-pkg-config} --libs "$2"`],
            [$1_LIBS="$3"])])
    rbuf_lib_save_CPPFLAGS=$CPPFLAGS
    rbuf_lib_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $$1_CFLAGS"
    LIBS="$$1_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([$4], [$5])], [rbuf_lib_found=yes], [rbuf_lib_found=no])
    CPPFLAGS=$rbuf_lib_save_CPPFLAGS
    LIBS=$rbuf_lib_save_LIBS
    AC_MSG_RESULT([$rbuf_lib_found])
    AS_IF([test "$rbuf_lib_found" = yes], [$6], [$1_CFLAGS= $1_LIBS=
        $7])
])
