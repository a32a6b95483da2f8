# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# osc/rbuf's part of configure, the same in its own tree and in Open MPI's. It comes behind the transport's, whose
# answers it uses: without the transport it is not built.

# MCA_ompi_osc_rbuf_CONFIG(CAN BUILD, CANNOT BUILD)
AC_DEFUN([MCA_ompi_osc_rbuf_CONFIG], [
    AC_CONFIG_FILES([ompi/mca/osc/rbuf/Makefile])

    # config/ompi-headers has what Open MPI may not install; its tree has all.
    AS_IF([test "$rbuf_standalone" = yes],
        [osc_rbuf_CPPFLAGS="$RBUF_OMPI_CPPFLAGS -I\$(top_srcdir)/config/ompi-headers"
         osc_rbuf_CFLAGS=$RBUF_CFLAGS
         rbuf_ompi_LIBS="$RBUF_OMPI_LIBS $RBUF_OMPI_MPI_LIBS"],
        [osc_rbuf_CPPFLAGS=
         osc_rbuf_CFLAGS=
         rbuf_ompi_LIBS="\$(top_builddir)/ompi/lib\$(OMPI_LIBMPI_NAME).la $rbuf_opal_LIBS"])
    AC_SUBST([osc_rbuf_CPPFLAGS])
    AC_SUBST([osc_rbuf_CFLAGS])
    AC_SUBST([rbuf_ompi_LIBS])

    AS_IF([test "$rbuf_happy" = yes], [$1], [$2])
])
