# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_MPI_COMPILER
# How are MPI programs (the tools and the tests) compiled? Takes the wrapper of RBUF_FIND_OMPI apart,
# so that they are built by the same compiler and flags as everything else. Sets and substitutes
# MPICC, MPI_CFLAGS and MPI_LIBS.
AC_DEFUN([RBUF_FIND_MPI_COMPILER], [
    AC_REQUIRE([RBUF_FIND_OMPI])
    MPICC=$rbuf_ompi_mpicc
    MPI_CFLAGS=`$MPICC --showme:compile`
    MPI_LIBS=`$MPICC --showme:link`
    AC_MSG_CHECKING([whether MPI programs link])
    rbuf_save_CFLAGS=$CFLAGS
    rbuf_save_LIBS=$LIBS
    CFLAGS="$CFLAGS $MPI_CFLAGS"
    LIBS="$MPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <mpi.h>]], [[return MPI_Init(0, 0);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([cannot link an MPI program with the flags of $MPICC: $MPI_CFLAGS $MPI_LIBS])])
    CFLAGS=$rbuf_save_CFLAGS
    LIBS=$rbuf_save_LIBS
    AC_SUBST([MPICC])
    AC_SUBST([MPI_CFLAGS])
    AC_SUBST([MPI_LIBS])
])
