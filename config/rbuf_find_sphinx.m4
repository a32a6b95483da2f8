# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.

# RBUF_FIND_SPHINX
# Are Sphinx and its reader of Markdown there? Optional: they make the man pages and the manual. Without them
# the man pages are installed that a distribution has in docs/made, and none from a repository. The table of
# parameters comes from ompi_info of the Open MPI that is built against. Sets SPHINX_BUILD, SPHINX_FLAGS, PYTHON3
# and OMPI_INFO, and the conditionals HAVE_SPHINX and HAVE_MADE_PAGES.
AC_DEFUN([RBUF_FIND_SPHINX], [
    AC_REQUIRE([RBUF_FIND_OMPI])
    AC_PATH_PROG([SPHINX_BUILD], [sphinx-build])
    AC_PATH_PROG([PYTHON3], [python3])
    rbuf_mpicc_path=`command -v $rbuf_ompi_mpicc`
    AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [`dirname "$rbuf_mpicc_path"`$PATH_SEPARATOR$PATH])
    # What another release of Sphinx finds to warn of is no reason to have no pages.
    SPHINX_FLAGS=-q
    AS_IF([test "$enable_werror" = yes], [SPHINX_FLAGS="-q -W --keep-going"])
    AC_SUBST([SPHINX_FLAGS])
    rbuf_have_sphinx=no
    rbuf_have_made=no
    RBUF_TRY_SPHINX
    AS_IF([test $rbuf_sphinx_works = no || test -z "$PYTHON3"],
        [rbuf_pages_summary="not built, none is installed: Sphinx is missing (Debian: python3-sphinx python3-myst-parser)"],
        [test -z "$OMPI_INFO" || test "$cross_compiling" = yes],
        [rbuf_pages_summary="not built, none is installed: ompi_info is missing or cannot be run"],
        [rbuf_have_sphinx=yes
         rbuf_pages_summary="made by $SPHINX_BUILD"])
    AS_IF([test $rbuf_have_sphinx = no && test -f "$srcdir/docs/made/rbuf.7"],
        [rbuf_have_made=yes
         rbuf_pages_summary="installed as the distribution has them"])
    AM_CONDITIONAL([HAVE_SPHINX], [test $rbuf_have_sphinx = yes])
    AM_CONDITIONAL([HAVE_MADE_PAGES], [test $rbuf_have_made = yes])
])

# RBUF_TRY_SPHINX
# Sets rbuf_sphinx_works: it may be another Python's than that in PATH, so a page is made.
AC_DEFUN([RBUF_TRY_SPHINX], [
    AC_MSG_CHECKING([whether Sphinx reads Markdown])
    rbuf_sphinx_works=no
    AS_IF([test -n "$SPHINX_BUILD"],
        [rm -rf conftest.sphinx && mkdir conftest.sphinx
         echo "extensions = [['myst_parser']]" >conftest.sphinx/conf.py
         echo "# Page" >conftest.sphinx/index.md
         AS_IF([$SPHINX_BUILD -q -b man conftest.sphinx conftest.sphinx/out >&AS_MESSAGE_LOG_FD 2>&1],
             [rbuf_sphinx_works=yes])
         rm -rf conftest.sphinx])
    AC_MSG_RESULT([$rbuf_sphinx_works])
])
