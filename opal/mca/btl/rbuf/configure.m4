# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# The component's part of configure, the same in its own tree (where rbuf_standalone is yes and
# RBUF_OMPI_CPPFLAGS, RBUF_OMPI_LIBS and RBUF_CFLAGS are set) and in Open MPI's.

m4_include([opal/mca/btl/rbuf/config/rbuf_features.m4])
m4_include([opal/mca/btl/rbuf/config/rbuf_find_lib.m4])
m4_include([opal/mca/btl/rbuf/config/rbuf_check_verbs.m4])
m4_include([opal/mca/btl/rbuf/config/rbuf_check_libevent.m4])
m4_include([opal/mca/btl/rbuf/config/rbuf_check_hwloc.m4])
m4_include([opal/mca/btl/rbuf/config/rbuf_check_unwind.m4])

# MCA_opal_btl_rbuf_CONFIG(CAN BUILD, CANNOT BUILD)
AC_DEFUN([MCA_opal_btl_rbuf_CONFIG], [
    AC_CONFIG_FILES([opal/mca/btl/rbuf/Makefile])

    rbuf_happy=yes
    RBUF_CHECK_VERBS([], [rbuf_happy=no])
    RBUF_CHECK_LIBEVENT([], [rbuf_happy=no])
    RBUF_CHECK_HWLOC
    RBUF_FEATURES
    rbuf_have_unwind=0
    rbuf_unwind_summary="none, protocol helper is left out"
    AS_IF([test "$rbuf_have_helper" = 1], [RBUF_CHECK_UNWIND])

    # verbs/ and core/ include no opal_config.h, which would ask for GNU extensions.
    btl_rbuf_CPPFLAGS="-D_GNU_SOURCE $rbuf_verbs_CFLAGS $rbuf_libevent_CFLAGS $rbuf_hwloc_CFLAGS"
    btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_HWLOC=$rbuf_have_hwloc"
    btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS $rbuf_unwind_CFLAGS -DRBUF_HAVE_UNWIND=$rbuf_have_unwind"
    btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_HELPER=$rbuf_have_helper"
    btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_REUSE=$rbuf_have_reuse"
    AS_IF([test "$rbuf_verbs_data_in_order" = yes],
        [btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_DATA_IN_ORDER=1"],
        [btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_DATA_IN_ORDER=0"])
    AS_IF([test "$rbuf_verbs_data_in_order_caps" = yes],
        [btl_rbuf_CPPFLAGS="$btl_rbuf_CPPFLAGS -DRBUF_HAVE_DATA_IN_ORDER_CAPS=1"])
    btl_rbuf_CFLAGS="-fvisibility=hidden"
    # What is named btl_rbuf_LIBS (or _LDFLAGS) becomes part of what Open MPI's wrapper compilers say,
    # if the component goes into libopen-pal.
    btl_rbuf_LIBS="$rbuf_verbs_LIBS $rbuf_libevent_LIBS $rbuf_hwloc_LIBS $rbuf_unwind_LIBS -lpthread"
    AS_IF([test "$rbuf_standalone" = yes],
        [btl_rbuf_CPPFLAGS="$RBUF_OMPI_CPPFLAGS $btl_rbuf_CPPFLAGS"
         btl_rbuf_CFLAGS="$RBUF_CFLAGS $btl_rbuf_CFLAGS"
         rbuf_opal_LIBS=$RBUF_OMPI_LIBS],
        [rbuf_opal_LIBS="\$(top_builddir)/opal/lib\$(OPAL_LIB_PREFIX)open-pal.la"])

    AC_SUBST([btl_rbuf_CPPFLAGS])
    AC_SUBST([btl_rbuf_CFLAGS])
    AC_SUBST([btl_rbuf_LIBS])
    AC_SUBST([rbuf_opal_LIBS])

    AS_IF([test "$rbuf_happy" = yes], [$1], [$2])
])

# Behind that, whatever came of it: Open MPI's configure asks the above under a condition, where automake's may not
# be set.
AC_DEFUN([MCA_opal_btl_rbuf_POST_CONFIG], [
    AM_CONDITIONAL([RBUF_HELPER], [test "$rbuf_have_helper" = 1])
    AM_CONDITIONAL([RBUF_REUSE], [test "$rbuf_have_reuse" = 1])
])
