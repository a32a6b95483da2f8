# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_OMPI
# Where is Open MPI, with the headers that a component needs? Looks at --with-ompi=DIR, else at the
# mpicc in PATH (or MPICC). Sets
#   rbuf_ompi_mpicc, rbuf_ompi_where   its wrapper compiler; how it was found, in words
#   rbuf_ompi_version                  e.g. 4.1.4
#   RBUF_OMPI_CPPFLAGS                 include path of the internal headers, for makefiles
#   RBUF_OMPI_LIBS                     libopen-pal and its path (and PMIx from series 5 on)
#   RBUF_OMPI_MPI_LIBS                 what has Open MPI's own calls above it
#   RBUF_OMPI_SHARED_MEMORY            its BTL for processes of one machine
# Refuses an MPI that is not Open MPI, one without devel headers, and series before 4.1.
AC_DEFUN([RBUF_FIND_OMPI], [
    AC_ARG_WITH([ompi],
        [AS_HELP_STRING([--with-ompi=DIR],
            [Open MPI's installation prefix (default: that of the mpicc in PATH)])],
        [], [with_ompi=])

    RBUF_OMPI_WRAPPER
    RBUF_OMPI_FLAGS
    RBUF_OMPI_SERIES
    RBUF_OMPI_HEADERS
    RBUF_OMPI_LINK
    AC_SUBST([RBUF_OMPI_CPPFLAGS])
    AC_SUBST([RBUF_OMPI_LIBS])
    AC_SUBST([RBUF_OMPI_MPI_LIBS])
])

# Finds the wrapper compiler and makes sure that it is Open MPI's.
AC_DEFUN([RBUF_OMPI_WRAPPER], [
    AC_MSG_CHECKING([for Open MPI])
    AS_CASE([$with_ompi],
        [yes|''],
            [rbuf_ompi_mpicc=${MPICC:-mpicc}
             rbuf_ompi_where="from $rbuf_ompi_mpicc in PATH"],
        [no],
            [AC_MSG_ERROR([--without-ompi: there is nothing to build without Open MPI])],
            [rbuf_ompi_mpicc=$with_ompi/bin/mpicc
             rbuf_ompi_where="$with_ompi"])
    rbuf_incdirs=`$rbuf_ompi_mpicc --showme:incdirs 2>/dev/null`
    AS_IF([test $? -ne 0 || test -z "$rbuf_incdirs"],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([$rbuf_ompi_mpicc is missing or not Open MPI's; install Open MPI (Debian, Ubuntu: libopenmpi-dev; others: docs/install.md) or give --with-ompi=DIR])])
    AC_MSG_RESULT([$rbuf_ompi_where])
])

# Composes the flags. An installation without devel headers in its wrapper's path may still have
# them in the openmpi folder below.
AC_DEFUN([RBUF_OMPI_FLAGS], [
    RBUF_OMPI_CPPFLAGS=
    for rbuf_dir in $rbuf_incdirs; do
        RBUF_OMPI_CPPFLAGS="$RBUF_OMPI_CPPFLAGS -I$rbuf_dir"
        AS_IF([test -f "$rbuf_dir/openmpi/opal_config.h"],
            [RBUF_OMPI_CPPFLAGS="$RBUF_OMPI_CPPFLAGS -I$rbuf_dir/openmpi"])
    done
    RBUF_OMPI_LIBS=
    for rbuf_dir in `$rbuf_ompi_mpicc --showme:libdirs`; do
        RBUF_OMPI_LIBS="$RBUF_OMPI_LIBS -L$rbuf_dir"
    done
    RBUF_OMPI_LIBS="$RBUF_OMPI_LIBS -lopen-pal"
])

# Reads the version from the public header, so that missing devel headers are told apart later.
AC_DEFUN([RBUF_OMPI_SERIES], [
    AC_MSG_CHECKING([for the version of Open MPI])
    rbuf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $RBUF_OMPI_CPPFLAGS"
    AC_COMPUTE_INT([rbuf_ompi_major], [OMPI_MAJOR_VERSION], [@%:@include <mpi.h>], [rbuf_ompi_major=])
    AC_COMPUTE_INT([rbuf_ompi_minor], [OMPI_MINOR_VERSION], [@%:@include <mpi.h>], [rbuf_ompi_minor=])
    AC_COMPUTE_INT([rbuf_ompi_release], [OMPI_RELEASE_VERSION], [@%:@include <mpi.h>],
        [rbuf_ompi_release=])
    CPPFLAGS=$rbuf_save_CPPFLAGS
    AS_IF([test -z "$rbuf_ompi_major" || test -z "$rbuf_ompi_minor"],
        [AC_MSG_RESULT([unknown])
         AC_MSG_ERROR([mpi.h of $rbuf_ompi_mpicc does not compile or is not Open MPI's])])
    rbuf_ompi_version=$rbuf_ompi_major.$rbuf_ompi_minor.$rbuf_ompi_release
    AC_MSG_RESULT([$rbuf_ompi_version])
    AS_IF([test $rbuf_ompi_major -lt 4 ||
           { test $rbuf_ompi_major -eq 4 && test $rbuf_ompi_minor -lt 1; }],
        [AC_MSG_ERROR([rbuf needs Open MPI 4.1 or later, and this is $rbuf_ompi_version])])
    AS_IF([test $rbuf_ompi_major -ge 5],
        [RBUF_OMPI_SHARED_MEMORY=sm], [RBUF_OMPI_SHARED_MEMORY=vader])
    AC_SUBST([RBUF_OMPI_SHARED_MEMORY])
    AS_IF([test $rbuf_ompi_major -ge 5],
        [PKG_CHECK_MODULES([PMIX], [pmix], [],
            [AC_MSG_ERROR([Open MPI $rbuf_ompi_version needs the PMIx headers (Debian: libpmix-dev)])])
         RBUF_OMPI_CPPFLAGS="$RBUF_OMPI_CPPFLAGS $PMIX_CFLAGS"
         RBUF_OMPI_LIBS="$RBUF_OMPI_LIBS $PMIX_LIBS"])
])

# The internal headers: all are there, or all but those that the "make install" of Open MPI 5.0
# forgets, for which those in config/ompi-headers stand in.
AC_DEFUN([RBUF_OMPI_HEADERS], [
    AC_MSG_CHECKING([for Open MPI's devel headers])
    RBUF_OMPI_TRY_HEADERS([],
        [rbuf_ompi_headers=yes],
        [RBUF_OMPI_TRY_HEADERS([-I$srcdir/config/ompi-headers],
            [rbuf_ompi_headers="yes, but for its POSIX threads headers (config/ompi-headers stands in)"
             RBUF_OMPI_CPPFLAGS="$RBUF_OMPI_CPPFLAGS -I\$(top_srcdir)/config/ompi-headers"],
            [rbuf_ompi_headers=no])])
    AC_MSG_RESULT([$rbuf_ompi_headers])
    AS_IF([test "$rbuf_ompi_headers" = no],
        [AC_MSG_ERROR([Open MPI $rbuf_ompi_version is there without its internal headers; it must be configured --with-devel-headers, which not all packages are (docs/install.md; config.log has the compiler's words)])])
])

# RBUF_OMPI_TRY_HEADERS(FURTHER FLAGS, FOUND, NOT FOUND)
AC_DEFUN([RBUF_OMPI_TRY_HEADERS], [
    rbuf_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $RBUF_OMPI_CPPFLAGS $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
@%:@include "opal_config.h"
@%:@include "opal/mca/btl/btl.h"
@%:@include "opal/mca/rcache/rcache.h"]], [[mca_btl_base_module_t module; (void) module;]])],
        [rbuf_ompi_compiles=yes], [rbuf_ompi_compiles=no])
    CPPFLAGS=$rbuf_save_CPPFLAGS
    AS_IF([test $rbuf_ompi_compiles = yes], [$2], [$3])
])

# libopen_mpi has them from series 6 on: programs of MPI's standard ABI do not have libmpi.
AC_DEFUN([RBUF_OMPI_LINK], [
    AC_MSG_CHECKING([for libopen-pal])
    rbuf_save_LIBS=$LIBS
    LIBS="$RBUF_OMPI_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern const char opal_version_string[];]],
        [[return opal_version_string[0];]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([cannot link with $RBUF_OMPI_LIBS])])
    AS_IF([test $rbuf_ompi_major -ge 6],
        [RBUF_OMPI_MPI_LIBS=-lopen_mpi], [RBUF_OMPI_MPI_LIBS=-lmpi])
    AC_MSG_CHECKING([for Open MPI's calls in $RBUF_OMPI_MPI_LIBS])
    LIBS="$RBUF_OMPI_LIBS $RBUF_OMPI_MPI_LIBS $rbuf_save_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern int ompi_comm_create(void *, void *, void **);]],
        [[return ompi_comm_create(0, 0, 0);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([cannot link with $RBUF_OMPI_LIBS $RBUF_OMPI_MPI_LIBS])])
    LIBS=$rbuf_save_LIBS
])
